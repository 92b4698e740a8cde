import numpy as np
from report.builders import MSS, trace

from testbed.trace.attributed import CAUSES, UNTOLD, causes_by_packet
from testbed.trace.causes import Cause

#: The second packet is sent again last.
SEEN = trace([(0, 0, MSS), (1, MSS, MSS), (2, 2 * MSS, MSS), (3, MSS, MSS)])
RULES = (Cause.AUTOSIZE, Cause.CWND_QUOTA, Cause.PACING)


def places(*causes: Cause | None) -> list[int]:
    return [UNTOLD if each is None else CAUSES.index(each) for each in causes]


def test_a_packet_sent_again_has_no_cause_of_its_own() -> None:
    assert causes_by_packet(SEEN, RULES).tolist() == places(*RULES, None)


def test_causes_are_found_by_the_first_byte_where_it_is_known() -> None:
    seq = np.array([2 * MSS, 0])

    found = causes_by_packet(SEEN, (Cause.TSQ, Cause.PACING), seq)

    assert found.tolist() == places(Cause.PACING, None, Cause.TSQ, None)


def test_causes_that_are_too_few_are_nobodys() -> None:
    assert causes_by_packet(SEEN, RULES[:2]).tolist() == places(None, None, None, None)


def test_of_no_packets_and_no_causes_nothing_is_told() -> None:
    nothing = np.array([], np.int64)

    assert causes_by_packet(trace(), ()).tolist() == []
    assert causes_by_packet(SEEN, (), nothing).tolist() == places(*[None] * 4)
