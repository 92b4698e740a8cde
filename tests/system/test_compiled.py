"""The model compiled by mypyc predicts what its sources do, in less time."""

import json
import os
import sys

import pytest

from testbed.compiled import PURE, compile_model
from testbed.process import run

SCRIPT = """
import hashlib, json, time
from testbed.model import connection
from testbed.model.features import features_of
from testbed.model.simulate import simulate
from testbed.spec.load import load_experiment

told = {"from": connection.__file__}
for variant in load_experiment("refine-tso-autosizing").variants:
    begin = time.perf_counter()
    for _ in range(5):
        prediction = simulate(variant, features_of(variant))
    seconds = time.perf_counter() - begin
    trace = prediction.trace
    columns = (trace.time_ns, trace.seq, trace.length, trace.ack_time_ns, trace.ack)
    told[variant.name] = {
        "sha": hashlib.sha256(b"".join(map(bytes, columns))).hexdigest(),
        "counters": prediction.counters,
        "causes": [cause.value for cause in prediction.causes],
        "seconds": seconds,
    }
print(json.dumps(told))
"""


def simulated(*, pure: str) -> dict[str, dict[str, object]]:
    env = {**os.environ, PURE: pure}
    out = run((sys.executable, "-c", SCRIPT), timeout_s=120, env=env)
    return json.loads(out)


@pytest.mark.guest
def test_the_compiled_model_predicts_the_same_at_twice_the_speed_or_more() -> None:
    compile_model()
    compiled, pure = simulated(pure=""), simulated(pure="1")
    times = {
        name: (each.pop("seconds"), pure[name].pop("seconds"))
        for name, each in compiled.items()
        if name != "from"
    }

    assert compiled.pop("from").endswith(".so")
    assert pure.pop("from").endswith(".py")
    assert compiled == pure
    assert all(2 * fast < slow for fast, slow in times.values()), times
