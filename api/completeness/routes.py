"""Proofs that a listing is complete, as documents that verify without this server (docs/proofs.md)."""

from hashlib import sha256

import orjson

from api.completeness.params import Cosigned, FamilyGiven, FirstRow, KeyGiven, Rows, To, parse_key
from api.fields.listing_proof_responses import ListingDocument
from api.handlers.listing_proofs import get_signed_log, write_document
from api.http.errors import BadParameter
from api.http.etags import CURRENT, Cached
from api.http.operations import Family, Operation
from api.network import NetworkMount
from db.queries.listing_proofs import fetch_rows, locate_key
from ledger.completeness.intervals import SMALLEST, is_end
from ledger.completeness.proof import Listing


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
    log = await get_signed_log(network, cosigned=cosigned)
    end = log.end if to is None else to
    if end > log.end or not is_end(log.first, end):
        expected = f"the last milestone of {SMALLEST} in the signed log, from {SMALLEST - 1} to {log.end}"
        raise BadParameter("to", expected, str(to))
    listing = Listing(network.name, log.first, family, place, end)
    trees = await locate_key(network.store, listing)
    total = trees.total
    if offset and offset >= total:
        raise BadParameter("offset", f"a number below {total}" if total else "0, as there are no rows", str(offset))
    await fetch_rows(network.store, trees, listing, offset, page_size)
    document = await write_document(network, log, trees, listing, offset, page_size)
    return Cached(orjson.Fragment(document), f'"{sha256(document).hexdigest()}"'.encode(), CURRENT)


LISTING_PROOFS = Family(
    "proofs of listings",
    (Operation("/proofs/listing", prove_listing, ListingDocument, (404,), is_cached=True, is_extension=True),),
    wrap=lambda value: value,
)
