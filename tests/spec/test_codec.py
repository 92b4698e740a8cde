"""Records to JSON and back."""

import json
from pathlib import Path

import pytest
from builders import BUILT, a_claim, a_variant, an_experiment

from testbed.errors import SpecError
from testbed.spec.codec import decode, encode
from testbed.spec.experiment import Experiment, Variant
from testbed.spec.kernel import BuiltKernel
from testbed.spec.qdisc import Qdisc
from testbed.spec.settings import HostSettings


def test_a_record_survives_json() -> None:
    qdisc = Qdisc(kind="netem", options={"limit": 3}, child=Qdisc(kind="fq"))
    variant = a_variant(sender=HostSettings(qdisc=qdisc, offloads={"tso": True}))

    assert decode(Variant, json.loads(json.dumps(encode(variant)))) == variant


def test_nested_tuples_of_records_survive_json() -> None:
    experiment = an_experiment(a_claim({"before": 1.5, "after": 2}))

    assert decode(Experiment, json.loads(json.dumps(encode(experiment)))) == experiment


def test_paths_are_text_in_json() -> None:
    assert encode(BUILT)["image"] == "/cache/linux"
    assert decode(BuiltKernel, encode(BUILT)).image == Path("/cache/linux")


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({}, id="empty"),
        pytest.param(7, id="number"),
        pytest.param({"name": "x", "variants": 3}, id="wrong-shape"),
    ],
)
def test_what_is_no_such_record_is_a_spec_error(value) -> None:
    with pytest.raises(SpecError, match="this is no Experiment"):
        decode(Experiment, value)
