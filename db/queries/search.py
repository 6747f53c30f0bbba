"""What a text names in an IOTA ledger: milestones, days, ids or their first digits, addresses, tags.

Every query reads a bounded number of rows. An id is found by its first digits if a milestone of this store's newer
layouts references it (ids_by_prefix), and as a whole in any case.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain

from db import schema
from db.partitions import lookup_key_text
from db.queries.messages import find_message
from db.queries.milestones import find_milestone
from db.queries.outputs import find_outputs
from db.roles import ALIAS, BASIC, CHAIN, FOUNDRY, NFT, ROLES
from db.store import Bound, Key, Row, Store
from db.together import together

DIGITS_MIN = 8
"""The least hex digits of the beginning of an id."""

IDS_MAX = 20
"""The most ids with the same beginning that a search returns."""

INDEX_MAX = 2**31 - 1
OUTPUTS_MAX = 128
"""TIP-7 and TIP-20: the most outputs of a transaction; a receipt has fewer."""

ID_DIGITS, OUTPUT_ID_DIGITS, FOUNDRY_ID_DIGITS = 64, 68, 76
TAG_MAX_BYTES = 64
ED25519 = "00"
CHAIN_OF_TYPE = {"08": ALIAS, "10": NFT}
"""First byte of a serialized address, in hex → kind of the object whose address it is."""

TAG_TABLES = ("message", BASIC, NFT)
"""tag_hints.table_kind in the order in which a tag's listing is preferred."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_HEX = re.compile(r"(?:0[xX])?([0-9a-fA-F]+)", re.ASCII)
_ADDRESS_HINTS = tuple(
    dict.fromkeys(
        (output_kind, variant, included)
        for output_kind, variant in [
            *((role.output_kind, role.variant) for role in ROLES if role.table is schema.outputs_by_address),
            ("transaction", "address"),
        ]
        for included in (True, False)
    )
)


@dataclass(frozen=True, slots=True)
class Hit:
    """An object that a text names.

    Attributes:
        kind: milestone, day, message, transaction, output, alias, foundry, nft, address or tag.
        id: a milestone's index, a date, or hex without 0x: an id, a serialized address, a tag.
        row: the object's row; for a transaction that of a message that attaches it. None: the id is all that is known.
        table_kind: for a tag, the first of TAG_TABLES that has it.
    """

    kind: str
    id: str
    row: Row | None = None
    table_kind: str = ""


@dataclass(frozen=True, slots=True)
class Hits:
    """The objects that a text names, and whether there are more ids with this beginning than IDS_MAX."""

    found: list[Hit]
    more: bool = False


async def search(store: Store, text: str, address: str | None) -> Hits:
    """What a text names. `address`: the serialized address in hex, if the text is one of this network in Bech32."""
    match = _HEX.fullmatch(text)
    digits = match[1].lower() if match else ""
    ids, more = await _ids(store, digits) if len(digits) >= DIGITS_MIN else ([], False)
    parts = await together(
        _milestones(store, text),
        _days(store, text),
        *(_named(store, each) for each in ids),
        *(_addresses(store, each) for each in _serialized(digits, address)),
        *(_tags(store, each) for each in _tag_texts(text, digits)),
    )
    found = {(hit.kind, hit.id): hit for hit in chain.from_iterable(parts)}
    return Hits([found[key] for key in sorted(found)], more)


async def _milestones(store: Store, text: str) -> list[Hit]:
    index = int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(INDEX_MAX)) else INDEX_MAX + 1
    row = await find_milestone(store, index) if index <= INDEX_MAX else None
    return _milestone(row)


async def _days(store: Store, text: str) -> list[Hit]:
    try:
        day = date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return []
    row = None if day is None else await store.get(schema.date_cache, (text,))
    return [] if row is None else [Hit("day", text, row)]


async def _ids(store: Store, digits: str) -> tuple[list[str], bool]:
    """The ids that begin with these digits, and whether there are more. A whole id is always among them."""
    if len(digits) > FOUNDRY_ID_DIGITS:
        return [], False
    lower = digits + "0" * (len(digits) % 2)
    rows = await store.slice(
        schema.ids_by_prefix,
        (digits[: 2 * schema.PREFIX_BYTES],),
        lower=Bound((lower,)),
        upper=Bound((digits.ljust(FOUNDRY_ID_DIGITS, "f"),)),
        limit=IDS_MAX + 1,
    )
    ids = [row["id"] for row in rows]
    candidates = [digits] if len(digits) in (ID_DIGITS, FOUNDRY_ID_DIGITS) else []
    if ID_DIGITS < len(digits) <= OUTPUT_ID_DIGITS:
        made = [digits[:ID_DIGITS] + index.to_bytes(2, "little").hex() for index in range(OUTPUTS_MAX)]
        candidates = [each for each in made if each.startswith(digits)]
    return list(dict.fromkeys([*ids[:IDS_MAX], *candidates])), len(ids) > IDS_MAX


