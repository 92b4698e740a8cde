"""What a trial found: a capability that is there, or is not and has a remedy."""

from collections.abc import Sequence
from dataclasses import dataclass

#: The capability without which the default machine does not run.
DEFAULT = "UML boot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One capability, tried. told: what was seen.  remedy: "" where it is there."""

    name: str
    ok: bool
    told: str
    remedy: str = ""


def have(name: str, told: str) -> Finding:
    """Return that a capability is there."""
    return Finding(name=name, ok=True, told=told)


def lack(name: str, told: str, remedy: str) -> Finding:
    """Return that a capability is not there, and what would give it."""
    return Finding(name=name, ok=False, told=told, remedy=remedy)


def is_ready(found: Sequence[Finding]) -> bool:
    """Tell whether the default machine, uml, was seen to run."""
    return any(each.ok for each in found if each.name == DEFAULT)
