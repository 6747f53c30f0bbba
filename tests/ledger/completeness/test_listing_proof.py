"""Proofs of listings: every page of every key verifies, and equals what the reference writes."""

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from db.roles import ROLES
from ledger.completeness.check import check_document
from ledger.completeness.document import BYTES_MOST, parse_document, render_document
from ledger.completeness.families import BY_NUMBER, FAMILIES
from ledger.completeness.intervals import Interval, complete_from, complete_to
from ledger.completeness.trees import place_of
from ledger.json_reader import JsonError
from tests.ledger.completeness.ledgers import NETWORK, TAGS, Archive, random_rows
from tests.ledger.completeness.reference import Ledger

SEEDS = st.integers(0, 1 << 32)


def archive_of(seed: int) -> Archive:
    rng = Random(seed)
    first, frontier = rng.choice(((1, 1_234), (1, 399), (77, 1_099), (150, 2_350), (1, 99)))
    return Archive(random_rows(rng, frontier, first), first, frontier)


def reference_of(archive: Archive) -> Ledger:
    rows = {(place[0], place[1:]): each for place, each in archive.rows_of.items()}
    return Ledger(archive.network, archive.first, archive.frontier, rows)


@settings(deadline=None, max_examples=15)
@given(SEEDS)
def test_all_pages_of_every_key_verify_and_together_are_the_listing(seed: int) -> None:
    archive = archive_of(seed)
    rng = Random(seed)
    end = complete_to(archive.first, archive.frontier)
    assert end is not None
    absent = [place_of(TAGS, key) for key in (b"aa", b"ab\0\0", b"\xff" * 64)]
    for place in (*archive.rows_of, *absent):
        inside = range(complete_from(archive.first), end + 1)
        rows = [row for row in archive.rows_of.get(place, ()) if int.from_bytes(row[:4], "big") in inside]
        found: list[bytes] = []
        while not found or len(found) < len(rows):
            document = archive.document(place, end, len(found), rng.randint(1, 40))
            verdict = check_document(document, NETWORK, archive.head)
            assert verdict.failure is None, verdict
            proof = parse_document(document)
            assert render_document(proof).encode() == document
            assert (proof.total, proof.index) == (len(rows), len(found))
            found += proof.rows
            if not rows:
                break
        assert found == rows


@settings(deadline=None, max_examples=6)
@given(SEEDS)
def test_documents_are_those_of_the_reference(seed: int) -> None:
    archive = archive_of(seed)
    reference = reference_of(archive)
    rng = Random(seed)
    end = complete_to(archive.first, archive.frontier)
    assert end is not None
    assert reference.head() == (archive.head.size, archive.head.root)
    for place in (*archive.rows_of, place_of(TAGS, b"aa"), place_of(TAGS, b"\xff")):
        total = archive.prove(place, end, 0, 1).total
        index, count = rng.randrange(max(1, total)), rng.randint(1, 40)
        family = BY_NUMBER[place[0]].name
        expected = reference.document(family, (place[0], place[1:]), end, index, count)
        assert archive.document(place, end, index, count).decode() == expected


@settings(deadline=None, max_examples=10)
@given(SEEDS)
def test_roots_do_not_depend_on_the_archive_or_the_order_in_which_trees_are_built(seed: int) -> None:
    rng = Random(seed)
    rows = random_rows(rng, 2_499)
    one, other = Archive(rows, 1, 2_499), Archive(dict(reversed(rows.items())), 951, 2_380)
    shared = [Interval(0, number) for number in range(10, 23)] + [Interval(1, 1)]
    rng.shuffle(shared)
    assert [one.record(each) for each in sorted(shared)] == [other.record(each) for each in sorted(shared)]
    assert [one.record(each) for each in shared] == [other.record(each) for each in shared]


def test_a_page_beyond_the_rows_is_an_error() -> None:
    archive = archive_of(7)
    end = complete_to(archive.first, archive.frontier)
    assert end is not None
    with pytest.raises(ValueError, match="expected a page of"):
        archive.prove(next(iter(archive.rows_of)), end, 10_000, 5)


