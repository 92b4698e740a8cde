"""Predictions for the terminal: counters, sizes, which rule cut the packets."""

from collections.abc import Sequence

from rich.table import Table

from testbed.model.match import Match
from testbed.predicted import Counted, Predicted
from testbed.report.numbers import amount, count

_METRICS = ("throughput", "tso_segs", "ack_stretch", "send_gap", "rtt")


def prediction_table(predictions: Sequence[Predicted | Counted]) -> Table:
    """Return one column a variant: the sender's counters, means, shares, the match."""
    whole = [each for each in predictions if isinstance(each, Predicted)]
    table = Table("predicted", box=None, pad_edge=False)
    for each in predictions:
        table.add_column(each.variant, justify="right")
    for name in predictions[0].counters["sender"]:
        table.add_row(name, *(count(p.counters["sender"][name]) for p in predictions))
    for name in _METRICS if whole else ():
        means = (p.metrics[name] for p in whole)
        row = (amount(mean.summary().mean, mean.unit) for mean in means)
        table.add_row(f"{name}, mean", *row)
    for rule in dict.fromkeys(rule for p in predictions for rule in p.attribution):
        shares = (p.attribution.get(rule, 0.0) for p in predictions)
        table.add_row(f"cut by {rule}", *(f"{share:.1%}" for share in shares))
    if whole and all(p.match is not None for p in whole):
        table.add_row("match", *(_match(p.match) for p in whole))
    return table


def _match(match: Match | None) -> str:
    if match is None:
        return ""
    same = f"{match.match:.2%} of {count(match.measured_packets)}"
    if match.first_divergence is None:
        return same
    return f"{same}, first differs #{match.first_divergence.index}"
