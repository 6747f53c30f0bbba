"""Proofs that listings are complete: `proof=complete` of the operations that list what a family of proofs contains.

A page is proved by a document for each family and key that it merges. The document has the family's rows between the
oldest and the newest row of the page, and the row before and after them. So it shows that nothing is missing at the
ends of the page, even if the page has no rows or the request names a span. Rows above the last proved milestone, and
those that are in no family, are not proved: pending rows, those of conflicting transactions and of the genesis.

A page that leaves rows of a family out by a filter is never proved. `expect_whole` rejects such a request.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import orjson

from api.fields.params import PROOF
from api.http.errors import BadParameter
from api.http.page_sizes import MAXIMUM
from api.http.responses import Json
from api.network import NetworkMount
from db.listing.page import Page
from db.queries.listing_proofs import fetch_rows, find_index, locate_key, row_id
from db.queries.log import get_audit_path, get_head
from db.roles import Role
from db.schema import PENDING_RANGE
from db.store import NotFound, Row
from db.times import Window
from db.together import together
from ledger.completeness.document import render_document
from ledger.completeness.families import BY_NAME, U32_BYTES, Family
from ledger.completeness.intervals import SMALLEST, complete_from, complete_to, log_place_of_cover
from ledger.completeness.proof import Listing, Trees, prove_page
from ledger.crypto.log_tree import from_left
from ledger.transparency.checkpoint import Checkpoint, parse_checkpoint, parse_origin
from ledger.transparency.note import parse_note
from ledger.transparency.positions import last_milestone

ROWS_MOST = 2 * MAXIMUM
"""The most rows between the ends of a page. A page leaves rows out if their timestamps are in another order than the
milestones.
"""

FAMILIES_MOST = 5
"""The most documents of a page. The outputs of an owner have as many."""

Under: TypeAlias = tuple[str, str]
"""Name of a family, and a key as hex."""


@dataclass(frozen=True, slots=True)
class SignedLog:
    """A signed checkpoint as a document contains it, and the milestones whose listings it proves: from
    `complete_from(first)` to `end`.
    """

    checkpoint: Checkpoint
    note: str
    first: int
    end: int


async def get_signed_log(network: NetworkMount, *, cosigned: bool = False) -> SignedLog:
    """Returns the newest signed checkpoint, or the newest one that witnesses cosigned. Raises NotFound if there is
    none, or if its log has no complete interval.
    """
    head = await get_head(network.store, network.name)
    note = head.cosigned if cosigned else head.checkpoint
    if note is None:
        raise NotFound(f"a {'cosigned' if cosigned else 'signed'} checkpoint of the log of {network.name}")
    checkpoint = parse_checkpoint(parse_note(note).text)
    first = parse_origin(checkpoint.origin)[1]
    end = complete_to(first, last_milestone(first, checkpoint.size))
    if end is None:
        raise NotFound(f"an interval of {SMALLEST} milestones in the signed log of {network.name}")
    return SignedLog(checkpoint, note.decode(), first, end)


async def write_document(
    network: NetworkMount, log: SignedLog, trees: Trees, listing: Listing, index: int, count: int
) -> bytes:
    """Returns the document of a page. `trees` has its rows."""
    at = log_place_of_cover(listing.first, listing.end)
    path = await get_audit_path(network.store, log.checkpoint.size, at)
    proof = prove_page(trees, listing, index, count, from_left(log.checkpoint.size, at, path), log.note)
    return render_document(proof).encode()


def expect_whole(proof: str | None, conditions: Mapping[str, bool]) -> None:
    """Raises BadParameter, which names the conditions, if a proof is requested and one of them does not hold."""
    if proof is not None and not all(conditions.values()):
        expected = f"{', '.join(conditions)}: only listings without filters are proved"
        raise BadParameter(PROOF.name, expected, proof)


def under_roles(roles: Sequence[tuple[Role, str]]) -> list[Under]:
    """Returns the families of outputs by these roles and keys. Raises BadParameter for more than FAMILIES_MOST."""
    if len(roles) > FAMILIES_MOST:
        expected = f"a listing of at most {FAMILIES_MOST} kinds of outputs and roles; this one has {len(roles)}"
        raise BadParameter(PROOF.name, expected, "complete")
    return [(f"{role.output_kind}_outputs_by_{role.variant}", key) for role, key in roles]


async def with_proof(
    network: NetworkMount, proof: str | None, answer: Json, page: Page, under: Under, window: Window | None = None
) -> Json:
    """Returns a response with `completeTo` and `proof`, if it was requested.

    Args:
        network: the network.
        proof: the parameter.
        answer: the response with the page.
        page: what the response shows.
        under: the family that the page lists, and the key.
        window: the span of the request.

    Raises:
        NotFound: the log is not signed, or has no complete interval.
        BadParameter: there are more than ROWS_MOST rows between the ends of the page.
    """
    if proof is None:
        return answer
    end, (document,) = await _prove(network, page, [under], window)
    return answer | {"completeTo": end, "proof": document}


async def with_proofs(
    network: NetworkMount,
    proof: str | None,
    answer: Json,
    page: Page,
    under: Sequence[Under],
    window: Window | None = None,
) -> Json:
    """Like `with_proof` for a page that merges several families: `proofs` has a document of each."""
    if proof is None:
        return answer
    end, documents = await _prove(network, page, under, window)
    return answer | {"completeTo": end, "proofs": documents}


async def _prove(
    network: NetworkMount, page: Page, under: Sequence[Under], window: Window | None
) -> tuple[int, list[orjson.Fragment]]:
    log = await get_signed_log(network)
    keys = [(BY_NAME[name], bytes.fromhex(key)) for name, key in under]
    ends = _ends(page.rows, keys[0][0], window, complete_from(log.first), log.end)
    listings = [Listing(network.name, log.first, family, key, log.end) for family, key in keys]
    documents = await together(*(_prove_between(network, log, each, *ends) for each in listings))
    return log.end, [orjson.Fragment(each) for each in documents]


async def _prove_between(network: NetworkMount, log: SignedLog, listing: Listing, low: bytes, high: bytes) -> bytes:
    """Returns the document of the rows from `low` to before `high`, and of the rows on both sides of them."""
    trees = await locate_key(network.store, listing)
    start = await find_index(network.store, trees, listing, low)
    stop = max(start, await find_index(network.store, trees, listing, high))
    if stop - start > ROWS_MOST:
        expected = f"a page between whose ends the listing has at most {ROWS_MOST} rows, with a smaller page or span"
        raise BadParameter(PROOF.name, expected, "complete")
    index = max(0, start - 1)
    count = min(trees.total, stop + 1) - index
    await fetch_rows(network.store, trees, listing, index, count)
    return await write_document(network, log, trees, listing, index, count)


def _ends(rows: Sequence[Row], family: Family, window: Window | None, begin: int, end: int) -> tuple[bytes, bytes]:
    """Returns where the proved part of a page begins, and what follows its last row, as row ids or their beginnings.

    A row of an earlier or a later milestone than `begin` to `end` extends it to that end. A page without rows has the
    milestones of its window.
    """
    if not rows:
        first, last = begin, end
        if window:
            requested = window.between[0]
            found = window.milestones
            first, last = (found[0][0], found[-1][1]) if found else (requested, requested - 1)
        return _milestone(max(first, begin)), _milestone(min(last, end) + 1)
    lows, highs = [], []
    for row in rows:
        milestone = row.get("milestone_index", PENDING_RANGE)
        if begin <= milestone <= end:
            place = row_id(family, row)
            lows.append(place)
            highs.append(place + b"\0")
        else:
            edge = _milestone(begin if milestone < begin else end + 1)
            lows.append(edge)
            highs.append(edge)
    return min(lows), max(highs)


def _milestone(index: int) -> bytes:
    return index.to_bytes(U32_BYTES, "big")
