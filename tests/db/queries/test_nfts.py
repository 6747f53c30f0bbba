"""States of an NFT with the state before each, where timestamps fall and a window leaves states out between others."""

from typing import Any

import pytest

from db import schema
from db.queries.nfts import check_known, list_nft_states
from db.store import NotFound, WritableStore
from db.times import Window
from tests.db.stores import CHUNK_SIZE

NFT_ID, OTHER = b"\x11" * 32, "22" * 32
SECONDS = [100, 200, 150, 400, 120, 160, 500]
"""The time of each milestone's state, from milestone 1 on."""

INSIDE = range(140, 300)


def id_of(index: int) -> bytes:
    return bytes([9 - index]) * 34


@pytest.fixture
def nft_store(store: WritableStore) -> WritableStore:
    names = (
        "chain_id",
        "ms_range_id",
        "partition_id",
        "milestone_index",
        "white_flag_index",
        "output_id",
        "ms_timestamp",
    )
    with store.batch() as batch:
        rows = [
            (NFT_ID, index // CHUNK_SIZE, 0, index, 3, id_of(index), 1000 * time)
            for index, time in enumerate(SECONDS, 1)
        ]
        batch.upsert(schema.nft_outputs, names, rows)
        hints = {(NFT_ID, "chain", "nft", True, row[1], 0) for row in rows}
        batch.upsert(schema.addresses_hints, schema.addresses_hints.names, hints)
    return store


@pytest.mark.parametrize("newest", [True, False])
@pytest.mark.parametrize("page_size", [1, 2, 3, 10])
@pytest.mark.parametrize("windowed", [True, False])
async def test_each_state_has_the_one_before(
    nft_store: WritableStore, newest: bool, page_size: int, windowed: bool
) -> None:
    window = Window(1000 * INSIDE.start, 1000 * INSIDE.stop, [(1, 9)]) if windowed else None
    wanted = [index for index, time in enumerate(SECONDS, 1) if not windowed or time in INSIDE]
    found: list[Any] = []
    cursor = None
    while True:
        page, earlier = await list_nft_states(
            nft_store, NFT_ID.hex(), as_of=9, window=window, newest=newest, page_size=page_size, cursor=cursor
        )
        found += [
            (row["output_id"], before and before["output_id"]) for row, before in zip(page.rows, earlier, strict=True)
        ]
        cursor = page.cursor
        if cursor is None:
            break
    pairs = [(id_of(index).hex(), id_of(index - 1).hex() if index > 1 else None) for index in wanted]
    assert found == (pairs[::-1] if newest else pairs)


async def test_an_unknown_nft(nft_store: WritableStore) -> None:
    await check_known(nft_store, NFT_ID.hex(), [])
    with pytest.raises(NotFound, match=f"NFT {OTHER}"):
        await check_known(nft_store, OTHER, [])
