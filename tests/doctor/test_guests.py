"""Guests, tried: what is told of those that boot, do not, and were never built."""

from pathlib import Path

import pytest
from builders import BUILT
from keeping import put

from testbed.doctor import guests
from testbed.doctor.finding import is_ready
from testbed.doctor.guests import try_kvm, try_tcg, try_uml
from testbed.errors import MachineLost, Unavailable
from testbed.machine.machine import Outcome
from testbed.machine.qemu import Accelerator
from testbed.spec.kernel import Arch


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch) -> None:
    """Begin with an empty cache, a QEMU that is there, and a KVM that opens."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(guests, "require_qemu", lambda: None)
    monkeypatch.setattr(guests, "may_use_kvm", lambda: True)


class Uml:
    """Boots, or is lost; keeps the folder it was given."""

    error: Exception | None = None
    folder = Path()

    def run(self, _kernel, job, _on_line, _stop) -> Outcome:
        Uml.folder = job.folder
        assert job.folder.is_dir()
        if self.error:
            raise self.error
        return Outcome(status=0, wall_ns=700_000_000, virtual_ns=1)


@pytest.fixture
def uml(monkeypatch, tmp_path) -> type[Uml]:
    """Return a UML that boots in place of the real one, with a kernel for it."""
    put("aa", tmp_path, "6.12")
    monkeypatch.setattr(guests, "UmlMachine", Uml)
    monkeypatch.setattr(Uml, "error", None)
    return Uml


def test_without_a_kernel_the_default_machine_is_not_ready() -> None:
    found = try_uml()

    assert [each.remedy for each in found] == ["python -m testbed kernel build"]
    assert not is_ready(found)


def test_a_kernel_that_boots_makes_it_ready_and_leaves_nothing(uml, tmp_path) -> None:
    found = try_uml()

    assert is_ready(found)
    assert found[0].told.endswith("booted and powered off in 0.7 s")
    assert not uml.folder.exists()
    assert list((tmp_path / "testbed" / "held").iterdir()) == []


@pytest.mark.parametrize(
    ("error", "told", "remedy"),
    [
        (MachineLost("it panicked"), "it panicked", "what ptrace and disk above say"),
        (Unavailable("no setarch", remedy="apt-get"), "no setarch", "apt-get"),
    ],
)
def test_a_kernel_that_does_not_boot_is_told_why(
    error, told, remedy, uml, monkeypatch
) -> None:
    monkeypatch.setattr(uml, "error", error)

    found = try_uml()

    assert (found[0].told, found[0].remedy) == (told, remedy)
    assert not is_ready(found)
    assert not uml.folder.exists()


@pytest.mark.parametrize("trial", [try_kvm, try_tcg])
def test_without_a_bzimage_qemu_is_not_tried(trial) -> None:
    (found,) = trial()

    assert found.told == "no bzImage built"
    assert found.remedy == "python -m testbed kernel build --arch x86_64"


def test_a_kvm_on_which_nothing_boots_is_no_kvm(monkeypatch) -> None:
    monkeypatch.setattr(guests, "newest", lambda _name, _arch: _Entry)
    monkeypatch.setattr(guests, "boots_by", lambda by, _image: by is Accelerator.TCG)

    (kvm,), (tcg,) = try_kvm(), try_tcg()

    assert (kvm.ok, kvm.told) == (False, "6.12.117 did not boot within 10 s")
    assert "by TCG" in kvm.remedy
    assert (tcg.ok, tcg.told) == (True, "6.12.117 boots")


class _Entry:
    built = BUILT


def test_a_kvm_that_may_not_be_opened_is_not_tried(monkeypatch) -> None:
    monkeypatch.setattr(guests, "may_use_kvm", lambda: False)

    (found,) = try_kvm()

    assert found.told == "no /dev/kvm that this user may open"


def test_only_the_kernel_of_the_right_architecture_is_looked_for(monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(guests, "newest", lambda *given: asked.append(given))

    try_uml()
    try_tcg()

    assert asked == [("6.12", Arch.UM), ("6.12", Arch.X86_64)]