def test_an_older_cover_is_proved_in_a_newer_log() -> None:
    archive = Archive(random_rows(Random(3), 1_234), 1, 1_234)
    place = next(iter(archive.rows_of))
    for end in (99, 599, 999, 1_199):
        assert check_document(archive.document(place, end), NETWORK, archive.head).is_valid


def test_every_role_of_outputs_has_a_family_and_no_number_is_used_twice() -> None:
    names = {f"{role.output_kind}_outputs_by_{role.variant}" for role in ROLES}
    others = {"messages_by_tag", "messages_by_parent", "ledger_updates_by_address", "transactions_by_address"}
    assert {family.name for family in FAMILIES} == names | others
    assert len(BY_NUMBER) == len(FAMILIES)


def altered(document: bytes, old: str, new: str) -> bytes:
    text = document.decode()
    assert old in text
    return text.replace(old, new, 1).encode()


def small() -> tuple[Archive, bytes]:
    rows = {
        place_of(TAGS, key): [(5).to_bytes(4, "big") + bytes([each]) * 32 for each in range(3)] for key in (b"a", b"b")
    }
    archive = Archive(rows, 1, 120)
    return archive, archive.document(place_of(TAGS, b"a"), 99)


@pytest.mark.parametrize(
    ("old", "new", "failure"),
    [
        ('"version":1', '"version":2', "version: expected"),
        ('"version":1', '"version":1.0', "version: expected"),
        ('"version":1', '"version":1,"version":1', "canonical"),
        ('"version":1', '"version": 1', "canonical"),
        ('"version":1', '"version":01', "JSON document"),
        ('"to":99', '"to":9e1', "canonical"),
        ('"to":99', '"to":98', "No interval"),
        ('"to":99', '"to":199', "have 2 intervals, not 1"),
        ('"first":1', '"first":0', "first: expected"),
        ('"first":1', '"first":2', "checkpoint in the document is another one"),
        ('"key":"61"', '"key":"6A"', "key: expected"),
        ('"key":"61"', '"key":"62"', "does not contain these intervals with these rows"),
        ('"total":3', '"total":4', "have 3 rows, not 4"),
        ('"total":3,', "", "exactly these fields"),
        ('"log_path"', '"more":0,"log_path"', "exactly these fields"),
        ('"index":0', '"index":1', "more rows than"),
        ('"family":"messages_by_tag"', '"family":"tags"', "family: expected"),
        ('"network":"permatest-1"', '"network":"permatest-2"', "network permatest-2, not permatest-1"),
        ('"keys":2', '"keys":-1', "intervals[0].keys: expected"),
        ('"keys":2', '"keys":4', "expected more hashes"),
        ('","checkpoint', 'AA==","checkpoint', "log_path: expected base64"),
    ],
)
def test_a_failure_names_the_field_or_the_check(old: str, new: str, failure: str) -> None:
    archive, document = small()
    assert check_document(document, NETWORK, archive.head).is_valid
    found = check_document(altered(document, old, new), NETWORK, archive.head).failure
    assert found is not None
    assert failure in found


def test_claims_are_sentences_and_there_are_none_if_a_check_fails() -> None:
    archive, document = small()
    claims = (
        f"The log permanode/permatest-1/1 with {archive.head.size} leaves contains these 1 intervals.",
        "In milestones 0 to 99 of permatest-1, messages_by_tag has exactly 3 rows under the key 61.",
        "Rows 0 to 2 of these, oldest first and counted from 0, are the rows in the document.",
    )
    assert check_document(document, NETWORK, archive.head).claims == claims
    value = json.loads(document)
    value["rows"].reverse()
    found = check_document(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(), NETWORK, archive.head)
    assert (found.claims, found.failure) == ((), "The rows are not in order.")


def test_a_document_is_bounded_before_it_is_parsed() -> None:
    with pytest.raises(JsonError, match="at most"):
        parse_document(b"[" * (BYTES_MOST + 1))
    with pytest.raises(JsonError, match="JSON document"):
        parse_document(b"[" * BYTES_MOST)
