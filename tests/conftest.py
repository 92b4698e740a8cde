"""Let tests import their helpers by name, and keep the unit tests under 30 s.

HYPOTHESIS_PROFILE=default tries twice as many examples of every property.
"""

import os
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("quick", max_examples=50)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
