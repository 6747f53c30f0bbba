"""Proofs that a listing is complete, as documents that verify without this server (docs/proofs.md)."""

from hashlib import sha256

import orjson

from api.completeness.params import Cosigned, FamilyGiven, FirstRow, KeyGiven, Rows, To, parse_key
from api.completeness.responses import ListingDocument
from api.http.errors import BadParameter
from api.http.etags import CURRENT, Cached
from api.http.operations import Family, Operation
from api.network import NetworkMount
from db.queries.listing_proofs import fetch_rows, locate_key
from db.queries.log import get_audit_path, get_head
from db.store import NotFound
from ledger.completeness.document import render_document
from ledger.completeness.intervals import SMALLEST, complete_to, is_end, log_place_of_cover
from ledger.completeness.proof import Listing, prove_page
from ledger.crypto.log_tree import from_left
from ledger.transparency.checkpoint import parse_checkpoint, parse_origin
from ledger.transparency.note import parse_note
from ledger.transparency.positions import last_milestone


async def prove_listing(
    network: NetworkMount,
    family: FamilyGiven,
    key: KeyGiven,
    offset: FirstRow,
    page_size: Rows,
    cosigned: Cosigned,
    to: To = None,
) -> Cached:
    """Returns the proof of a page: that the listing has exactly `total` rows, and that these are at these places.

    The rows are those of the milestones up to `to`, oldest first. The document contains the checkpoint of the log that
    it verifies against. The status is 404 if the log was not signed, or does not contain a complete interval yet.
    """
    place = parse_key(family, key)
    head = await get_head(network.store, network.name)
    note = head.cosigned if cosigned else head.checkpoint
    if note is None:
        raise NotFound(f"a {'cosigned' if cosigned else 'signed'} checkpoint of the log of {network.name}")
    checkpoint = parse_checkpoint(parse_note(note).text)
    first = parse_origin(checkpoint.origin)[1]
    newest = complete_to(first, last_milestone(first, checkpoint.size))
    if newest is None:
        raise NotFound(f"an interval of {SMALLEST} milestones in the signed log of {network.name}")
    end = newest if to is None else to
    if end > newest or not is_end(first, end):
        expected = f"the last milestone of {SMALLEST} in the signed log, from {SMALLEST - 1} to {newest}"
        raise BadParameter("to", expected, str(to))
    listing = Listing(network.name, first, family, place, end)
    trees = await locate_key(network.store, listing)
    total = trees.total
    if offset and offset >= total:
        raise BadParameter("offset", f"a number below {total}" if total else "0, as there are no rows", str(offset))
    await fetch_rows(network.store, trees, listing, offset, page_size)
    at = log_place_of_cover(first, end)
    path = await get_audit_path(network.store, checkpoint.size, at)
    proof = prove_page(trees, listing, offset, page_size, from_left(checkpoint.size, at, path), note.decode())
    document = render_document(proof).encode()
    return Cached(orjson.Fragment(document), f'"{sha256(document).hexdigest()}"'.encode(), CURRENT)


LISTING_PROOFS = Family(
    "proofs of listings",
    (Operation("/proofs/listing", prove_listing, ListingDocument, (404,), is_cached=True, is_extension=True),),
    wrap=lambda value: value,
)
