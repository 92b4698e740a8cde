"""Which rule gave a packet its size."""

import pytest

from testbed.trace.causes import Cause, Decision, cause

#: As large as it may be: the autosize is 4 segments of 1000 bytes, and 9 are queued.
FULL = Decision(
    queued=9000,
    limit=4000,
    cwnd_quota=4,
    max_segs=4,
    mss_now=1000,
    window=50_000,
    tail=False,
    held=None,
)


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        pytest.param({}, Cause.AUTOSIZE, id="full"),
        pytest.param({"held": Cause.DEFER_RELEASE}, Cause.AUTOSIZE, id="worth-waiting"),
        pytest.param(
            {"queued": 3000, "held": Cause.DEFER_RELEASE},
            Cause.DEFER_RELEASE,
            id="waited-in-vain",
        ),
        pytest.param({"limit": 2000, "cwnd_quota": 2}, Cause.CWND_QUOTA, id="cwnd"),
        pytest.param(
            {"limit": 2500, "window": 2500}, Cause.RECEIVE_WINDOW, id="window"
        ),
        pytest.param({"queued": 2500, "limit": 2000}, Cause.END_OF_DATA, id="nagle"),
        pytest.param({"queued": 2500, "tail": True}, Cause.END_OF_DATA, id="tail"),
        pytest.param({"queued": 2000, "held": Cause.TSQ}, Cause.TSQ, id="tsq"),
        pytest.param({"queued": 2000, "held": Cause.PACING}, Cause.PACING, id="pacing"),
        pytest.param({"queued": 2000}, Cause.HALF_WINDOW, id="as-built"),
        pytest.param(
            {"queued": 2000, "window": 1500}, Cause.HALF_WINDOW, id="window-not-its-end"
        ),
    ],
)
def test_the_first_rule_that_holds_gives_a_packet_its_size(changed, rule) -> None:
    assert cause(FULL._replace(**changed), built_by=Cause.HALF_WINDOW) is rule
