"""Apply settings, then read each one back: what did not take voids the run."""

import json
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

from testbed.errors import NotApplied
from testbed.lab.net import Host
from testbed.spec.qdisc import Qdisc, differences, parse_classes, tc_commands
from testbed.spec.settings import HostSettings

_PARAMETERS = Path("/sys/module")
_YES = {"1": "Y", "0": "N"}


def apply_switches(switches: dict[str, str]) -> None:
    """Set kernel module parameters ("module.name" to value), and read them back."""
    for name, wanted in switches.items():
        module, _, parameter = name.partition(".")
        path = _PARAMETERS / module / "parameters" / parameter
        try:
            path.write_text(wanted)
            got = path.read_text().strip()
        except OSError as error:
            raise NotApplied(
                f"kernel switch {name}", wanted=wanted, got=error.strerror
            ) from error
        if got not in (wanted, _YES.get(wanted)):
            raise NotApplied(f"kernel switch {name}", wanted=wanted, got=got)


def apply_settings(host: Host, settings: HostSettings) -> None:
    """Set a host's sysctls, offloads, sizes and qdisc, and read each of them back."""
    for name, wanted in settings.sysctls.items():
        _apply_sysctl(host, name, wanted)
    if settings.offloads:
        _apply_offloads(host, settings.offloads)
    for size, value in settings.link_sizes.items():
        _apply_link_size(host, host.device, size, value)
    if settings.qdisc is not None:
        for command in tc_commands(host.device, settings.qdisc):
            host.run(*command)
        check_qdisc(host, host.device, settings.qdisc)


def apply_link_sizes(host: Host, sizes: Mapping[str, int]) -> None:
    """Set the sizes of every interface of a host, and read each of them back."""
    for port in host.ports:
        for name, value in sizes.items():
            _apply_link_size(host, port.device, name, value)


def apply_mtu(host: Host, mtu: int) -> None:
    """Set the MTU of every interface of a host; check_mtu reads it back."""
    for port in host.ports:
        host.run("ip", "link", "set", "dev", port.device, "mtu", str(mtu))


def check_path(router: Host) -> None:
    """Read the router's qdiscs back: the path must be the one that was asked for."""
    for port in router.ports:
        if port.qdisc is not None:
            check_qdisc(router, port.device, port.qdisc)


def check_qdisc(host: Host, device: str, wanted: Qdisc) -> None:
    """Raise NotApplied unless tc shows the qdisc and its children as asked for."""
    # -r: else tbf shows a latency computed from its limit, and not the limit.
    qdiscs = json.loads(host.run("tc", "-r", "-j", "qdisc", "show", "dev", device))
    classes = parse_classes(host.run("tc", "class", "show", "dev", device))
    for what, asked, got in differences(wanted, qdiscs, classes):
        raise NotApplied(f"{host.name} {device} {what}", wanted=asked, got=got)


def check_mtu(host: Host, mtu: int) -> None:
    """Raise NotApplied unless every interface of the host has this MTU."""
    for port in host.ports:
        got = _link(host, port.device)["mtu"]
        if got != mtu:
            raise NotApplied(f"{host.name} {port.device} mtu", wanted=mtu, got=got)


def offloads_shown(text: str) -> dict[str, bool]:
    """Return feature to on/off from what `ethtool -k DEVICE` prints."""
    pairs = (line.strip().split(": ", 1) for line in text.splitlines() if ": " in line)
    return {pair[0]: pair[1].startswith("on") for pair in pairs}


def _apply_sysctl(host: Host, name: str, wanted: str) -> None:
    host.run("sysctl", "-qw", f"{name}={wanted}")
    got = host.run("sysctl", "-n", name).split()
    if got != wanted.split():
        raise NotApplied(f"{host.name} {name}", wanted=wanted, got=" ".join(got))


def _apply_offloads(host: Host, wanted: Mapping[str, bool]) -> None:
    states = [(feature, "on" if on else "off") for feature, on in wanted.items()]
    host.run("ethtool", "-K", host.device, *chain.from_iterable(states))
    shown = offloads_shown(host.run("ethtool", "-k", host.device))
    for feature, on in wanted.items():
        if (got := shown.get(feature)) != on:
            raise NotApplied(f"{host.name} {feature}", wanted=on, got=got)


def _apply_link_size(host: Host, device: str, name: str, wanted: int) -> None:
    host.run("ip", "link", "set", "dev", device, name, str(wanted))
    got = _link(host, device).get(name)
    if got != wanted:
        raise NotApplied(f"{host.name} {device} {name}", wanted=wanted, got=got)


def _link(host: Host, device: str) -> dict[str, object]:
    shown = json.loads(host.run("ip", "-d", "-j", "link", "show", "dev", device))
    return dict(shown[0])
