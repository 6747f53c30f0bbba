"""Queries of VAAs.

A message is identified by chain, emitter (64 hex digits) and sequence. If an id has several bodies, the canonical one
is returned. Written values are returned beside values computed from the bytes.
"""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from db.coverage import missing
from db.listing.page import Listing, Page, list_page
from db.listing.spans import Position, within
from db.listing.streams import HintedStream, PartitionStream, Source, Stream, lookup_source
from db.partitions import lookup_key_text
from db.schema.event_columns import CHAIN, DETAILS, PAYLOAD_COLUMNS
from db.schema.wormhole_tables import (
    LOOKUP,
    SEQUENCE_RANGE_DIGITS,
    emitters,
    guardian_sets,
    sequence_hints,
    tokens,
    vaa_payloads,
    vaa_signatures,
    vaa_states,
    vaas,
)
from db.store import Bound, Key, NotFound, Row, Store
from db.utc_days import DAY_S
from ledger.selection import EMITTER
from ledger.selection import Filter as KeptFilter
from ledger.wormhole.ids import row_key, sequence_key

KINDS = ("recent", "chain", "emitter", "transaction", "id", "sender", "recipient", "token", "value")
"""The keys that messages can be looked up by."""

BODIES_MAX = 100
"""The most bodies per id; more than one is a rare conflict."""

ROWS_MAX = 1_000
"""The most rows per message in any table: each guardian of each set signs once."""


