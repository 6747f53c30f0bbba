"""Roots do not depend on how a ledger was loaded: order, late milestones, killed runs, geometry, store."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from etl.completeness import advance
from tests.etl.completeness.published_logs import (
    LAST,
    LEDGERS,
    checkpoint_of,
    expected,
    expected_checkpoint,
    log_of,
    tables_of,
)
from tests.etl.conftest import SQLITE, Loading, Stores, on

pytestmark = [pytest.mark.loads, pytest.mark.usefixtures("small_intervals")]


class Killed(Exception):
    """Ends a run in the middle."""


def killing(monkeypatch: pytest.MonkeyPatch, rng: Random) -> None:
    """Makes the trees of the next load fail: before, between or after the rows of a step."""
    rows_left = rng.randint(0, 12)
    original = advance.ListingTrees._upsert

    def upsert(self: Any, *args: Any) -> None:
        nonlocal rows_left
        if rows_left == 0:
            raise Killed
        rows_left -= 1
        original(self, *args)

    monkeypatch.setattr(advance.ListingTrees, "_upsert", upsert)


def load_at_random(loading: Loading, name: str, folder: Path, rng: Random) -> None:
    """Loads the milestones of a ledger in some order, in at most eight runs or more if some are killed. The log only
    grows meanwhile.
    """
    ledger, whole = LEDGERS[name], expected(name)
    left = list(range(1, LAST + 1))
    if rng.random() < 0.7:
        rng.shuffle(left)
    genesis: Path | None = ledger.genesis
    while left:
        count = rng.choice((7, 12, 20, 50))
        numbers, left = left[:count], left[count:]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(advance, "MESSAGES_AT_ONCE", rng.choice((1, 100, 10_000)))
            if rng.random() < 0.3:
                killing(patch, rng)
            try:
                loading.load(*ledger.files(folder / str(len(left)), numbers), genesis=genesis)
            except Killed:
                left = [*numbers, *left] if rng.random() < 0.5 else left
        genesis = None
        log = log_of(loading)
        assert log == whole[: len(log)]
    loading.load(*ledger.files(folder / "again", [LAST]))


@on(SQLITE)
@pytest.mark.parametrize("name", LEDGERS)
@settings(deadline=None, max_examples=1, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 32))
def test_roots_do_not_depend_on_the_history_of_loads(everywhere: Stores, tmp_path: Path, name: str, seed: int) -> None:
    rng = Random(seed)
    loading = everywhere(rng.choice(((100_000, 100_000), (7, 3))), LEDGERS[name].network)
    load_at_random(loading, name, tmp_path / str(seed), rng)
    assert log_of(loading) == expected(name)
    assert checkpoint_of(loading) == expected_checkpoint(name)
    found = tables_of(loading)
    loading.rebuild()
    assert log_of(loading) == expected(name)
    again = tables_of(loading)
    # Leaves that a later run could not need any more are not written at all.
    assert [row for row in again["listing_tiles"] if row not in found["listing_tiles"]] == []
    assert again | {"listing_tiles": []} == found | {"listing_tiles": []}
