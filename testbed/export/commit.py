"""The block that goes into a patch's "Tested:" section: plain text for a mail.

At most 75 columns, as checkpatch wants of a commit message, so that it still stands
unbroken when it is quoted. Start with commit_text.
"""

import textwrap
from collections.abc import Iterator, Sequence

from testbed.report.meanings import PACKET_METRICS, is_counter, titled, unit_of
from testbed.report.numbers import NOTHING, amount, listed, plural
from testbed.report.result import Result
from testbed.report.words import ran_on, void
from testbed.spec.codec import encode
from testbed.spec.experiment import Variant
from testbed.spec.path import Path
from testbed.spec.workload import Workload

WIDTH = 75
#: nstat prints a name in 32 columns, and a value after it.
_NAME = 32
_VALUE = 14
_ABREAST = (WIDTH - _NAME) // _VALUE
#: What netdev's mails show of a transfer, claimed or not, as far as it moved.
_USUAL = (
    *("TcpInSegs", "TcpOutSegs", "TcpRetransSegs"),
    *("TcpExtTCPDelivered", "TcpExtTCPDeliveredCE"),
)
_USUAL_OF_FAMILY = {
    4: ("IpInReceives", "IpOutRequests", "IpExtOutOctets"),
    6: ("Ip6InReceives", "Ip6OutRequests", "Ip6OutOctets"),
}


def commit_text(results: Sequence[Result]) -> str:
    """Return the blocks of some results, one after the other."""
    return "\n\n".join("\n".join(_block(each)) for each in results) + "\n"


def _block(result: Result) -> Iterator[str]:
    variants = [result.first(name).run.spec() for name in result.variants()]
    yield from _wrapped(f"{result.experiment.name}: {result.experiment.patch.subject}")
    for line in (*ran_on(result), _seeds(result)):
        yield from _wrapped(line)
    yield ""
    for command in dict.fromkeys(run.command for run in result.stored()):
        yield from _command(command)
    yield ""
    yield from _settings(variants)
    yield ""
    for each in variants:
        yield from _wrapped(f"{each.name}: {each.about}")
    for run in result.voids:
        yield from _wrapped(void(run))
    for at in range(0, len(variants), _ABREAST):
        yield ""
        yield from _table(result, [each.name for each in variants[at : at + _ABREAST]])


def _wrapped(text: str) -> Iterator[str]:
    yield from textwrap.wrap(text, WIDTH, subsequent_indent="  ") or [""]


def _command(command: str) -> Iterator[str]:
    """Yield a command that a shell takes as it stands, lines continued."""
    lines = textwrap.wrap(
        f"$ {command}",
        WIDTH - len(" \\"),
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines[:-1]:
        yield f"{line} \\"
    yield lines[-1]


def _seeds(result: Result) -> str:
    seeds = sorted({run.seed for run in result.stored()})
    return f"seed {listed([str(seed) for seed in seeds])}"


def _settings(variants: Sequence[Variant]) -> Iterator[str]:
    """Yield path and workload, once if they are the same for all."""
    named: dict[str, list[str]] = {}
    for each in variants:
        named.setdefault(_setting(each), []).append(each.name)
    for setting, names in named.items():
        head = f"{listed(names)}: " if len(named) > 1 else ""
        yield from _wrapped(head + setting)


def _setting(variant: Variant) -> str:
    queue = encode(variant.sender.qdisc) or {"kind": "no qdisc"}
    work = variant.workload
    return (
        f"{variant.topology}: {_path(variant.path)}; sender: {queue['kind']}, "
        f"{work.congestion}; {_work(work)}"
    )


def _path(path: Path) -> str:
    queue = plural(path.queue, "packet")
    return (
        f"RTT {amount(path.rtt, 'ns')}, {amount(path.rate, 'bit/s')}, "
        f"queue of {queue}, MTU {path.mtu}"
    )


def _work(work: Workload) -> str:
    each = f"{work.bytes} bytes" if work.bytes else amount(work.duration, "ns")
    flows = plural(work.flows, "flow")
    if work.request_size is None:
        return f"{flows} of {each}"
    return f"{flows} of {each}, {work.request_size}/{work.response_size} bytes a turn"


def _table(result: Result, variants: Sequence[str]) -> Iterator[str]:
    yield "".join((" " * _NAME, *(f"{name:>{_VALUE}}" for name in variants))).rstrip()
    for host, name in _counted(result):
        counts = [
            result.first(each).counters.get(host, {}).get(name, 0) for each in variants
        ]
        if any(counts):
            yield _row(name, map(str, counts))
    for name in _measured(result):
        unit = unit_of(name)
        found = [result.first(each).value(name, "sender") for each in variants]
        if any(value is not None for value in found):
            yield _row(titled(name, unit), (_value(value, unit) for value in found))


def _counted(result: Result) -> Sequence[tuple[str, str]]:
    """Return the counters to show, and the host whose they are: the claimed first."""
    claims = [verdict.claim for verdict in result.verdicts]
    claimed = [(each.host, each.metric) for each in claims if is_counter(each.metric)]
    families = dict.fromkeys(run.run.spec().workload.family for run in result.runs)
    usual = [name for each in families for name in _USUAL_OF_FAMILY[each]] + [*_USUAL]
    return tuple(dict.fromkeys((*claimed, *(("sender", name) for name in usual))))


def _measured(result: Result) -> Sequence[str]:
    claims = [verdict.claim.metric for verdict in result.verdicts]
    claimed = [name for name in claims if not is_counter(name)]
    return tuple(dict.fromkeys((*claimed, "throughput", *PACKET_METRICS)))


def _row(name: str, values: Iterator[str]) -> str:
    return f"{name:<{_NAME}}" + "".join(f"{value:>{_VALUE}}" for value in values)


def _value(value: float | None, unit: str) -> str:
    return NOTHING if value is None else amount(value, unit)
