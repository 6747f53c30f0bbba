"""Single flipped bits in files, and the seed that repeats them."""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SEED = int(os.environ.get("PERMANODE_FLIPS_SEED", "26"))
"""Tests print it. The variable repeats another run."""


@contextmanager
def flipped(path: Path, chance: random.Random) -> Iterator[str]:
    """Flips one random bit of a file for the time of the block. Yields which one."""
    before = path.read_bytes()
    at, bit = chance.randrange(len(before)), chance.randrange(8)
    data = bytearray(before)
    data[at] ^= 1 << bit
    path.write_bytes(data)
    try:
        yield f"{path.name}: bit {bit} of byte {at}, seed {SEED}"
    finally:
        path.write_bytes(before)
