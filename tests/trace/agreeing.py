"""What `inspect --json` says, and where that is not what the oracle says.

Start with inspected and disagreements.
"""

import contextlib
import io
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from testbed.cli.main import main
from tests.trace.oracle import Name, Told, summary

TIMES = ("send_gap", "rtt")
_NAME = ("src", "sport", "dst", "dport")


def inspected(path: Path, *options: str) -> dict:
    """Return the object that inspect prints; it has to succeed."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = main(["inspect", str(path), "--json", *options])
    assert status == 0, f"{path}: exit code {status}"
    return strict(said.getvalue())


def strict(text: str) -> dict:
    """Return a JSON object; NaN and infinities are no JSON."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} in JSON")

    return json.loads(text, parse_constant=refuse)


def disagreements(
    answer: dict, told: Iterable[Told], *, timed: bool = True
) -> list[str]:
    """Return where they differ, a line each. timed: whether times are to agree too."""
    ours: dict[Name, list[dict]] = defaultdict(list)
    for flow in answer["flows"]:
        if flow["packets"]:
            ours[tuple(flow[key] for key in _NAME)].append(flow)
    wanted: dict[Name, list[Told]] = defaultdict(list)
    for flow in told:
        wanted[flow.name].append(flow)
    found = []
    for name in sorted({*ours, *wanted}):
        if len(ours[name]) != len(wanted[name]):
            counts = f"{len(wanted[name])} flows wanted, {len(ours[name])} found"
            found.append(f"{name}: {counts}")
            continue
        for one, other in zip(ours[name], wanted[name], strict=True):
            found += [f"{name}: {line}" for line in _differences(one, other, timed)]
    return found


def _differences(flow: dict, told: Told, timed: bool) -> Iterator[str]:  # noqa: FBT001
    plain: dict[str, object] = {
        "packets": len(told.tso_size),
        "bytes": sum(told.tso_size),
        "retransmits": told.retransmits,
        "mss_source": "inferred" if told.mss is None else "syn",
    }
    if told.mss is not None:
        plain["mss"] = told.mss
    for key, value in plain.items():
        if flow[key] != value:
            yield f"{key} is {flow[key]}, wanted {value}"
    for key, samples in told.samples(told.mss or flow["mss"]).items():
        wanted = summary(samples)
        if (timed or key not in TIMES) and not _alike(flow[key], wanted):
            yield f"{key} is {flow[key]}, wanted {wanted}"


def _alike(got: dict, wanted: dict) -> bool:
    """Say whether two summaries are the same, but for the last bits of a mean."""
    if got["mean"] is None or wanted["mean"] is None:
        return got == wanted
    near = abs(got["mean"] - wanted["mean"]) <= 1e-9 * max(1, abs(wanted["mean"]))
    return near and {**got, "mean": 0} == {**wanted, "mean": 0}
