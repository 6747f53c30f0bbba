"""Applying a milestone takes the same reads and writes at milestone 50 as at milestone 200,000 after a long history.

Both ledgers have the same transactions in their last SAME milestones, and these spend outputs that nobody spent since
genesis; the milestones before them differ. Only reads and writes of the ledger state count, not the load before it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bench.chrysalis_tangle import ChrysalisTangle
from bench.tangle import GeneratorSettings, MilestoneLine
from db.connect import StoreSettings, open_store
from db.model import Table
from etl import runs
from etl.ledger_state.advance import Ledger
from ledger.chrysalis.codec import encode_input
from tests.etl.archives import dump, write
from tests.etl.conftest import Loading, Stores

pytestmark = pytest.mark.spark

SAME = 51
FIRST, LONG = 199_951, 149
"""For the store at about 200,000: its first milestone, and the number of milestones before the equal ones. Both ledgers
are then equally far into a window of splits, and the long history reaches into the range of the last ones.
"""

STILL = range(10)
"""Wallets whose genesis outputs no earlier transaction spends."""

SETTINGS = GeneratorSettings(seed="steps1", milestone_size=14, conflicts=0.06)

BY_RANGE = frozenset({"ranges", "splits", "tails", "addresses_hints", "unspent_hints"})
"""One row or one read for each existing range of milestones: two at 200,000, one at 50."""

FIXED = frozenset({"distribution", "rich_list"})
"""Rows of a frontier, not of a milestone: the powers of ten among balances, and the richest addresses."""


@dataclass
class Counts:
    """Calls of the store by name and table, and the keys and rows read or written by table; all while `on`."""

    on: bool = False
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)
    written: Counter[str] = field(default_factory=Counter)

    def note(self, call: str, table: Table, rows: int, kind: Counter[str]) -> None:
        if self.on:
            self.calls[call, table.name] += 1
            kind[table.name] += rows


class Counted:
    """A store, or a batch of it, that counts its calls."""

    def __init__(self, inner: Any, counts: Counts) -> None:
        self._inner = inner
        self._counts = counts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def get(self, table: Table, key: Any) -> Any:
        row = await self._inner.get(table, key)
        self._counts.note("get", table, row is not None, self._counts.read)
        return row

    async def get_many(self, table: Table, keys: Sequence[Any]) -> Any:
        self._counts.note("get_many", table, len(keys), self._counts.read)
        return await self._inner.get_many(table, keys)

    async def slice(self, table: Table, partition: Any, **options: Any) -> Any:
        rows = await self._inner.slice(table, partition, **options)
        self._counts.note("slice", table, len(rows), self._counts.read)
        return rows

    @contextmanager
    def batch(self, **options: Any) -> Iterator["Counted"]:
        with self._inner.batch(**options) as batch:
            yield Counted(batch, self._counts)

    def upsert(self, table: Table, columns: Sequence[str], rows: Any, **options: bool) -> int:
        number = int(self._inner.upsert(table, columns, rows, **options))
        self._counts.note("upsert", table, number, self._counts.written)
        return number

    def delete(self, table: Table, key: Any, *, fact: int | None = None) -> None:
        self._counts.note("delete", table, 1, self._counts.written)
        self._inner.delete(table, key, fact=fact)

    def last_fact(self, table: Table, key: Any) -> int:
        return int(self._inner.last_fact(table, key))

    def clear(self, table: Table) -> None:
        self._counts.note("clear", table, 1, self._counts.written)
        self._inner.clear(table)


@dataclass(frozen=True)
class Ledgers:
    """Genesis and milestones of a ledger; the last SAME milestones are the equal ones."""

    genesis: dict[str, Any]
    lines: list[MilestoneLine]

    def included(self) -> list[set[bytes]]:
        """Payloads that took effect in the equal milestones, milestone by milestone."""
        return [{payload(line.raw[each]) for each in line.included} for line in self.lines[-SAME:]]


def payload(raw: bytes) -> bytes:
    """A message's payload: after network id, parents and its own length, before the nonce."""
    return raw[9 + 32 * raw[8] + 4 : -8]


