"""What a load notes in its store about itself: its result, and what the store has then."""

import asyncio
import json
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from db import schema
from db.admin.wormhole_status import get_holdings
from db.connect import open_store
from db.queries.loads import EndedLoad, Loads, find_loads
from db.queries.wormhole.holdings import find_noted_holdings
from db.store import StoreUnavailable
from etl import runs
from etl.head_session import HeadSession
from etl.lake.rejects import Wanted
from tests.conftest import ROOT, SAMPLE
from tests.etl.archives import dump, sample, write
from tests.etl.conftest import Loading, Stores
from tests.etl.sources.test_limits import good

pytestmark = pytest.mark.loads


def loads_of(loading: Loading) -> Loads:
    with closing(open_store(loading.store)) as store:
        return asyncio.run(find_loads(store))


def ended_of(loading: Loading) -> EndedLoad:
    found = loads_of(loading)
    assert found.ended is not None
    assert found.begun_at is None
    return found.ended


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """The milestones 1 and 2, of which 2 has a message without parents."""
    line = sample()[1]
    del next(iter(line["messages"].values()))[0]["parents"]
    return write(tmp_path / "broken.log", [good(1), dump(line)])


def test_the_result_and_the_rejects_of_the_store_are_noted(stores: Stores, broken: Path) -> None:
    loading = stores()
    assert loads_of(loading) == Loads(None, None, None)
    before = time.time()
    report = loading.load(broken)
    ended = ended_of(loading)
    assert before - 0.001 <= ended.began_at < ended.ended_at < time.time() + 0.001
    messages = sum(len(sample()[index]["messages"]) for index in (0, 1)) - 1
    assert (ended.exit_code, ended.milestones, ended.messages, ended.rejects) == (3, 2, messages, 1)
    assert ended.run == report.run
    assert loads_of(loading).rejects == len(loading.rows()["rejects"]) == 1
    assert loading.load(SAMPLE / "1to21.log").exit_code == 0
    assert ended_of(loading).milestones == 19
    assert loads_of(loading).rejects == len(loading.rows()["rejects"]) == 0


def test_cleared_rejects_are_not_counted(stores: Stores, broken: Path) -> None:
    loading = stores()
    loading.load(broken)
    assert runs.clear_rejects(loading.store, loading.settings, Wanted()) == 1
    assert loads_of(loading).rejects == 0


@pytest.mark.parametrize(
    ("error", "is_noted"),
    [(ValueError("a fault"), True), (StoreUnavailable("away"), False), (KeyboardInterrupt(), False)],
)
def test_a_load_that_fails_is_noted_and_one_that_cannot_note_it_has_not_ended(
    stores: Stores, broken: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, *, is_noted: bool
) -> None:
    loading = stores()
    loading.load(broken)
    first = ended_of(loading)

    def fail(*_: Any) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(runs, "run_steps", fail)
        with pytest.raises(type(error)):
            loading.load(SAMPLE / "1to21.log")
    found = loads_of(loading)
    assert found.rejects == 1
    assert found.ended is not None
    if is_noted:
        assert (found.ended.has_failed, found.begun_at) == (True, None)
        assert found.ended.began_at > first.ended_at
    else:
        assert found.ended == first
        assert found.begun_at is not None
        assert first.ended_at < found.begun_at < time.time()
    loading.load(SAMPLE / "1to21.log")
    assert ended_of(loading).exit_code == 0


def test_a_rebuild_is_noted(stores: Stores) -> None:
    loading = stores()
    loading.load(SAMPLE / "1to21.log")
    first = ended_of(loading)
    loading.rebuild()
    assert ended_of(loading).began_at > first.ended_at
    assert ended_of(loading).milestones == 20


def test_the_loads_of_a_follower_are_noted_with_the_head_of_its_node(stores: Stores, broken: Path) -> None:
    loading = stores()
    with closing(HeadSession(loading.store, loading.settings)) as session:
        session.load([broken], "[9, 1.0]", days=False, merge=False)
        assert (ended_of(loading).exit_code, ended_of(loading).milestones, loads_of(loading).rejects) == (3, 2, 1)
        with closing(open_store(loading.store, writable=True)) as store, store.batch() as batch:
            batch.upsert(schema.keyspace_info, schema.keyspace_info.names, [("load_begun", "1.0")])
        session.load([SAMPLE / "1to21.log"], None, days=False, merge=False)
    assert (ended_of(loading).exit_code, loads_of(loading).rejects) == (0, 0)
    with closing(open_store(loading.store)) as store:
        head = asyncio.run(store.get(schema.keyspace_info, ("head",)))
    assert head is not None
    assert json.loads(head["value"]) == [9, 1.0]


def test_a_wormhole_load_notes_what_the_status_counts(stores: Stores) -> None:
    loading = stores(network="wormhole-mainnet")
    runs.load(loading.store, loading.settings, [ROOT / "sample" / "wormhole" / "vaas.jsonl.gz"])
    with closing(open_store(loading.store)) as store:
        noted, counted = asyncio.run(find_noted_holdings(store)), asyncio.run(get_holdings(store))
    assert noted == counted
    assert noted is not None
    assert noted.verified > 100
    assert (ended_of(loading).milestones, ended_of(loading).messages) == (0, sum(noted.verdicts.values()))
