"""The JSON of the contract: `{"format": 1, "runs": [...], "claims": [...]}`."""

from collections.abc import Mapping, Sequence
from typing import Any

from testbed.measured import MeasuredRun
from testbed.model.match import Divergence, Match
from testbed.predicted import Counted, Predicted, Unreached
from testbed.report.kernels import also_differ, kernels_differ
from testbed.report.result import Result
from testbed.spec.codec import encode
from testbed.trace.measurement import Measurement
from testbed.verdict import Verdict

FORMAT = 1


def results_json(results: Sequence[Result]) -> dict[str, Any]:
    """Return what `run --json` prints; within a format keys are only ever added."""
    return {
        "format": FORMAT,
        "runs": [
            {**run_json(run), **_model_of(result, run.run.variant)}
            for result in results
            for run in result.runs
        ],
        "claims": [
            {
                **claim_json(result.experiment.name, verdict),
                "machine": next((run.machine for run in result.stored()), None),
            }
            for result in results
            for verdict in result.verdicts
        ],
        "kernel_comparisons": comparisons_json(results),
    }


def comparisons_json(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return, of each experiment run on several kernels, what else differed."""
    return [
        {
            "experiment": result.experiment.name,
            "kernel_alone": not also_differ(result),
            "also_differ": list(also_differ(result)),
        }
        for result in results
        if kernels_differ(result)
    ]


def run_json(measured: MeasuredRun) -> dict[str, Any]:
    """Return one run as JSON values."""
    run = measured.run
    return {
        "experiment": run.experiment.name,
        "scale": run.experiment.scale.value,
        "variant": run.variant,
        "repeat": run.repeat,
        "seed": run.seed,
        "machine": run.machine,
        "clock": run.clock,
        "kernel": encode(run.kernel),
        "counters": encode(measured.counters),
        "metrics": metrics_json(measured.metrics),
        "attribution": encode(measured.attribution),
        "captures": {
            where: str(run.capture(where))
            for where in ("sender", "receiver")
            if run.spec().capture
        },
        "workload": dict(run.workload()),
        "folder": str(run.folder),
        "wall_seconds": run.wall_seconds,
        "virtual_seconds": run.virtual_seconds,
    }


def _model_of(result: Result, variant: str) -> dict[str, Any]:
    asked = result.predictions.get(variant)
    if asked is None:
        return {}
    return {"model": model_json(asked, result.first(variant))}


def model_json(asked: Predicted | Unreached, against: MeasuredRun) -> dict[str, Any]:
    """Return what the model says of a variant, or why it says nothing.

    against: the run that it was matched with; "repeat" says which that was.
    """
    if isinstance(asked, Unreached):
        return {"unreached": asked.why}
    return {
        "repeat": against.run.repeat,
        **({} if asked.match is None else _match_json(asked.match, asked, against)),
        "counters": encode(asked.counters),
        "metrics": metrics_json(asked.metrics),
        "attribution": dict(asked.attribution),
    }


def _match_json(match: Match, asked: Predicted, against: MeasuredRun) -> dict[str, Any]:
    return {
        "match": match.match,
        "packets": {
            "measured": match.measured_packets,
            "predicted": match.predicted_packets,
        },
        "first_divergence": _divergence_json(match.first_divergence, asked, against),
        "size_distance": match.size_distance,
        "stretch_distance": match.stretch_distance,
    }


def _divergence_json(
    found: Divergence | None, asked: Predicted, against: MeasuredRun
) -> dict[str, Any] | None:
    """Return both packets, and both senders' state as they decide on them.

    Of a kernel that did not say, it is the last TCP_INFO sample before.
    """
    if found is None:
        return None
    return {
        "index": found.index,
        "measured": found.measured and found.measured._asdict(),
        "predicted": found.predicted and found.predicted._asdict(),
        "sender": {
            "measured": found.measured
            and encode(
                against.deciding_on(found.index)
                or against.sample_before(found.measured.time_ns)
            ),
            "predicted": encode(asked.at_divergence),
        },
    }


def predictions_json(
    experiment: str, predictions: Sequence[Predicted | Counted]
) -> dict[str, Any]:
    """Return what `model --json` prints; without packets, no metrics and no match."""
    return {
        "format": FORMAT,
        "predictions": [
            {"experiment": experiment, **_prediction_json(each)} for each in predictions
        ],
    }


def _prediction_json(predicted: Predicted | Counted) -> dict[str, Any]:
    told = {
        "variant": predicted.variant,
        "counters": encode(predicted.counters),
        "attribution": dict(predicted.attribution),
    }
    if isinstance(predicted, Predicted):
        told |= {
            "metrics": metrics_json(predicted.metrics),
            "match": encode(predicted.match),
        }
    return told


def metrics_json(metrics: Mapping[str, Measurement]) -> dict[str, Any]:
    """Return metrics as the contract has them: unit, n, mean and quantiles."""
    return {
        name: {"unit": each.unit, **encode(each.summary())}
        for name, each in metrics.items()
    }


def claim_json(experiment: str, verdict: Verdict) -> dict[str, Any]:
    """Return one claim and its verdict as JSON values."""
    claim = verdict.claim
    return {
        "experiment": experiment,
        "metric": claim.metric,
        "host": claim.host,
        "relative_to": claim.relative_to,
        "claimed": dict(claim.claimed),
        "measured": dict(verdict.measured),
        "model": dict(verdict.model),
        "verdict": verdict.kind.value,
        "why": verdict.why,
        "source": claim.source,
        "ratio": encode(verdict.ratio),
    }
