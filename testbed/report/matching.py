"""The model against the kernel: how well it fits, where not, and which rules cut.

The same grids for the terminal and the page. Start with match_grid.
"""

from collections.abc import Iterator, Mapping, Sequence

from testbed.measured import MeasuredRun
from testbed.model.match import Divergence, Match
from testbed.predicted import Predicted, Unreached
from testbed.report.grid import Grid
from testbed.report.numbers import NOTHING, amount, count, milliseconds
from testbed.report.result import Result
from testbed.trace.trace import Segment

_SRTT_SCALE = 3
_NS_PER_US = 1000
_BITS = 8
_NO_SSTHRESH = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH: not set yet
#: The sender's state: the kernel's name, its unit and scale as the model has it, then
#: the field of TCP_INFO and its scale; "" where TCP_INFO does not tell.
_STATE = (
    ("snd_cwnd", "segments", 1, "snd_cwnd", 1),
    ("snd_ssthresh", "segments", 1, "snd_ssthresh", 1),
    ("packets_out", "segments", 1, "unacked", 1),
    ("snd_una", "", 1, "", 1),
    ("snd_wnd", "bytes", 1, "", 1),
    ("sk_pacing_rate", "bit/s", _BITS, "pacing_rate", _BITS),
    ("srtt_us", "ns", _NS_PER_US / (1 << _SRTT_SCALE), "rtt", _NS_PER_US),
    ("min_rtt_us", "ns", _NS_PER_US, "min_rtt", _NS_PER_US),
    ("sk_wmem_alloc", "bytes", 1, "", 1),
)


def unreached(result: Result) -> Iterator[str]:
    """Yield a sentence for each variant that the model says nothing of."""
    for each in result.predictions.values():
        if isinstance(each, Unreached):
            yield f"{each.variant}: {each.why}"


def match_grid(result: Result) -> Grid:
    """Return a row a variant: the share that match, and the distances."""
    return Grid(
        title="model against kernel",
        head=(
            *("variant", "match", "packets\nkernel", "packets\nmodel"),
            *("size\ndistance", "stretch\ndistance", "first\ndivergence"),
        ),
        rows=tuple(_match_row(*each) for each in _matched(result)),
    )


def _match_row(each: Predicted, match: Match) -> tuple[str, ...]:
    found = match.first_divergence
    return (
        each.variant,
        f"{match.match:.2%}",
        count(match.measured_packets),
        count(match.predicted_packets),
        f"{match.size_distance:.2%}",
        f"{match.stretch_distance:.2%}",
        "none" if found is None else f"#{count(found.index)}",
    )


def divergences(result: Result) -> Iterator[tuple[Predicted, Divergence]]:
    """Yield each variant that the model does not predict to the last packet."""
    for each, match in _matched(result):
        if match.first_divergence is not None:
            yield each, match.first_divergence


def divergence_lines(each: Predicted, found: Divergence) -> Iterator[str]:
    """Yield where a prediction first differs, and what kernel and model send there."""
    yield f"{each.variant} first differs at data packet #{count(found.index)}:"
    yield f"  kernel {_told(found.measured)}"
    yield f"  model  {_told(found.predicted)}"


def _told(packet: Segment | None) -> str:
    if packet is None:
        return "sends no more"
    sent = f"{amount(packet.length, 'bytes')} from byte {count(packet.seq)}"
    return f"{sent} at {milliseconds(packet.time_ns)} ms"


def divergence_grid(each: Predicted, found: Divergence, run: MeasuredRun) -> Grid:
    """Return both packets of a first divergence, and both senders' state.

    The kernel's is the one in which it decided on its packet, if it said so; otherwise
    that of the TCP_INFO sample before.
    """
    sampled, states = _kernels_state(found, run)
    told = found.predicted.time_ns if found.predicted else None
    models = _shown_state(each.at_divergence or {})
    names = ("ms since connect", "first byte", "bytes")
    packets = zip(names, *map(_cells, (found.measured, found.predicted)), strict=True)
    return Grid(
        title=f"{each.variant}: first divergence, data packet #{count(found.index)}",
        head=("", "kernel", "model"),
        rows=(
            *packets,
            ("sender's state at, ms since connect", _at(sampled), _at(told)),
            *((name, states[name], models[name]) for name in states),
        ),
    )


def _cells(packet: Segment | None) -> tuple[str, str, str]:
    if packet is None:
        return NOTHING, NOTHING, NOTHING
    return _at(packet.time_ns), count(packet.seq), count(packet.length)


def _at(since_start_ns: int | None) -> str:
    return NOTHING if since_start_ns is None else milliseconds(since_start_ns)


def _kernels_state(
    found: Divergence, run: MeasuredRun
) -> tuple[int | None, Mapping[str, str]]:
    """Return since when it was so, in ns since connect, and the state as text."""
    if found.measured is None:
        return None, _shown_state({})
    decided = run.deciding_on(found.index)
    if decided is not None:
        return found.measured.time_ns, _shown_state(decided)
    sample = run.sample_before(found.measured.time_ns)
    if sample is None or run.trace is None:
        return None, _shown_state({})
    shown = {
        name.removesuffix("_us"): _shown(sample, field, unit, scale)
        for name, unit, _, field, scale in _STATE
    }
    return sample["time_ns"] - run.trace.start_ns, shown


def _shown_state(state: Mapping[str, int]) -> Mapping[str, str]:
    return {
        name.removesuffix("_us"): _shown(state, name, unit, scale)
        for name, unit, scale, _, _ in _STATE
    }


def _shown(state: Mapping[str, int], field: str, unit: str, scale: float) -> str:
    value = state.get(field)
    if value is None or (field == "snd_ssthresh" and value >= _NO_SSTHRESH):
        return NOTHING
    return amount(value * scale, unit)


def attribution_grid(result: Result, variants: Sequence[str]) -> Grid:
    """Return the share of packets that each rule cut: kernel, model, a variant each.

    The kernel's column is left out where it is unknown.
    """
    columns = dict(_attributions(result, variants))
    rules = dict.fromkeys(rule for shares in columns.values() for rule in shares)
    return Grid(
        title="data packets cut by",
        head=("rule", *columns),
        rows=tuple(
            (rule, *(f"{shares.get(rule, 0.0):.1%}" for shares in columns.values()))
            for rule in rules
        ),
    )


def _attributions(
    result: Result, variants: Sequence[str]
) -> Iterator[tuple[str, Mapping[str, float]]]:
    for name in variants:
        kernel, model = result.first(name).attribution, result.predicted(name)
        if kernel is not None:
            yield f"{name}:\nkernel", kernel
        if model is not None:
            yield f"{name}:\nmodel", model.attribution


def _matched(result: Result) -> Iterator[tuple[Predicted, Match]]:
    for name in result.variants():
        each = result.predicted(name)
        if each is not None and each.match is not None:
            yield each, each.match
