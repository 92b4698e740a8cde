"""What a variant needs of a kernel: each need once, tried apart, with its remedy."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace

import pytest
from builders import a_variant, a_workload

from testbed.machine.needs import (
    Need,
    congestion_need,
    link_size_need,
    missing,
    needs_of,
    qdisc_need,
    remedy,
    try_argv,
)
from testbed.process import Finished
from testbed.spec.path import Path
from testbed.spec.qdisc import Qdisc
from testbed.spec.settings import HostSettings
from testbed.spec.workload import FlowGroup

UNKNOWN = "Error: Specified qdisc kind is unknown.\n"


class KernelWithout:
    """Tries nothing: says no to each script that has one of the words in it."""

    def __init__(self, *words: str) -> None:
        self.words = words
        self.tried: list[str] = []

    def __call__(self, argv: Sequence[str]) -> Finished:
        self.tried.append(argv[-1])
        refused = any(f" {word}" in argv[-1] for word in self.words)
        return Finished(
            argv=tuple(argv), status=int(refused) * 2, output=UNKNOWN * refused
        )


def names(variant) -> list[str]:
    return [need.what for need in needs_of(variant)]


def test_a_path_needs_netem_and_its_shaper() -> None:
    path = Path(rtt=1000, rate=10**9, queue=9, shaper="htb", discipline="fq_codel")

    kinds = [each for each in names(a_variant(path=path)) if each.startswith("qdisc")]

    assert kinds == ["qdisc netem", "qdisc htb", "qdisc fq_codel", "qdisc netem"]


def test_a_path_without_delay_needs_no_netem() -> None:
    path = Path(rtt=0, rate=10**9, queue=9, shaper="tbf")

    assert "qdisc netem" not in names(a_variant(path=path))


def test_everything_a_host_is_set_to_is_needed() -> None:
    sender = HostSettings(
        sysctls={"net.ipv4.tcp_ecn": "1"},
        offloads={"tcp-segmentation-offload": False},
        link_sizes={"gso_max_size": 185_000},
        qdisc=Qdisc(kind="fq"),
    )

    wanted = names(a_variant(sender=sender))

    assert wanted[-5:-1] == [
        "sysctl net.ipv4.tcp_ecn of a network namespace",
        "tcp-segmentation-offload off on a veth",
        "gso_max_size 185000 on a veth",
        "qdisc fq",
    ]


def test_every_groups_congestion_control_is_needed_once() -> None:
    groups = tuple(
        FlowGroup(flows=2, congestion=name, pacing_rate=None)
        for name in ("cubic", "dctcp", "cubic")
    )
    workload = a_workload(flows=6, groups=groups)

    assert names(a_variant(workload=workload))[-2:] == [
        "congestion control cubic",
        "congestion control dctcp",
    ]


def test_buffers_of_another_program_are_tried_and_ours_are_forced() -> None:
    own = a_workload(sndbuf=1 << 29)
    theirs = replace(own, driver="netperf")

    assert names(a_variant(workload=own))[-1] == "congestion control cubic"
    assert names(a_variant(workload=theirs))[-1] == (
        "SO_SNDBUF of 536870912 bytes, which takes a net.core.wmem_max of at least "
        "that, on the whole host"
    )


def test_a_need_is_tried_in_a_namespace_of_its_own_with_a_veth() -> None:
    assert try_argv(qdisc_need(Qdisc(kind="fq", options={"limit": 5}))) == (
        *("unshare", "--net", "--", "sh", "-ec"),
        "ip link add here type veth peer name there\n"
        "tc qdisc replace dev here root handle 10: fq limit 5",
    )
    assert try_argv(link_size_need("gso_max_size", 185_000))[-1].endswith(
        "ip link set dev here gso_max_size 185000"
    )


def test_what_a_kernel_refuses_is_missing_with_its_own_words() -> None:
    kernel = KernelWithout("netem", "fq")

    lacks = missing(
        needs_of(a_variant(sender=HostSettings(qdisc=Qdisc(kind="fq")))), kernel
    )

    assert [str(each) for each in lacks] == [
        "qdisc netem: Error: Specified qdisc kind is unknown.",
        "qdisc netem: Error: Specified qdisc kind is unknown.",
        "qdisc fq: Error: Specified qdisc kind is unknown.",
    ]


def test_a_kernel_that_can_do_all_lacks_nothing() -> None:
    kernel = KernelWithout()

    assert missing(needs_of(a_variant()), kernel) == ()
    assert len(kernel.tried) == len(needs_of(a_variant()))


@pytest.fixture
def lacks():
    needs = (qdisc_need(Qdisc(kind="netem")), congestion_need("dctcp"))
    return missing(needs, KernelWithout("netem", "dctcp"))


def test_a_kernel_without_modules_is_to_be_another(lacks) -> None:
    assert remedy(lacks, "no-such-release") == (
        "boot a kernel with CONFIG_NET_SCH_NETEM, CONFIG_TCP_CONG_DCTCP (this one has "
        "no modules); or --machine uml, which has all of it"
    )


def test_a_kernel_with_modules_is_told_which(lacks, tmp_path) -> None:
    (tmp_path / "6.1").mkdir()

    assert remedy(lacks, "6.1", tmp_path) == (
        "modprobe -a sch_netem tcp_dctcp (where there is no such module: apt-get "
        "install linux-modules-extra-6.1); or --machine uml, which has all of it"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces take root")
def test_this_kernel_is_tried_and_nothing_is_left_of_it() -> None:
    nonsense = Need(
        what="nonsense", commands=(("ip", "link", "add", "x", "type", "y"),)
    )
    veth = Need(what="veth", commands=())
    show = ["/bin/sh", "-c", "ip -j link; ls /run/netns 2>&1"]
    before = subprocess.run(show, capture_output=True, check=False).stdout

    (lack,) = missing((veth, nonsense))

    assert lack.need is nonsense
    assert "Unknown device type" in lack.said
    assert subprocess.run(show, capture_output=True, check=False).stdout == before
