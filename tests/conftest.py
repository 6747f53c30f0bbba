"""Where the test data is. `from tests.conftest import SHARED, SAMPLE, needs_shared`."""

from pathlib import Path

import hypothesis
import pytest

# How long an example takes says something about the machine, not about the code.
hypothesis.settings.register_profile("house", deadline=None)
hypothesis.settings.load_profile("house")

ROOT = Path(__file__).parent.parent

SHARED = ROOT.parent / "shared" / "data"
"""The full data set, where it stands beside the repository; everything in it was made by other implementations."""

SAMPLE = ROOT / "sample" / "chrysalis"
"""What the repository ships of it."""

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"the full data set is not at {SHARED}")
"""For tests that the shipped sample and vectors cannot feed; `-ra` prints each skip."""
