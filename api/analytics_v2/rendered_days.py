"""Days of a series as text: rendered once, as long as the analytics stay what they were.

Rules of this file: a network's days are few, one row each, so all of them are kept, of the measures that were asked
for last; what says whether they still hold is read with every request, and before they are.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from weakref import WeakKeyDictionary

from db.queries.analytics import find_state
from db.queries.series import LAST_S, list_kept_days
from db.store import Row, Store
from db.utc_days import DAY_S

KEPT = 8
"""Sets of measures, in one form each, of a store: of three years some 150 kB, with few measures."""

RenderDays: TypeAlias = Callable[[Sequence[Row]], list[str]]
"""A text for each day."""


@dataclass(frozen=True, slots=True)
class RenderedDays:
    """First second of each day, ascending, and its text; of the analytics in that `state`."""

    state: str | None
    seconds: list[int]
    texts: list[str]

    def between(self, span: tuple[int, int], limit: int | None = None, *, newest: bool) -> tuple[list[str], int | None]:
        """Texts of the days that these seconds, both, are in, or lie between; of not more than `limit` of them. And
        where the last one stands, None where that is the end.
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
    """All days of a network with those columns of OF_DAYS; `form` names what `render` makes of them."""
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
