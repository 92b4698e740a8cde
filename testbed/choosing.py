"""Which machine an experiment goes to: `run --machine auto`, and why.

Virtual time is exact and free of the host, so it is the first choice wherever it will
do. It has no CPU cost: a claim that needs real time goes to a machine that has it.
Start with choose.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from testbed.errors import TestbedError, Unavailable
from testbed.kernels.cache import newest
from testbed.machine.machine import Machine
from testbed.machine.qemu import boots_by_kvm
from testbed.pipeline import MACHINES, on_machine
from testbed.spec.claim import Need
from testbed.spec.experiment import Experiment
from testbed.spec.kernel import HOST_KERNEL, Arch, is_image

#: What `run --machine` takes for this.
AUTO = "auto"
_VIRTUAL_FIRST = ("uml", "qemu-icount", "qemu", "host")
_REAL_FIRST = ("uml-real", "qemu", "host")
_KVM_FIRST = ("qemu", "uml-real", "host")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An experiment as its machine is to run it, and why that machine."""

    machine: Machine
    experiment: Experiment
    why: str


def choose(
    load: Callable[[str], Experiment],
    *,
    chosen: bool,
    kvm: Callable[[Experiment], bool] | None = None,
    machines: Mapping[str, Machine] = MACHINES,
) -> Choice:
    """Return the best machine that can do an experiment.

    load: returns the experiment for a clock.  chosen: whether the user said which
    kernels.  kvm: tells whether its kernels boot by KVM here.  Raises Unavailable, with
    what each machine lacks, where none can do it.
    """
    order, why = preference(load("virtual"), kvm or by_kvm)
    refused: list[Unavailable] = []
    told = [why]
    for name in order:
        machine = machines[name]
        try:
            experiment = ready(load(machine.clock), machine, chosen=chosen)
        except Unavailable as error:
            refused.append(error)
            told.append(f"{name} cannot: {error.what}")
            continue
        return Choice(machine=machine, experiment=experiment, why="; ".join(told))
    raise Unavailable(
        "no machine here can do it: " + "; ".join(told[1:]), remedy=refused[0].remedy
    )


def ready(experiment: Experiment, machine: Machine, *, chosen: bool) -> Experiment:
    """Return the experiment as a machine runs it. Raises Unavailable if it cannot."""
    fitted = on_machine(experiment, machine, chosen=chosen)
    machine.check(fitted)
    return fitted


def preference(
    experiment: Experiment, kvm: Callable[[Experiment], bool]
) -> tuple[Sequence[str], str]:
    """Return the machines to try in turn, and why the first is the first."""
    kernels = {each.kernel for each in experiment.variants}
    if kernels == {HOST_KERNEL}:
        return ("host",), "the kernel is this host's own"
    if any(map(is_image, kernels)):
        return ("qemu",), "the kernel is a file, which QEMU boots"
    real = [each.metric for each in experiment.claims if each.needs is Need.REAL]
    if not real:
        return _VIRTUAL_FIRST, "no claim needs real time, and virtual time is exact"
    needs = f"what is claimed of {', '.join(dict.fromkeys(real))} needs real time"
    if kvm(experiment):
        return _KVM_FIRST, f"{needs}, and KVM works here"
    return _REAL_FIRST, f"{needs}, and no bzImage of the kernel boots by KVM here"


def by_kvm(experiment: Experiment) -> bool:
    """Tell whether an experiment's kernels are built as bzImages, and boot by KVM."""
    names = {each.kernel for each in experiment.variants}
    built = [newest(name, Arch.X86_64) for name in sorted(names)]
    return all(each is not None and boots_by_kvm(each.built.image) for each in built)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A machine that cannot do an experiment, or failed to, and why."""

    machine: str
    experiment: str
    error: TestbedError
