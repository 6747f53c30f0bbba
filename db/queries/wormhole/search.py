"""What a text names in a Wormhole network: VAA ids, digests and transaction ids or their first digits, addresses, days.

Every query reads a bounded number of rows.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain as chained

from db.listing.streams import lookup_source
from db.queries.wormhole.vaas import find_bodies, list_vaas, read_listed
from db.schema.wormhole_tables import LOOKUP, emitters
from db.store import Row, Store
from db.together import together
from db.utc_days import DAY_S
from ledger.wormhole.addresses import NativeAddressError, parse_address
from ledger.wormhole.chains import CHAIN_IDS
from ledger.wormhole.keys import ID_DIGITS, address_keys, transaction_key

ROWS_MAX = 20
"""The most messages with the same beginning of an id that a search reads."""

_CHAIN_MAX, _SEQUENCE_MAX = 2**16 - 1, 2**64 - 1
_VAA_ID = re.compile(r"(\d{1,5})[/:]([0-9A-Za-z]{1,128})[/:](\d{1,20})", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_HEX = re.compile(r"(?:0[xX])?([0-9a-fA-F]+)", re.ASCII)
_ADDRESS = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Hit:
    """An object that a text names.

    Attributes:
        kind: vaa, transaction, address, emitter or day.
        id: chain/emitter/sequence, a transaction id, an address, chain/emitter, or a date.
        is_verified: whether a quorum signed the VAA that is returned for the id.
    """

    kind: str
    id: str
    is_verified: bool = False


@dataclass(frozen=True, slots=True)
class Hits:
    """The objects that a text names, and whether there are more ids with this beginning."""

    found: list[Hit]
    more: bool = False


async def search(store: Store, text: str) -> Hits:
    """What a text names."""
    (ids, more), *others = await together(_ids(store, text), _vaas(store, text), _parties(store, text))
    found = {(hit.kind, hit.id): hit for hit in [*ids, *chained.from_iterable(others), *await _days(store, text)]}
    return Hits([found[key] for key in sorted(found)], more)


async def _vaas(store: Store, text: str) -> list[Hit]:
    """The message with this id."""
    match = _VAA_ID.fullmatch(text)
    if match is None or int(match[1]) > _CHAIN_MAX or int(match[3]) > _SEQUENCE_MAX:
        return []
    try:
        emitter = parse_address(int(match[1]), match[2]).hex()
    except NativeAddressError:
        return []
    columns = ("digest", "canonical", "verified")
    bodies = await find_bodies(store, int(match[1]), emitter, int(match[3]), columns)
    is_verified = any(row["canonical"] and row["verified"] for row in bodies)
    return [Hit("vaa", f"{int(match[1])}/{emitter}/{int(match[3])}", is_verified)] if bodies else []


async def _ids(store: Store, text: str) -> tuple[list[Hit], bool]:
    """The messages whose digest begins with a text, and the transactions whose id does.

    If a message was seen with several transactions, its earliest one is found by the beginning of its id, the others
    by the whole id.
    """
    match = _HEX.fullmatch(text)
    keys = [each for each in dict.fromkeys([transaction_key(text), match[1].lower() if match else text]) if each]
    found: list[Hit] = []
    more = False
    for key in keys:
        if len(key) < ID_DIGITS:
            continue
        if await _first_rows(store, "transaction", key, 1):
            found.append(Hit("transaction", key))
        rows = await _first_rows(store, "id", key[:ID_DIGITS], ROWS_MAX + 1)
        more |= len(rows) > ROWS_MAX
        found += await _beginning(store, rows[:ROWS_MAX], key)
    return found, more


async def _first_rows(store: Store, kind: str, key: str, most: int) -> list[Row]:
    stream, rows = lookup_source(LOOKUP, (kind, key))(store, None, True), list[Row]()  # noqa: FBT003
    while len(rows) < most and (more := await stream.next(most - len(rows))):
        rows += more
    return rows


async def _beginning(store: Store, rows: Sequence[Row], key: str) -> list[Hit]:
    """The hits of rows of vaa_lookups whose digest or transaction begins with this key."""
    found = [
        Hit("vaa", _id_of(row), row["canonical"] and row["verified"])
        for row in rows
        if row["digest"] and row["digest"].startswith(key)
    ]
    for row, written in await read_listed(store, rows):
        text = (written or row)["initiating_tx_id"]
        if text is not None and transaction_key(text).startswith(key):
            found.append(Hit("transaction", transaction_key(text)))
    return found


async def _parties(store: Store, text: str) -> list[Hit]:
    """Contracts that emitted messages, and the sender or recipient of verified ones, with this address."""
    keys = address_keys(text) if text.isascii() and text.isalnum() else []
    addresses = [key for key in keys if _ADDRESS.fullmatch(key)]
    pairs = [(number, address) for number in CHAIN_IDS for address in addresses]
    rows = await store.get_many(emitters, pairs)
    found = [
        Hit("emitter", f"{number}/{address}")
        for (number, address), row in zip(pairs, rows, strict=True)
        if row is not None
    ]
    for key in keys:
        sources = [("sender", key), ("recipient", key)]
        page = await list_vaas(store, sources, newest=True, page_size=1, cursor=None)
        if page.rows:
            found.append(Hit("address", key))
    return found


async def _days(store: Store, text: str) -> list[Hit]:
    """A UTC day with verified messages of any chain but Pythnet."""
    try:
        day = date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return []
    if day is None:
        return []
    first = (day - date(1970, 1, 1)).days * DAY_S
    span = first, first + DAY_S - 1
    page = await list_vaas(store, [("recent", "")], span=span, newest=True, page_size=1, cursor=None)
    return [Hit("day", text)] if page.rows else []


def _id_of(row: Row) -> str:
    return f"{row['emitter_chain']}/{row['emitter_address']}/{int(row['sequence_key'])}"
