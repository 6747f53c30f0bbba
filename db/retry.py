"""Retries while a store is unavailable, with exponential backoff, up to a total time.

Only operations that are safe to repeat may be retried, and only after StoreUnavailable.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from db.store import StoreUnavailable

T = TypeVar("T")

FIRST_S, LONGEST_S = 0.1, 5.0
"""The first pause and the longest. Each pause doubles the previous one."""


class Backoff:
    """The pauses between the attempts of one operation, `total_s` in all."""

    def __init__(self, total_s: float) -> None:
        self._end = time.monotonic() + total_s
        self._pause_s = FIRST_S

    def next_s(self, error: Exception) -> float:
        """The next pause in seconds, longer than the last one. Raises `error` when the time is used up."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise error
        pause_s, self._pause_s = self._pause_s, min(2 * self._pause_s, LONGEST_S)
        return min(pause_s, left)

    def pause(self, error: Exception) -> None:
        """Sleeps for the next pause."""
        time.sleep(self.next_s(error))


def retry(operation: Callable[[], T], total_s: float) -> T:
    """Calls `operation` until it succeeds or the time is used up; then raises its StoreUnavailable."""
    backoff = Backoff(total_s)
    while True:
        try:
            return operation()
        except StoreUnavailable as error:
            backoff.pause(error)
