"""Mails to drafts that load. The mails here have the layouts and numbers of five that
went to netdev, in words of our own. Their goldens are made, from the checkout, with

    python -m testbed claims tests/mail/NAME.txt --out tests/mail/golden/NAME.yaml
"""

import base64
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from testbed.errors import SpecError
from testbed.mail.draft import draft
from testbed.spec.experiment import Experiment
from testbed.spec.load import load_experiment

HERE = Path(__file__).parent
NAMES = ("thread", "limit", "quoted", "latency", "flat")
HEAD = "From: A <a@b>\nSubject: [PATCH] tcp: x\n\nTested:\n"


def load(tmp_path: Path, text: str) -> Experiment:
    path = tmp_path / "drafted.yaml"
    path.write_text(text, encoding="utf-8")
    return load_experiment(str(path))


@pytest.mark.parametrize("name", NAMES)
def test_a_mail_gives_its_golden_draft(name: str) -> None:
    drafted = draft((HERE / f"{name}.txt").read_bytes(), f"tests/mail/{name}.txt")

    assert drafted.yaml == (HERE / "golden" / f"{name}.yaml").read_text()


@pytest.mark.parametrize(
    ("name", "missed"),
    [
        pytest.param("thread", [], id="thread"),
        pytest.param("limit", [], id="limit"),
        pytest.param("quoted", [18], id="quoted"),
        pytest.param("latency", [11, 27], id="latency"),
        pytest.param("flat", [1, 1, 1, 1, 1], id="flat"),
    ],
)
def test_lines_that_say_nothing_known_are_told(name: str, missed) -> None:
    drafted = draft((HERE / f"{name}.txt").read_bytes(), name)

    assert [each.line.number for each in drafted.missed] == missed


@pytest.mark.parametrize("name", NAMES)
def test_a_draft_loads(name: str, tmp_path: Path) -> None:
    text = (HERE / "golden" / f"{name}.yaml").read_text()

    experiment = load(tmp_path, text)

    assert [each.name for each in experiment.variants] == ["before", "after"]


def test_the_draft_of_the_first_experiment_has_its_workload_and_claims() -> None:
    drafted = load_experiment(str(HERE / "golden" / "thread.yaml"))
    shipped = load_experiment("refine-tso-autosizing")

    claimed = {each.metric: each.claimed for each in drafted.claims}
    assert claimed == {each.metric: each.claimed for each in shipped.claims}
    for ours, theirs in zip(drafted.variants, shipped.variants, strict=True):
        assert ours.workload == theirs.workload
        assert (ours.topology, ours.path.rtt) == (theirs.topology, theirs.path.rtt)


def test_the_drafts_of_2022_have_flows_transactions_and_link_sizes() -> None:
    streams = load_experiment(str(HERE / "golden" / "quoted.yaml")).variants[1]
    asking = load_experiment(str(HERE / "golden" / "latency.yaml")).variants

    assert streams.workload.flows == 600
    assert streams.workload.pacing_rate == 160_000_000
    sizes = [
        (each.request_size, each.response_size)
        for each in (variant.workload for variant in asking)
    ]
    assert sizes == [(80_000, 80_000)] * 2
    assert [dict(each.path.link_sizes) for each in asking] == [
        {},
        {"gro_max_size": 185_000, "gso_max_size": 185_000},
    ]


@pytest.mark.parametrize(
    ("lines", "is_asking"),
    [
        pytest.param(["netperf -l -5000", "netperf -t TCP_RR -l 1"], True, id="asks"),
        pytest.param(["netperf -t TCP_RR", "netperf -l -5000"], False, id="streams"),
        pytest.param(["netperf -t TCP_RR -l -500"], True, id="so-many-transactions"),
        pytest.param(["netperf -t TCP_RR -- -r 5,9999999999"], False, id="too-large"),
    ],
)
def test_the_last_command_says_whether_it_is_transactions(
    tmp_path, lines: list[str], is_asking
) -> None:
    text = HEAD + "\n".join([*lines, "TcpOutSegs 1 0.0", ""])

    workload = load(tmp_path, draft(text.encode(), "f").yaml).variants[1].workload

    assert (workload.request_size is not None) is is_asking


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("quotes", [1, 4])
def test_a_mail_quoted_as_a_whole_has_the_same_claims(name, quotes, tmp_path) -> None:
    data = (HERE / f"{name}.txt").read_text()
    quoted = "".join(f"{'> ' * quotes}{line}\r\n" for line in data.splitlines())

    drafted = load(tmp_path, draft(quoted.encode(), name).yaml)

    golden = load_experiment(str(HERE / "golden" / f"{name}.yaml"))
    assert [each.claimed for each in drafted.claims] == [
        each.claimed for each in golden.claims
    ]


