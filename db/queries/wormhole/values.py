"""Messages by the value of an event table column, for columns with a lookup.

A page reads the rows under the keys of a value and returns those that contain it. Other columns cannot be searched. A
contract or token on an unknown chain is looked up on every numbered chain, one hint each.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from db.listing.page import Keep, Listing, Page, list_page
from db.listing.streams import lookup_source
from db.queries.wormhole.prefixes import is_alone
from db.queries.wormhole.vaas import ANY, Filter, find_payloads
from db.schema.event_columns import ASSET, CHAIN, FAMILY_COLUMNS, NFT, PUBLICATION, TRANSFER
from db.schema.wormhole_tables import LOOKUP, vaa_hints, vaa_lookups
from db.store import Row, Store
from ledger.wormhole.chains import CHAIN_IDS, find_chain_named
from ledger.wormhole.keys import address_keys, transaction_key

_ADDRESS = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Indexed:
    """How a column is looked up.

    Args:
        kind: A kind of vaa_lookups.
        keys: Returns the possible keys of a value, without the chain if `of_a_chain`. Raises ValueError for an invalid
            value.
        expected: What a valid value is, for errors.
        shared_keys: Whether rows of other columns have the same keys, so each row must be checked.
    """

    kind: str
    keys: Callable[[str], Sequence[str]]
    expected: str
    of_a_chain: bool = False
    shared_keys: bool = True


def _address(value: str) -> list[str]:
    if _ADDRESS.fullmatch(value) is None:
        raise ValueError("no address")
    return [value]


def _chain(value: str) -> list[str]:
    named = find_chain_named(value)
    if named is None:
        raise ValueError("no chain")
    return [str(named.id)]


_HEX = "64 lower-case hex digits"
_TOKEN = Indexed("token", _address, _HEX, of_a_chain=True)
_RECIPIENT = Indexed("recipient", _address, _HEX)
_NATIVE = "an address as its chain writes it"

INDEXED: dict[tuple[str, str], Indexed] = {
    (PUBLICATION, "EmitterChain"): Indexed("chain", _chain, "the name of a chain", shared_keys=False),
    (PUBLICATION, "EmitterAddress"): Indexed("emitter", _address, _HEX, of_a_chain=True, shared_keys=False),
    (PUBLICATION, "InitiatingTxID"): Indexed(
        "transaction", lambda value: [transaction_key(value)], "a transaction id", shared_keys=False
    ),
    (TRANSFER, "OriginAddress"): _TOKEN,
    (TRANSFER, "TargetAddress"): _RECIPIENT,
    (ASSET, "TokenAddress"): _TOKEN,
    (NFT, "OriginAddress"): _TOKEN,
    (NFT, "TargetAddress"): _RECIPIENT,
    (CHAIN, "SenderAddress"): Indexed("sender", address_keys, _NATIVE),
    (CHAIN, "ReceiverAddress"): Indexed("recipient", address_keys, _NATIVE),
}
"""By family and qualifier."""


async def list_values(
    store: Store,
    column: tuple[str, str],
    value: str,
    keys: Sequence[str],
    *,
    where: Filter = ANY,
    page_size: int,
    cursor: str | None,
) -> Page:
    """A page of vaa_lookups rows of messages whose column (one of INDEXED) has this value, newest first. Only messages
    that a quorum signed, except for transactions (see `list_sent`). `keys` are those of the value.
    """
    indexed = INDEXED[column]
    if indexed.kind == "transaction":
        return await list_sent(store, keys[0], where=where, page_size=page_size, cursor=cursor)
    name = FAMILY_COLUMNS[column].column

    async def keep(rows: list[Row], _: int | None) -> list[Row]:
        held = [row for row in rows if row["canonical"] and row["verified"] and where.holds(row)]
        if not indexed.shared_keys:
            return held
        payloads = await find_payloads(store, [(row["row_key"], row["digest"]) for row in held])
        return [
            row for row, columns in zip(held, payloads, strict=True) if columns is not None and columns[name] == value
        ]

    named = await _of_chains(store, indexed.kind, keys[0]) if indexed.of_a_chain else keys
    query = f"values {':'.join(column)} {value} {where.text}"
    return await _page(store, indexed.kind, named, keep, query, page_size, cursor)


async def list_sent(store: Store, transaction: str, *, where: Filter = ANY, page_size: int, cursor: str | None) -> Page:
    """A page of vaa_lookups rows of the messages of a transaction (its key), newest first, each once, also if not
    verified. Messages without a known VAA come last, because they have no timestamp.
    """

    async def keep(rows: list[Row], _: int | None) -> list[Row]:
        signed = {row["row_key"] for row in rows if row["canonical"]}
        held = [row for row in rows if where.holds(row)]
        return [row for row in held if row["canonical"] or (not row["digest"] and await is_alone(store, row, signed))]

    return await _page(store, "transaction", [transaction], keep, f"sent {transaction} {where.text}", page_size, cursor)


async def _page(
    store: Store, kind: str, keys: Sequence[str], keep: Keep, query: str, page_size: int, cursor: str | None
) -> Page:
    sources = [lookup_source(LOOKUP, (kind, key)) for key in keys]
    listing = Listing(vaa_lookups, sources, query, keep=keep)
    return await list_page(store, listing, newest=True, page_size=page_size, cursor=cursor)


async def _of_chains(store: Store, kind: str, address: str) -> list[str]:
    """The keys of an address, one per chain, that have any row."""
    keys = [f"{chain}/{address}" for chain in CHAIN_IDS]
    hints = await asyncio.gather(*(store.slice(vaa_hints, (kind, key), limit=1) for key in keys))
    return [key for key, held in zip(keys, hints, strict=True) if held]
