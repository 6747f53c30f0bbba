"""Loads killed between any two writes, with concurrent reads: each response is true at the ledger index it names.

A load is killed after every write in turn. The next load completes it; that is tested after one random write, whose
seed is printed. Writes are durable one by one, as on a store without transactions.
"""

import asyncio
import random
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db import schema
from db.connect import StoreSettings, open_store
from db.model import Table
from db.store import Batch, Store
from etl import runs
from etl.ledger_state import advance as etl_ledger
from tests.conftest import SAMPLE
from tests.etl.archives import NETWORK, dump, oracle, sample, write
from tests.etl.conftest import Loading, Stores
from tests.etl.listings import whole_oracle
from tests.etl.verification.truth import Witness

pytestmark = pytest.mark.loads

GENESIS = SAMPLE / "genesis.json"
TINY = (7, 3)

BULK = {"bulk_share": 0.0, "ledger_near": 0}
"""Each load and each advance builds a generation and publishes it."""

SMALL = {"bulk_share": 1e9, "batch_messages": 160, "ledger_near": 10_000}
"""Several transactions of some milestones each."""


def milestones(folder: Path, first: int, last: int) -> Path:
    return write(folder / f"{first}.log", [dump(line) for line in sample()[first - 1 : last]])


def serving(store: Store) -> Any:
    """The API over that store."""
    return create_app({"testing": NetworkMount(store, NETWORK, "atoi")}, "testing", ApiSettings())


@dataclass(frozen=True)
class Written:
    """One write of a batch, which can be repeated."""

    call: str
    table: Table
    rest: tuple[Any, ...]
    options: Mapping[str, bool] = field(default_factory=dict)

    def apply(self, batch: Batch) -> None:
        getattr(batch, self.call)(self.table, *self.rest, **self.options)


class Recorder:
    """A store, or a batch of it, that records its writes; an upsert counts as two, so tables are seen half written."""

    def __init__(self, inner: Any, log: list[Written]) -> None:
        self._inner = inner
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @contextmanager
    def batch(self, **options: Any) -> Iterator["Recorder"]:
        with self._inner.batch(**options) as batch:
            yield Recorder(batch, self._log)

    def upsert(self, table: Table, columns: Sequence[str], rows: Iterable[Sequence[Any]], **options: bool) -> int:
        whole = list(rows)
        middle = len(whole) // 2
        parts = (whole[:middle], whole[middle:])
        self._log += [Written("upsert", table, (columns, part), options) for part in parts if part]
        return int(self._inner.upsert(table, columns, whole, **options))

    def delete(self, table: Table, key: Sequence[Any], *, fact: int | None = None) -> None:
        self._log.append(Written("delete", table, (key,)))
        self._inner.delete(table, key, fact=fact)

    def last_fact(self, table: Table, key: Sequence[Any]) -> int:
        return int(self._inner.last_fact(table, key))

    def clear(self, table: Table) -> None:
        self._log.append(Written("clear", table, ()))
        self._inner.clear(table)


def test_killed_after_any_write_the_ledger_is_true_and_the_next_load_completes_it(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three milestones after 22, with a receipt and conflicts among them."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 (pytest shows it when the test fails)
    whole, log = stores(TINY, **SMALL), []
    whole.load(milestones(tmp_path, 1, 22), genesis=GENESIS)
    killed = at(whole, tmp_path / "killed")
    shutil.copytree(whole.folder, killed.folder)
    news = milestones(tmp_path, 23, 25)
    with monkeypatch.context() as patch:
        patch.setattr(runs, "open_store", lambda *options, **more: Recorder(open_store(*options, **more), log))
        assert whole.load(news).ledger_index == 25
    frontier = [number for number, each in enumerate(log) if each.table is schema.ledger_frontier]
    assert (len(frontier), frontier[0] > 40) == (1, True), "one advance, after the rows"
    # The lake was committed before the first write.
    shutil.rmtree(killed.folder / "lake")
    shutil.copytree(whole.folder / "lake", killed.folder / "lake")
    moment = random.Random(seed).randrange(frontier[0])
    again = at(whole, tmp_path / "again")
    with closing(open_store(killed.store, writable=True)) as writer, closing(open_store(killed.store)) as reader:
        witness = Witness(serving(reader))
        for number, each in enumerate(log):
            with writer.batch() as batch:
                each.apply(batch)
            asyncio.run(witness.whole(touched(23, 25)))
            assert witness.seen[-1] == (25 if number >= frontier[0] else 22), each
            if number == moment:
                shutil.copytree(killed.folder, again.folder)
    assert witness.answers > 3_000
    assert killed.rows() == whole.rows()
    assert again.rows() != whole.rows()
    assert again.load(news).exit_code == 0
    assert again.rows() == whole.rows()


def at(loading: Loading, folder: Path) -> Loading:
    """The same settings for a store in another folder."""
    return replace(loading, folder=folder, store=replace(loading.store, url=f"sqlite:///{folder}"))


def touched(first: int, last: int) -> list[str]:
    """Ids of the outputs that these milestones create and consume, and of some others."""
    changed = [line["milestone"]["utxoChanges"] for line in oracle()[first - 1 : last]]
    ids = {each for one in changed for each in one["createdOutputs"] + one["consumedOutputs"]}
    return sorted(ids.union(list(whole_oracle().outputs)[::200]))


@dataclass
class Reader:
    """Sends HTTP requests continuously, through its own store; keeps what went wrong, if anything did."""

    settings: StoreSettings
    rng: random.Random
    wrong: list[str] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)
    seen: list[int] = field(default_factory=list)
    answers: int = 0
    """Sends requests while loads run; afterwards it checks everything once more."""

    def watch(self) -> None:
        with closing(open_store(self.settings)) as store, asyncio.Runner() as runner:
            witness = Witness(serving(store), self.seen)
            try:
                while not self.done.wait(0.005):
                    runner.run(witness.anything(self.rng))
                self.answers = witness.answers
                runner.run(witness.whole(list(whole_oracle().outputs)))
            except Exception as error:  # noqa: BLE001 (the test reports it, in its own thread)
                self.wrong.append(repr(error))


@pytest.mark.slow
def test_read_all_the_while_every_answer_is_true(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loads of both kinds; the one in transactions has several advances."""
    monkeypatch.setattr(etl_ledger, "MILESTONES_AT_ONCE", 6)
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 (pytest shows it when the test fails)
    loading = stores(TINY)
    reader = Reader(loading.store, random.Random(seed))
    thread = threading.Thread(target=reader.watch)
    thread.start()
    try:
        for first, last, options in ((1, 15, BULK), (16, 32, SMALL), (33, 50, BULK)):
            how = replace(loading, settings=replace(loading.settings, **options))
            genesis = {"genesis": GENESIS} if first == 1 else {}
            assert how.load(milestones(tmp_path, first, last), **genesis).ledger_index == last
    finally:
        reader.done.set()
        thread.join()
    assert reader.wrong == []
    assert reader.answers > 500
    assert reader.seen[-1] == 50
    assert {15, 21, 27, 32} & set(reader.seen) > {15, 32}, "advances between and within loads"
