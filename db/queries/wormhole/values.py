"""Messages by the value of an event table column.

A page reads the rows under the keys of the value (value_search.py) and returns those whose row in the event tables has
the value. Of several written values the one in the response counts.
"""

from collections.abc import Sequence

from db.listing.page import Keep, Listing, Page, list_page
from db.listing.spans import within
from db.listing.streams import Source, lookup_source
from db.queries.wormhole.row_keys import is_alone
from db.queries.wormhole.vaas import (
    ANY,
    SENT_AT,
    Filter,
    find_bodies,
    find_payloads,
    list_signatures,
    list_states,
)
from db.queries.wormhole.value_search import Column, Search
from db.schema.event_columns import FAMILY_COLUMNS, PUBLICATION, SIGNATURES, STATE
from db.schema.event_values import value_text
from db.schema.wormhole_tables import LOOKUP, SEQUENCE_RANGE_DIGITS, vaa_hints, vaa_lookups, vaas
from db.store import Row, Store
from db.together import together
from ledger.wormhole.chains import CHAIN_IDS
from ledger.wormhole.keys import transaction_key
from ledger.wormhole.vaa import decode_vaa

OTHERWISE = {
    "details_notional_usd_str": "details_notional_usd",
    "details_token_price_usd_str": "details_token_price_usd",
}
"""If a column that a publication wrote is missing, the other one replaces it; only this is computed."""

OF_BODY = ("version", "guardian_set_index", "nonce", "sequence")
"""Columns of MessagePublication that every VAA has too."""


async def list_values(
    store: Store,
    column: Column,
    search: Search,
    emitter: tuple[int | None, str | None] = (None, None),
    *,
    page_size: int,
    cursor: str | None,
) -> Page:
    """A page of vaa_lookups rows of messages whose column has the value of `search`, newest first: of messages that a
    quorum signed, and of those without a known VAA. `emitter`: only messages of this chain and contract, if given.
    """
    of_emitter = Filter(
        f"emitted {emitter[0]} {emitter[1]}",
        lambda row: emitter[0] in (None, row["emitter_chain"]) and emitter[1] in (None, row["emitter_address"]),
    )
    if search.signed is not None:
        return await _signed(store, search.signed, of_emitter)
    if column == (PUBLICATION, "InitiatingTxID"):
        return await list_sent(
            store, transaction_key(search.value), where=of_emitter, page_size=page_size, cursor=cursor
        )

    async def keep(rows: Sequence[Row], _: int | None) -> list[Row]:
        signed = {row["row_key"] for row in rows if row["canonical"]}
        held = []
        for row in rows:
            is_kept = row["canonical"] and row["verified"]
            if of_emitter.holds(row) and (is_kept or (not row["digest"] and await is_alone(store, row, signed))):
                held.append(row)
        if not search.is_checked:
            return held
        texts = await _texts(store, column, held)
        return [row for row, found in zip(held, texts, strict=True) if search.value in found]

    keys = [*search.keys]
    if search.of_chains is not None:
        kind, addresses = search.of_chains
        keys += [(kind, key) for each in addresses for key in await _of_chains(store, kind, each)]
    sources = [lookup_source(LOOKUP, key) for key in keys]
    if search.walks:
        sources.append(_walked(search, emitter))
    query = f"values {':'.join(column)} {search.value} {of_emitter.text}"
    return await _page(store, sources, keep, query, page_size, cursor)


def _walked(search: Search, emitter: tuple[int | None, str | None]) -> Source:
    chain, address = emitter
    key = (
        ("recent", "")
        if chain is None
        else ("chain", str(chain))
        if address is None
        else ("emitter", f"{chain}/{address}")
    )
    source = lookup_source(LOOKUP, key)
    return source if search.span is None else within(source, [search.span], SENT_AT)


async def list_sent(store: Store, transaction: str, *, where: Filter = ANY, page_size: int, cursor: str | None) -> Page:
    """A page of vaa_lookups rows of the messages of a transaction (its key), newest first, each once, also if not
    verified. Messages without a known VAA come last, because they have no timestamp.
    """

    async def keep(rows: Sequence[Row], _: int | None) -> list[Row]:
        signed = {row["row_key"] for row in rows if row["canonical"]}
        held = [row for row in rows if where.holds(row)]
        return [row for row in held if row["canonical"] or (not row["digest"] and await is_alone(store, row, signed))]

    source = lookup_source(LOOKUP, ("transaction", transaction))
    return await _page(store, [source], keep, f"sent {transaction} {where.text}", page_size, cursor)


async def _page(
    store: Store, sources: Sequence[Source], keep: Keep, query: str, page_size: int, cursor: str | None
) -> Page:
    listing = Listing(vaa_lookups, sources, query, keep=keep)
    return await list_page(store, listing, newest=True, page_size=page_size, cursor=cursor)


async def _signed(store: Store, data: bytes, where: Filter) -> Page:
    vaa = decode_vaa(data)
    bodies = await find_bodies(store, vaa.emitter_chain, vaa.emitter_address.hex(), vaa.sequence)
    return Page([row for row in bodies if row["canonical"] and row["signed_vaa"] == data and where.holds(row)], None)


async def _of_chains(store: Store, kind: str, address: str) -> list[str]:
    """The keys of an address, one per chain, that have any row."""
    keys = [f"{chain}/{address}" for chain in CHAIN_IDS]
    hints = await together(*(store.slice(vaa_hints, (kind, key), limit=1) for key in keys))
    return [key for key, held in zip(keys, hints, strict=True) if held]


async def _texts(store: Store, column: Column, rows: Sequence[Row]) -> list[set[str]]:
    """The values of a column in each of these messages, as text."""
    family, qualifier = column
    if family in (SIGNATURES, STATE):
        return [await _cells(store, column, row) for row in rows]
    spec = FAMILY_COLUMNS[column]
    if family == PUBLICATION:
        return await _published(store, spec.column, qualifier, rows)
    payloads = await find_payloads(store, [(row["row_key"], row["digest"]) for row in rows])
    names = (spec.column, OTHERWISE.get(spec.column, spec.column))
    values = [next((row[each] for each in names if row and row[each] is not None), None) for row in payloads]
    return [set() if value is None else {value_text(spec, value)} for value in values]


async def _cells(store: Store, column: Column, row: Row) -> set[str]:
    family, qualifier = column
    if family == STATE:
        _, _, index = qualifier.partition(":")
        states = await list_states(store, row["row_key"])
        return {each["signatures"].hex() for each in states if each["guardian_set_index"] == int(index or -1)}
    guardian = qualifier.lower().removeprefix("0x")
    signatures = await list_signatures(store, row["row_key"])
    return {each["signature"].hex() for each in signatures if each["guardian_address"] == guardian}


async def _published(store: Store, name: str, qualifier: str, rows: Sequence[Row]) -> list[set[str]]:
    places = [
        (row["emitter_chain"], row["emitter_address"], row["sequence_key"][:SEQUENCE_RANGE_DIGITS], row["sequence_key"])
        for row in rows
    ]
    written = await store.get_many(vaas, [(*place, "") for place in places])
    bodies = await store.get_many(vaas, [(*place, row["digest"]) for place, row in zip(places, rows, strict=True)])
    spec = FAMILY_COLUMNS[PUBLICATION, qualifier]
    found = []
    for cell, body in zip(written, bodies, strict=True):
        value = None if cell is None else cell[name]
        if value is None and body is not None and body["digest"]:
            value = (
                decode_vaa(body["signed_vaa"]).payload if name == "payload" else body[name] if name in OF_BODY else None
            )
        found.append(set() if value is None else {value_text(spec, value)})
    return found
