"""What the kernel said of its packets, read from decisions.csv."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.errors import StoreError
from testbed.trace.causes import Cause
from testbed.trace.decisions import causes, parse_decisions, read_decisions

HEADER = (
    "sport,dport,seq,length,queued,limit,cwnd_quota,max_segs,mss_now,tail,held,wnd_end,"
    "snd_una,snd_cwnd,snd_ssthresh,packets_out,pacing_rate,srtt_us,min_rtt,wmem_alloc"
)
#: The first two packets of refine-tso-autosizing, after, on Linux 6.12.117.
FIRST = (
    "50442,5001,905216053,2896,31856,2896,2,2,1448,0,0,905281213,905216053,10,"
    "2147483647,0,723963,320016,40002,1"
)
SECOND = (
    "50442,5001,905218949,2896,31856,2896,2,2,1448,0,2,905281213,905216053,10,"
    "2147483647,2,723963,320016,40002,1"
)


def changed(row: str, **values: int) -> str:
    cells: dict[str, object] = dict(zip(HEADER.split(","), row.split(","), strict=True))
    return ",".join(map(str, (cells | values).values()))


def parsed(*rows: str, header: str = HEADER):
    return parse_decisions("".join(f"{row}\n" for row in (header, *rows)).encode(), "f")


def test_sequence_numbers_count_from_the_first_byte_of_payload() -> None:
    decisions = parsed(FIRST, SECOND)

    assert decisions.seq.tolist() == [0, 2896]
    assert decisions.wnd_end.tolist() == [65160, 65160]
    assert decisions.snd_una.tolist() == [0, 0]


def test_a_wrap_of_the_sequence_number_does_not_show() -> None:
    last = 2**32 - 1000
    first = changed(FIRST, seq=last, snd_una=last, wnd_end=64160)
    second = changed(SECOND, seq=1896, snd_una=last, wnd_end=64160)

    decisions = parsed(first, second)

    assert decisions.seq.tolist() == [0, 2896]
    assert decisions.wnd_end.tolist() == [65160, 65160]
    assert decisions.snd_una.tolist() == [0, 0]


def test_a_pacing_rate_without_limit_is_the_largest_there_is() -> None:
    rates = parsed(changed(FIRST, pacing_rate=2**64 - 1)).pacing_rate

    assert rates.tolist() == [np.iinfo(np.int64).max]


def test_columns_may_change_places_and_have_company() -> None:
    decisions = parsed(f"7,{FIRST}", header=f"later,{HEADER}")

    assert (len(decisions), int(decisions.wmem_alloc[0])) == (1, 1)


def test_a_kernel_that_decided_nothing_gives_empty_columns() -> None:
    assert causes(parsed(), built_by=Cause.HALF_WINDOW) == ()


@pytest.mark.parametrize(
    ("held", "rule"),
    [
        pytest.param(0, Cause.HALF_WINDOW, id="nothing"),
        pytest.param(1, Cause.DEFER_RELEASE, id="deferred"),
        pytest.param(2, Cause.TSQ, id="tsq"),
        pytest.param(4, Cause.PACING, id="paced"),
        pytest.param(6, Cause.PACING, id="paced-then-tsq"),
        pytest.param(7, Cause.DEFER_RELEASE, id="all"),
    ],
)
def test_what_held_a_short_packet_is_its_cause(held, rule) -> None:
    short = changed(FIRST, queued=1448, cwnd_quota=4, max_segs=4, held=held)

    assert causes(parsed(short), built_by=Cause.HALF_WINDOW) == (rule,)


def test_the_window_of_a_packet_begins_where_the_packet_does() -> None:
    cut = changed(SECOND, limit=1500, wnd_end=905218949 + 1500)

    assert causes(parsed(FIRST, cut), built_by=Cause.HALF_WINDOW) == (
        Cause.AUTOSIZE,
        Cause.RECEIVE_WINDOW,
    )


WHOLE = f"{HEADER}\n{FIRST}\n{SECOND}\n".encode()


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        pytest.param(b"", "line 1: wanted one column 'sport'", id="empty"),
        pytest.param(WHOLE.replace(b",held", b""), "column 'held'", id="no-column"),
        pytest.param(WHOLE.replace(b"tail", b"held"), "column 'tail'", id="twice"),
        pytest.param(WHOLE[:-1], "lines of numbers", id="cut-in-its-last-number"),
        pytest.param(WHOLE[:-3] + b"\n", "f: .*columns", id="cut-in-its-last-line"),
        pytest.param(WHOLE.replace(b"\n5", b"\n\n5"), "numbers", id="empty-line"),
        pytest.param(WHOLE.replace(b"31856", b"-1856"), "numbers", id="negative"),
        pytest.param(WHOLE.replace(b"31856", b""), "f: .*''", id="cell-without-number"),
        pytest.param(WHOLE.replace(b"2896,31", b"9" * 20 + b",31"), "f: ", id="huge"),
        pytest.param(
            WHOLE.replace(b"905218949", b"9905218949"), "seq .* 32 bits", id="not-u32"
        ),
        pytest.param(WHOLE.replace(b",0,2,9", b",0,8,9"), "held is 8", id="held"),
        pytest.param(WHOLE.replace(b"50442", b"50443", 1), "one flow, got 2", id="two"),
    ],
)
def test_a_bad_file_is_one_clear_error(data: bytes, complaint: str) -> None:
    with pytest.raises(StoreError, match=complaint):
        parse_decisions(data, "f")


def test_a_file_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        read_decisions(tmp_path / "decisions.csv")


@given(data=st.data())
def test_mutated_files_are_read_or_refused(data: st.DataObject) -> None:
    places = st.integers(0, len(WHOLE) - 1)
    mutated = bytearray(WHOLE)
    values = st.sampled_from(b"0123456789,\n-.e#\0\xff")
    for place, value in data.draw(st.dictionaries(places, values, max_size=8)).items():
        mutated[place] = value

    with contextlib.suppress(StoreError):
        decisions = parse_decisions(bytes(mutated), "f")
        assert len(causes(decisions, Cause.HALF_WINDOW)) == len(decisions)


@given(st.text(alphabet="0123456789,\n"))
def test_any_lines_of_numbers_are_read_or_refused(body: str) -> None:
    with contextlib.suppress(StoreError):
        parse_decisions(f"{HEADER}\n{body}".encode(), "f")
