"""Items per second, for benches that measure one function."""

import time
from collections.abc import Callable, Sequence
from typing import Any


def measure(work: Callable[[Any], object], items: Sequence[Any], seconds: float) -> float:
    """Items per second, in whole passes until the time is up."""
    start = time.perf_counter()
    passes = 0
    while (elapsed := time.perf_counter() - start) < seconds:
        for item in items:
            work(item)
        passes += 1
    return passes * len(items) / elapsed
