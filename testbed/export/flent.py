"""Runs as flent's data files: its test tcp_1up_noping, with the throughput over time.

Source: flent 2, resultset.py, file format 4. Times are of the machine, so on a virtual
clock every run is of the same day. Start with flent_json.
"""

from datetime import datetime, timezone
from typing import Any

import numpy as np

import testbed
from testbed.export.voices import Voice
from testbed.trace.trace import Trace
from testbed.units import NS_PER_S

FORMAT = 4
_TEST, _SERIES = "tcp_1up_noping", "TCP upload"
_BITS = 8
_MBIT = 1_000_000
_MOST_STEPS = 200
#: 1 us to 5 s.
_STEPS_NS: tuple[int, ...] = tuple(
    head * 1000 * factor
    for factor in (1, 10, 100, 1000, 10_000, 100_000, 1_000_000)
    for head in (1, 2, 5)
)


def flent_json(voice: Voice) -> dict[str, Any]:
    """Return what a .flent.gz holds, as JSON values: Mbit/s acknowledged, by steps."""
    trace, run = voice.trace, voice.run.run
    step_ns = _step_ns(trace)
    rates = _rates(trace, step_ns)
    began = datetime.fromtimestamp(trace.start_ns / NS_PER_S, timezone.utc)
    time = began.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    seconds = [at * step_ns / NS_PER_S for at in range(len(rates))]
    return {
        "version": FORMAT,
        "metadata": {
            "NAME": _TEST,
            "TITLE": f"{run.experiment.name} {voice.name}",
            "HOST": trace.flow.dst,
            "LOCAL_HOST": trace.flow.src,
            "TIME": time,
            "T0": time,
            "LENGTH": max(1, round(len(rates) * step_ns / NS_PER_S)),
            "TOTAL_LENGTH": len(rates) * step_ns / NS_PER_S,
            "STEP_SIZE": step_ns / NS_PER_S,
            "IP_VERSION": run.spec().workload.family,
            "NOTE": f"testbed {testbed.__version__}: {run.command}",
            "DATA_FILENAME": f"{run.experiment.name}-{voice.name}.flent.gz",
            "KERNEL_NAME": "Linux",
            "KERNEL_RELEASE": run.kernel.release,
            "TEST_PARAMETERS": {},
            "SERIES_META": {_SERIES: {"UNITS": "Mbits/s"}},
        },
        "x_values": seconds,
        "results": {_SERIES: rates},
        "raw_values": {
            _SERIES: [
                {"t": trace.start_ns / NS_PER_S + second, "val": rate}
                for second, rate in zip(seconds, rates, strict=True)
            ]
        },
    }


def _step_ns(trace: Trace) -> int:
    """Return the shortest step that gives no more than _MOST_STEPS."""
    took = _end_ns(trace) - trace.start_ns
    for step in _STEPS_NS:
        if took <= step * _MOST_STEPS:
            return step
    return _STEPS_NS[-1]


def _end_ns(trace: Trace) -> int:
    lasts = [times[-1] for times in (trace.time_ns, trace.ack_time_ns) if len(times)]
    return int(max(lasts, default=trace.start_ns))


def _rates(trace: Trace, step_ns: int) -> list[float]:
    """Return what was newly acknowledged in each step, in Mbit/s."""
    steps = (_end_ns(trace) - trace.start_ns) // step_ns + 1
    which = (trace.ack_time_ns - trace.start_ns) // step_ns
    highest = np.maximum.accumulate(np.maximum(trace.ack, 0))
    newly = np.diff(highest, prepend=0)
    counted = np.bincount(which, weights=newly, minlength=steps)
    return [float(each) * _BITS * NS_PER_S / step_ns / _MBIT for each in counted]