async def _named(store: Store, id_: str) -> list[Hit]:
    """What has this id: one object, except that an id of 32 bytes may be that of several."""
    if len(id_) == OUTPUT_ID_DIGITS:
        (output,) = await find_outputs(store, [id_])
        return [] if output is None else [Hit("output", id_, output)]
    if len(id_) == FOUNDRY_ID_DIGITS:
        return await _chains(store, id_, (FOUNDRY,))
    message, milestone_id, attached = await together(
        find_message(store, id_),
        store.get(schema.milestone_ids, (id_,)),
        _attachments(store, id_),
    )
    milestone = None if milestone_id is None else await find_milestone(store, milestone_id["milestone_index"])
    messages = [] if message is None else [Hit("message", id_, message)]
    return [*messages, *attached, *_milestone(milestone), *await _chains(store, id_, (ALIAS, NFT))]


async def _attachments(store: Store, transaction_id: str) -> list[Hit]:
    """A transaction with a message that attaches it: the included one, else a conflicting one, else a pending one."""
    rows = await store.slice(schema.transactions_by_state, (transaction_id,), limit=1)
    if not rows:
        rows = await _first_pending(store, schema.transactions.name, transaction_id)
    message = await find_message(store, rows[0]["message_id"]) if rows else None
    return [] if message is None else [Hit("transaction", transaction_id, message)]


async def _first_pending(store: Store, table: str, key: str) -> Sequence[Row]:
    """The first pending row of a lookup's key, if any."""
    hints = await store.slice(schema.pending_hints, (table, key), limit=1)
    partition = (table, key, schema.PENDING_RANGE)
    return await store.slice(schema.pending, (*partition, hints[0]["bucket"]), limit=1) if hints else []


async def _chains(store: Store, chain_id: str, kinds: Sequence[str]) -> list[Hit]:
    found = await _hinted(store, [(chain_id, CHAIN, kind, True) for kind in kinds])
    return [Hit(kind, chain_id) for kind, is_hinted in zip(kinds, found, strict=True) if is_hinted]


async def _addresses(store: Store, address: str) -> list[Hit]:
    """An address, and the alias or NFT whose address it is."""
    found = await _hinted(store, [(address, *each) for each in _ADDRESS_HINTS])
    kinds = [kind for type_, kind in CHAIN_OF_TYPE.items() if address.startswith(type_)]
    return [Hit("address", address)] * any(found) + await _chains(store, address[2:], kinds)


async def _hinted(store: Store, keys: Iterable[Key]) -> list[bool]:
    """Whether each key of addresses_hints has a partition."""
    return [bool(rows) for rows in await together(*(_first_hint(store, key) for key in keys))]


async def _first_hint(store: Store, key: Key) -> Sequence[Row]:
    return await store.slice(schema.addresses_hints, key, limit=1)


async def _tags(store: Store, tag: str) -> list[Hit]:
    hints = await together(*(store.slice(schema.tag_hints, (tag, each), limit=1) for each in TAG_TABLES))
    found = [kind for kind, rows in zip(TAG_TABLES, hints, strict=True) if rows]
    if not found and await _first_pending(store, schema.tags.name, lookup_key_text((tag,))):
        found = [TAG_TABLES[0]]
    return [Hit("tag", tag, table_kind=found[0])] if found else []


def _serialized(digits: str, address: str | None) -> list[str]:
    """The addresses that a text may be, serialized in hex: 32 bytes without a type are an Ed25519 address."""
    if address is not None:
        return [address]
    if len(digits) == ID_DIGITS:
        return [f"{ED25519}{digits}"]
    return [digits] if len(digits) == ID_DIGITS + 2 and digits.startswith((ED25519, *CHAIN_OF_TYPE)) else []


def _tag_texts(text: str, digits: str) -> list[str]:
    """The tags that a text may be, in hex: its own bytes, and the bytes that its digits spell."""
    spelled = [digits] if digits and len(digits) % 2 == 0 else []
    tags = dict.fromkeys([text.encode().hex(), *spelled])
    return [tag for tag in tags if len(tag) <= 2 * TAG_MAX_BYTES]


def _milestone(row: Row | None) -> list[Hit]:
    return [] if row is None else [Hit("milestone", str(row["milestone_index"]), row)]
