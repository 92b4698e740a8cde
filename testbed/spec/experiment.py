"""Experiments as data: a patch, its variants fully resolved, its claims."""

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass

from testbed.errors import SpecError
from testbed.spec.claim import Claim
from testbed.spec.path import Path
from testbed.spec.settings import HostSettings
from testbed.spec.workload import Workload


class Scale(enum.Enum):
    """How much of the published traffic is sent."""

    QUICK = "quick"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """The patch whose "Tested:" section is re-run.

    commit: 12 hex digits, or None if it was never applied.  fate: what became of it.
    """

    subject: str
    author: str
    date: str
    commit: str | None
    version: str | None
    mail: str
    fate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One side of an A/B, with nothing left to default.

    kernel: a name `kernel list` shows.  topology: a module of topologies/.  switches:
    kernel module parameters, "module.name" to value.  capture: whether packets are
    captured, and the kernel's decisions about them; at full scale they may drown.
    """

    name: str
    about: str
    kernel: str
    topology: str
    path: Path
    switches: Mapping[str, str]
    sender: HostSettings
    receiver: HostSettings
    workload: Workload
    capture: bool = True

    def __post_init__(self) -> None:
        require_plain_name(self.name, "a variant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A question, the variants that answer it, and the claims they are held to.

    scale: FULL is as published, which is also what an experiment without a quick form
    has.
    """

    name: str
    question: str
    patch: Patch
    variants: tuple[Variant, ...]
    claims: tuple[Claim, ...]
    scale: Scale = Scale.FULL

    def __post_init__(self) -> None:
        require_plain_name(self.name, "an experiment")


def require_plain_name(name: str, what: str) -> None:
    """Raise SpecError unless a name can be a folder's: runs are stored under it."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}", name):
        raise SpecError(
            f"{name!r} cannot name {what}: use up to 64 letters, digits, and . _ + -"
        )
