"""Paths that are not what was asked for: each run is void, and says why."""

import json
import re
import shutil
from pathlib import Path

import pytest
from commands import CHECKOUT, run_json, run_testbed

pytestmark = pytest.mark.guest

#: A topology that builds another path than it is given; read back, it is what it built.
LIAR = """\
from topologies.long_haul import LongHaul


class Liar(LongHaul):
    def build(self, run_id="", **path):
        super().build(run_id, **{**path, **%s})


topos = {"liar": Liar}
"""
#: One with a host that is not itself.
BROKEN = """\
from topologies.long_haul import LongHaul
from topologies.routed import Host, Router, run_on


class Broken(%(kind)s):
    def config(self, **params):
        shown = super().config(**params)
        run_on(self, %(command)s)
        return shown


class Liar(LongHaul):
    def _add(self, name, run_id, **params):
        own = {"cls": Broken} if name == "%(host)s" else {}
        return super()._add(name, run_id, **{**params, **own})


topos = {"liar": Liar}
"""
EXPERIMENT = """\
question: Is the path the one asked for?
patch: {subject: none, author: a, date: d, mail: m, fate: f}
topology: liar
path: {rtt: 40ms, rate: 1gbit, queue: 1000, shaper: %s}
workload: {bytes: 100000}
variants: {only: {}}
"""


@pytest.fixture
def why_void(kernel, tmp_path):
    """Return a function that runs over a topology, and returns why that is void."""
    checkout = tmp_path / "checkout"
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("testbed", "topologies"):
        shutil.copytree(CHECKOUT / name, checkout / name, ignore=ignored)

    def run(topology: str, *arguments: str, shaper: str = "netem") -> str:
        (checkout / "topologies" / "liar.py").write_text(topology)
        (tmp_path / "it.yaml").write_text(EXPERIMENT % shaper)
        done = run_testbed(
            "run", "it.yaml", *arguments, cwd=tmp_path, checkout=checkout
        )
        assert done.returncode == 4, done.stderr
        (record,) = tmp_path.glob("captures/it/*/only/1/run.json")
        stored = json.loads(record.read_text())
        assert stored["state"] == "void"
        return stored["why"]

    return run


@pytest.mark.parametrize(
    ("lie", "shaper", "why"),
    [
        pytest.param(
            {"rtt": "40.01ms"}, "netem", "to the receiver is 20\\.005\\d ms, not 20 ms"
        ),
        pytest.param(
            {"rate": "980mbit"},
            "netem",
            "to the receiver is 980.\\d+ Mbit/s, not 1gbit",
        ),
        pytest.param(
            {"rate": "900mbit"},
            "htb",
            "to the receiver is (899|900).\\d+ Mbit/s, not 1gbit",
        ),
        pytest.param(
            {"rate": "900mbit"},
            "tbf",
            "to the receiver is (899|900).\\d+ Mbit/s, not 1gbit",
        ),
        pytest.param(
            {"queue": 999}, "netem", "the queue's limit is 999 packets, not 1000"
        ),
    ],
    ids=["delay", "rate", "htb", "tbf", "queue"],
)
def test_a_path_that_lies_voids_the_run(lie, shaper, why, why_void) -> None:
    told = why_void(LIAR % lie, shaper=shaper)

    assert told.startswith("the path is not as asked for: ")
    assert re.search(why, told), told


def test_a_router_that_does_not_forward_voids_the_run(why_void) -> None:
    command = ("sysctl", "-qw", "net.ipv4.ip_forward=0")
    topology = BROKEN % {"kind": "Router", "host": "r", "command": command}

    assert why_void(topology) == (
        "the path is not as asked for: nothing arrives at the receiver; nothing "
        "arrives at the sender"
    )


def test_a_server_that_is_down_voids_the_run(why_void) -> None:
    command = ("ip", "link", "set", "dev", "h2-eth0", "down")
    topology = BROKEN % {"kind": "Host", "host": "h2", "command": command}

    assert why_void(topology) == (
        "the path's probe failed: h2 cannot reach 10.0.1.2: Network is unreachable"
    )


def test_in_real_time_half_the_rate_voids_the_run(why_void) -> None:
    told = why_void(LIAR % {"rate": "100mbit"}, "--machine", "uml-real")

    assert "the rate to the receiver is 1" in told


def test_a_run_says_what_its_path_was(kernel, tmp_path) -> None:
    (tmp_path / "it.yaml").write_text(
        (EXPERIMENT % "netem").replace("liar", "long_haul")
    )

    (run,) = run_json(tmp_path, "it.yaml")["runs"]

    told = json.loads((Path(run["folder"]) / "environment.json").read_text())["path"]
    assert told["queue"] == {"asked": 1000, "shown": 1000, "held": 1000}
    for way in ("to the receiver", "to the sender"):
        delay, rate = told[way]["delay_ns"], told[way]["rate"]
        assert abs(delay["measured"] - delay["asked"]) < 500
        assert rate["measured"] == pytest.approx(rate["asked"], rel=1e-4)
