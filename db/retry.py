"""Waiting for a store that is away: the same thing again, after pauses that grow, for as long as anyone would wait.

Rules of this file: only what may be repeated without harm is, and only what StoreUnavailable says may succeed later.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from db.store import StoreUnavailable

T = TypeVar("T")

FIRST_S, LONGEST_S = 0.1, 5.0
"""The first pause; each is twice the one before, up to the longest."""


class Patience:
    """The pauses between tries of one thing, `patience_s` in all."""

    def __init__(self, patience_s: float) -> None:
        self._end = time.monotonic() + patience_s
        self._pause_s = FIRST_S

    def pause(self, error: Exception) -> None:
        """Waits a little longer than the last time; raises `error` when there is no patience left."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise error
        time.sleep(min(self._pause_s, left))
        self._pause_s = min(2 * self._pause_s, LONGEST_S)


def patiently(ask: Callable[[], T], patience_s: float) -> T:
    """What `ask` returns, asked again while the store is away; StoreUnavailable when it stays away."""
    patience = Patience(patience_s)
    while True:
        try:
            return ask()
        except StoreUnavailable as error:
            patience.pause(error)
