"""The verb model: what the sender model predicts, alone or against a run."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from testbed.cli.options import add_settings
from testbed.errors import SpecError
from testbed.export.contract import predictions_json
from testbed.pipeline import measured_runs
from testbed.predicted import Counted, Predicted, count, predict
from testbed.report.prediction import prediction_table
from testbed.spec.experiment import Variant
from testbed.spec.load import load_experiment


def add_model(model: argparse.ArgumentParser) -> None:
    """Say what the verb takes."""
    model.add_argument("experiment", help="a name or a .yaml file")
    model.add_argument("--variant", help="this one alone")
    add_settings(model)
    either = model.add_mutually_exclusive_group()
    either.add_argument(
        "--against", type=Path, metavar="RUN", help="match with a stored run"
    )
    either.add_argument(
        "--totals",
        action="store_true",
        help="counters and rules alone, in memory that does not grow with the stream",
    )
    model.add_argument(
        "--json", action="store_true", help="print JSON and nothing else"
    )
    model.set_defaults(command=_model)


def _model(arguments: argparse.Namespace) -> int:
    experiment = load_experiment(arguments.experiment, arguments.settings)
    variants = {each.name: each for each in experiment.variants}
    if arguments.variant:
        if arguments.variant not in variants:
            known = ", ".join(variants)
            raise SpecError(f"no variant {arguments.variant!r}; known: {known}")
        variants = {arguments.variant: variants[arguments.variant]}
    predictions = _predictions(arguments, variants)
    if arguments.json:
        print(json.dumps(predictions_json(experiment.name, predictions), indent=1))
    else:
        Console().print(prediction_table(predictions))
    return 0


def _predictions(
    arguments: argparse.Namespace, variants: Mapping[str, Variant]
) -> Sequence[Predicted | Counted]:
    if arguments.totals:
        return [count(variant) for variant in variants.values()]
    runs = tuple(measured_runs(arguments.against)) if arguments.against else ()
    traces = {each.run.variant: each.trace for each in reversed(runs)}
    return [predict(variant, traces.get(name)) for name, variant in variants.items()]
