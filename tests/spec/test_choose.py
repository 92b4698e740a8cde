"""Which kernel runs which variant, from what `run --kernel` was given."""

import pytest
from builders import a_claim, an_experiment

from testbed.errors import SpecError
from testbed.spec.choose import with_kernels
from testbed.spec.experiment import Experiment
from testbed.spec.load import experiment_names, load_experiment


def kernels(experiment: Experiment) -> dict[str, str]:
    return {each.name: each.kernel for each in experiment.variants}


def test_nothing_given_changes_nothing() -> None:
    assert with_kernels(an_experiment(), []) == an_experiment()


def test_one_kernel_is_for_every_variant() -> None:
    chosen = with_kernels(an_experiment(), ["mine"])

    assert kernels(chosen) == {"before": "mine", "after": "mine"}


def test_a_named_variant_has_its_own_and_the_others_keep_theirs() -> None:
    chosen = with_kernels(an_experiment(), ["after=6.12+my.patch"])

    assert kernels(chosen) == {"before": "6.12", "after": "6.12+my.patch"}


def test_one_may_be_for_all_but_those_named() -> None:
    chosen = with_kernels(an_experiment(), ["after=mine", "6.1"])

    assert kernels(chosen) == {"before": "6.1", "after": "mine"}


def test_claims_stay_where_the_names_are_the_variants() -> None:
    experiment = an_experiment(a_claim({"before": 1, "after": 2}))

    assert with_kernels(experiment, ["before=a", "after=b"]).claims


def test_other_names_run_the_kernel_as_it_is_once_on_each() -> None:
    experiment = an_experiment(a_claim({"before": 1, "after": 2}))

    chosen = with_kernels(experiment, ["a=6.1", "b=6.12", "c=mine"])

    assert kernels(chosen) == {"a": "6.1", "b": "6.12", "c": "mine"}
    assert chosen.claims == ()
    assert "as after (the after side), on kernel 6.1" in chosen.variants[0].about
    as_is = experiment.variants[1]
    assert all(each.path == as_is.path for each in chosen.variants)


def test_without_an_after_the_last_variant_is_the_kernel_as_it_is() -> None:
    experiment = load_experiment("tsq-low-pacing-rate")

    chosen = with_kernels(experiment, ["a=6.1", "b=6.12"])

    assert "as today" in chosen.variants[0].about
    assert chosen.variants[0].switches == experiment.variants[-1].switches


@pytest.mark.parametrize("name", experiment_names())
def test_kernels_can_be_compared_on_every_shipped_experiment(name: str) -> None:
    chosen = with_kernels(load_experiment(name), ["a=6.12", "b=mine"])

    assert kernels(chosen) == {"a": "6.12", "b": "mine"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param(["6.1", "6.12"], "which variant runs on which", id="two-for-all"),
        pytest.param(["before=a", "x=b"], "has no variant 'x'", id="half-known"),
        pytest.param(["aftr=a"], "it has before, after", id="misspelt"),
        pytest.param(["a=x", "a=y"], "a has x already", id="twice"),
        pytest.param(["a="], "write KERNEL, or VARIANT=KERNEL", id="no-kernel"),
        pytest.param(["=a"], "write KERNEL, or VARIANT=KERNEL", id="no-variant"),
        pytest.param(["a/b=x", "c=y"], "cannot name a variant", id="no-folder"),
    ],
)
def test_what_cannot_be_meant_is_a_spec_error(given: list[str], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        with_kernels(an_experiment(), given)