def test_an_encoded_mail_gives_the_same_claims(tmp_path: Path) -> None:
    head = "Subject: [PATCH] x\nFrom: a@b\nContent-Transfer-Encoding: base64\n\n"
    body = base64.encodebytes((HERE / "limit.txt").read_bytes()).decode()

    drafted = draft((head + body).encode(), "limit")

    (claim,) = load(tmp_path, drafted.yaml).claims
    assert claim.claimed == {"before": 60_000, "after": 12_540_000}


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        pytest.param(b"", "f: no tested section: looked for", id="empty"),
        pytest.param(b"Hello\n", "a command line of netperf", id="text"),
        pytest.param(b"x" * 5_000_000, "f: 5000000 bytes are no mail", id="huge"),
        pytest.param(b"Tested:\nTcpOutSegs 1 0.0\n", "f: this is no patch", id="bare"),
    ],
)
def test_what_cannot_be_drafted_is_refused(data, complaint) -> None:
    with pytest.raises(SpecError, match=complaint):
        draft(data, "f")


@pytest.mark.parametrize(
    ("line", "comment"),
    [
        pytest.param(
            "netperf -l 999999", "duration of 999999000000000: dur", id="long"
        ),
        pytest.param(
            "netperf -l 1 -- -s 10", "# line 5: sndbuf: 10: sndbuf is", id="s"
        ),
        pytest.param(
            "ip link set eth0 gso_max_size 9999999",
            "# line 5: gso_max_size: 9999999: gso_max_size is from",
            id="link-size",
        ),
        pytest.param("super_netperf 9999 -l 1", "flows: 9999: flows is", id="flows"),
        pytest.param("MTU 99", "# line 5: mtu: 99: mtu is from", id="mtu"),
        pytest.param("tc qdisc add dev a root fq no 1", "fq has no 'no'", id="fq"),
    ],
)
def test_what_the_specification_refuses_is_a_comment(line, comment, tmp_path) -> None:
    drafted = draft(f"{HEAD}{line}\nTcpOutSegs 1 0.0\n".encode(), "f")

    assert comment in drafted.yaml
    assert load(tmp_path, drafted.yaml).claims


def test_a_figure_without_a_heading_is_a_guess() -> None:
    drafted = draft(f"{HEAD}TcpOutSegs 1 0.0\n".encode(), "f")

    assert "after: 1  # guess: no heading says whose it is" in drafted.yaml


LINES = st.sampled_from(
    [line for name in NAMES for line in (HERE / f"{name}.txt").read_text().splitlines()]
)
shared_folder = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def must_load_or_refuse(tmp_path: Path, data: bytes) -> None:
    try:
        drafted = draft(data, "f")
    except SpecError:
        return
    load(tmp_path, drafted.yaml)


@shared_folder
@given(st.lists(st.one_of(LINES, st.text(max_size=40)), max_size=30))
def test_lines_in_any_order_load_or_are_refused(tmp_path, lines: list[str]) -> None:
    text = HEAD + "\n".join(lines)

    must_load_or_refuse(tmp_path, text.encode("utf-8", "replace"))


@shared_folder
@given(st.sampled_from(NAMES), st.randoms(use_true_random=False))
def test_a_damaged_mail_loads_or_is_refused(
    tmp_path, name: str, chance: random.Random
) -> None:
    data = bytearray((HERE / f"{name}.txt").read_bytes())
    for _ in range(chance.randrange(40)):
        data[chance.randrange(len(data))] = chance.randrange(256)

    must_load_or_refuse(tmp_path, bytes(data[: chance.randrange(len(data))]))
    must_load_or_refuse(tmp_path, bytes(data))


@shared_folder
@given(st.binary(max_size=200))
def test_any_bytes_below_a_heading_load_or_are_refused(tmp_path, junk: bytes) -> None:
    must_load_or_refuse(tmp_path, junk)
    must_load_or_refuse(tmp_path, HEAD.encode() + junk)


@pytest.mark.parametrize(
    "junk",
    [
        pytest.param("9" * 5000, id="digits"),
        pytest.param("super_netperf ²00 -H a -l 10", id="a-digit-that-is-no-number"),
        pytest.param(" " * 200_000 + "x", id="spaces"),
        pytest.param("1 " * 100_000, id="numbers"),
        pytest.param("Tested:\n" * 5_000, id="headings"),
        pytest.param("netperf -l 1\n" * 1500, id="commands"),
        pytest.param(">" * 100_000 + "\n", id="quotes"),
        pytest.param("On " + "a " * 100_000, id="replies"),
        pytest.param("TcpOutSegs " + "9" * 400 + " 0.0", id="counter"),
        pytest.param("netperf -l -" + "9" * 400, id="length"),
    ],
)
def test_hostile_mails_load_or_are_refused_at_once(tmp_path, junk: str) -> None:
    must_load_or_refuse(tmp_path, (HEAD + junk + "\nTcpOutSegs 1 0.0\n").encode())
