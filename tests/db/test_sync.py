"""Rows of `ranges` and `proofs` that are extended by new milestones equal those computed from the whole range."""

import random
from typing import Any

from db import schema
from db.sync import extended_rows, proof_row, range_row
from ledger.levels import LEVELS

NETWORK = "permatest-1"


def sync_row(rng: random.Random, index: int, time: int) -> dict[str, Any]:
    is_complete = rng.random() < 0.8
    return {
        "milestone_index": index,
        "ms_timestamp": None if rng.random() < 0.1 else time,
        "synced_by": 0 if is_complete else None,
        "message_count": rng.choice([None, 0, 7]),
        "verified": rng.choice([*LEVELS]) if is_complete else None,
        "layout": schema.LAYOUT if is_complete else None,
        "logged_by": rng.choice([None, 0]),
    }


def test_extended_rows_equal_those_of_the_whole_range() -> None:
    extended_ranges = 0
    for seed in range(200):
        rng = random.Random(seed)
        rows = dict[int, dict[str, Any]]()
        held = (range_row(NETWORK, 0, []), proof_row(NETWORK, 0, []))
        time = 1_000
        for _ in range(rng.randrange(1, 7)):
            newest = max((index for index, row in rows.items() if row["synced_by"] is not None), default=-1)
            first = newest + 1 + rng.randrange(3)
            for index in range(first, first + rng.randrange(1, 4)):
                time += rng.choice([1, 1, 5, -3])
                rows[index] = sync_row(rng, index, time)
            extended = extended_rows(*held, [row for index, row in rows.items() if index > newest])
            assert extended == (range_row(NETWORK, 0, [*rows.values()]), proof_row(NETWORK, 0, [*rows.values()]))
            held = extended
            extended_ranges += 1
    assert extended_ranges > 200


def test_rows_of_an_earlier_layout_are_not_extended() -> None:
    held = range_row(NETWORK, 0, []) | {"layout": schema.LAYOUT - 1}
    rows = [sync_row(random.Random(1), 5, 1_000)]
    assert extended_rows(held, proof_row(NETWORK, 0, []), rows) is None
