"""inspect counts what tshark's fields say, on captures of this project's own runs.

tshark reads the headers, the oracle computes from them, by the definitions; neither
shares a line with inspect. Marked guest for its fresh runs, as all system tests are.
"""

import subprocess
from pathlib import Path

import pytest
from commands import run_json

from tests.trace.agreeing import disagreements, inspected
from tests.trace.oracle import Seen, flows_of

pytestmark = pytest.mark.guest

REFERENCE = Path(__file__).parents[2] / "captures" / "reference"
FIELDS = (
    "frame.time_epoch",
    "ip.src",
    "ipv6.src",
    "ip.dst",
    "ipv6.dst",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.flags",
    "tcp.len",
    "tcp.hdr_len",
    "tcp.options.mss_val",
)
#: Several flows over a lossy path, both families; the queue drops some packets too.
LOSSY = """\
question: What do several flows over a path with losses look like?
patch: {subject: none, author: a, date: d, mail: m, fate: f}
topology: long_haul
path: {rtt: 20ms, rate: 50mbit, queue: 60, loss: 0.5%}
variants:
  four:
    workload: {flows: 6, duration: 1s, stagger: 5ms}
  six:
    workload: {flows: 3, duration: 1s, stagger: 5ms, family: 6}
"""


def seen_by_tshark(path: Path) -> list[Seen]:
    """Return the TCP packets of a capture as tshark decodes them."""
    fields = [word for field in FIELDS for word in ("-e", field)]
    done = subprocess.run(
        [
            "/usr/bin/tshark",
            "-n",
            "-r",
            str(path),
            "-Y",
            "tcp",
            "-T",
            "fields",
            *fields,
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return [_seen(line.split("\t")) for line in done.stdout.splitlines()]


def _seen(values: list[str]) -> Seen:
    row = dict(zip(FIELDS, values, strict=True))
    seconds, nanoseconds = row["frame.time_epoch"].split(".")
    return Seen(
        time_ns=int(seconds) * 10**9 + int(nanoseconds.ljust(9, "0")),
        src=row["ip.src"] or row["ipv6.src"],
        dst=row["ip.dst"] or row["ipv6.dst"],
        sport=int(row["tcp.srcport"]),
        dport=int(row["tcp.dstport"]),
        seq=int(row["tcp.seq_raw"]),
        ack=int(row["tcp.ack_raw"]),
        flags=int(row["tcp.flags"], 16),
        length=int(row["tcp.len"]),
        option_bytes=int(row["tcp.hdr_len"]) - 20,
        mss=int(row["tcp.options.mss_val"] or 0) or None,
    )


@pytest.fixture(scope="module")
def lossy(kernel, tmp_path_factory) -> dict[str, dict]:
    """Return the runs of LOSSY by variant."""
    folder: Path = tmp_path_factory.mktemp("lossy")
    (folder / "lossy.yaml").write_text(LOSSY)
    return {run["variant"]: run for run in run_json(folder, "lossy.yaml")["runs"]}


@pytest.mark.parametrize("variant", ["before", "after"])
def test_the_reference_captures_are_counted_as_tshark_reads_them(variant: str) -> None:
    path = REFERENCE / "refine-tso-autosizing" / f"{variant}.pcapng"
    seen = seen_by_tshark(path)

    answer = inspected(path)

    assert answer["packets"] - sum(answer["skipped"].values()) == len(seen)
    assert disagreements(answer, flows_of(seen)) == []


@pytest.mark.parametrize("where", ["sender", "receiver"])
@pytest.mark.parametrize(("variant", "flows"), [("four", 6), ("six", 3)])
def test_flows_with_losses_are_counted_as_tshark_reads_them(
    lossy, variant: str, flows: int, where: str
) -> None:
    path = Path(lossy[variant]["captures"][where])
    seen = seen_by_tshark(path)
    told = flows_of(seen)

    answer = inspected(path)

    assert disagreements(answer, told) == []
    assert len(told) == flows
    # The runs are what they are meant to be: lossy, and with samples of everything.
    assert sum(flow.retransmits for flow in told) > 0
    assert all(flow.rtt and flow.newly for flow in told)


@pytest.mark.parametrize("where", ["sender", "receiver"])
def test_the_vantage_of_each_capture_is_found(lossy, where: str) -> None:
    for run in lossy.values():
        answer = inspected(Path(run["captures"][where]))

        assert {flow["vantage"] for flow in answer["flows"]} == {where}