SENT_AT = Position("timestamp", lambda seconds: (seconds // DAY_S, seconds))
"""Position of vaa_lookups rows by the timestamp of their bodies."""

Span: TypeAlias = tuple[int, int]
"""Seconds since 1970, both ends inclusive; empty if it ends before it begins."""

WRITTEN_FIRST = frozenset(each.column for each in PAYLOAD_COLUMNS if each.family in (DETAILS, CHAIN))
"""Columns whose written value takes precedence over the computed one, because it has the prices of its time."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter: rows for which `holds` is true. `text` identifies it in cursors."""

    text: str
    holds: Callable[[Row], bool]


ANY = Filter("", lambda _: True)


async def find_bodies(
    store: Store, chain: int, emitter: str, sequence: int, columns: tuple[str, ...] | None = None
) -> list[Row]:
    """All rows of `vaas` of an id: the canonical body first, the row of written values (without a digest) last.
    `columns` must include `digest` and `canonical`.
    """
    key = sequence_key(sequence)
    rows = await store.slice(
        vaas,
        (chain, emitter, key[:SEQUENCE_RANGE_DIGITS]),
        lower=Bound((key,)),
        upper=Bound((key,)),
        limit=BODIES_MAX,
        columns=columns,
    )
    return sorted(rows, key=lambda row: (not row["digest"], not row["canonical"]))


async def get_vaa(
    store: Store, chain: int, emitter: str, sequence: int, columns: tuple[str, ...] | None = None
) -> tuple[Row, Row | None]:
    """The canonical row of `vaas`, and the written values of the message. Raises NotFound if no signed VAA is known."""
    rows = await find_bodies(store, chain, emitter, sequence, columns)
    written = next((row for row in rows if not row["digest"]), None)
    for row in rows:
        if row["canonical"]:
            return row, written
    address = bytes.fromhex(emitter)
    raise await missing(store, f"VAA {row_key(chain, address, sequence)}", KeptFilter(EMITTER, address, chain))


async def get_verified(
    store: Store, chain: int, emitter: str, sequence: int, columns: tuple[str, ...] | None = None
) -> tuple[Row, Row | None]:
    """Like `get_vaa`, only for messages that a quorum signed; NotFound for others. `columns` must include
    `verified`.
    """
    row, written = await get_vaa(store, chain, emitter, sequence, columns)
    if not row["verified"]:
        raise NotFound(f"a verified VAA {row_key(chain, bytes.fromhex(emitter), sequence)}")
    return row, written


async def find_payload(store: Store, key: str, digest: str) -> Row | None:
    """The payload columns of a body by row key, merged from its bytes and from written values; None without any."""
    (found,) = await find_payloads(store, [(key, digest)])
    return found


async def find_families(store: Store, key: str, digest: str, families: Collection[str]) -> Row | None:
    """Like `find_payload`, only the columns of these families."""
    columns = dict.fromkeys(each.column for each in PAYLOAD_COLUMNS if each.family in families)
    rows = await store.slice(vaa_payloads, (key,), limit=BODIES_MAX, columns=("digest", *columns))
    by_digest = {row["digest"]: row for row in rows}
    return _payload(by_digest.get(digest), by_digest.get(""))


async def find_payloads(store: Store, bodies: Sequence[tuple[str, str]]) -> list[Row | None]:
    """Like `find_payload`, for several (row key, digest) pairs."""
    stored = await store.get_many(vaa_payloads, bodies)
    written = await store.get_many(vaa_payloads, [(key, "") for key, _ in bodies])
    return [_payload(*pair) for pair in zip(stored, written, strict=True)]


def _payload(stored: Row | None, written: Row | None) -> Row | None:
    if stored is None or written is None:
        return stored or written
    first = {name: (written, stored) if name in WRITTEN_FIRST else (stored, written) for name in stored}
    return {name: one[name] if one[name] is not None else other[name] for name, (one, other) in first.items()}


async def list_signatures(store: Store, key: str) -> Sequence[Row]:
    """Rows of vaa_signatures of a row key, those without a digest first."""
    return await store.slice(vaa_signatures, (key,), limit=ROWS_MAX)


async def list_states(store: Store, key: str) -> Sequence[Row]:
    """Rows of vaa_states of a row key, by guardian set and time."""
    return await store.slice(vaa_states, (key,), limit=ROWS_MAX)


async def list_vaas(
    store: Store,
    lookup_keys: Sequence[tuple[str, str]],
    *,
    with_unverified: bool = False,
    where: Filter = ANY,
    span: Span | None = None,
    start: Bound | None = None,
    newest: bool,
    page_size: int,
    cursor: str | None,
) -> Page:
    """A page of canonical rows of vaa_lookups under one or several (kind, key), merged by the timestamp of their
    bodies.

    `where` filters these rows, `span` limits the timestamps that are read, and `start` is where a first page begins
    (`listed_at`).
    """

    async def keep(rows: Sequence[Row], _: int | None) -> list[Row]:
        return [row for row in rows if row["canonical"] and (with_unverified or row["verified"]) and where.holds(row)]

    sources = [lookup_source(LOOKUP, key) for key in lookup_keys]
    if span is not None:
        spans = [span] if span[0] <= span[1] else []
        sources = [within(each, spans, SENT_AT) for each in sources]
    texts = " ".join(map(lookup_key_text, lookup_keys))
    shown = "with unverified" if with_unverified else "verified"
    query = f"{LOOKUP.table.name} {texts} {shown} {where.text} {span or ''}"
    listing = Listing(LOOKUP.table, sources, query, keep=keep)
    return await list_page(store, listing, newest=newest, page_size=page_size, cursor=cursor, start=start)


def listed_at(body: Row) -> Bound:
    """The position of a row of `vaas` in listings by timestamp."""
    place = (body[name] for name in ("emitter_chain", "emitter_address", "sequence_key", "digest"))
    return Bound((body["timestamp"] // DAY_S, body["timestamp"], *place))


async def read_listed(store: Store, listed: Sequence[Row]) -> list[tuple[Row, Row | None]]:
    """The rows of `vaas` for rows of vaa_lookups, each with the written values of the message."""
    keys = [
        (row["emitter_chain"], row["emitter_address"], row["sequence_key"][:SEQUENCE_RANGE_DIGITS], row["sequence_key"])
        for row in listed
    ]
    found = await store.get_many(vaas, [(*key, row["digest"]) for key, row in zip(keys, listed, strict=True)])
    written = await store.get_many(vaas, [(*key, "") for key in keys])
    return [(row, beside) for row, beside in zip(found, written, strict=True) if row is not None]


async def list_emitters(store: Store, chain: int, most: int) -> list[str]:
    """The emitters of a chain that have any row, as 64 hex digits, at most `most`."""
    rows = await store.slice(emitters, (chain,), limit=most)
    return [row["emitter_address"] for row in rows]


def emitted_source(chain: int, emitter: str, columns: tuple[str, ...] | None = None) -> Source:
    """An emitter's rows of `vaas`, with all columns or some."""

    def source(store: Store, start: Bound | None, newest: bool) -> Stream:  # noqa: FBT001
        async def first() -> Key:
            assert start is not None
            return (str(start.values[0])[:SEQUENCE_RANGE_DIGITS],)

        def open_partition(hint: Row) -> Stream:
            partition = (chain, emitter, hint["seq_range"])
            return PartitionStream(store, vaas, partition, start, newest=newest, columns=columns)

        return HintedStream(
            store, sequence_hints, (chain, emitter), first if start else None, open_partition, newest=newest
        )

    return source


async def list_guardian_sets(store: Store, network: str) -> list[Row]:
    """All guardian sets, the current one first, with addresses as lists of hex."""
    rows = await store.slice(guardian_sets, (network,), limit=ROWS_MAX)
    return [row | {"addresses": json.loads(row["addresses"])} for row in rows]


async def find_token(store: Store, token_key: str) -> Row | None:
    """The metadata of a token on its home chain; None if no verified message contains it."""
    return await store.get(tokens, (token_key,))


async def find_tokens(store: Store, token_keys: Sequence[str]) -> list[Row | None]:
    """Like `find_token`, for several tokens."""
    return await store.get_many(tokens, [(each,) for each in token_keys])


async def find_symbols(store: Store, token_keys: Collection[str]) -> dict[str, str]:
    """The symbols of tokens by token_key, in upper case, because messages and token lists differ in letter case. Only
    of tokens with a symbol.
    """
    ordered = sorted(token_keys)
    tokens = await find_tokens(store, ordered)
    return {
        key: row["symbol"].upper()
        for key, row in zip(ordered, tokens, strict=True)
        if row is not None and row["symbol"]
    }
