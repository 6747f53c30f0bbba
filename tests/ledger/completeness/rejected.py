"""Compares both checkers: they reject every forgery, accept every genuine document, and agree about each."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

from ledger.completeness.check import check_document
from ledger.completeness.document import parse_document
from ledger.completeness.trees import place_of
from ledger.json_reader import JsonError
from tests.ledger.completeness.forgeries import END_OF_BODY, forge
from tests.ledger.completeness.javascript import Case, check_all
from tests.ledger.completeness.ledgers import Archive


def signed(case: Case) -> tuple[bytes, str, object]:
    """A case without the signatures of the checkpoint, which no checker here reads."""
    return case.document.partition(END_OF_BODY.encode())[0], case.network, case.head


def is_genuine(case: Case, archives: list[Archive]) -> bool:
    """Whether a document is byte for byte the archive's own for its page: a change can make one page another."""
    try:
        proof = parse_document(case.document)
    except JsonError:
        return False
    listing = proof.listing
    for archive in archives:
        if (archive.network, archive.first, archive.head) == (case.network, listing.first, case.head):
            try:
                own = archive.document(
                    place_of(listing.family, listing.key), listing.end, proof.index, max(1, len(proof.rows))
                )
            except ValueError:
                return False
            return signed(case._replace(document=own)) == signed(case)
    return False


def reject_forgeries(
    folder: Path, cases: Sequence[Case], archives: Sequence[Archive], seed: int, number: int, smallest: int = 100
) -> set[str]:
    """Makes `number` forgeries of genuine documents and checks all of them. Returns the reasons of the rejections.

    Args:
        folder: for files.
        cases: documents of the archives.
        archives: whose own documents are no forgeries.
        seed: of the random numbers.
        number: of the forgeries.
        smallest: milestones of an interval of level 0.
    """
    known = {signed(case) for case in cases}
    rng = Random(seed)
    forged: list[Case] = []
    while len(forged) < number:
        case = forge(rng, cases)
        if signed(case) not in known and not is_genuine(case, archives):
            forged.append(case)
    ours = [check_document(*case) for case in (*cases, *forged)]
    assert [verdict for verdict in ours[: len(cases)] if not verdict.is_valid] == []
    accepted = [case for case, verdict in zip(forged, ours[len(cases) :], strict=True) if verdict.is_valid]
    assert accepted == []
    theirs = check_all(folder, (*cases, *forged), smallest)
    differ = [
        (case.document, one, other)
        for case, one, other in zip((*cases, *forged), ours, theirs, strict=True)
        if (one.is_valid, one.claims) != (other.is_valid, other.claims)
    ]
    assert differ == []
    return {(verdict.failure or "").partition(" milestones ")[0] for verdict in ours[len(cases) :]}
