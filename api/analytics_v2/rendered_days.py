"""A cache of the days of a series as text, valid as long as the analytics do not change.

A network has few days, one row each, so all days are cached for the sets of measures requested last. Each request reads
the state of the analytics first and drops an outdated cache.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from weakref import WeakKeyDictionary

from db.queries.analytics import find_state
from db.queries.series import list_kept_days
from db.queries.spans import LAST_S
from db.store import Row, Store
from db.utc_days import DAY_S

KEPT = 8
"""Cached sets of measures per store and format. Three years take about 150 kB with few measures."""

RenderDays: TypeAlias = Callable[[Sequence[Row]], list[str]]
"""Renders each day as text."""


@dataclass(frozen=True, slots=True)
class RenderedDays:
    """The first second of each day, ascending, and its text, for the analytics in that `state`."""

    state: str | None
    seconds: list[int]
    texts: list[str]

    def between(self, span: tuple[int, int], limit: int | None = None, *, newest: bool) -> tuple[list[str], int | None]:
        """Returns the texts of the days from the first second to the last, at most `limit`, and the position of the
        last day. The position is None at the end.
        """
        first, end = bisect_left(self.seconds, span[0] // DAY_S * DAY_S), bisect_right(self.seconds, span[1])
        count = max(0, end - first) if limit is None else limit
        is_last = end - first <= count
        if newest:
            start = max(first, end - count)
            return self.texts[start:end][::-1], None if is_last else self.seconds[start]
        end = min(end, first + count)
        return self.texts[first:end], None if is_last else self.seconds[end - 1]


_KEPT: WeakKeyDictionary[Store, dict[tuple[str, ...], RenderedDays]] = WeakKeyDictionary()


async def rendered_days(
    store: Store, network: str, form: str, columns: Sequence[str], render: RenderDays
) -> RenderedDays:
    """Returns all days of a network with these columns of OF_DAYS. `form` is the cache key of `render`'s output
    format.
    """
    state, key = await find_state(store), (network, form, *columns)
    kept = _KEPT.setdefault(store, {})
    days = kept.pop(key, None)
    if days is None or days.state is None or days.state != state:
        rows = [row async for row in list_kept_days(store, network, (0, LAST_S), columns)]
        days = RenderedDays(state, [row["second"] for row in rows], render(rows))
    kept[key] = days
    while len(kept) > KEPT:
        del kept[next(iter(kept))]
    return days
