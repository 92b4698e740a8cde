"""Which kernels an experiment's variants run on, as `run --kernel` says it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from testbed.errors import PlacedError
from testbed.spec.experiment import Experiment, Variant

#: The variant that is the kernel as it is, in every experiment that has one of this
#: name; in others it is the last.
AS_IS = "after"


def with_kernels(experiment: Experiment, given: Sequence[str]) -> Experiment:
    """Return the experiment on other kernels.

    given: "KERNEL" for all variants, or "VARIANT=KERNEL", each any number of times.
    Variants not named keep theirs. If no name is a variant's, the kernels are compared
    with each other: the variant that is the kernel as it is runs once on each, under
    these names, and the claims, which are about other variants, are left out. Raises
    SpecError when some names are a variant's and some not.
    """
    everywhere = [each for each in given if "=" not in each]
    if len(everywhere) > 1:
        raise PlacedError(
            f"--kernel {' --kernel '.join(everywhere)}: which variant runs on which? "
            "Write VARIANT=KERNEL"
        )
    for kernel in everywhere:
        variants = tuple(replace(each, kernel=kernel) for each in experiment.variants)
        experiment = replace(experiment, variants=variants)
    named = _named(given)
    unknown = set(named) - {each.name for each in experiment.variants}
    if not unknown:
        variants = tuple(
            replace(each, kernel=named.get(each.name, each.kernel))
            for each in experiment.variants
        )
        return replace(experiment, variants=variants)
    if len(unknown) < len(named) or len(named) == 1:
        raise PlacedError(_no_variant(experiment, min(unknown)))
    as_is = as_is_variant(experiment)
    variants = tuple(_on(as_is, name, kernel) for name, kernel in named.items())
    return replace(experiment, variants=variants, claims=())


def as_is_variant(experiment: Experiment) -> Variant:
    """Return the variant of an experiment that is the kernel as it is."""
    found = [each for each in experiment.variants if each.name == AS_IS]
    return (found or experiment.variants)[-1]


def _named(given: Sequence[str]) -> Mapping[str, str]:
    named: dict[str, str] = {}
    for each in given:
        name, equals, kernel = each.partition("=")
        if not equals:
            continue
        if not name or not kernel:
            raise PlacedError(f"--kernel {each}: write KERNEL, or VARIANT=KERNEL")
        if name in named:
            raise PlacedError(f"--kernel {each}: {name} has {named[name]} already")
        named[name] = kernel
    return named


def _on(variant: Variant, name: str, kernel: str) -> Variant:
    about = f"as {variant.name} ({variant.about}), on kernel {kernel}"
    return replace(variant, name=name, about=about, kernel=kernel)


def _no_variant(experiment: Experiment, name: str) -> str:
    known = ", ".join(each.name for each in experiment.variants)
    return (
        f"--kernel {name}=: {experiment.name} has no variant {name!r}; it has {known}. "
        "To compare kernels with each other, give two or more names that are none of "
        "them, such as --kernel a=6.12 --kernel b=6.12+my.patch"
    )
