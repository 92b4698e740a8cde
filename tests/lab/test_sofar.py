"""How far the traffic is."""

import pytest

from testbed.lab.sofar import EVERY, SoFar, Teller, parse_sent, sofar

#: cat /proc/net/dev, Linux 6.12, spaces left out.
DEVICES = """\
Inter-| Receive | Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets ...
    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0
h1-eth0: 23184 444 0 0 0 0 0 0 2029908 575 0 0 0 0 0 0
"""


def test_what_every_device_but_lo_sent_is_added() -> None:
    assert parse_sent(DEVICES) == (2_029_908, 575)


def test_a_line_of_the_console_reads_back() -> None:
    told = SoFar(since=100, bytes=2000, packets=3)

    assert told.line() == "lab: sofar 100 2000 3"
    assert sofar(told.line().removeprefix("lab: ")) == told


@pytest.mark.parametrize("phase", ["traffic", "network", "done"])
def test_other_phases_are_none(phase) -> None:
    assert sofar(phase) is None


def test_it_is_told_at_every_hundredth_sample(capsys) -> None:
    teller = Teller(1_000)
    for at in range(2 * EVERY + 1):
        teller.sampled(1_000 + at)

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["lab:", "sofar", "99"],
        ["lab:", "sofar", "199"],
    ]
