"""The sender model against a real kernel, where the 2014 experiment does not go."""

from pathlib import Path

import pytest
from commands import run_json

pytestmark = pytest.mark.guest
#: A rack without loss at two rates, one paced by nobody, and a path 10 ms long; and the
#: rack of 2015 with a queue of eight packets, where CUBIC loses some all the time.
STREAMS = """\
question: How well does the model fit streams of other kinds?
patch: {subject: none, author: none, date: "2026-11-30", commit: null, version: null,
        mail: none, fate: none}
variants:
  rack-10g:
    about: loss-free
    path: {rtt: 50us, rate: 10gbit, queue: 1000}
    workload: {bytes: 125MB}
  rack-40g:
    about: loss-free
    path: {rtt: 50us, rate: 40gbit, queue: 1000}
    workload: {bytes: 125MB}
  rack-unpaced:
    about: loss-free, no qdisc
    path: {rtt: 64us, rate: 40gbit, queue: 1000}
    sender: {qdisc: null}
    workload: {bytes: 12500000}
  long:
    about: loss-free
    path: {rtt: 10ms, rate: 1gbit, queue: 1000}
    workload: {bytes: 60MB}
  lossy:
    about: the queue overflows
    path: {rtt: 60us, rate: 40gbit, queue: 8}
    sender: {qdisc: null}
    workload: {bytes: 400MB}
claims: []
"""


@pytest.fixture(scope="module")
def runs(kernel, tmp_path_factory) -> dict[str, dict]:
    """Return what run --json says of each stream."""
    folder: Path = tmp_path_factory.mktemp("streams")
    (folder / "streams.yaml").write_text(STREAMS)
    answer = run_json(folder, "streams.yaml")
    return {run["variant"]: run for run in answer["runs"]}


@pytest.mark.parametrize("name", ["rack-10g", "rack-40g", "rack-unpaced", "long"])
def test_a_stream_without_loss_is_predicted_packet_by_packet(
    runs: dict[str, dict], name: str
) -> None:
    run = runs[name]
    model, counters = run["model"], run["counters"]["sender"]

    assert model["match"] >= 0.99
    assert model["counters"]["sender"]["TcpOutSegs"] == counters["TcpOutSegs"]
    assert model["packets"]["predicted"] == pytest.approx(
        model["packets"]["measured"], rel=0.01
    )


def test_a_stream_with_losses_is_predicted_on_the_whole(runs: dict[str, dict]) -> None:
    run = runs["lossy"]
    model, counters = run["model"], run["counters"]["sender"]
    measured, predicted = (each["metrics"]["throughput"] for each in (run, model))

    assert counters["TcpRetransSegs"] > 100
    assert predicted["mean"] == pytest.approx(measured["mean"], rel=0.05)
    assert model["size_distance"] <= 0.10
    assert model["stretch_distance"] <= 0.10


def test_streams_over_40_ms_are_predicted_packet_by_packet_through_losses(
    kernel, tmp_path
) -> None:
    # CUBIC grows for seconds behind its loss here: each of its roundings tells.
    sets = ("--set", "workload.bytes=20MB", "--set", "path.queue=100")
    answer = run_json(tmp_path, "refine-tso-autosizing", *sets)

    before, after = answer["runs"]
    assert before["counters"]["sender"]["TcpRetransSegs"] > 100
    assert [run["model"]["match"] for run in (before, after)] == [1.0, 1.0]


@pytest.mark.parametrize("name", ["rack-10g", "rack-40g", "rack-unpaced", "long"])
def test_kernel_and_model_give_the_same_reasons(
    runs: dict[str, dict], name: str
) -> None:
    run = runs[name]

    assert run["attribution"] == pytest.approx(run["model"]["attribution"], abs=0.01)
