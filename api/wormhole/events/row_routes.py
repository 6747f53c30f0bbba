"""Functions of the event database that return rows of its tables.

Every function uses a lookup, never a scan. A row requested by its key is returned whether or not a quorum signed it.
Lists have messages signed by a quorum, by the timestamp of the body.
"""

from collections.abc import Collection, Sequence

from api.http.errors import BadParameter, NotKept
from api.http.responses import Json
from api.network import NetworkMount
from api.wormhole.events.functions import Given, function
from api.wormhole.events.json import OF_PAYLOAD, EventRow, chosen_json, details_json, keyed_json, summary_json
from api.wormhole.events.params import (
    EMITTER_ADDRESS,
    EMITTER_CHAIN,
    END_KEY,
    FAMILIES,
    FOR_ADDRESS,
    FOR_CHAIN,
    FROM_SEQUENCE,
    GROUP_BY,
    ID,
    KEY,
    NEXT,
    NUM_ROWS,
    OF_ADDRESS,
    OF_CHAIN,
    PREFIX,
    RECENT,
    ROW_KEYS,
    SEQUENCE_TEXT,
    START_KEY,
    TO_SEQUENCE,
)
from api.wormhole.events.responses import EventDetails, EventRecent, EventRows
from api.wormhole.params import SEQUENCE_MAX
from db.queries.wormhole.row_keys import Segment, between, emitted, list_rows, prefixed
from db.queries.wormhole.vaas import (
    find_bodies,
    find_families,
    find_payloads,
    list_emitters,
    list_signatures,
    list_states,
    list_vaas,
    read_listed,
)
from db.queries.wormhole.values import list_sent
from db.schema.event_columns import PUBLICATION, QUORUM, SIGNATURES, STATE
from db.store import NotFound, Row
from db.together import together
from ledger.wormhole.chains import CHAIN_IDS, PYTHNET
from ledger.wormhole.ids import row_key
from ledger.wormhole.keys import transaction_key

GROUPS_MAX = 200
"""Maximum number of contracts in one response by contract."""

RECENT_MAX = 8_000
"""Maximum number of rows in a response with the newest rows of each group: 100 for each of 80 contracts, 40 for each
of 200.
"""

DEFAULT_FAMILIES = (PUBLICATION, QUORUM, *OF_PAYLOAD)
"""Column families that rows have by default: those of the functions' last revision."""

OF_KEYS = tuple(each.name for each in (PREFIX, START_KEY, END_KEY, OF_CHAIN, OF_ADDRESS, FROM_SEQUENCE, TO_SEQUENCE))
"""The parameters that name row keys."""

WAYS = f"one of {PREFIX.name}, {START_KEY.name} or {END_KEY.name}, {OF_CHAIN.name}"

PLACE = ("digest", "canonical", "row_key")
"""Columns of `vaas` that locate the column families of the payload."""


async def readrow(network: NetworkMount, given: Given) -> Json:
    """Returns the row of a message, complete or only some column families."""
    place = given[EMITTER_CHAIN.name], given[EMITTER_ADDRESS.name], given[SEQUENCE_TEXT.name]
    families = given[FAMILIES.name]
    return chosen_json(await event_row(network, *place, families or DEFAULT_FAMILIES), families)


async def readrows(network: NetworkMount, given: Given) -> Json:
    """Returns rows by the beginning of their keys, between two keys, or by contract and sequences, in key order with
    sequences as numbers. This is an extension.
    """
    segments, families = segments_of(given), given[FAMILIES.name]
    page = await list_rows(
        network.store,
        segments,
        " ".join(f"{name} {given[name]}" for name in OF_KEYS),
        page_size=given[NUM_ROWS.name],
        cursor=given[NEXT.name] or None,
    )
    rows = await event_rows(network, page.rows, families or DEFAULT_FAMILIES)
    return {"Rows": [keyed_json(row, families) for row in rows], "Next": page.cursor or ""}


def segments_of(given: Given) -> list[Segment]:
    """Returns the requested keys, by default all. Raises BadParameter if they are named in several ways."""
    prefix, start, end, chain, emitter, first, last = (given[name] for name in OF_KEYS)
    ways = [prefix is not None, start is not None or end is not None, chain is not None]
    if sum(ways) > 1:
        raise BadParameter(PREFIX.name, WAYS, "several of them")
    if emitter is not None and chain is None:
        raise BadParameter(OF_CHAIN.name, f"a chain beside {OF_ADDRESS.name}", None)
    if emitter is None and (first is not None or last is not None):
        raise BadParameter(OF_ADDRESS.name, f"an address beside {FROM_SEQUENCE.name} and {TO_SEQUENCE.name}", None)
    if prefix is not None:
        return prefixed(*prefix)
    if chain is None:
        return between(start, end)
    if emitter is None:
        return prefixed(chain)
    return [emitted(chain, emitter, first or 0, SEQUENCE_MAX if last is None else last)]


async def transaction_row(network: NetworkMount, given: Given) -> Json:
    """Returns the row of the newest message of a transaction."""
    page = await list_sent(network.store, transaction_key(given[ID.name]), page_size=1, cursor=None)
    if not page.rows:
        raise NotFound(f"a message of transaction {given[ID.name]}")
    row = page.rows[0]
    return details_json(
        await event_row(network, row["emitter_chain"], row["emitter_address"], int(row["sequence_key"]))
    )


