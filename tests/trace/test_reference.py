"""The committed captures of a real kernel measure what they measured when taken.

The expectations are nstat's counters of the same runs (captures/reference/README.md):
IpOutRequests 575 and 178, of which the SYN and two ACKs carry no data; TcpOutSegs 1385
in both, less the same three.
"""

from pathlib import Path

import pytest

from testbed.trace.capture import read_capture
from testbed.trace.metrics import measure

FOLDER = Path(__file__).parents[2] / "captures" / "reference" / "refine-tso-autosizing"


def measured(variant: str):
    capture = read_capture(FOLDER / f"{variant}.pcapng")
    (trace,) = capture.traces
    return capture, trace, measure(("tso_segs", "ack_stretch", "retransmits"), [trace])


@pytest.mark.parametrize(("variant", "packets"), [("before", 572), ("after", 175)])
def test_every_data_packet_is_found(variant, packets) -> None:
    capture, trace, _metrics = measured(variant)

    assert capture.dropped == 0
    assert capture.warnings == ()
    assert len(trace.length) == packets
    assert int(trace.length.sum()) == 2_000_000
    assert trace.mss == 1448


@pytest.mark.parametrize("variant", ["before", "after"])
def test_segments_add_up_to_what_the_kernel_counted(variant) -> None:
    _capture, _trace, metrics = measured(variant)

    assert int(metrics["tso_segs"].samples.sum()) == 1382
    assert int(metrics["ack_stretch"].samples.sum()) == 1382
    assert int(metrics["retransmits"].samples.sum()) == 0
