"""inspect says what the oracle says, of any conversation in any kind of capture."""

import subprocess
import sys
from pathlib import Path
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.trace.agreeing import disagreements, inspected, strict
from tests.trace.conversations import conversations
from tests.trace.dress import Dressed, dressed
from tests.trace.oracle import flows_of

CHECKOUT = Path(__file__).parents[2]
thorough = settings(
    deadline=None,
    max_examples=80,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def captured(seed: int) -> Dressed:
    """Return a conversation in a capture; the seed is all that makes them."""
    random = Random(seed)  # noqa: S311  # it is told by its seed
    return dressed(random, conversations(random))


@thorough
@given(seed=st.integers(0, 2**32))
def test_inspect_says_of_any_capture_what_the_oracle_says(
    tmp_path: Path, seed: int
) -> None:
    made = captured(seed)
    path = tmp_path / "capture"
    path.write_bytes(made.data)

    answer = inspected(path)

    wrong = disagreements(answer, flows_of(made.seen), timed=made.timed)
    assert wrong == [], made.what
    assert answer["packets"] == made.records
    assert sum(answer["skipped"].values()) == made.records - len(made.seen)


def test_inspect_reads_stdin_as_it_reads_a_file(tmp_path: Path) -> None:
    made = captured(1)
    path = tmp_path / "capture"
    path.write_bytes(made.data)

    done = subprocess.run(
        [sys.executable, "-m", "testbed", "inspect", "-", "--json"],
        input=made.data,
        cwd=CHECKOUT,
        capture_output=True,
        timeout=100,
        check=True,
    )

    assert strict(done.stdout.decode())["flows"] == inspected(path)["flows"]
