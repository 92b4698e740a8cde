"""Commands that set things: sysctl, echo, ip, ethtool, tc. Read first: COMMANDS."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from testbed.errors import SpecError
from testbed.mail import iperf3, netperf
from testbed.mail.facts import Choice, Context, Fact, Found, Note
from testbed.mail.numbers import size
from testbed.mail.shell import Command
from testbed.spec.qdisc import QDISCS
from testbed.spec.settings import LINK_SIZES

#: ethtool's short names of the features that an experiment is written with.
_FEATURES: Mapping[str, str] = {
    "tso": "tcp-segmentation-offload",
    "gso": "generic-segmentation-offload",
    "gro": "generic-receive-offload",
}
#: v4 to v6 of the BIG TCP series had a size for IPv6 alone; what was applied in v5.19
#: has these (0fe79f28bfaf, "net: allow gro_max_size to exceed 65536").
_MERGED = {"gso_ipv6_max_size": "gso_max_size", "gro_ipv6_max_size": "gro_max_size"}


def _host(name: str) -> str:
    return "receiver" if name.startswith(("gro", "generic-receive")) else "sender"


def _found(context: Context, *facts: Fact) -> Found:
    return Found(context=context, facts=facts)


def _sysctl(command: Command, context: Context) -> Found | None:
    """sysctl -w net.ipv4.tcp_x=1"""
    words = [word for word in command.words if not word.startswith("-")]
    pairs = [word.split("=", 1) for word in words if "=" in word]
    if not pairs or len(pairs) != len(words):
        return None
    return _found(context, *(_sysctl_fact(name, value) for name, value in pairs))


def _echo(command: Command, context: Context) -> Found | None:
    """echo 0 >/proc/sys/net/ipv4/tcp_x"""
    place = command.target.removeprefix("/proc/sys/")
    if command.target == place:
        return None
    return _found(
        context, _sysctl_fact(place.replace("/", "."), " ".join(command.words))
    )


def sysctl_shown(line: str, context: Context) -> Found | None:
    """net.ipv4.tcp_x = 1, as sysctl prints."""
    match = re.fullmatch(r"\s*(net(?:\.[\w-]+)+) = (\S.*)", line)
    return _found(context, _sysctl_fact(match[1], match[2])) if match else None


def _sysctl_fact(name: str, value: str) -> Fact:
    name = name.strip().replace("/", ".")
    if re.fullmatch(r"net(?:\.[\w-]+)+", name) and value:
        return Choice(section="sender.sysctls", key=name, value=value)
    return Note(text=f"sysctl {name}={value}")


def _ip(command: Command, context: Context) -> Found | None:
    """ip link set dev eth0 gso_max_size 185000 mtu 4168"""
    words = [word for word in command.words if not word.startswith("-")]
    if words[:2] != ["link", "set"]:
        return None
    facts: list[Fact] = []
    rest = words[2:]
    rest = rest[2:] if rest[:1] == ["dev"] else rest[1:]
    for name, text in zip(rest[::2], rest[1::2], strict=False):
        facts.append(_link_fact(name, text))
    missed = rest[-1] if len(rest) % 2 else ""
    if not facts:
        return None
    return Found(context=context, facts=tuple(facts), rest=missed)


def _link_fact(name: str, text: str) -> Fact:
    value = size(text)
    if value is None:
        return Note(text=f"ip link set {name} {text}")
    if name == "mtu":
        return Choice(section="path", key="mtu", value=value)
    known = _MERGED.get(name, name)
    if known not in LINK_SIZES:
        return Note(text=f"ip link set {name} {text}")
    guess = f"{name} in the mail" if name != known else ""
    # Of the whole path: a router with smaller ones would cut the packets up.
    return Choice(section="path.link_sizes", key=known, value=value, guess=guess)


def _ethtool(command: Command, context: Context) -> Found | None:
    """ethtool -K eth0 tso off gro on; whatever else it sets is of a NIC."""
    words = command.words
    if not words or not words[0].startswith("-"):
        return None
    if words[0] in ("-k", "--show-features"):
        return Found(context=context)
    if words[0] not in ("-K", "--features"):
        note = Note(text=f"ethtool {' '.join(words)} (no NIC here)")
        return Found(context=context, facts=(note,))
    pairs = zip(words[2::2], words[3::2], strict=False)
    facts = tuple(_feature_fact(name, state) for name, state in pairs)
    return Found(context=context, facts=facts) if facts else None


def _feature_fact(name: str, state: str) -> Fact:
    feature = _FEATURES.get(name, name)
    if feature not in _FEATURES.values() or state not in ("on", "off"):
        return Note(text=f"ethtool -K {name} {state}")
    section = f"{_host(feature)}.offloads"
    return Choice(section=section, key=feature, value=state == "on")


def feature_shown(line: str, context: Context) -> Found | None:
    """tcp-segmentation-offload: on, as ethtool -k prints."""
    match = re.fullmatch(r"\s*([a-z][a-z0-9-]+): (on|off)(?: \[.*\])?", line)
    if match is None:
        return None
    return Found(context=context, facts=(_feature_fact(match[1], match[2]),))


def _tc(command: Command, context: Context) -> Found | None:
    """tc qdisc replace dev eth0 root netem delay 20ms rate 1gbit limit 1000"""
    words = command.words
    if words[:1] != ("qdisc",) or len(words) < len(("qdisc", "add", "dev", "eth0")):
        return None
    kinds = [at for at, word in enumerate(words) if word in QDISCS or word == "cake"]
    if not kinds:
        return None
    kind, rest = words[kinds[0]], words[kinds[0] + 1 :]
    if kind in ("netem", "tbf"):
        return _on_path(kind, rest, context)
    if kind == "fq" and len(rest) % 2 == 0:
        options = dict(zip(rest[::2], rest[1::2], strict=False))
        return _found(context, _fq(options))
    return _found(context, Note(text=f"tc {' '.join(words)}"))


def _fq(options: Mapping[str, str]) -> Fact:
    values = {
        name: int(text) if text.isdecimal() else text.lower()
        for name, text in options.items()
    }
    return Choice(section="sender", key="qdisc", value=values or "fq")


#: What netem and tbf say of the path, by kind and option.
_PATH: Mapping[tuple[str, str], str] = {
    ("netem", "delay"): "rtt",
    ("netem", "rate"): "rate",
    ("netem", "loss"): "loss",
    ("netem", "limit"): "queue",
    ("tbf", "rate"): "rate",
}


def _on_path(kind: str, words: tuple[str, ...], context: Context) -> Found:
    facts: list[Fact] = []
    missed: list[str] = []
    for name, text in zip(words[::2], words[1::2], strict=False):
        fact = _path_fact(kind, name, text)
        if fact is None:
            missed.append(f"{name} {text}")
        else:
            facts.append(fact)
    return Found(context=context, facts=tuple(facts), rest=" ".join(missed))


def _path_fact(kind: str, name: str, text: str) -> Fact | None:
    if (kind, name) not in _PATH:
        return None
    try:
        option = QDISCS[kind][name]
        value = option.parse(int(text) if text.isdecimal() else text.lower())
    except SpecError:
        return None
    key = _PATH[kind, name]
    guess = "netem delays one way; had one host alone this delay?"
    return Choice(
        section="path", key=key, value=value, guess=guess if key == "rtt" else ""
    )


def _nstat(command: Command, context: Context) -> Found | None:
    """nstat -n, nstat >/dev/null, nstat -az TcpOutSegs: what it prints is read."""
    words = command.words
    if all(re.fullmatch(r"-\w+|[A-Z]\w+|\*\w+\*?", word) for word in words):
        return Found(context=context)
    return None


def _shows(command: Command, context: Context) -> Found | None:
    """ss -ti and its like: commands that only show."""
    first = command.words[:1]
    quiet = not first or first[0].startswith("-") or first[0].isdecimal()
    return Found(context=context) if quiet else None


def _for(command: Command, context: Context) -> Found | None:
    """for i in {1..10}"""
    return Found(context=context) if command.words[1:2] == ("in",) else None


def _filter(_command: Command, context: Context) -> Found:
    return Found(context=context)


Reader = Callable[[Command, Context], Found | None]

#: What a line may begin with; a reader returns None for what is a sentence after all.
COMMANDS: Mapping[str, Reader] = MappingProxyType(
    {
        "netperf": netperf.read_command,
        "super_netperf": netperf.read_command,
        "iperf3": iperf3.read_command,
        "sysctl": _sysctl,
        "echo": _echo,
        "ip": _ip,
        "ethtool": _ethtool,
        "tc": _tc,
        "nstat": _nstat,
        "ss": _shows,
        "sleep": _shows,
        "done": _shows,
        "for": _for,
    }
)
#: What may follow in the line, and changes nothing that is claimed.
FILTERS: Mapping[str, Reader] = MappingProxyType(
    dict.fromkeys(
        [
            "grep",
            "egrep",
            "fgrep",
            "head",
            "tail",
            "cat",
            "sort",
            "awk",
            "sed",
            "cut",
            "tee",
            "wc",
        ],
        _filter,
    )
)
