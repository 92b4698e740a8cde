"""The UML machine: its command line, its first process, what it says of the dead."""

from pathlib import Path

import pytest
from builders import BUILT

from testbed.errors import MachineLost, Unavailable
from testbed.machine.guest import guest_init, require_programs
from testbed.machine.machine import Job
from testbed.machine.uml import UmlMachine, share_command, uml_argv, uml_env
from testbed.process import Stop

JOB = Job(
    argv=("echo", "it's here"),
    folder=Path("/runs/a b"),
    env={"X": "1 2"},
    views={"/run/view": Path("/src")},
)


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_the_command_line_differs_between_runs_by_the_seed_alone(clock: str) -> None:
    image = Path("/cache/linux")
    one, other = uml_argv(image, 1, clock), uml_argv(image, 2, clock)

    assert [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]] == [
        ("uml-seed=1", "uml-seed=2")
    ]


def test_time_travels_in_virtual_time_and_nowhere_else() -> None:
    image = Path("/cache/linux")
    virtual, real = (set(uml_argv(image, 1, clock)) for clock in ("virtual", "real"))

    assert {each.partition("=")[0] for each in virtual - real} == {
        "time-travel",
        "time-travel-start",
    }
    assert real < virtual


def test_the_job_is_nowhere_on_the_command_line() -> None:
    assert str(JOB.folder) not in " ".join(uml_argv(Path("/cache/linux"), 1, "real"))


def test_the_kernel_may_write_the_jobs_folder_alone() -> None:
    assert uml_env(JOB)["UML_HOSTFS_RW"] == "/runs/a b"


def test_the_environment_is_not_inherited(monkeypatch) -> None:
    monkeypatch.setenv("SECRET", "1")

    assert set(uml_env(JOB)) == {"PATH", "UML_HOSTFS_RW", "TMPDIR", "GLIBC_TUNABLES"}


def test_the_first_process_quotes_what_it_was_given() -> None:
    script = guest_init(JOB, "/usr/bin/python3", share_command(JOB))

    assert "mount -t hostfs share run/job -o '/runs/a b'\n" in script
    assert "mkdir run/view; mount --bind ./src run/view\n" in script
    assert "export X='1 2'" in script
    assert """echo 'it'"'"'s here' </dev/null""" in script


def test_a_program_that_a_guest_needs_is_missed_with_its_remedy(tmp_path) -> None:
    (tmp_path / "ip").write_text("#!/bin/sh\n")
    (tmp_path / "ip").chmod(0o755)

    with pytest.raises(Unavailable) as raised:
        require_programs(
            {"ip": "iproute2", "netperf": "netperf", "netserver": "netperf"},
            path=str(tmp_path),
        )

    assert raised.value.what.startswith("a guest needs netperf, netserver, and has")
    assert raised.value.remedy.startswith("apt-get install netperf (Debian has")


def test_a_job_that_needs_more_than_there_is_is_not_begun(tmp_path) -> None:
    job = Job(
        argv=("true",), folder=tmp_path, programs={"no-such-driver": "no-such-package"}
    )

    with pytest.raises(Unavailable, match="apt-get install no-such-package"):
        UmlMachine().run(BUILT, job, lambda _line: None, Stop())

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        pytest.param("exit 7", r"without an answer \(exit status 7\)", id="exit"),
        pytest.param("echo Kernel panic - not syncing", "panicked", id="panic"),
        pytest.param(
            "echo Kernel panic - why; seq 40",
            "panicked.*\n  . Kernel panic - why$",
            id="panic-and-its-addresses",
        ),
        pytest.param("echo alive; sleep 600", "did not end within 0.5 s", id="hang"),
    ],
)
def test_a_machine_that_gives_no_answer_is_lost(tmp_path, script, complaint) -> None:
    image = tmp_path / "linux"
    image.write_text(f"#!/bin/sh\n{script}\n")
    image.chmod(0o755)
    kernel = type(BUILT)(image=image, identity=BUILT.identity)
    job = Job(argv=("true",), folder=tmp_path, deadline_s=0.5)

    with pytest.raises(MachineLost, match=complaint):
        UmlMachine().run(kernel, job, lambda _line: None, Stop())

    assert sorted(tmp_path.iterdir()) == [image]


def test_the_answer_is_the_jobs_status_and_the_machines_clock(tmp_path) -> None:
    image = tmp_path / "linux"
    image.write_text("#!/bin/sh\necho 3 1.5 > ../.answer; echo said\n")
    image.chmod(0o755)
    kernel = type(BUILT)(image=image, identity=BUILT.identity)
    said: list[str] = []

    outcome = UmlMachine().run(
        kernel, Job(argv=("true",), folder=tmp_path), said.append, Stop()
    )

    assert outcome.status == 3
    assert outcome.virtual_ns == 1_500_000_000
    assert said == ["said"]
