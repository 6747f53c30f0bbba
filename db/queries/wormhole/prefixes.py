"""Messages by the beginning of their row keys, `chain:` and `chain:address:`, in the order of the keys.

Rules of this file: a message comes once, as its canonical body, or as what was written of it where no signed VAA is
known. Sequences order as numbers, where the event tables' texts were out of order from 17 digits on; a prefix ends with
its colon, so chain 1 is never chain 10. A page is partition reads: the emitters of a chain, their ranges, the rows.
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
"""Rows of `vaas` as the event tables had them under one another; no such table is kept."""


async def list_prefix(
    store: Store, chain: int, emitter: str | None = None, *, newest: bool = False, page_size: int, cursor: str | None
) -> Page:
    """Rows of `vaas`, one a message, of a chain or of one of its emitters (64 hex digits), by row key.

    `newest`: exactly backwards. CursorError for a cursor of another prefix or order.
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
    """Whether no VAA of a message is known; `signed` are row keys of some that are."""
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
