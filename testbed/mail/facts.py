"""What a line of a tested section can say, as frozen records. Read first: Fact."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number that was measured.

    metric: of the contract, an nstat counter, or the name its own tool gives it.
    value: in the base unit.  unit: "bit/s", "ns", or "" for what is counted; another
    unit is of a number that only stands in a comment.  rough: from a sentence, not
    from a tool.  variant: whose it is, where the line itself says so.
    """

    metric: str
    value: Fraction
    unit: str = ""
    rough: bool = False
    variant: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A key of the experiment and its value.

    section: "path" or "workload", or "sender.sysctls" and its like.  value: in base
    units.  guess: what was assumed, empty if the mail says it.
    """

    section: str
    key: str
    value: object
    guess: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something understood that an experiment has no key for.

    gap: without it, the figures mean something else.
    """

    text: str
    gap: bool = False


Fact = Figure | Choice | Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What earlier lines say about the next.

    variant: "before" or "after", None until a heading says.  test: netperf's, such as
    TCP_STREAM.  total: super_netperf ran, which prints one number.  selectors: the
    columns that were asked for.  sndbuf: bytes asked for.  rate: bit/s in one unit of
    the table's throughput.  streams: of iperf3; of several, only the sum counts.
    """

    variant: str | None = None
    test: str = "TCP_STREAM"
    total: bool = False
    selectors: tuple[str, ...] = ()
    sndbuf: int | None = None
    rate: int = 1_000_000
    streams: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a line says, what it means for the next, and the text that means nothing."""

    context: Context
    facts: tuple[Fact, ...] = ()
    rest: str = ""


def latency(statistic: str) -> str:
    """Return the metric of a latency's statistic: the mean needs no name."""
    return "latency" if statistic == "mean" else f"latency.{statistic}"


#: What an option's value says; None: nothing that is understood.
Reader = Callable[[str], tuple[Fact, ...] | None]


def read_options(
    given: Sequence[tuple[str, str]], table: Mapping[str, Reader]
) -> tuple[list[Fact], list[str]]:
    """Return what a command's options say, and those not understood, as they stand."""
    facts: list[Fact] = []
    missed: list[str] = []
    for letter, value in given:
        found = table[letter](value) if letter in table else None
        if found is None:
            missed.append(f"-{letter} {value}".strip() if letter else value)
        else:
            facts.extend(found)
    return facts, missed
