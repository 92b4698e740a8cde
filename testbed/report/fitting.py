"""What explains the packets of a flow, for the terminal and as JSON.

Start with fit_table and fit_json.
"""

from collections.abc import Mapping

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from testbed.model.fit import Candidate, Fit, percent
from testbed.report.numbers import count

#: The head of fit_rows.
FIT_HEAD = ("rule", "kernels", "match", "size\ndistance", "cut by")
_NUMBERS = (2, 3)
_BITS = 8


def fit_table(fit: Fit, title: str) -> RenderableType:
    """Return what explains a flow, for the terminal."""
    table = Table(
        box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0)
    )
    for at, name in enumerate(FIT_HEAD):
        table.add_column(name, justify="right" if at in _NUMBERS else "left")
    for row in fit_rows(fit):
        table.add_row(*map(Text, row))
    lines = map(Text, fit_lines(fit))
    return Group(Text(title, "bold"), *lines, *([table] if fit.candidates else []))


def fit_rows(fit: Fit, most: int = 5) -> tuple[tuple[str, ...], ...]:
    """Return a row for each of the best candidates, under FIT_HEAD.

    cut by: the shares of packets that each rule explains, the largest first.
    """
    return tuple(_row(each) for each in fit.candidates[:most])


def _row(each: Candidate) -> tuple[str, ...]:
    shares = sorted(each.attribution.items(), key=lambda item: -item[1])
    return (
        each.policy.rule,
        each.policy.kernels,
        percent(each.match),
        percent(each.size_distance),
        ", ".join(f"{rule} {percent(share)}" for rule, share in shares),
    )


def fit_lines(fit: Fit) -> tuple[str, ...]:
    """Return sentences: the verdict, then which packets it is of, and how known."""
    if not fit.candidates:
        return (fit.verdict,)
    rows = " to ".join(count(row) for row in (fit.rows[0], fit.rows[1] - 1))
    lines = [fit.verdict, f"packets {rows} of {count(fit.packets)}: {fit.ends}"]
    if not fit.from_start:
        lines.append("cwnd was unknown when they began: taken from what was under way")
    if fit.delay_ns:
        lines.append(
            f"an ACK is taken to be at the sender {fit.delay_ns / 1e6:.3f} ms "
            "later than here"
        )
    return tuple(lines)


def fit_json(fit: Fit) -> dict[str, object]:
    """Return the `fit` of a flow: what can be had is there, null where nothing can.

    Shares are 0 to 1, rows count data packets of the flow from 0, the last is included;
    delay_ns: see Fit.
    """
    fitted = bool(fit.candidates)
    return {
        "verdict": fit.verdict,
        "best": [policy.name for policy in fit.best],
        "packets": fit.rows[1] - fit.rows[0],
        "first_row": fit.rows[0] if fitted else None,
        "last_row": fit.rows[1] - 1 if fitted else None,
        "from_start": fit.from_start if fitted else None,
        "ends": fit.ends if fitted else None,
        "delay_ns": fit.delay_ns if fitted else None,
        "candidates": [_candidate(each) for each in fit.candidates],
    }


def _candidate(each: Candidate) -> Mapping[str, object]:
    rate, world = each.world.pacing_rate, each.world
    return {
        "policy": each.policy.name,
        "rule": each.policy.rule,
        "kernels": each.policy.kernels,
        "commits": list(each.policy.commits),
        "match": each.match,
        "size_distance": each.size_distance,
        "attribution": dict(each.attribution),
        "first_miss": each.first_miss,
        "assumed": {
            "congestion": world.congestion,
            "sndbuf": world.sndbuf,
            "paced": world.paced,
            "max_pacing_rate": None if rate is None else rate * _BITS,
        },
    }