def grown(first: int, before: int) -> Ledgers:
    """A ledger whose genesis is before milestone `first`, with `before` milestones and then the equal ones.

    The generator draws the outputs that those spend by their position in the purses, so the purses are emptied and put
    in order each time.
    """
    tangle = ChrysalisTangle(GeneratorSettings(**{**vars(SETTINGS), "first_milestone": first}))
    genesis = tangle.genesis()
    traffic, milestones = tangle._traffic, tangle.milestones()
    still = [traffic._purses[number].pop() for number in STILL]
    lines = list(islice(milestones, before))
    for purse in traffic._purses:
        purse.clear()
    for number, each in zip(STILL, still, strict=True):
        traffic._purses[number].append(each)
    traffic._recent.clear()
    del tangle._recent[:-1]
    tangle._rng.setstate(Random(0).getstate())
    for _ in range(SAME):
        lines.append(next(milestones))
        for purse in traffic._purses:
            purse.sort(key=encode_input)
    return Ledgers(genesis, lines)


def applied(stores: Stores, folder: Path, ledger: Ledgers, patch: pytest.MonkeyPatch) -> tuple[Loading, Counts]:
    """The store after all milestones, and the calls that applying the last one took."""
    loading, counts, advance = stores(network=SETTINGS.network), Counts(), Ledger.advance

    def opened(settings: StoreSettings, *, writable: bool) -> Counted:
        return Counted(open_store(settings, writable=writable), counts)

    def counting(self: Ledger) -> None:
        counts.on = True
        advance(self)
        counts.on = False

    files = [write(folder / f"{name}.log", [line.form for line in part]) for name, part in (
        ("before", ledger.lines[:-1]), ("last", ledger.lines[-1:])
    )]  # fmt: skip
    loading.load(files[0], genesis=write(folder / "genesis.json", [dump(ledger.genesis)]))
    with patch.context() as patched:
        patched.setattr(runs, "open_store", opened)
        patched.setattr(Ledger, "advance", counting)
        report = loading.load(files[1])
    assert (report.exit_code, report.ledger_index) == (0, ledger.lines[-1].index)
    return loading, counts


@pytest.mark.slow
def test_one_milestone_takes_the_same_at_50_and_at_200_000(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    early, late = grown(1, 0), grown(FIRST, LONG)
    assert (early.lines[-1].index, late.lines[-1].index) == (51, 200_150)
    assert early.included() == late.included()
    assert 0 < len(early.lines[-1].included) < early.lines[-1].counts["transaction"], "some conflict"
    one, few = applied(stores, tmp_path / "early", early, monkeypatch)
    other, many = applied(stores, tmp_path / "late", late, monkeypatch)
    held = [len(loading.rows()["ledger_updates_by_milestone"]) for loading in (one, other)]
    assert held[1] > 3 * held[0]
    assert few.read["outputs"] > 0
    assert few.read["address_balances"] > 5
    assert few.written["ledger_updates_by_milestone"] > 10
    assert few.written["messages"] > 0, "a conflict's reason"
    for table in BY_RANGE:
        for small, large in ((few.read, many.read), (few.written, many.written)):
            assert small[table] <= large[table] <= 2 * small[table], table
    assert without(few.calls, lambda call: call[1] in BY_RANGE) == without(many.calls, lambda call: call[1] in BY_RANGE)
    for small, large in ((few.read, many.read), (few.written, many.written)):
        assert without(small, (BY_RANGE | FIXED).__contains__) == without(large, (BY_RANGE | FIXED).__contains__)


def without(counted: Counter[Any], left_out: Callable[[Any], bool]) -> dict[Any, int]:
    return {key: count for key, count in counted.items() if not left_out(key)}
