"""Let tests import their helpers by name, and keep the unit tests under 30 s.

HYPOTHESIS_PROFILE=default tries twice as many examples of every property, and fails
one that takes long, which on a busy machine says nothing. The model is tested as it is
written, not compiled: that the two agree is a test of its own.
"""

import os
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("TESTBED_PURE", "1")
settings.register_profile("quick", max_examples=50, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
