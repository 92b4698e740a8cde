"""The one tree of errors. Each class carries the exit code its kind of failure has.

TestbedError
+-- SpecError        a file, flag or value the user gave is wrong               exit 2
|   +-- PlacedError  the same, and its text begins with file and line
|   +-- CaptureError a capture file cannot be read                              exit 2
+-- Unavailable      this host lacks something that is needed; says the remedy  exit 3
|   +-- BuildError   a kernel could not be patched, configured or compiled      exit 3
+-- InfrastructureError  the machinery failed; the run is void, never a verdict exit 4
    +-- MachineLost  a guest panicked, hung, or ended without an answer
    +-- CommandError a command that had to succeed did not
    +-- NotApplied   a setting read back differs from what was asked
    +-- CaptureLoss  a capture dropped packets
    +-- StoreError   a run directory cannot be written or read back
"""

from collections.abc import Sequence


class TestbedError(Exception):
    """Anything this program raises on purpose; the user is shown its text as it is."""

    exit_code = 4


class SpecError(TestbedError):
    """What the user gave (a file, a flag, a value) is wrong."""

    exit_code = 2


class PlacedError(SpecError):
    """A SpecError whose text begins with the place: file and line, or the flag."""


class CaptureError(SpecError):
    """A capture file cannot be read."""


class Unavailable(TestbedError):
    """Something needed is missing on this host."""

    exit_code = 3

    def __init__(self, what: str, *, remedy: str) -> None:
        super().__init__(f"{what}\n  to fix it: {remedy}")
        self.what = what
        self.remedy = remedy


class BuildError(Unavailable):
    """A kernel could not be found, patched, configured or compiled."""


class InfrastructureError(TestbedError):
    """The machinery failed: the run is void and says nothing about the kernel."""


class MachineLost(InfrastructureError):
    """A machine panicked, hung past its deadline, or ended without an answer."""


class CommandError(InfrastructureError):
    """A command that had to succeed did not."""

    def __init__(self, argv: Sequence[str], status: int, output: str) -> None:
        told = output.strip() or "(it printed nothing)"
        super().__init__(f"`{' '.join(argv)}` exited with {status}: {told}")
        self.argv = tuple(argv)
        self.status = status
        self.output = output


class NotApplied(InfrastructureError):
    """A setting was asked for, and reading it back gave something else."""

    def __init__(self, what: str, *, wanted: object, got: object) -> None:
        super().__init__(f"{what}: asked for {wanted}, the kernel says {got}")
        self.what = what
        self.wanted = wanted
        self.got = got


class CaptureLoss(InfrastructureError):
    """A capture dropped packets, so nothing measured from it can be trusted."""


class StoreError(InfrastructureError):
    """A run directory cannot be written, or holds something unreadable."""
