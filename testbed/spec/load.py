"""YAML to Experiment: defaults, then the experiment, then the variant, then --set.

An experiment file states only its differences from defaults.yaml, and a variant only
its differences from its experiment. Every error says file, line, key and what is known.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path as FilePath
from typing import TypeVar

import yaml

from testbed.errors import PlacedError, SpecError
from testbed.spec.claim import Claim, Need
from testbed.spec.experiment import Experiment, Patch, Scale, Variant
from testbed.spec.located import Located, Section, locate, merge, read_yaml
from testbed.spec.path import parse_path
from testbed.spec.qdisc import Qdisc, parse_qdisc
from testbed.spec.settings import HostSettings, parse_link_sizes
from testbed.spec.workload import FlowGroup, Workload
from testbed.units import (
    RATE_UNITS,
    SIZE_UNITS,
    TIME_UNITS,
    parse_rate,
    parse_ratio,
    parse_size,
    parse_time,
)

T = TypeVar("T")

EXPERIMENTS = FilePath(__file__).parent.parent / "experiments"
DEFAULTS = "defaults.yaml"
#: Keys that a variant may set, and that an experiment sets for all its variants.
_SHARED = (
    "kernel",
    "topology",
    "path",
    "switches",
    "sender",
    "receiver",
    "workload",
    "capture",
)
_QUANTITIES = (
    (RATE_UNITS, parse_rate),
    (TIME_UNITS, parse_time),
    (SIZE_UNITS, parse_size),
)
#: A measured value this near the claimed one counts as the same, unless a claim says.
_WITHIN = 0.10


def experiment_names() -> tuple[str, ...]:
    """Return the names of the shipped experiments."""
    files = sorted(EXPERIMENTS.glob("*.yaml"))
    return tuple(path.stem for path in files if path.name != DEFAULTS)


def load_experiment(
    name: str,
    settings: Sequence[str] = (),
    scale: Scale = Scale.QUICK,
    clock: str = "virtual",
) -> Experiment:
    """Return a shipped experiment by name, or one from a .yaml file of the user's.

    settings: "key.key=value" as given to --set; they apply to every variant.  scale:
    QUICK, or FULL with what the file has below `full:`.  clock: "virtual", or "real"
    with what defaults.yaml and, unless FULL, the file have below `real:`.
    """
    path = FilePath(name)
    if path.suffix not in (".yaml", ".yml"):
        if name not in experiment_names():
            known = ", ".join(experiment_names())
            raise SpecError(
                f"there is no experiment {name!r}; known: {known}, or a .yaml file"
            )
        path = EXPERIMENTS / f"{name}.yaml"
    return parse_experiment(
        *(path.stem, read_yaml(path), read_yaml(EXPERIMENTS / DEFAULTS)),
        settings,
        scale=scale,
        clock=clock,
    )


def parse_experiment(
    name: str,
    written: Located,
    defaults: Located,
    settings: Sequence[str] = (),
    *,
    scale: Scale = Scale.QUICK,
    clock: str = "virtual",
) -> Experiment:
    """Return the experiment that a located YAML document describes.

    scale: what is asked for; one without `full:` has the published scale only.  clock:
    "virtual", or "real" with what is below `real:`, where `full:` goes before its own.
    """
    section = Section(written, "the experiment")
    base = _base(section, Section(defaults, DEFAULTS), scale, clock)
    if _below(section, "full") is None:
        scale = Scale.FULL
    variants = _parse_variants(section.raw("variants"), written, base, settings)
    names = [each.name for each in variants]
    return section.make(
        lambda: Experiment(
            name=name,
            scale=scale,
            question=section.need("question", _text),
            patch=_parse_patch(section.section("patch")),
            variants=variants,
            claims=_parse_claims(section.raw("claims"), names),
        )
    )


def _base(section: Section, usual: Section, scale: Scale, clock: str) -> Located:
    """Return what all variants start from. What is published goes before `real:`."""
    full, real = _below(section, "full"), _below(section, "real")
    usual_real = _below(usual, "real")
    base = merge(usual.make(lambda: _shared(usual)), _shared(section))
    if clock == "real":
        base = merge(base, usual_real)
    if full is not None and scale is Scale.FULL:
        return merge(base, full)
    return merge(base, real) if clock == "real" else base


def _shared(section: Section) -> Located:
    given = {key: section.raw(key) for key in _SHARED}
    return Located({key: each for key, each in given.items() if each is not None}, "")


def _below(section: Section, key: str) -> Located | None:
    """Return what all variants have only at some scale or clock, None if nothing."""
    given = section.raw(key)
    if given is None or given.value is None:
        return None
    own = Section(given, key)
    return own.make(lambda: _shared(own))


def _parse_variants(
    given: Located | None, written: Located, base: Located, settings: Sequence[str]
) -> tuple[Variant, ...]:
    if given is None or not isinstance(given.value, dict) or not given.value:
        where = (given or written).where
        raise PlacedError(
            f"{where}: the experiment needs variants, such as before, after"
        )
    return tuple(
        _parse_variant(name, _with_settings(merge(base, _or_empty(own)), settings))
        for name, own in given.value.items()
    )


def _or_empty(located: Located) -> Located:
    return Located({}, located.where) if located.value is None else located


def _with_settings(variant: Located, settings: Sequence[str]) -> Located:
    for setting in settings:
        key, equals, text = setting.partition("=")
        where = f"--set {setting}"
        if not equals or not key:
            raise PlacedError(f"{where}: write KEY=VALUE, such as path.rtt=10ms")
        try:
            value = locate(yaml.safe_load(text), where)
        except yaml.YAMLError as error:
            raise PlacedError(f"{where}: {text!r} is no YAML value") from error
        for part in reversed(_key_parts(key)):
            value = Located({part: value}, where)
        variant = merge(variant, value)
    return variant


def _key_parts(key: str) -> list[str]:
    # A sysctl's or switch's own name has dots: sender.sysctls.net.ipv4.tcp_rmem.
    parts = key.split(".")
    for marker in ("sysctls", "switches"):
        if marker in parts[:-1]:
            at = parts.index(marker) + 1
            return [*parts[:at], ".".join(parts[at:])]
    return parts


def _parse_variant(name: str, located: Located) -> Variant:
    section = Section(located, f"variant {name}")
    return section.make(
        lambda: Variant(
            name=name,
            about=section.get("about", _text) or "",
            kernel=section.need("kernel", _text),
            topology=section.need("topology", _text),
            path=section.need("path", _mapped(parse_path)),
            switches=section.get("switches", _mapped(_parse_switches)) or {},
            sender=_parse_host(section.section("sender")),
            receiver=_parse_host(section.section("receiver")),
            workload=_parse_workload(section.section("workload")),
            capture=section.need("capture", _flag),
        )
    )


def _parse_host(section: Section) -> HostSettings:
    return section.make(
        lambda: HostSettings(
            sysctls=section.get("sysctls", _mapped(_texts)) or {},
            offloads=section.get("offloads", _mapped(_flags)) or {},
            link_sizes=section.get("link_sizes", _mapped(parse_link_sizes)) or {},
            qdisc=section.get("qdisc", _parse_host_qdisc),
        )
    )


def _parse_host_qdisc(value: object) -> Qdisc | None:
    return None if value == "none" else parse_qdisc(value)


def _parse_switches(values: Mapping[str, object]) -> dict[str, str]:
    for name in values:
        if name.count(".") != 1:
            raise SpecError(f"{name!r} is no switch; write module.parameter")
    return _texts(values)


def _parse_workload(section: Section) -> Workload:
    groups = _parse_groups(section)
    flows = section.get("flows", _whole)
    if flows is None:
        flows = sum(each.flows for each in groups) or 1
    return section.make(
        lambda: Workload(
            bytes=section.get("bytes", parse_size),
            duration=section.get("duration", parse_time),
            flows=flows,
            stagger=section.get("stagger", parse_time) or 0,
            groups=groups,
            request_size=section.get("request_size", parse_size),
            response_size=section.get("response_size", parse_size),
            send_size=section.need("send_size", parse_size),
            sndbuf=section.get("sndbuf", parse_size),
            rcvbuf=section.get("rcvbuf", parse_size),
            congestion=section.need("congestion", _text),
            pacing_rate=section.get("pacing_rate", parse_rate),
            family=section.need("family", _whole),
            sample_every=section.need("sample_every", parse_time),
            driver=section.get("driver", _text) or "testbed",
        )
    )


def _parse_groups(workload: Section) -> tuple[FlowGroup, ...]:
    given = workload.raw("groups")
    if given is None or given.value is None:
        return ()
    if not isinstance(given.value, list) or not given.value:
        raise PlacedError(f"{given.where}: groups is a list of groups of flows")
    return tuple(
        _parse_group(Section(each, "a group"), workload) for each in given.value
    )


def _parse_group(section: Section, workload: Section) -> FlowGroup:
    """Return a group of flows; what it does not say is as the workload says it."""
    usual = workload.need("congestion", _text)
    paced = section if section.raw("pacing_rate") else workload
    return section.make(
        lambda: FlowGroup(
            flows=section.need("flows", _whole),
            congestion=section.get("congestion", _text) or usual,
            pacing_rate=paced.get("pacing_rate", parse_rate),
        )
    )


def _parse_patch(section: Section) -> Patch:
    section.need_all("subject", "author", "date", "mail", "fate")
    return section.make(
        lambda: Patch(
            subject=section.need("subject", _text),
            author=section.need("author", _text),
            date=section.need("date", _text),
            commit=section.get("commit", _text),
            version=section.get("version", _text),
            mail=section.need("mail", _text),
            fate=section.need("fate", _text),
        )
    )


def _parse_claims(given: Located | None, variants: list[str]) -> tuple[Claim, ...]:
    if given is None or given.value is None:
        return ()
    if not isinstance(given.value, list):
        raise PlacedError(f"{given.where}: claims is a list")
    return tuple(
        _parse_claim(Section(each, "a claim"), variants) for each in given.value
    )


def _parse_claim(section: Section, variants: list[str]) -> Claim:
    metric = section.need("metric", _text)
    given = {name: section.get(name, _quantity) for name in variants}
    claimed = {name: value for name, value in given.items() if value is not None}
    return section.make(
        lambda: Claim(
            metric=metric,
            host=section.get("host", _text) or "sender",
            claimed=claimed,
            within=_tolerances(section, variants),
            source=section.need("source", _text),
            why=section.get("why", _text) or "",
            relative_to=_one_of(variants, section.get("relative_to", _text)),
            needs=section.get("needs", _need),
        )
    )


def _one_of(variants: list[str], name: str | None) -> str | None:
    if name is not None and name not in variants:
        known = ", ".join(variants)
        raise SpecError(
            f"relative_to: there is no variant {name!r}; there are: {known}"
        )
    return name


def _tolerances(section: Section, variants: list[str]) -> dict[str, float]:
    written = section.raw("within")
    if written is not None and isinstance(written.value, dict):
        own = section.section("within")
        given = own.make(
            lambda: {name: own.get(name, parse_ratio) for name in variants}
        )
    else:
        given = dict.fromkeys(variants, section.get("within", parse_ratio))
    return {name: _WITHIN if share is None else share for name, share in given.items()}


def _quantity(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if 0 <= value <= sys.float_info.max:
            return float(value)
        raise SpecError(f"{value!r} is no quantity: it must be finite and not negative")
    unit = str(value).lstrip("0123456789._ ")
    for units, parse in _QUANTITIES:
        if unit in units:
            return float(parse(value))
    raise SpecError(f"{value!r} is no quantity; write 599, 44.22mbit or 360ms")


def _text(value: object) -> str:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value).strip()
    raise SpecError(f"{value!r} is not text; put it in quotes")


def _need(value: object) -> Need:
    if value in [each.value for each in Need]:
        return Need(value)
    known = ", ".join(each.value for each in Need)
    raise SpecError(f"{value!r} is nothing a claim can need; it can need: {known}")


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    return {name: _text(value) for name, value in values.items()}


def _whole(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise SpecError(f"{value!r} is not a whole number")


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise SpecError(f"{value!r} is not true or false")


def _flags(values: Mapping[str, object]) -> dict[str, bool]:
    for name, value in values.items():
        if not isinstance(value, bool):
            raise SpecError(f"{name}: {value!r} is not true or false")
    return {name: bool(value) for name, value in values.items()}


def _mapped(
    parse: Callable[[Mapping[str, object]], T],
) -> Callable[[object], T]:
    def checked(value: object) -> T:
        if not isinstance(value, dict):
            raise SpecError(f"{value!r} is no mapping of keys to values")
        return parse(value)

    return checked
