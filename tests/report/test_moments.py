from dataclasses import replace

import numpy as np
from report.builders import MSS, RTT_NS, side, steady, trace

from testbed.report.moments import HERE, Moment, moments
from testbed.report.plots import Side

MS = 1_000_000


def here(moment: Moment) -> tuple[str, ...]:
    (row,) = (row for row in moment.grid.rows if row[-1] == HERE)
    return row[:-1]


def found(of: Side, title: str, **divergences: int) -> Moment:
    (moment,) = (each for each in moments([of], divergences) if title in each.title)
    return moment


def lossy() -> Side:
    """Return five packets, the third one sent again after a pause of 40 ms."""
    packets = [(at * MS, at * MSS, MSS) for at in range(5)]
    acks = [(42 * MS, 2 * MSS, 65536), (90 * MS, 5 * MSS, 65536)]
    return side(trace([*packets, (44 * MS, 2 * MSS, MSS)], acks))


def test_the_first_packet_sent_again_is_among_what_came_before_and_after() -> None:
    moment = found(lossy(), "the first of 1 packet sent again")

    assert here(moment) == ("44.000", "packet, sent again", "2 000", "3 000", "1", "-")
    assert [row[1] for row in moment.grid.rows] == [
        *["packet"] * 4,
        "ACK",
        "packet, sent again",
        "ACK",
    ]
    assert (moment.packet, moment.begin, moment.end) == (5, 1 * MS, 90 * MS)


def test_the_ack_that_acknowledges_most_says_what_it_newly_acknowledges() -> None:
    moment = found(lossy(), "acknowledges most: 3 segments")

    assert here(moment) == ("90.000", "ACK", "2 000", "5 000", "3", "")
    assert moment.packet == 5


def test_the_packet_after_the_longest_pause_is_found() -> None:
    assert here(found(lossy(), "the longest pause: 40.0 ms"))[0] == "44.000"


def test_the_first_of_the_largest_packets_is_found() -> None:
    seen = steady(4, 1)
    seen.length[2] = seen.length[3] = 3 * MSS

    moment = found(side(seen), "largest packets: 3 000 B")

    assert here(moment)[2:5] == ("2 000", "5 000", "3")


def test_a_rule_is_named_where_the_kernel_told_it() -> None:
    told = replace(lossy(), causes=np.array([0, 0, 0, 0, 0, 2]))

    assert here(found(told, "sent again"))[-1] == "cwnd_quota"


def test_where_kernel_and_model_part_their_packets_stand_side_by_side() -> None:
    both = replace(side(steady(8, 2)), model=side(steady(3, 1), name="m"))

    moment = found(both, "part at data packet #2", before=2)

    ours = (f"{(RTT_NS + 2 * MS) / MS:.3f}", "4 000", "2 000", "-")
    assert here(moment) == ("#2", *ours, ours[0], "2 000", "1 000", "-")
    assert moment.grid.rows[3][5:] == ("-", "-", "-", "-", "")


def test_where_the_kernel_stops_early_only_the_model_has_packets() -> None:
    both = replace(side(steady(2, 1)), model=side(steady(5, 1), name="m"))

    moment = found(both, "part at data packet #2", before=2)

    assert here(moment)[1:5] == ("-", "-", "-", "-")
    assert moment.packet == 1


def test_a_trace_without_packets_has_no_moments() -> None:
    assert moments([side(trace())], {"before": 0}) == ()


def test_a_single_packet_is_no_pause_and_no_stretch() -> None:
    only = side(trace([(0, 0, MSS)]))

    assert [each.title for each in moments([only], {})] == [
        "the first of the largest packets: 1 000 B"
    ]
