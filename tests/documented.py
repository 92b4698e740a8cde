"""Every command of the documents, and how it is tested: here, elsewhere, or why not."""

from collections.abc import Mapping
from dataclasses import dataclass

from documents import TESTBED


@dataclass(frozen=True)
class Quick:
    """Run by tests/docs, without a kernel. alone: with nothing in its cache."""

    status: int = 0
    alone: bool = False


@dataclass(frozen=True)
class Boots:
    """Run by tests/system/test_docs.py, on a real kernel."""

    status: int = 0


@dataclass(frozen=True)
class Elsewhere:
    """What it does is what another test runs: its file and its name."""

    test: str


@dataclass(frozen=True)
class NotHere:
    """Not run by any test. why: the reason."""

    why: str


How = Quick | Boots | Elsewhere | NotHere
_EXPERIMENT = "tests/system/test_experiment.py"
_KERNELS = "tests/system/test_kernels.py"
_SWEEP = "tests/system/test_sweep.py"
_MAKE = NotHere("it is what runs all tests, after setting this host up with apt")
_IN_MAKE_TEST = NotHere("`make test` runs it")
_A_BUILD = NotHere("it builds a kernel for minutes, from a source that is not here")
_RUN = f"{TESTBED} run"
_2014 = f"{_RUN} refine-tso-autosizing"
_STORED = f"{TESTBED} report captures/refine-tso-autosizing/<run-id>"
_REFERENCE = "captures/reference/refine-tso-autosizing"

