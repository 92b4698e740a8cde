"""`--machine auto`: which machine an experiment goes to, and the words for why."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
from builders import a_claim, a_variant, an_experiment

from testbed.choosing import Choice, choose, preference
from testbed.errors import Unavailable
from testbed.spec.claim import Need
from testbed.spec.experiment import Experiment
from testbed.spec.kernel import HOST_KERNEL, Arch

#: The clock of each machine.
CLOCKS = {
    "uml": "virtual",
    "uml-real": "real",
    "qemu": "real",
    "qemu-icount": "virtual",
    "host": "real",
}
PLAIN = an_experiment(a_claim({"before": 1, "after": 2}))
COSTLY = an_experiment(
    replace(a_claim({"before": 1, "after": 2}, metric="cpu"), needs=Need.REAL)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Able:
    """A machine that can do an experiment, or says what it lacks."""

    name: str
    clock: str
    lacks: str
    arch: Arch = Arch.UM

    def check(self, experiment: Experiment) -> None:
        if self.lacks:
            raise Unavailable(self.lacks, remedy=f"mend {self.name}")


def machines(**lacking: str) -> Mapping[str, Able]:
    """Return all machines; lacking: what some lack."""
    return {
        name: Able(
            name=name, clock=clock, lacks=lacking.get(name.replace("-", "_"), "")
        )
        for name, clock in CLOCKS.items()
    }


def chosen(experiment: Experiment, *, kvm: bool = False, **lacking: str) -> Choice:
    return choose(
        lambda clock: replace(experiment, question=clock),
        chosen=False,
        kvm=lambda _experiment: kvm,
        machines=machines(**lacking),
    )


def on_kernel(name: str) -> Experiment:
    return replace(PLAIN, variants=(a_variant("only", kernel=name),))


@pytest.mark.parametrize(
    ("experiment", "kvm", "machine", "why"),
    [
        pytest.param(PLAIN, True, "uml", "virtual time is exact", id="nothing-real"),
        pytest.param(COSTLY, False, "uml-real", "of cpu needs real time", id="cpu"),
        pytest.param(COSTLY, True, "qemu", "and KVM works here", id="cpu-on-kvm"),
        pytest.param(on_kernel("/boot/x"), False, "qemu", "is a file", id="an-image"),
        pytest.param(
            on_kernel(HOST_KERNEL), False, "host", "this host's own", id="host"
        ),
    ],
)
def test_the_machine_is_the_one_that_fits(experiment, kvm, machine, why) -> None:
    choice = chosen(experiment, kvm=kvm)

    assert choice.machine.name == machine
    assert why in choice.why
    assert choice.experiment.question == CLOCKS[machine]


def test_a_machine_that_cannot_is_passed_over_and_said_to_be() -> None:
    choice = chosen(PLAIN, uml="no setarch")

    assert choice.machine.name == "qemu-icount"
    assert choice.why.endswith("; uml cannot: no setarch")


def test_where_no_machine_can_all_say_why() -> None:
    with pytest.raises(Unavailable) as told:
        chosen(COSTLY, uml_real="no a", qemu="no b", host="no c")

    assert told.value.what == (
        "no machine here can do it: uml-real cannot: no a; qemu cannot: no b; "
        "host cannot: no c"
    )
    assert told.value.remedy == "mend uml-real"


def test_whether_kvm_works_is_asked_only_where_it_matters() -> None:
    asked: list[Experiment] = []

    preference(PLAIN, lambda each: asked.append(each) is not None)

    assert asked == []
