"""Messages by the beginning of their row keys, `chain:` or `chain:address:`, in the order of the keys.

Invariants:
1. Each message is returned once: its canonical body, or what was written of it if no signed VAA is known.
2. Sequences sort as numbers. In the event tables, texts from 17 digits on were out of order.
3. A prefix ends with its colon, so chain 1 never matches chain 10.
4. A page reads partitions: the emitters of a chain, their ranges, the rows.
"""

from collections.abc import Collection
from dataclasses import replace

from db.listing.page import Listing, Page, list_page
from db.listing.streams import HintedStream, Source, Stream
from db.queries.wormhole.vaas import emitted_source, find_bodies
from db.schema.wormhole_tables import emitters, vaas
from db.store import Bound, Key, Row, Store

BY_ROW_KEY = replace(
    vaas,
    partition=("emitter_chain",),
    clustering=("emitter_address", *vaas.clustering),
)
"""Rows of `vaas` in the order of the event tables. No such table is stored."""


async def list_prefix(
    store: Store, chain: int, emitter: str | None = None, *, newest: bool = False, page_size: int, cursor: str | None
) -> Page:
    """A page of `vaas`, one row per message of a chain or of one of its emitters (64 hex digits), by row key.

    `newest`: exactly backwards. Raises CursorError for a cursor of another prefix or order.
    """

    async def keep(rows: list[Row], _: int | None) -> list[Row]:
        signed = {row["row_key"] for row in rows if row["canonical"]}
        return [row for row in rows if row["canonical"] or (not row["digest"] and await is_alone(store, row, signed))]

    source = _by_row_key(chain) if emitter is None else emitted_source(chain, emitter)
    table = BY_ROW_KEY if emitter is None else vaas
    prefix = f"{chain}:" if emitter is None else f"{chain}:{emitter}:"
    listing = Listing(table, [source], f"row keys {prefix}", keep=keep)
    return await list_page(store, listing, newest=newest, page_size=page_size, cursor=cursor)


async def is_alone(store: Store, row: Row, signed: Collection[str]) -> bool:
    """Whether no VAA of a message is known. `signed` are row keys of messages with one."""
    if row["row_key"] in signed:
        return False
    bodies = await find_bodies(store, row["emitter_chain"], row["emitter_address"], int(row["sequence_key"]))
    return not any(body["canonical"] for body in bodies)


def _by_row_key(chain: int) -> Source:
    def source(store: Store, start: Bound | None, newest: bool) -> Stream:  # noqa: FBT001
        async def first() -> Key:
            assert start is not None
            return start.values[:1]

        def open_emitter(named: Row) -> Stream:
            emitter = named["emitter_address"]
            within = Bound(start.values[1:], start.inclusive) if start and start.values[0] == emitter else None
            return emitted_source(chain, emitter)(store, within, newest)

        return HintedStream(store, emitters, (chain,), first if start else None, open_emitter, newest=newest)

    return source
