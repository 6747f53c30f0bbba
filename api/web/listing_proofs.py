"""The proof that a page shows all rows of a listing: where it is, and what a browser needs to check it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from api.web.visit import Visit


@dataclass(frozen=True, slots=True)
class ListingProof:
    """The proofs of the listing on a page.

    Attributes:
        families: the families of proofs that the listing merges.
        key: its key in each of them, as hex.
        complete_to: the last milestone that they prove.
        page: the URL of the rows on the page, with their proofs.
        ends: `newest` and `oldest`, if the page has the listing's rows up to that end.
        documents: for each family, the URL of a document that `permanode proof check` accepts.
        network: the exact name of the network.
        origin: of the log.
        verifier: the key of the log that this server names.
    """

    families: Sequence[str]
    key: str
    complete_to: int
    page: str
    ends: Sequence[str]
    documents: Sequence[str]
    network: str
    origin: str
    verifier: str | None


ROWS = 1_000
"""Rows of a document that a page links: the largest page."""


async def proof_of(
    visit: Visit, families: Sequence[str], key: str, path: str, *, is_last: bool, **query: object
) -> ListingProof | None:
    """Returns the proofs of a listing; None if this archive has no signed log, or one without a complete interval.

    Args:
        visit: the request.
        families: the families of the listing.
        key: as hex.
        path: the operation that the page lists, as in `Visit.api`.
        is_last: whether no page follows this one.
        query: its parameters, those of this page.
    """
    log = await visit.kept("log")
    if log is None or log["completeTo"] is None:
        return None
    return ListingProof(
        families,
        key,
        log["completeTo"],
        visit.api(path, **query, proof="complete"),
        ends_of(query, is_last=is_last),
        [visit.api("proofs/listing", family=each, key=key, pageSize=ROWS) for each in families],
        visit.mount.name,
        log["origin"],
        log["verifier"],
    )


def ends_of(query: Mapping[str, object], *, is_last: bool) -> list[str]:
    """Returns the ends of the listing that a page has, by its parameters."""
    order = ["newest", "oldest"] if query.get("sort") != "oldest" else ["oldest", "newest"]
    is_there = {order[0]: query.get("cursor") is None, order[1]: is_last}
    return [
        end for end, limit in (("newest", "end"), ("oldest", "start")) if is_there[end] and query.get(limit) is None
    ]
