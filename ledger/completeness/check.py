"""Verifies the document of a proof against a log.

The network and the head of the log come from the reader, who takes the head from a checkpoint whose signatures he
checked. Everything else is checked here. Memory beside the document is constant.
"""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ledger.completeness.document import parse_document
from ledger.completeness.families import milestone_of
from ledger.completeness.intervals import (
    FACTOR,
    SMALLEST,
    Interval,
    complete_from,
    cover,
    is_end,
    log_place_of_cover,
)
from ledger.completeness.proof import Absent, Groups, IntervalProof, ListingProof, Parts, Present, Rows
from ledger.completeness.records import IntervalRecord
from ledger.completeness.trees import GROUP, Child, Leaf, children_root, cover_record, groups_of, place_of
from ledger.crypto.log_tree import EMPTY, ProofError, leaf_hash, root_of_range
from ledger.json_reader import JsonError


@dataclass(frozen=True, slots=True)
class LogHead:
    """The state of a log: the number of its leaves, and their root."""

    size: int
    root: bytes


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a document proves: the claims that hold, as sentences, and the first check that fails, None if none does.

    If one fails, nothing about the rows is proved.
    """

    claims: tuple[str, ...]
    failure: str | None

    @property
    def is_valid(self) -> bool:
        """Whether all checks passed."""
        return self.failure is None


class CheckError(ValueError):
    """A check that failed, as a sentence."""


def check_document(data: bytes, network: str, head: LogHead) -> Verdict:
    """Verifies a document.

    Args:
        data: the document, at most `BYTES_MOST` bytes.
        network: the network whose listing the reader wants.
        head: of the checkpoint, whose signatures are verified elsewhere.
    """
    claims: list[str] = []
    try:
        proof = parse_document(data)
        claims.extend(_check(proof, network, head))
    except JsonError as error:
        return Verdict((), f"The document is malformed: {error}.")
    except (CheckError, ProofError) as error:
        return Verdict(tuple(claims), f"{error}.")
    return Verdict(tuple(claims), None)


def _require(condition: object, failure: str) -> None:
    if not condition:
        raise CheckError(failure)


def _check(proof: ListingProof, network: str, head: LogHead) -> Iterator[str]:
    listing = proof.listing
    _require(listing.network == network, f"The proof is about the network {listing.network}, not {network}")
    body = f"{listing.origin}\n{head.size}\n{b64encode(head.root).decode()}\n\n"
    _require(proof.checkpoint.startswith(body), "The checkpoint in the document is another one")
    start = complete_from(listing.first)
    _require(is_end(listing.first, listing.end), f"No interval of this archive ends at milestone {listing.end}")
    intervals = cover(listing.first, listing.end)
    _require(
        len(proof.intervals) == len(intervals),
        f"The milestones {start} to {listing.end} have {len(intervals)} intervals, not {len(proof.intervals)}",
    )
    counts = [each.found.count if isinstance(each.found, Present) else 0 for each in proof.intervals]
    _require(sum(counts) == proof.total, f"The intervals have {sum(counts)} rows, not {proof.total}")
    _check_page(proof)
    records = []
    passed = 0
    for interval, each, count in zip(intervals, proof.intervals, counts, strict=True):
        records.append(_record_of(interval, each, proof, passed))
        passed += count
    place = log_place_of_cover(listing.first, listing.end)
    found = root_of_range(head.size, place, [leaf_hash(bytes(cover_record(records)))], proof.log_path)
    _require(found == head.root, "The log does not contain these intervals with these rows")
    yield f"The log {listing.origin} with {head.size} leaves contains these {len(intervals)} intervals."
    yield (
        f"In milestones {start} to {listing.end} of {network}, {listing.family.name} has exactly {proof.total} rows "
        f"under the key {listing.key.hex()}."
    )
    if proof.rows:
        yield (
            f"Rows {proof.index} to {proof.index + len(proof.rows) - 1} of these, oldest first and counted from 0, are "
            "the rows in the document."
        )


def _check_page(proof: ListingProof) -> None:
    rows, index, total = proof.rows, proof.index, proof.total
    if not rows:
        _require(index == total == 0, "The page has no rows, but the listing has some")
    _require(index + len(rows) <= total, "The page has more rows than the listing")
    _require(all(one < next_ for one, next_ in pairwise(rows)), "The rows are not in order")
    _require(not rows or milestone_of(rows[0]) >= proof.listing.first, "A row is older than the archive")


def _record_of(interval: Interval, proof: IntervalProof, whole: ListingProof, passed: int) -> IntervalRecord:
    """The record that an interval must have. `passed`: the rows of the listing in the intervals before it."""
    place = place_of(whole.listing.family, whole.listing.key)
    keys, found = proof.keys, proof.found
    if isinstance(found, Absent):
        _check_absent(interval, keys, found, place)
        leaves: Sequence[Leaf] = found.neighbours
    else:
        root = _root_of_rows(interval, found.count, found.rows, whole.rows, whole.index - passed)
        leaves = [Leaf(place, found.count, root)]
    if not leaves:
        return IntervalRecord(interval, 0, EMPTY)
    return IntervalRecord(
        interval, keys, root_of_range(keys, found.index, [leaf_hash(each.encode()) for each in leaves], found.path)
    )


def _check_absent(interval: Interval, keys: int, found: Absent, place: bytes) -> None:
    places = [each.place for each in found.neighbours]
    name = _name(interval)
    if not places:
        _require(keys == 0 and found.index == 0 and not found.path, f"The key's neighbours in {name} are missing")
        return
    is_before = places[0] < place
    if len(places) == 2:
        encloses = is_before and place < places[1]
    else:
        encloses = found.index == keys - 1 if is_before else place < places[0] and found.index == 0
    _require(encloses, f"The neighbours in {name} do not enclose the key")


def _root_of_rows(interval: Interval, count: int, found: Rows, page: Sequence[bytes], index: int) -> bytes:
    """The root of the `count` rows of the key in an interval. `index`: the place of the page's first row among them,
    less than 0 if the page begins earlier.
    """
    name = _name(interval)
    start, stop = max(0, index), min(count, index + len(page))
    if isinstance(found, bytes):
        _require(start >= stop, f"The page has rows of {name} that the document does not prove")
        return found
    _require(start < stop, f"The page has no rows of {name}, but the document proves some")
    if isinstance(found, Groups):
        return _root_of_groups(interval, count, found, page[start - index : stop - index], start)
    return _root_of_parts(interval, count, found, page, index)


def _root_of_groups(interval: Interval, count: int, found: Groups, page: Sequence[bytes], start: int) -> bytes:
    name = _name(interval)
    rows = [*found.before, *page, *found.after]
    first, end = start - len(found.before), start + len(page) + len(found.after)
    is_whole = first % GROUP == 0 and (end % GROUP == 0 or end == count) and first >= 0 and end <= count
    _require(is_whole, f"The rows of {name} are not whole groups")
    _require(all(one < next_ for one, next_ in pairwise(rows)), f"The rows of {name} are not in order")
    numbers = {milestone_of(row) // SMALLEST for row in rows}
    is_inside = len(numbers) == 1 and interval.start <= milestone_of(rows[0]) <= interval.end
    _require(is_inside, f"Rows of {name} are of other milestones")
    return root_of_range(-(-count // GROUP), first // GROUP, groups_of(rows), found.path)


def _root_of_parts(interval: Interval, count: int, found: Parts, page: Sequence[bytes], index: int) -> bytes:
    name = _name(interval)
    intervals = [Interval(found.level, part.number) for part in found.parts]
    are_children = len({each.number // FACTOR for each in intervals}) == 1
    are_inside = interval.start <= intervals[0].start and intervals[-1].end <= interval.end
    are_in_order = all(one < next_ for one, next_ in pairwise(intervals))
    _require(are_children and are_inside and are_in_order, f"The parts of {name} are not intervals inside it, in order")
    _require(sum(part.count for part in found.parts) == count, f"The parts of {name} have other counts")
    children = []
    passed = 0
    for each, part in zip(intervals, found.parts, strict=True):
        root = _root_of_rows(each, part.count, part.rows, page, index - passed)
        children.append(Child(part.number, part.count, root))
        passed += part.count
    return children_root(found.level, children)


def _name(interval: Interval) -> str:
    return f"milestones {interval.start} to {interval.end}"