async def recent(network: NetworkMount, given: Given) -> Json:
    """Returns the newest rows of all chains except Pythnet together, or of each chain or contract."""
    groups = await groups_of(network, given)
    most: int = given[NUM_ROWS.name]
    if len(groups) * most > RECENT_MAX:
        raise NotKept(
            f"more than {RECENT_MAX} rows, {most} of each of {len(groups)} groups: "
            f"request fewer with {NUM_ROWS.name} or {FOR_CHAIN.name}"
        )
    pages = await together(
        *(list_vaas(network.store, [source], newest=True, page_size=most, cursor=None) for source in groups.values())
    )
    found = await event_rows(network, [row for page in pages for row in page.rows])
    summaries = iter([summary_json(row) for row in found])
    return {name: [next(summaries) for _ in page.rows] for name, page in zip(groups, pages, strict=True) if page.rows}


async def groups_of(network: NetworkMount, given: Given) -> dict[str, tuple[str, str]]:
    """Returns the lookup of each group in a list of newest rows."""
    chain, address = scope_of(given)
    group = group_of(given)
    if address is not None:
        return {str(chain) if group == "chain" else f"{chain}:{address}": ("emitter", f"{chain}/{address}")}
    if group is None:
        return {"*": ("recent", "")}
    chains = [each for each in CHAIN_IDS if each != PYTHNET] if chain is None else [chain]
    of_chain = group == "chain"
    held = await together(*(list_emitters(network.store, each, 1 if of_chain else GROUPS_MAX + 1) for each in chains))
    if of_chain:
        return {str(each): ("chain", str(each)) for each, emitters in zip(chains, held, strict=True) if emitters}
    places = [(each, emitter) for each, emitters in zip(chains, held, strict=True) for emitter in emitters]
    if len(places) > GROUPS_MAX:
        raise NotKept(f"more than {GROUPS_MAX} contracts: request fewer with {FOR_CHAIN.name} or {FOR_ADDRESS.name}")
    return {f"{each}:{emitter}": ("emitter", f"{each}/{emitter}") for each, emitter in places}


def scope_of(given: Given) -> tuple[int | None, str | None]:
    """Returns the requested chain and contract. Raises BadParameter for a contract without its chain."""
    chain, address = given[FOR_CHAIN.name], given[FOR_ADDRESS.name]
    if address is not None and chain is None:
        raise BadParameter(FOR_CHAIN.name, f"a chain beside {FOR_ADDRESS.name}", None)
    return chain, address


def group_of(given: Given) -> str | None:
    """Returns the grouping: as requested, by default as fine as the filter."""
    chain, address = scope_of(given)
    requested: str | None = given[GROUP_BY.name]
    return requested or ("address" if address is not None else "chain" if chain is not None else None)


async def event_row(
    network: NetworkMount, chain: int, emitter: str, sequence: int, families: Collection[str] = DEFAULT_FAMILIES
) -> EventRow:
    """Returns these column families of a message and reads no others. Raises NotFound if the message is unknown."""
    whole = any(each in families for each in (PUBLICATION, QUORUM))
    bodies = await find_bodies(network.store, chain, emitter, sequence, None if whole else PLACE)
    if not bodies:
        raise NotFound(f"row {row_key(chain, bytes.fromhex(emitter), sequence)}")
    served = next((row for row in bodies if row["canonical"]), None)
    written = next((row for row in bodies if not row["digest"]), None)
    payload, key, digest = None, bodies[0]["row_key"], "" if served is None else served["digest"]
    if of_payload := [each for each in families if each in OF_PAYLOAD]:
        payload = await find_families(network.store, key, digest, of_payload)
    cells = await accumulated(network, key, digest, families)
    return EventRow(chain, emitter, sequence, served if whole else None, written if whole else None, payload, *cells)


async def event_rows(
    network: NetworkMount, listed: Sequence[Row], families: Collection[str] = DEFAULT_FAMILIES
) -> list[EventRow]:
    """Returns the same for rows of `vaas`."""
    found = await read_listed(network.store, listed)
    payloads: Sequence[Row | None] = [None] * len(found)
    places = [(row["row_key"], row["digest"]) for row, _ in found]
    if any(each in OF_PAYLOAD for each in families):
        payloads = await find_payloads(network.store, places)
    cells = await together(*(accumulated(network, *place, families) for place in places))
    return [
        EventRow(
            row["emitter_chain"],
            row["emitter_address"],
            int(row["sequence_key"]),
            row if row["digest"] else None,
            written,
            columns,
            *held,
        )
        for (row, written), columns, held in zip(found, payloads, cells, strict=True)
    ]


async def accumulated(
    network: NetworkMount, key: str, digest: str, families: Collection[str]
) -> tuple[Sequence[Row], Sequence[Row]]:
    """Returns the cells of families that accumulate, if requested: signatures of a body, including published ones,
    and states.
    """
    signatures = await list_signatures(network.store, key) if SIGNATURES in families else []
    states = await list_states(network.store, key) if STATE in families else []
    return [row for row in signatures if row["digest"] in ("", digest)], states


ROWS = (
    *function("/readrow", readrow, KEY, EventDetails, (404,)),
    *function("/readrows", readrows, ROW_KEYS, EventRows, is_extension=True),
    *function("/transaction", transaction_row, (ID,), EventDetails, (404,)),
    *function("/recent", recent, RECENT, EventRecent, (501,)),
)
