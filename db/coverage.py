"""What a selective store keeps: its filters, and the milestones that each of them covers (ledger/selection.py).

A filter covers a milestone if the store has all messages of the milestone that match it. A store without this note
keeps all messages of its milestones, and nothing here limits what it returns.
"""

import json
import time
from collections.abc import Mapping
from typing import TypeAlias
from weakref import WeakKeyDictionary

from db import schema
from db.intervals import Intervals, add, in_words, intersect
from db.listing.statement import LISTED
from db.model import Lookup
from db.store import NotFound, NotKeptHere, Row, Store
from ledger.selection import ADDRESS, MILESTONES, TAG, Filter, parse_filters

KEPT = "kept"
"""Key of keyspace_info: filter → intervals of milestones, as JSON."""

READ_EVERY_S = 10
"""A load may add filters while a server runs."""

Coverage: TypeAlias = Mapping[Filter, Intervals]

_READ: WeakKeyDictionary[Store, tuple[float, Coverage | None]] = WeakKeyDictionary()

_TYPE_OF_CHAIN = {schema.alias_outputs: b"\x08", schema.nft_outputs: b"\x10", schema.foundry_outputs: b""}
"""What precedes the id of a chain object in the address of it. A foundry id begins with the address of its alias."""

_ADDRESS_BYTES = 33


def format_coverage(coverage: Coverage) -> str:
    """The text in keyspace_info."""
    return json.dumps({each.text: coverage[each] for each in sorted(coverage)})


def parse_coverage(text: str) -> Coverage:
    """Parses that text."""
    found = {}
    for filter_text, pairs in json.loads(text).items():
        (each,) = parse_filters([filter_text], kinds=None)
        found[each] = [(first, last) for first, last in pairs]
    return found


async def find_coverage(store: Store) -> Coverage | None:
    """What a selective store keeps, at most READ_EVERY_S old. None: all messages."""
    now = time.monotonic()
    read = _READ.get(store)
    if read is None or now - read[0] >= READ_EVERY_S:
        row = await store.get(schema.keyspace_info, (KEPT,))
        _READ[store] = read = now, None if row is None else parse_coverage(row["value"])
    return read[1]


async def missing(store: Store, what: str, kept_by: Filter | None = None) -> NotFound:
    """Returns the error for an object that is not in the store. `kept_by`: the filter that would keep it, if known."""
    coverage = await find_coverage(store)
    if coverage is None or kept_by in coverage:
        return NotFound(what)
    return NotKeptHere(f"{what} is not kept here: this archive keeps a selection of messages")


async def check_listing(store: Store, lookup: Lookup, key: str) -> None:
    """Sets LISTED for the listing of a key in hex. Raises NotKeptHere if no filter covers it."""
    coverage = await find_coverage(store)
    if coverage is None:
        return
    wanted = _filter_of(lookup, key)
    covered = whole_milestones(coverage)
    if wanted is not None:
        covered = add(covered, coverage.get(wanted, []))
    if not covered and wanted not in coverage:
        name = "this listing" if wanted is None else wanted.text
        raise NotKeptHere(f"{name} is not kept here: this archive keeps a selection, which its /sync lists under kept")
    LISTED.set(f"{lookup.key[0]} 0x{key}; milestones {in_words(covered)}")


async def check_address(store: Store, address: str) -> None:
    """Raises NotKeptHere for an address in hex whose ledger state a selective store does not have."""
    coverage = await find_coverage(store)
    if coverage is not None and Filter(ADDRESS, bytes.fromhex(address)) not in coverage:
        raise NotKeptHere(f"the ledger state of {address} is not kept here: the address is not selected")


async def check_state(store: Store, what: str) -> None:
    """Raises NotKeptHere for what needs the ledger state of all addresses."""
    if await find_coverage(store) is not None:
        raise NotKeptHere(f"{what} is not kept here: this archive has the ledger state of selected addresses only")


async def check_children(store: Store, message_id: str) -> None:
    """Sets LISTED for the children of a message: they are all there only in milestones that are kept as a whole."""
    coverage = await find_coverage(store)
    if coverage is not None:
        LISTED.set(f"parent 0x{message_id}; milestones {in_words(whole_milestones(coverage))}")


async def check_output(store: Store, row: Row) -> None:
    """Raises NotKeptHere for an output of an address that is not selected: it may be spent by a message that is not
    here.
    """
    coverage = await find_coverage(store)
    if coverage is not None and Filter(ADDRESS, bytes.fromhex(row["address"])) not in coverage:
        raise NotKeptHere(
            f"output {row['output_id']} is not kept here: its address is not selected, so it is unknown whether it is "
            "spent"
        )


def whole_milestones(coverage: Coverage) -> Intervals:
    """The milestones of which all messages are kept."""
    found: Intervals = []
    for each, milestones in coverage.items():
        if each.kind == MILESTONES:
            found = add(found, intersect(milestones, [(each.first, each.last)]))
    return found


def _filter_of(lookup: Lookup, key: str) -> Filter | None:
    """The filter that keeps all rows of a key. None: no filter does."""
    value = bytes.fromhex(key)
    if lookup.key[0] == TAG:
        return Filter(TAG, value)
    if lookup.table in _TYPE_OF_CHAIN:
        return Filter(ADDRESS, (_TYPE_OF_CHAIN[lookup.table] + value)[:_ADDRESS_BYTES])
    return Filter(ADDRESS, value) if lookup.key[0] == ADDRESS else None
