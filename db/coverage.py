"""What a selective store keeps: its filters, and the milestones that each of them covers (ledger/selection.py).

A filter covers a milestone if the store has all messages of the milestone that match it. A store without this note
keeps all messages of its milestones, and nothing here limits what it returns.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias
from weakref import WeakKeyDictionary

from db import schema
from db.intervals import Intervals, add, in_words, intersect, subtract
from db.listing.statement import LISTED
from db.model import Lookup
from db.output_kinds import ALIAS, LEGACY, NFT
from db.store import NotFound, NotKeptHere, Row, Store
from ledger.chrysalis.values import TreasuryOutput
from ledger.selection import ADDRESS, EMITTER, MILESTONES, TAG, Filter, parse_filters
from ledger.stardust.codec import decode_output
from ledger.stardust.named import named
from ledger.wormhole.emitters import GOVERNANCE_CHAIN, GOVERNANCE_EMITTER

KEPT = "kept"
"""Key of keyspace_info: filter → intervals of milestones, as JSON."""

READ_EVERY_S = 10
"""A load may add filters while a server runs."""

NAMED_MOST = 10
"""Emitters that a response names: 800 bytes of a header."""

GOVERNANCE = Filter(EMITTER, GOVERNANCE_EMITTER, GOVERNANCE_CHAIN)
"""The emitter whose messages every selection keeps."""

Coverage: TypeAlias = Mapping[Filter, Intervals]

_READ: WeakKeyDictionary[Store, tuple[float, Coverage | None]] = WeakKeyDictionary()

HOLDING = (ADDRESS, "state_controller", "governor", "expiration_return")
"""The variants (db/roles.py) of addresses whose selection keeps the spending of an output."""

_TYPE_OF_KIND = {ALIAS: b"\x08", NFT: b"\x10"}

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


async def check_listing(store: Store, keys: Iterable[tuple[Lookup, str]]) -> None:
    """Sets LISTED for the listing of these keys in hex, merged. Raises NotKeptHere if no filter covers one of them."""
    coverage = await find_coverage(store)
    if coverage is None:
        return
    names: dict[str, None] = {}
    listed: Intervals | None = None
    for lookup, key in keys:
        wanted = _filter_of(lookup, key)
        covered = whole_milestones(coverage)
        if wanted is not None:
            covered = add(covered, coverage.get(wanted, []))
        if not covered and wanted not in coverage:
            name = "this listing" if wanted is None else wanted.text
            raise NotKeptHere(f"{name} is not kept here: this archive keeps a selection, listed in its /sync as kept")
        names[f"{lookup.key[0]} 0x{key}"] = None
        listed = covered if listed is None else intersect(listed, covered)
    if names:
        LISTED.set(f"{', '.join(names)}; milestones {in_words(listed or [])}")


async def check_proved(store: Store, lookup: Lookup | None, key: str, span: tuple[int, int]) -> None:
    """Raises NotKeptHere for the proof of the listing of a key in hex, in a span of milestones that a selective store
    does not cover as a whole by a filter. `lookup`: None for a listing that no filter keeps.
    """
    coverage = await find_coverage(store)
    if coverage is None:
        return
    wanted = None if lookup is None else _filter_of(lookup, key)
    if wanted is None or wanted not in coverage:
        raise NotKeptHere("the proof of this listing is not kept here: no filter of this archive selects its key")
    if uncovered := subtract([span], coverage[wanted]):
        raise NotKeptHere(
            f"the proof of this listing is not kept here: {wanted.text} does not cover milestones {in_words(uncovered)}"
        )


async def check_address(store: Store, address: str) -> None:
    """Sets LISTED for the ledger state of an address in hex. Raises NotKeptHere if the address is not selected."""
    coverage = await find_coverage(store)
    if coverage is None:
        return
    wanted = Filter(ADDRESS, bytes.fromhex(address))
    if wanted not in coverage:
        raise NotKeptHere(f"the ledger state of {address} is not kept here: the address is not selected")
    LISTED.set(f"{ADDRESS} 0x{address}; milestones {in_words(coverage[wanted])}")


async def check_state(store: Store, what: str) -> None:
    """Raises NotKeptHere for what needs the ledger state of all addresses."""
    if await find_coverage(store) is not None:
        raise NotKeptHere(f"{what} is not kept here: this archive has the ledger state of selected addresses only")


async def check_all(store: Store, what: str) -> None:
    """Raises NotKeptHere for what counts or lists all messages, and is therefore not in a selective store."""
    if await find_coverage(store) is not None:
        raise NotKeptHere(f"{what} are not kept here: this archive keeps a selection of messages")


async def check_emitter(store: Store, emitter: Filter | None) -> None:
    """Sets LISTED to the selected emitters of a Wormhole network. Raises NotKeptHere for another `emitter`."""
    coverage = await find_coverage(store)
    if coverage is None:
        return
    if emitter is not None and emitter not in coverage and emitter != GOVERNANCE:
        raise NotKeptHere(f"{emitter.text} is not kept here: this archive keeps other emitters")
    texts = sorted(each.text for each in coverage)
    LISTED.set(" ".join(texts) if len(texts) <= NAMED_MOST else f"{len(texts)} emitters")


async def note_part(store: Store, what: str, milestone_index: int | None = None) -> None:
    """Sets LISTED for what is complete only in milestones that are kept as a whole. `milestone_index`: it is about this
    one.
    """
    if (described := await describe_part(store, what, milestone_index)) is not None:
        LISTED.set(described)


async def describe_part(store: Store, what: str, milestone_index: int | None = None) -> str | None:
    """The text that `note_part` sets; None for a store with all messages."""
    coverage = await find_coverage(store)
    if coverage is None:
        return None
    whole = whole_milestones(coverage)
    if milestone_index is not None:
        whole = intersect(whole, [(milestone_index, milestone_index)])
    return f"{what}; milestones {in_words(whole)}"


async def check_output(store: Store, row: Row) -> None:
    """Raises NotKeptHere for an output of addresses none of which is selected: it may be spent by a message that is not
    here. `row`: of `outputs`.
    """
    coverage = await find_coverage(store)
    if coverage is not None and not any(Filter(ADDRESS, each) in coverage for each in _addresses_of(row)):
        raise NotKeptHere(
            f"output {row['output_id']} is not kept here: its address is not selected, so it is unknown whether it is "
            "spent"
        )


async def check_spending(store: Store, variants: Iterable[str]) -> None:
    """Raises NotKeptHere for a listing of spent outputs by roles of which a selection does not keep the spending."""
    if not set(variants) <= {*HOLDING} and await find_coverage(store) is not None:
        raise NotKeptHere(
            "this listing is not kept here: this archive keeps the outputs with this property, but not what spends them"
        )


def _addresses_of(row: Row) -> Iterator[bytes]:
    """The addresses whose selection keeps the spending of an output."""
    yield bytes.fromhex(row["address"])
    if row["output_kind"] == LEGACY:
        return
    output = decode_output(row["data"])
    if not isinstance(output, TreasuryOutput):
        found = named(output, bytes.fromhex(row["output_id"]))
        yield from (each for each in (found.governor, found.expiration_return) if each is not None)
        if found.chain_id is not None and row["output_kind"] in _TYPE_OF_KIND:
            yield _TYPE_OF_KIND[row["output_kind"]] + found.chain_id


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
