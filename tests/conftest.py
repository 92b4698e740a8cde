"""Let tests import their helpers by name, and keep the unit tests fast.

The examples of every property are the same each time, so that what fails fails for all
who have these sources. HYPOTHESIS_PROFILE=search looks at many others, new ones each
time: for a change of what the property is about. What it finds becomes an @example.

The model is tested as it is written, not compiled: that the two agree is a test of its
own.

pytest rewrites every assertion. What comes of it is kept, even where the environment
has Python keep no byte code: to do it again takes longer than to find all tests. Nor is
what they all need, modules and the tests themselves, looked through for garbage again
and again.
"""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings

from testbed.held import held_dir, replay

sys.dont_write_bytecode = False
sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("TESTBED_PURE", "1")
settings.register_profile("quick", max_examples=50, deadline=None, derandomize=True)
settings.register_profile("search", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    gc.disable()
    found = yield
    gc.collect()
    gc.freeze()
    gc.enable()
    return found


@pytest.fixture(autouse=True)
def _no_record_left() -> Iterator[None]:
    """Forget what runs of this very process left void: it is not for a user's clean."""
    yield
    for path in held_dir().glob("*.jsonl"):
        with suppress(FileNotFoundError):  # of a process that tidies up just now
            owner = replay(path.read_text()).owner
            if owner is not None and owner.pid == os.getpid():
                path.unlink()
