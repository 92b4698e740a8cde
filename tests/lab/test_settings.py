"""Settings: applied, then read back, against a host that answers from a table."""

import json
from dataclasses import dataclass, field

import pytest

from testbed.errors import NotApplied
from testbed.lab.net import Port
from testbed.lab.settings import (
    apply_link_sizes,
    apply_settings,
    check_mtu,
    check_path,
    offloads_shown,
)
from testbed.spec.qdisc import Qdisc
from testbed.spec.settings import HostSettings

#: ethtool -k h1-eth0 (ethtool 6.1, Linux 6.12.117), shortened.
FEATURES = """\
Features for h1-eth0:
rx-checksumming: on
tcp-segmentation-offload: on
\ttx-tcp-segmentation: on
generic-receive-offload: off
large-receive-offload: off [fixed]
"""


@dataclass
class FakeHost:
    """Answers commands by their first words; remembers what it was told."""

    answers: dict[str, str]
    name: str = "h1"
    ports: tuple[Port, ...] = (Port("h1-eth0", None),)
    told: list[str] = field(default_factory=list)

    @property
    def device(self) -> str:
        return self.ports[0].device

    def run(self, *argv: str) -> str:
        line = " ".join(argv)
        self.told.append(line)
        found = (text for start, text in self.answers.items() if line.startswith(start))
        return next(found, "")


def test_a_sysctl_is_set_and_read_back() -> None:
    host = FakeHost({"sysctl -n": "4096\t131072\t6291456\n"})

    apply_settings(host, HostSettings(sysctls={"net.x": "4096 131072 6291456"}))

    assert host.told == ["sysctl -qw net.x=4096 131072 6291456", "sysctl -n net.x"]


def test_a_sysctl_that_did_not_take_voids_the_run() -> None:
    host = FakeHost({"sysctl -n": "1\n"})

    with pytest.raises(NotApplied, match="h1 net.x: asked for 0, the kernel says 1"):
        apply_settings(host, HostSettings(sysctls={"net.x": "0"}))


def test_an_offload_that_is_fixed_voids_the_run() -> None:
    host = FakeHost({"ethtool -k": FEATURES})

    with pytest.raises(NotApplied, match="large-receive-offload: asked for True"):
        apply_settings(host, HostSettings(offloads={"large-receive-offload": True}))


def test_an_offload_the_kernel_does_not_know_voids_the_run() -> None:
    host = FakeHost({"ethtool -k": FEATURES})

    with pytest.raises(NotApplied, match="warp-drive: asked for True, .* says None"):
        apply_settings(host, HostSettings(offloads={"warp-drive": True}))


def test_a_size_is_read_back_from_the_link() -> None:
    host = FakeHost({"ip -d -j": json.dumps([{"gso_max_size": 65536}])})

    apply_settings(host, HostSettings(link_sizes={"gso_max_size": 65536}))
    with pytest.raises(NotApplied, match="gso_max_size: asked for 185000"):
        apply_settings(host, HostSettings(link_sizes={"gso_max_size": 185000}))


def test_sizes_of_the_path_are_set_on_every_port_and_read_back() -> None:
    ports = (Port("r-eth0", None), Port("r-eth1", None))
    shown = json.dumps([{"gro_max_size": 185000}])
    host = FakeHost({"ip -d -j link show dev r-eth": shown}, name="r", ports=ports)

    apply_link_sizes(host, {"gro_max_size": 185000})

    assert [line for line in host.told if line.startswith("ip link set")] == [
        "ip link set dev r-eth0 gro_max_size 185000",
        "ip link set dev r-eth1 gro_max_size 185000",
    ]
    with pytest.raises(NotApplied, match="r r-eth0 gro_max_size: asked for 190000"):
        apply_link_sizes(host, {"gro_max_size": 190000})


def test_a_qdisc_that_is_not_there_voids_the_run() -> None:
    shown = json.dumps([{"kind": "noqueue", "handle": "0:"}])
    host = FakeHost({"tc -r -j qdisc": shown, "tc -j class": "[]"})

    with pytest.raises(NotApplied, match="h1-eth0 qdisc 10:: asked for fq"):
        apply_settings(host, HostSettings(qdisc=Qdisc(kind="fq")))


def test_a_path_without_its_delay_voids_the_run() -> None:
    netem = Qdisc(kind="netem", options={"delay": 20_000_000})
    host = FakeHost(
        {"tc -r -j qdisc": "[]", "tc -j class": "[]"}, ports=(Port("r-eth1", netem),)
    )

    with pytest.raises(NotApplied, match="r-eth1 qdisc 10:: asked for netem"):
        check_path(host)


def test_a_wrong_mtu_voids_the_run() -> None:
    host = FakeHost({"ip -d -j": json.dumps([{"mtu": 1500}])})

    check_mtu(host, 1500)
    with pytest.raises(NotApplied, match="mtu: asked for 4168"):
        check_mtu(host, 4168)


def test_features_are_on_or_off_fixed_or_not() -> None:
    shown = offloads_shown(FEATURES)

    assert shown["tcp-segmentation-offload"] is True
    assert shown["tx-tcp-segmentation"] is True
    assert shown["large-receive-offload"] is False
