"""Purges and loads with `--keep` that end at a certain step: what runs after them, and what it leaves.

Rows are compared with those of runs that were not interrupted, and with the oracle ledgers.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from db.connect import open_store
from etl import iota_steps, reduction, runs, selective
from etl.runs import lake_path
from etl.static_archive.publish import publish
from etl.store_reads import StoreReads
from tests.etl.conftest import Loading, Stores
from tests.etl.lake_files import lake_rows
from tests.etl.selective.test_selected_ledger import GENESIS, LAST, state_of, two_addresses
from tests.etl.selective.test_selective import TAG as HEX
from tests.etl.selective.test_selective import coverage
from tests.etl.selective.test_selective_crash import ADDRESS, FILES, everything
from tests.etl.selective.test_watched_outputs import UNNAMED, unnamed
from tests.selections import tagged

pytestmark = pytest.mark.loads

FULL = "chrysalis from genesis"

TAG, NOTHING = f"tag:0x{HEX}", f"tag:0x{b'nothing'.hex()}"

OTHER = f"tag:0x{next(each for each in tagged('chrysalis') if each and each != HEX)}"

ENDS = {
    "before the messages": (reduction, "replace_messages", False),
    "after the messages": (reduction, "milestone_rows", True),
    "before the coverage": (reduction, "end_purge", True),
}
"""The last function that a purge calls, and whether it has replaced the messages before."""


class Killed(BaseException):
    """Nothing handles it, as nothing handles the end of a process."""


@contextmanager
def killed(module: ModuleType, name: str, *, after: bool = False) -> Iterator[None]:
    """The process ends when this function is called, or after it."""
    function: Callable[..., Any] = getattr(module, name)

    def end(*arguments: Any, **options: Any) -> None:
        if after:
            function(*arguments, **options)
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, end)
        yield


def purge(loading: Loading, *keep: str) -> None:
    assert runs.reduce(loading.store, loading.settings, keep).exit_code == 0


def publish_it(loading: Loading, folder: Path) -> None:
    with closing(open_store(loading.store)) as store, closing(StoreReads(store, loading.store.network)) as reads:
        publish(lake_path(loading.store, loading.settings), reads, folder)


@pytest.fixture(scope="module")
def purged(stores: Stores) -> Callable[..., tuple[Any, ...]]:
    """Returns the content of a store and its lake after a purge that was not interrupted."""

    @cache
    def after(*keep: str) -> tuple[Any, ...]:
        loading, _ = stores.loaded(FULL)
        purge(loading, *keep)
        return everything(loading.folder, loading.store)

    return after


@pytest.mark.parametrize(
    ("end", "keep"),
    [
        *((end, (TAG, ADDRESS)) for end in ENDS),
        # No message has a proof then.
        *((end, (NOTHING,)) for end in (*ENDS,)[1:]),
    ],
)
def test_only_a_purge_with_the_same_filters_follows_an_interrupted_one(
    stores: Stores, purged: Callable[..., tuple[Any, ...]], tmp_path: Path, end: str, keep: tuple[str, ...]
) -> None:
    loading, _ = stores.loaded(FULL)
    module, name, is_replaced = ENDS[end]
    with killed(module, name), pytest.raises(Killed):
        purge(loading, *keep)
    messages = loading.folder / "lake" / "messages"
    before = lake_rows(messages, ["message_id"])
    others: list[Callable[[], object]] = [
        lambda: loading.load(*FILES, genesis=GENESIS["chrysalis"]),
        lambda: loading.load(*FILES, keep=[OTHER], force=True),
        loading.rebuild,
    ]
    if is_replaced:
        others += [lambda: purge(loading, OTHER), lambda: purge(loading, *keep, OTHER)]
    for run in others:
        with pytest.raises(ValueError, match="`permanode purge --keep` was interrupted") as raised:
            run()
        assert {*str(raised.value).rpartition("anything else: ")[2].split()} == {*keep}
    with pytest.raises(ValueError, match="this one keeps a selection"):
        publish_it(loading, tmp_path / "published")
    assert lake_rows(messages, ["message_id"]) == before
    purge(loading, *keep)
    assert everything(loading.folder, loading.store) == purged(*keep)
    tags = [row["tag"] for row in loading.rows()["tags"]]
    assert tags == ([HEX] * len(tagged("chrysalis")[HEX]) if TAG in keep else [])
    assert loading.load(*FILES).milestones == 0, "all is covered"


def test_other_filters_follow_a_purge_that_has_not_replaced_the_messages(stores: Stores) -> None:
    """The spending that the first one looked for is not kept."""
    ones, (other,) = ([f"address:0x{each}" for each in unnamed(cases)] for cases in UNNAMED)
    loading, _ = stores.loaded("stardust from genesis")
    clean, _ = stores.loaded("stardust from genesis")
    with killed(reduction, "replace_messages"), pytest.raises(Killed):
        purge(loading, *ones)
    for each in (loading, clean):
        purge(each, other)
    assert loading.rows() == clean.rows()
    assert coverage(loading) == {other: [(1, LAST)]}


def test_a_purge_does_not_follow_an_interrupted_load_of_a_selection(stores: Stores) -> None:
    loading = stores()
    with killed(iota_steps, "extend"), pytest.raises(Killed):
        loading.load(*FILES, genesis=GENESIS["chrysalis"], keep=[TAG])
    with pytest.raises(ValueError, match="the lake keeps a selection already; a load with --keep adds filters to it"):
        purge(loading, OTHER)
    purge(loading, TAG)
    assert coverage(loading) == {TAG: []}, "it is the lake's selection, whose milestones a load covers"
    assert loading.load(*FILES, keep=[OTHER]).milestones == LAST
    assert coverage(loading) == {TAG: [(1, LAST)], OTHER: [(1, LAST)]}
    found = [row["tag"] for row in loading.rows()["tags"]]
    for tag in (TAG, OTHER):
        digits = tag.removeprefix("tag:0x")
        assert found.count(digits) == len([each for each in tagged("chrysalis")[digits] if digits in each.own_tags])


@pytest.mark.parametrize("after", [False, True], ids=["before the filter", "after the filter"])
def test_an_address_that_an_interrupted_load_added_has_its_state_from_the_genesis_on(
    stores: Stores, *, after: bool
) -> None:
    first, second = two_addresses("chrysalis")
    loading = stores()
    loading.load(*FILES, genesis=GENESIS["chrysalis"], keep=[f"address:0x{first}"])
    with killed(selective, "write_coverage", after=after), pytest.raises(Killed):
        loading.load(*FILES, keep=[f"address:0x{second}"])
    report = loading.load(*FILES, keep=[f"address:0x{second}"])
    assert (report.ledger_index, report.held) == (LAST, "")
    whole, _ = stores.loaded(FULL)
    assert state_of(loading, [first, second]) == state_of(whole, [first, second])
