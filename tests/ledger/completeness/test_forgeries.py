"""Both checkers reject every forgery, accept every genuine document, and agree about each."""

import json
from pathlib import Path
from random import Random

import pytest

from ledger.completeness.check import Verdict, check_document
from ledger.completeness.document import render_document
from ledger.completeness.intervals import complete_to
from ledger.completeness.trees import place_of
from tests.ledger.completeness.forgeries import END_OF_BODY
from tests.ledger.completeness.javascript import Case, check_all
from tests.ledger.completeness.ledgers import NETWORK, TAGS, Archive, random_rows
from tests.ledger.completeness.rejected import is_genuine, reject_forgeries

FEW, MANY = 10_000, 100_000


def archives_of(seed: int) -> tuple[bytes, list[Archive]]:
    """A tag, and archives that differ in one of its rows, in their network, first milestone and size."""
    rng = Random(seed)
    rows = random_rows(rng, 1_450, keys=14)
    tag = place_of(TAGS, b"tag")
    rows[tag] = [
        (milestone).to_bytes(4, "big") + rng.randbytes(32) for milestone in (3, 3, 20, 140, 141, 450, 1_010, 1_399)
    ]
    rows[tag].sort()
    rows[place_of(TAGS, b"tagged")] = [(4).to_bytes(4, "big") + rng.randbytes(32) for _ in range(40)]
    rows[place_of(TAGS, b"tagged")].sort()
    hidden = rows | {tag: rows[tag][:4] + rows[tag][5:]}
    return tag, [
        Archive(rows, 1, 1_450),
        Archive(rows, 1, 1_300),
        Archive(rows, 1, 350),
        Archive(rows, 120, 1_450),
        Archive(rows, 1, 1_450, "permatest-2"),
        Archive(hidden, 1, 1_450),
        Archive({}, 1, 350),
    ]


def genuine(tag: bytes, archives: list[Archive]) -> list[Case]:
    """Documents of all pages of some keys."""
    found = []
    for archive in archives:
        end = complete_to(archive.first, archive.frontier)
        assert end is not None
        some = [tag, place_of(TAGS, b"tagged"), *list(archive.rows_of)[:4]]
        for place in (*some, *(place_of(TAGS, key) for key in (b"", b"ta", b"tag\0", b"\xff"))):
            for last in {end, 299}:
                for size in (3, 100):
                    total = 1
                    for index in range(0, 40, size):
                        if index < total or index == 0:
                            proof = archive.prove(place, last, index, size)
                            total = proof.total
                            document = render_document(proof).encode()
                            found.append(Case(document, archive.network, archive.head))
    return found


def check_forgeries(folder: Path, seed: int, number: int) -> None:
    tag, archives = archives_of(seed)
    reasons = reject_forgeries(folder, genuine(tag, archives), archives, seed, number)
    assert len(reasons) > 25, "the forgeries pass too few of the checks"


@pytest.mark.thorough
def test_both_checkers_reject_forgeries_and_agree(tmp_path: Path) -> None:
    check_forgeries(tmp_path, 1, FEW)


@pytest.mark.slow
def test_both_checkers_reject_100_000_forgeries_and_agree(tmp_path: Path) -> None:
    check_forgeries(tmp_path, 2, MANY)


def validity(verdicts: list[Verdict]) -> list[bool]:
    return [verdict.is_valid for verdict in verdicts]


@pytest.mark.thorough
def test_every_bit_of_a_document_matters(tmp_path: Path) -> None:
    rows = {place_of(TAGS, key): [(5).to_bytes(4, "big") + bytes([each]) * 32 for each in range(2)] for key in (b"a",)}
    archive = Archive(rows, 1, 110)
    document = archive.document(place_of(TAGS, b"b"), 99)
    end = document.index(END_OF_BODY.encode())
    flips = [
        document[:at] + bytes([document[at] ^ 1 << bit]) + document[at + 1 :] for at in range(end) for bit in range(8)
    ]
    cases = [
        Case(each, NETWORK, archive.head) for each in (*flips, *(document[:size] for size in range(len(document))))
    ]
    ours = [check_document(*case) for case in cases]
    assert validity(check_all(tmp_path, cases)) == validity(ours)
    # A flip can also turn the key into another one that is absent between the same neighbours.
    valid = [case for case, verdict in zip(cases, ours, strict=True) if verdict.is_valid]
    assert all(is_genuine(case, [archive]) for case in valid)
    assert {json.loads(case.document)["key"] for case in valid} <= {f"{ord('b') ^ 1 << bit:02x}" for bit in range(7)}
    assert [verdict.is_valid for verdict in check_all(tmp_path, [Case(document, NETWORK, archive.head)])] == [True]
