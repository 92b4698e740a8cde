"""Tools: what is found, which version it tells, and what would bring it."""

from types import SimpleNamespace

import pytest

from testbed.doctor import tools
from testbed.doctor.tools import (
    try_compiler,
    try_disk,
    try_sources,
    try_tools,
    version_in,
)
from testbed.errors import Unavailable
from testbed.process import Finished


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("ip utility, iproute2-6.1.0, libbpf 1.1.0", "6.1.0"),
        ("net-tools 2.10", "2.10"),
        ("iperf 3.12 (cJSON 1.7.15)", "3.12"),
        ("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)", "7.2.22"),
        ("usage: it", ""),
    ],
)
def test_the_version_is_found_in_what_a_program_says(said, version) -> None:
    assert version_in(said) == version


def test_a_program_is_asked_and_one_that_is_not_there_has_a_package(
    monkeypatch,
) -> None:
    monkeypatch.setattr(
        tools.shutil,
        "which",
        lambda name, path: None if name == "netperf" else f"/bin/{name}",
    )
    monkeypatch.setattr(
        tools,
        "stream",
        lambda argv, _line, timeout_s: Finished(
            argv=argv, status=0, output="v 1.2" * (argv[0] != "/bin/mnexec")
        ),
    )

    found = {each.name: each for each in try_tools()}

    assert (found["tc"].ok, found["tc"].told) == (True, "1.2")
    assert found["mnexec"].told == "/bin/mnexec, which tells no version"
    assert not found["netperf"].ok
    assert found["netperf"].remedy == "apt-get install netperf"
    assert found["python"].ok


def test_a_library_that_is_not_installed_is_missing(monkeypatch) -> None:
    monkeypatch.setattr(tools, "_LIBRARIES", ("no-such-library",))

    found = try_tools()[-1]

    assert (found.ok, found.remedy) == (False, "make setup")


def test_no_compiler_has_the_remedy_of_the_build(monkeypatch) -> None:
    def refuse() -> None:
        raise Unavailable("a kernel build needs gcc", remedy="apt-get install gcc")

    monkeypatch.setattr(tools, "require_tools", refuse)

    (found,) = try_compiler()

    assert (found.ok, found.told) == (False, "a kernel build needs gcc")
    assert found.remedy == "apt-get install gcc"


def test_every_registered_kernel_has_its_source_looked_for(monkeypatch) -> None:
    def find(kernel):
        if kernel.name != "6.12":
            raise Unavailable(f"{kernel.name} is not here", remedy="apt-get")
        return SimpleNamespace(label="the source")

    monkeypatch.setattr(tools, "find_source", find)

    found = {each.name: each.told for each in try_sources() if each.ok}

    assert found == {"source of 6.12": "the source"}
    assert len(try_sources()) > 1


@pytest.mark.parametrize(("free", "ok"), [(3 << 30, True), ((3 << 30) - 1, False)])
def test_a_build_takes_three_gb(free, ok, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(
        tools.shutil, "disk_usage", lambda _path: SimpleNamespace(free=free)
    )

    (found,) = try_disk(tmp_path / "not" / "yet")

    assert found.ok == ok
    assert found.told.endswith(f"GB free in {tmp_path}")
