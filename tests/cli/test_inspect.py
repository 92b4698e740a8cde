"""What `inspect` prints, and with which exit code."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from testbed.cli.main import main
from testbed.inspected import to_json
from testbed.trace.inspection import inspect, inspect_bytes
from testbed.trace.reading import Options
from tests.trace.craft import Talk

CHECKOUT = Path(__file__).parents[2]
BEFORE = CHECKOUT / "captures" / "reference" / "refine-tso-autosizing" / "before.pcapng"
AFTER = BEFORE.with_name("after.pcapng")
STATISTICS = ["n", "mean", "p50", "p90", "p99", "max"]


def test_json_has_the_keys_of_the_contract(capsys) -> None:
    status = main(["inspect", "--json", str(BEFORE)])

    told = json.loads(capsys.readouterr().out)
    (flow,) = told["flows"]
    assert status == 0
    assert (told["format"], told["file"]) == (1, str(BEFORE))
    assert (told["packets"], told["skipped"]) == (1150, {"not TCP": 1})
    ends = [flow[name] for name in ("src", "sport", "dst", "dport")]
    assert ends == ["10.0.1.2", 50442, "10.0.2.2", 5001]
    assert (flow["mss"], flow["mss_source"], flow["vantage"]) == (1448, "syn", "sender")
    assert (flow["packets"], flow["bytes"]) == (572, 2_000_000)
    assert flow["retransmits"] == 0
    for metric in ("tso_size", "tso_segs", "ack_stretch", "send_gap", "rtt"):
        assert list(flow[metric]) == STATISTICS
    assert flow["tso_segs"]["max"] == 9


def test_no_samples_are_n_0_and_nulls() -> None:
    file = Talk().handshake().client(length=9, ack=0).written()

    (flow,) = to_json([inspect_bytes(file, "x")])["flows"]

    nothing = {"n": 0, **dict.fromkeys(STATISTICS[1:])}
    assert flow["send_gap"] == flow["rtt"] == flow["ack_stretch"] == nothing


def test_json_of_several_files_is_a_list_of_them(capsys) -> None:
    main(["inspect", "--json", str(BEFORE), str(AFTER)])

    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["format", "files"]
    assert [each["file"] for each in told["files"]] == [str(BEFORE), str(AFTER)]


def test_json_of_one_flow_has_no_other(tmp_path, capsys) -> None:
    capture = tmp_path / "two.pcapng"
    talk = Talk().handshake().client(length=900, ack=0).server(length=500, ack=900)
    capture.write_bytes(talk.written())

    main(["inspect", "--json", str(capture), str(capture)])
    all_flows = json.loads(capsys.readouterr().out)["files"]
    main(["inspect", "--json", "--flow", "2", str(capture), str(capture)])
    second = json.loads(capsys.readouterr().out)["files"]

    assert [len(each["flows"]) for each in all_flows] == [2, 2]
    assert [each["flows"] for each in second] == [
        each["flows"][1:] for each in all_flows
    ]


def test_json_in_pieces_is_the_object(capsys) -> None:
    main(["inspect", "--json", "--series", str(AFTER)])

    told = json.loads(capsys.readouterr().out)
    inspection = inspect(AFTER, Options(series=True))
    assert told == json.loads(json.dumps(to_json([inspection], series=True)))


def test_the_series_has_every_packet(capsys) -> None:
    main(["inspect", "--json", "--series", str(AFTER)])

    (flow,) = json.loads(capsys.readouterr().out)["flows"]
    assert len(flow["series"]["time_ns"]) == flow["packets"] == 175
    assert sum(flow["series"]["length"]) == flow["bytes"]
    assert flow["series"]["ack"][-1] == flow["bytes"]


def test_the_table_has_a_line_a_flow(capsys) -> None:
    assert main(["inspect", str(AFTER)]) == 0

    shown = capsys.readouterr().out
    assert "356 packets" in shown
    assert "2 000 000" in shown


def test_one_flow_is_shown_in_full(capsys) -> None:
    assert main(["inspect", "--flow", "1", str(AFTER)]) == 0

    shown = capsys.readouterr().out
    assert "mss 1 448 (syn); seen at the sender, by ttl" in shown
    assert "packets larger than a segment are seen" in shown


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        pytest.param(["README.md"], "wanted a pcap or pcapng file", id="no-capture"),
        pytest.param(["none.pcap"], "cannot be read: No such file", id="no-file"),
        pytest.param(["--series", str(AFTER)], "is for --json", id="series-alone"),
        pytest.param(["--flow", "7", str(AFTER)], "no flow '7'", id="no-such-flow"),
        pytest.param(["--burst-gap", "20", str(AFTER)], "20", id="no-unit"),
        pytest.param(
            ["--burst-gap", "99999999999min", str(AFTER)],
            "'99999999999min' is more than can be counted here",
            id="too-long",
        ),
    ],
)
def test_what_cannot_be_done_is_one_error(argv, complaint, capsys, monkeypatch) -> None:
    monkeypatch.chdir(CHECKOUT)

    status = main(["inspect", *argv])

    told = capsys.readouterr()
    assert status == 2
    assert complaint in told.err
    assert told.out == ""


def test_a_cut_file_is_shown_with_a_warning(tmp_path, capsys) -> None:
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(AFTER.read_bytes()[:5000])

    status = main(["inspect", "--json", str(cut)])

    told = capsys.readouterr()
    warnings = json.loads(told.out)["warnings"]
    assert status == 0
    assert "wanted a block of" in warnings[0]
    assert told.err == f"testbed: {warnings[0]}\n"


@pytest.mark.parametrize(
    ("kind", "magic"),
    [
        pytest.param("png", b"\x89PNG", id="png"),
        pytest.param("svg", b"<?xml", id="svg"),
        pytest.param("pdf", b"%PDF", id="pdf"),
    ],
)
def test_the_first_flow_is_drawn(kind: str, magic: bytes, tmp_path) -> None:
    picture = tmp_path / f"flow.{kind}"

    assert main(["inspect", "--plot", str(picture), str(AFTER)]) == 0
    assert picture.read_bytes().startswith(magic)
    assert [path.name for path in tmp_path.iterdir()] == [picture.name]


def test_the_flow_that_is_drawn_is_the_one_asked_for(tmp_path) -> None:
    capture, picture = tmp_path / "two.pcap", tmp_path / "flow.svg"
    talk = Talk().handshake().client(length=900, ack=0).server(length=90, ack=900)
    capture.write_bytes(talk.written())

    main(["inspect", "--flow", "2", "--plot", str(picture), str(capture)])

    assert "10.0.0.2:80 &gt; 10.0.0.1:40000" in picture.read_text()


def test_the_model_says_which_rule_explains_the_sizes(capsys) -> None:
    main(["inspect", "--model", "--json", str(AFTER)])

    (flow,) = json.loads(capsys.readouterr().out)["flows"]
    best = flow["fit"]["candidates"][0]
    assert flow["fit"]["packets"] == flow["packets"] == 175
    assert best["match"] > 0.9


def test_what_the_model_says_stands_below_the_flows(tmp_path, capsys) -> None:
    capture = tmp_path / "one.pcap"
    capture.write_bytes(Talk().handshake().client(length=900, ack=0).written())

    main(["inspect", "--model", str(capture)])

    shown = capsys.readouterr().out.splitlines()
    assert shown[-2:] == [
        "what explains flow 1",
        "cannot be fitted: 1 data packets are too few",
    ]


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        pytest.param(["--plot", "flow.txt", str(AFTER)], "no picture", id="a-text"),
        pytest.param(
            ["--plot", "flow.png", str(AFTER), "--top", "0"],
            "no flow to draw",
            id="no-flow",
        ),
        pytest.param(
            ["--plot", "none/flow.png", str(AFTER)],
            "none/flow.png: there is no folder none",
            id="no-folder",
        ),
    ],
)
def test_what_cannot_be_drawn_is_one_error(
    argv, complaint, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["inspect", *argv]) == 2
    assert complaint in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_waited_for_and_that_is_said(tmp_path, capsys) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[AFTER.read_bytes()])
    writer.start()

    status = main(["inspect", "--json", str(pipe)])

    writer.join()
    told = capsys.readouterr()
    assert status == 0
    assert json.loads(told.out)["packets"] == 356
    assert told.err == f"testbed: {pipe}: a pipe; waiting for who writes\n"


def test_a_name_that_steers_the_terminal_is_written_out(tmp_path, capsys) -> None:
    capture = tmp_path / "\x1b[2Jx.pcapng"
    capture.write_bytes(AFTER.read_bytes()[:-1])

    main(["inspect", str(capture)])

    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "\\x1b[2Jx.pcapng" in said.out
    assert "\\x1b[2Jx.pcapng" in said.err


@pytest.mark.parametrize(
    ("closed", "status", "complaint"),
    [("<&-", 2, "testbed: -: stdin is closed\n"), (">&-", 0, "")],
)
def test_a_stream_that_the_caller_closed_is_no_defect(
    closed: str, status: int, complaint: str
) -> None:
    name = "-" if closed == "<&-" else str(AFTER)
    command = f'exec "{sys.executable}" -m testbed inspect "{name}" --json {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=Path(__file__).parents[2],
        stderr=subprocess.PIPE,
        text=True,
        timeout=100,
        check=False,
    )

    assert (done.returncode, done.stderr) == (status, complaint)


def test_a_file_may_have_a_name_that_is_no_text(tmp_path, capsys) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path / "capture") + b"\xff"))
    path.write_bytes(AFTER.read_bytes())

    assert main(["inspect", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == str(path)


def test_commands_that_read_and_draw_nothing_do_not_wait_for_what_does() -> None:
    program = (
        "import sys, testbed.cli.main; print({'numba', 'matplotlib'} & {*sys.modules})"
    )

    printed = subprocess.run(
        [sys.executable, "-c", program],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert printed.stdout == "set()\n"
