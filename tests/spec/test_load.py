"""Loading experiments: every shipped one, and every mistake with its file and line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.errors import SpecError
from testbed.spec.claim import Need
from testbed.spec.codec import decode, encode
from testbed.spec.experiment import Experiment, Scale
from testbed.spec.load import (
    DEFAULTS,
    EXPERIMENTS,
    experiment_names,
    load_experiment,
    parse_experiment,
)
from testbed.spec.located import read_yaml
from testbed.spec.workload import FlowGroup

GOOD = """\
question: Does it?
patch: {subject: s, author: a, date: d, mail: m, fate: f}
path: {rtt: 1ms, rate: 1gbit, queue: 10}
workload: {bytes: 1000}
variants:
  before: {switches: {tcp.x: 1}}
  after: {}
claims:
  - {metric: TcpOutSegs, before: 10, after: 20, within: 5%, source: here}
"""


def load(tmp_path: Path, text: str, settings: tuple[str, ...] = ()) -> Experiment:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return load_experiment(str(path), settings)


@pytest.mark.parametrize("name", experiment_names())
def test_every_shipped_experiment_loads(name: str) -> None:
    experiment = load_experiment(name)

    assert experiment.name == name
    assert len(experiment.variants) >= 2
    assert experiment.claims


@pytest.mark.parametrize("name", experiment_names())
def test_an_experiment_survives_being_stored(name: str) -> None:
    experiment = load_experiment(name)

    assert decode(Experiment, encode(experiment)) == experiment


def test_a_variant_is_defaults_then_experiment_then_its_own(tmp_path: Path) -> None:
    before, after = load(tmp_path, GOOD).variants

    assert before.switches == {"tcp.x": "1"}
    assert after.switches == {}
    assert before.path.rtt == after.path.rtt == 1_000_000
    assert before.workload.bytes == 1000
    assert before.workload.congestion == "cubic"
    assert before.sender.qdisc.kind == "fq"


def test_set_changes_every_variant(tmp_path: Path) -> None:
    settings = ("path.rtt=7ms", "sender.sysctls.net.ipv4.tcp_sack=0")
    experiment = load(tmp_path, GOOD, settings)

    assert {each.path.rtt for each in experiment.variants} == {7_000_000}
    assert experiment.variants[1].sender.sysctls == {"net.ipv4.tcp_sack": "0"}


def test_set_takes_a_whole_mapping(tmp_path: Path) -> None:
    experiment = load(tmp_path, GOOD, ("switches={tcp.y: 2}",))

    assert experiment.variants[0].switches == {"tcp.x": "1", "tcp.y": "2"}


def test_a_claim_without_a_tolerance_of_its_own_has_the_usual_one(tmp_path) -> None:
    text = GOOD.replace("within: 5%", "within: {after: 5%}")
    (claim,) = load(tmp_path, text).claims

    assert claim.within == {"before": 0.10, "after": 0.05}


def test_a_claim_may_be_relative_to_a_variant(tmp_path) -> None:
    text = GOOD.replace("before: 10, after: 20", "relative_to: before, after: 2")
    (claim,) = load(tmp_path, text).claims

    assert (claim.relative_to, claim.claimed) == ("before", {"after": 2})


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        pytest.param(
            "queue: 10}",
            "queue: 10, bw: 3}",
            r"mine.yaml:3: path: a path has no 'bw'; it has: rtt, rate",
            id="unknown-key-in-path",
        ),
        pytest.param(
            "question:",
            "colour: red\nquestion:",
            r"mine.yaml:1: unknown key 'colour' in the experiment; known here: ",
            id="unknown-key",
        ),
        pytest.param(
            "{bytes: 1000}",
            "{bytes: 1000, speed: 1}",
            r"mine.yaml:4: unknown key 'speed' in workload; known here: .*bytes",
            id="unknown-key-in-workload",
        ),
        pytest.param(
            "{bytes: 1000}",
            "{bytes: 1000, driver: iperf3}",
            r"mine.yaml:4: workload: driver: iperf3 closes once it has written all",
            id="what-a-driver-cannot-do",
        ),
        pytest.param("rtt: 1ms", "rtt: 1", r"mine.yaml:3: .*not a time", id="no-unit"),
        pytest.param(
            "{bytes: 1000}", "{}", "either bytes or a duration", id="no-amount"
        ),
        pytest.param(
            "{subject: s, author: a, date: d, mail: m, fate: f}",
            "{author: a, date: d}",
            ":2: patch needs the keys 'subject', 'mail', 'fate'",
            id="no-keys",
        ),
        pytest.param(
            "question: Does it?", "patches: 1", "needs the key 'question'", id="no-key"
        ),
        pytest.param(
            "before: {s", "before: {sender: 3, s", "is a mapping", id="no-mapping"
        ),
        pytest.param("after: {}", "before: {}", ":7: before stands", id="key-twice"),
        pytest.param(
            "variants:", "variants: [", "mine.yaml:[0-9]+: not good YAML", id="syntax"
        ),
        pytest.param(
            "metric: TcpOutSegs, before: 10",
            "metric: TcpOutSegs, before: soon",
            "mine.yaml:9: before: 'soon' is no quantity",
            id="claim-value",
        ),
        pytest.param(
            "after: 20", "after: .nan", ":9: after: nan is no quantity", id="nan"
        ),
        pytest.param(
            "after: 20", f"after: {'9' * 400}", "is no quantity", id="beyond-a-float"
        ),
        pytest.param(
            "after: 20", "after: -1", ":9: after: -1 is no quantity", id="negative"
        ),
        pytest.param(
            "within: 5%", "within: 5", ":9: within: '5' is not a share", id="within"
        ),
        pytest.param(
            "within: 5%",
            "relative_to: beside",
            ":9: a claim: relative_to: there is no variant 'beside'",
            id="relative-to-no-variant",
        ),
        pytest.param(
            "within: 5%",
            "within: {beside: 5%}",
            ":9: unknown key 'beside' in within; known here: before, after",
            id="within-unknown-variant",
        ),
        pytest.param(
            "before: 10, after: 20, ",
            "",
            ":9: a claim: a claim needs a value",
            id="claim-of-nothing",
        ),
        pytest.param(
            "{bytes: 1000}",
            "{bytes: 1000, sndbuf: 1}",
            ":4: workload: sndbuf is from 4096",
            id="tiny-buffer",
        ),
        pytest.param(
            "question: Does it?",
            "question: Does it?\nfull: {claims: []}",
            ":2: unknown key 'claims' in full; known here: kernel",
            id="unknown-key-in-full",
        ),
        pytest.param(
            "question: Does it?",
            "question: Does it?\nreal: {seed: 3}",
            ":2: unknown key 'seed' in real; known here: kernel",
            id="unknown-key-in-real",
        ),
        pytest.param(
            "{bytes: 1000}",
            "{bytes: 1000, flows: 0}",
            ":4: workload: flows is from 1",
            id="no-flows",
        ),
        pytest.param(
            "{bytes: 1000}",
            "{bytes: 1000, groups: [{congestion: reno}]}",
            ":4: a group needs the key 'flows'",
            id="group-of-nothing",
        ),
        pytest.param(
            "queue: 10}",
            "queue: 10, link_sizes: {lro: 3}}",
            ":3: path: 'lro' is no link size",
            id="unknown-size-of-the-path",
        ),
        pytest.param(
            "source: here",
            "source: here, needs: luck",
            ":9: needs: 'luck' is nothing a claim can need; it can need: real, full",
            id="unknown-need",
        ),
        pytest.param("after: {}", "../up: {}", "cannot name a variant", id="traversal"),
        pytest.param("after: {}", "'': {}", "cannot name a variant", id="no-name"),
        pytest.param(
            "before: {s", "before: {kernel: null, s", "kernel needs a value", id="null"
        ),
        pytest.param(
            "question: Does it?",
            "question: &a [*a]",
            "aliases are not taken",
            id="alias",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path, old, new, complaint) -> None:
    with pytest.raises(SpecError, match=complaint):
        load(tmp_path, GOOD.replace(old, new, 1))


def test_a_file_without_an_end_is_no_experiment(tmp_path: Path) -> None:
    endless = tmp_path / "endless.yaml"
    endless.symlink_to("/dev/zero")

    with pytest.raises(SpecError, match="more than 1000000 characters"):
        read_yaml(endless)


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        pytest.param("path.rtt", "write KEY=VALUE", id="no-equals"),
        pytest.param("path.rtt=[", "is no YAML value", id="no-yaml"),
        pytest.param("path.rtt=5", "--set path.rtt=5: .*not a time", id="no-unit"),
        pytest.param("nothing=5", "unknown key 'nothing'", id="unknown-key"),
    ],
)
def test_a_mistaken_setting_is_named(tmp_path, setting, complaint) -> None:
    with pytest.raises(SpecError, match=complaint):
        load(tmp_path, GOOD, (setting,))


def test_an_unknown_experiment_lists_the_known_ones() -> None:
    with pytest.raises(SpecError, match="known: .*refine-tso-autosizing"):
        load_experiment("no-such-thing")


def test_a_missing_file_is_named() -> None:
    with pytest.raises(SpecError, match=r"nowhere.yaml: No such file"):
        load_experiment("nowhere.yaml")


@given(st.binary(max_size=300))
def test_any_bytes_are_an_experiment_or_a_spec_error(tmp_path_factory, junk) -> None:
    path = tmp_path_factory.mktemp("junk") / "x.yaml"
    path.write_bytes(junk)

    with pytest.raises(SpecError):
        load_experiment(str(path))


@given(st.text(alphabet="abcpath: {}[]\n-&*'\"1ms,qruetn", max_size=80))
def test_any_text_after_a_good_start_is_handled(text: str) -> None:
    path = EXPERIMENTS / "refine-tso-autosizing.yaml"
    defaults = read_yaml(EXPERIMENTS / DEFAULTS)
    junk = path.with_name(path.name)
    try:
        outcome = parse_experiment("x", read_yaml(junk), defaults, (f"path={text}",))
    except SpecError:
        outcome = None

    assert outcome is None or outcome.variants


SCALED = GOOD.replace(
    "variants:",
    "full: {workload: {bytes: 5000}, path: {rate: 9gbit}, capture: false}\nvariants:",
)


def test_full_overrides_what_is_quick(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(SCALED)

    quick = load_experiment(str(path))
    full = load_experiment(str(path), scale=Scale.FULL)

    assert quick.scale is Scale.QUICK
    assert full.scale is Scale.FULL
    assert [each.workload.bytes for each in quick.variants] == [1000, 1000]
    assert [each.workload.bytes for each in full.variants] == [5000, 5000]
    assert full.variants[0].path.rate == 9 * 10**9
    assert [each.capture for each in (*quick.variants, *full.variants)] == (
        [True] * 2 + [False] * 2
    )


def test_a_variant_differs_at_full_scale_as_it_does_at_quick(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(SCALED.replace("after: {}", "after: {workload: {bytes: 7}}"))

    full = load_experiment(str(path), scale=Scale.FULL)

    assert [each.workload.bytes for each in full.variants] == [5000, 7]


TIMED = SCALED.replace(
    "variants:", "real: {workload: {bytes: 300, sample_every: 5ms}}\nvariants:"
)


def test_real_overrides_what_is_quick_and_nothing_is_captured(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(TIMED)

    virtual = load_experiment(str(path)).variants[0]
    real = load_experiment(str(path), clock="real")

    assert (virtual.workload.bytes, virtual.capture) == (1000, True)
    assert [each.workload.bytes for each in real.variants] == [300, 300]
    assert real.variants[0].workload.sample_every == 5_000_000
    assert real.variants[0].capture is False
    assert real.scale is Scale.QUICK


def test_in_real_time_too_full_is_what_was_published(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(TIMED)

    full = load_experiment(str(path), scale=Scale.FULL, clock="real")

    assert full.scale is Scale.FULL
    assert full.variants[0].workload.bytes == 5000
    assert full.variants[0].workload.sample_every == 100_000_000


def test_in_real_time_an_experiment_is_sampled_less_and_may_be_captured(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD.replace("1000}", "1000, sample_every: 7ms}"))

    plain = load_experiment(str(path), clock="real").variants[0]
    asked = load_experiment(str(path), ("capture=true",), clock="real").variants[0]

    assert plain.workload.sample_every == 100_000_000
    assert (plain.capture, asked.capture) == (False, True)


def test_without_a_quick_form_the_published_scale_is_what_there_is(tmp_path) -> None:
    assert load(tmp_path, GOOD).scale is Scale.FULL


def test_a_group_has_the_workloads_settings_unless_its_own(tmp_path: Path) -> None:
    groups = "[{flows: 2, congestion: reno}, {flows: 3, pacing_rate: 8kbit}]"
    text = GOOD.replace(
        "{bytes: 1000}", f"{{bytes: 1000, pacing_rate: 1mbit, groups: {groups}}}"
    )

    workload = load(tmp_path, text).variants[0].workload

    assert workload.flows == 5
    assert workload.groups == (
        FlowGroup(flows=2, congestion="reno", pacing_rate=1_000_000),
        FlowGroup(flows=3, congestion="cubic", pacing_rate=8000),
    )


def test_a_claim_may_need_a_real_clock(tmp_path: Path) -> None:
    text = GOOD.replace("source: here", "source: here, needs: real")

    (claim,) = load(tmp_path, text).claims

    assert claim.needs is Need.REAL