COMMANDS: Mapping[str, How] = {
    # make, and the host's own set-up
    "make run": NotHere("`make setup`, and `run` of all that has a test of its own"),
    "make run KERNEL_SOURCE=/path/to/linux-6.12.tar.xz": _A_BUILD,
    "make test": _MAKE,
    "make setup": _MAKE,
    "make check": _IN_MAKE_TEST,
    "make unit": _IN_MAKE_TEST,
    "make system": _IN_MAKE_TEST,
    "make bench": NotHere("it measures other programs for minutes"),
    "make fuzz": NotHere(
        "half an hour of CPU; tests/test_fuzz_inspect.py has its parts"
    ),
    "make docs": Elsewhere(
        "tests/test_history.py::test_the_page_has_the_tables_as_they_are"
    ),
    "apt-get install busybox-static kmod": NotHere("it changes this host"),
    f"{TESTBED} doctor": Elsewhere(
        "tests/doctor/test_trials.py"
        "::test_the_verb_prints_json_and_exits_with_0_where_uml_runs"
    ),
    # run
    _2014: Boots(),
    f"{_2014} --json > result.json": Elsewhere(
        f"{_EXPERIMENT}::test_every_claim_of_the_2014_patch_is_reproduced"
    ),
    f"{_2014} --seed 2 --repeat 2": Elsewhere(
        f"{_EXPERIMENT}::test_another_seed_gives_other_bytes"
    ),
    f"{_2014} --set workload.bytes=20MB --set path.queue=60 --set path.rtt=10ms": (
        Elsewhere(
            "tests/system/test_model.py"
            "::test_a_stream_with_losses_is_predicted_on_the_whole"
        )
    ),
    f"{_RUN} ./mine.yaml": Elsewhere(
        f"{_EXPERIMENT}::test_every_kind_of_setting_takes"
    ),
    f"{_RUN} ./mine.yaml --set path.rtt=10ms --set path.rate=100mbit": Boots(1),
    f"{_RUN} ./mine.yaml --set workload.driver=iperf3 --set workload.bytes=null "
    "--set workload.duration=1s --set workload.sndbuf=null "
    "--set workload.send_size=128KB": Elsewhere(
        "tests/system/test_drivers.py::test_iperf3_fills_the_link_as_it_says"
    ),
    f"{_RUN} tsq-low-pacing-rate": Elsewhere(
        f"{_EXPERIMENT}::test_the_claim_of_the_rejected_patch_is_reproduced"
    ),
    f"{_RUN} tso-rtt-log --full": NotHere("tens of minutes"),
    f"{_2014} --set workload.driver=netperf": Elsewhere(
        "tests/system/test_drivers.py"
        "::test_the_2014_patch_is_reproduced_with_netperf_as_in_its_mail"
    ),
    f"{_2014} --set workload.congestion=dctcp --set path.shaper=htb "
    "--set path.discipline=fq_codel --set path.ce_threshold=50us "
    "--set path.rtt=50us --set path.rate=10gbit": Elsewhere(
        "tests/system/test_marks.py::test_the_queue_stays_at_the_threshold"
    ),
    # its bad arguments
    f"{_2014} --set path.rttt=40ms": Quick(2),
    f"{_2014} --set path.rtt=40": Quick(2),
    # kernels
    f"{_2014} tsq-low-pacing-rate --kernel a=6.12 --kernel b=6.12+my.patch": Elsewhere(
        f"{_KERNELS}::test_one_command_compares_a_patch_on_two_experiments"
    ),
    f"{_2014} --kernel before=6.12 --kernel after=6.12+my.patch": Elsewhere(
        f"{_KERNELS}::test_one_command_compares_a_patch_on_two_experiments"
    ),
    f"{_2014} --kernel a=6.1 --kernel b=6.12": _A_BUILD,
    f"{_2014} --kernel mine": _A_BUILD,
    f"{TESTBED} kernel build --name mine --source ~/net-next --patch v2.mbox": _A_BUILD,
    f"{TESTBED} kernel list": Quick(alone=True),
    f"{TESTBED} kernel show 6.12": Boots(),
    f"{TESTBED} kernel remove mine": Quick(2, alone=True),
    # machines
    f"{_RUN} big-tcp --machine uml-real --repeat 10": Elsewhere(
        "tests/system/test_real_time.py::test_variants_take_turns"
    ),
    f"{_RUN} big-tcp --machine auto": Elsewhere(
        "tests/test_choosing.py::test_the_machine_is_the_one_that_fits"
    ),
    f"{_2014} --machine qemu": Elsewhere(
        "tests/system/test_qemu.py::test_the_guest_is_a_pc_that_translates"
    ),
    f"{_RUN} ./mine.yaml --machine qemu --kernel /boot/vmlinuz-6.1.0-44-amd64": NotHere(
        "there is no distribution's kernel on most hosts of tests"
    ),
    f"sudo {_RUN} ./mine.yaml --machine host": Elsewhere(
        "tests/system/test_host.py"
        "::test_a_run_measures_this_kernel_and_leaves_the_host_as_it_was"
    ),
    f"sudo {_2014} --machine uml --machine uml-real --machine qemu-icount "
    "--machine host --repeat 1 --set capture=true": Elsewhere(
        "tests/system/test_qemu.py::test_no_machine_was_refused"
    ),
    "sudo PYTHONPATH=. mn --custom topologies/long_haul.py --topo long_haul,rtt=10ms "
    "--controller none": Elsewhere(
        f"{_EXPERIMENT}::test_a_topology_works_with_mn_custom"
    ),
    # stored runs
    _STORED: Quick(1),
    f"{_STORED} --json": Elsewhere(
        "tests/cli/test_main.py::test_json_is_the_only_thing_on_stdout"
    ),
    f"{_STORED} --format commit": Quick(1),
    f"{_STORED} --format csv --out packets.csv": Quick(1),
    f"{TESTBED} compare captures/refine-tso-autosizing/<run-id>/before "
    "captures/refine-tso-autosizing/<run-id>/after": Quick(),
    # sweeps
    f"{TESTBED} sweep refine-tso-autosizing --grid path.rtt=1ms,10ms,40ms "
    "--grid path.rate=100mbit,1gbit": Elsewhere(
        f"{_SWEEP}::test_a_sweep_that_was_interrupted_goes_on_where_it_was"
    ),
    f"{TESTBED} sweep refine-tso-autosizing --grid path.rtt=1ms,10ms,40ms": Elsewhere(
        f"{_SWEEP}::test_a_point_is_the_same_as_a_run_with_its_settings"
    ),
    f"{TESTBED} sweep refine-tso-autosizing --grid kernel=6.12,6.12+my.patch": (
        Elsewhere(
            f"{_SWEEP}::test_a_broken_point_is_told_at_the_end_and_the_rest_is_run"
        )
    ),
    f"{TESTBED} sweep refine-tso-autosizing --grid path.rtt=1ms,10ms,40ms "
    "--dask tcp://SCHEDULER:8786": Elsewhere(
        f"{_SWEEP}::test_a_cluster_that_loses_a_worker_midway_runs_every_point"
    ),
    # captures, mails, the model, and what there is
    f"{TESTBED} inspect {_REFERENCE}/after.pcapng --model": Quick(),
    f"{TESTBED} inspect {_REFERENCE}/after.pcapng --flow 1 --plot flow.png": Quick(),
    f"{TESTBED} inspect {_REFERENCE}/before.pcapng --json": Quick(),
    f"{TESTBED} inspect README.md": Quick(2),
    f"{TESTBED} claims tested.mbox --out drafted.yaml": Quick(),
    "cp testbed/experiments/refine-tso-autosizing.yaml mine.yaml": Quick(),
    f"{TESTBED} model refine-tso-autosizing": Quick(),
    f"{TESTBED} model refine-tso-autosizing --set path.rtt=10ms": Quick(),
    f"{TESTBED} model refine-tso-autosizing --set workload.congestion=bbr": Quick(2),
    f"{TESTBED} model refine-tso-autosizing "
    "--against captures/refine-tso-autosizing/<run-id>": Quick(),
    f"{TESTBED} list": Quick(),
    f"{TESTBED} clean": Quick(alone=True),
    f"sudo {TESTBED} clean --void": Elsewhere(
        "tests/system/test_clean.py"
        "::test_after_kill_dash_nine_clean_leaves_the_host_as_it_was"
    ),
}
