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
from ledger.completeness.proof import Absent, Groups, IntervalProof, ListingProof, Part, Parts, Present, Rows
from ledger.completeness.trees import GROUP, Leaf, children_root, cover_record, groups_of, place_of
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
    _require(
        [each.record.interval for each in proof.intervals] == cover(listing.first, listing.end),
        f"The intervals are not those of the milestones {start} to {listing.end}",
    )
    _check_log(proof, head)
    yield f"The log {listing.origin} with {head.size} leaves contains these {len(proof.intervals)} intervals."
    place = place_of(listing.family, listing.key)
    for each in proof.intervals:
        _check_key(each, place)
    counts = [each.found.count for each in proof.intervals if isinstance(each.found, Present)]
    _require(sum(counts) == proof.total, f"The intervals have {sum(counts)} rows, not {proof.total}")
    yield (
        f"In milestones {start} to {listing.end} of {network}, {listing.family.name} has exactly {proof.total} rows "
        f"under the key {listing.key.hex()}."
    )
    _check_page(proof)
    if proof.rows:
        yield (
            f"Rows {proof.index} to {proof.index + len(proof.rows) - 1} of these, oldest first and counted from 0, are "
            "the rows in the document."
        )


def _check_log(proof: ListingProof, head: LogHead) -> None:
    listing = proof.listing
    record = cover_record([each.record for each in proof.intervals])
    place = log_place_of_cover(listing.first, listing.end)
    found = root_of_range(head.size, place, [leaf_hash(record)], proof.log_path)
    _require(found == head.root, "The log does not contain these intervals")


def _check_key(proof: IntervalProof, place: bytes) -> None:
    record, found = proof.record, proof.found
    name = _name(record.interval)
    if isinstance(found, Absent):
        _check_absent(proof, found, place)
        leaves: Sequence[Leaf] = found.neighbours
    else:
        leaves = [Leaf(place, found.count, found.root)]
    if leaves:
        hashes = [leaf_hash(each.encode()) for each in leaves]
        root = root_of_range(record.keys, found.index, hashes, found.path)
    else:
        root = EMPTY
    _require(root == record.root, f"The key's leaves are not in the tree of {name}")


def _check_absent(proof: IntervalProof, found: Absent, place: bytes) -> None:
    keys, places = proof.record.keys, [each.place for each in found.neighbours]
    name = _name(proof.record.interval)
    if not places:
        _require(keys == 0 and found.index == 0 and not found.path, f"The key's neighbours in {name} are missing")
        return
    is_before = places[0] < place
    if len(places) == 2:
        encloses = is_before and place < places[1]
    else:
        encloses = found.index == keys - 1 if is_before else place < places[0] and found.index == 0
    _require(encloses, f"The neighbours in {name} do not enclose the key")


def _check_page(proof: ListingProof) -> None:
    rows, index, total = proof.rows, proof.index, proof.total
    if not rows:
        _require(index == total == 0, "The page has no rows, but the listing has some")
    _require(index + len(rows) <= total, "The page has more rows than the listing")
    _require(all(one < next_ for one, next_ in pairwise(rows)), "The rows are not in order")
    _require(not rows or milestone_of(rows[0]) >= proof.listing.first, "A row is older than the archive")
    passed = 0
    for each in proof.intervals:
        if isinstance(each.found, Present):
            found, interval = each.found, each.record.interval
            _check_rows(_Stretch(interval, found.count, found.root), found.rows, rows, index - passed)
            passed += found.count


@dataclass(frozen=True, slots=True)
class _Stretch:
    """All rows of the key in an interval: their number and the root that they must have."""

    interval: Interval
    count: int
    root: bytes


def _check_rows(stretch: _Stretch, found: Rows | None, page: Sequence[bytes], index: int) -> None:
    """Checks the rows that the page has of a stretch. `index`: the place of the page's first row in it, less than 0 if
    the page begins earlier.
    """
    name = _name(stretch.interval)
    start, stop = max(0, index), min(stretch.count, index + len(page))
    if start >= stop:
        _require(found is None, f"The page has no rows of {name}, but the document proves some")
    elif found is None:
        raise CheckError(f"The page has rows of {name} that the document does not prove")
    elif isinstance(found, Groups):
        _check_groups(stretch, found, page[start - index : stop - index], start)
    else:
        _check_parts(stretch, found, page, index)


def _check_groups(stretch: _Stretch, found: Groups, page: Sequence[bytes], start: int) -> None:
    name = _name(stretch.interval)
    rows = [*found.before, *page, *found.after]
    first, end = start - len(found.before), start + len(page) + len(found.after)
    is_whole = first % GROUP == 0 and (end % GROUP == 0 or end == stretch.count) and first >= 0 and end <= stretch.count
    _require(is_whole, f"The rows of {name} are not whole groups")
    _require(all(one < next_ for one, next_ in pairwise(rows)), f"The rows of {name} are not in order")
    numbers = {milestone_of(row) // SMALLEST for row in rows}
    is_inside = len(numbers) == 1 and stretch.interval.start <= milestone_of(rows[0]) <= stretch.interval.end
    _require(is_inside, f"Rows of {name} are of other milestones")
    root = root_of_range(-(-stretch.count // GROUP), first // GROUP, groups_of(rows), found.path)
    _require(root == stretch.root, f"The rows of {name} are not those of the key")


def _check_parts(stretch: _Stretch, found: Parts, page: Sequence[bytes], index: int) -> None:
    name = _name(stretch.interval)
    intervals = [Interval(found.level, part.child.number) for part in found.parts]
    are_children = len({each.number // FACTOR for each in intervals}) == 1
    are_inside = stretch.interval.start <= intervals[0].start and intervals[-1].end <= stretch.interval.end
    are_in_order = all(one < next_ for one, next_ in pairwise(intervals))
    _require(are_children and are_inside and are_in_order, f"The parts of {name} are not intervals inside it, in order")
    _require(sum(part.child.count for part in found.parts) == stretch.count, f"The parts of {name} have other counts")
    root = children_root(found.level, [part.child for part in found.parts])
    _require(root == stretch.root, f"The parts of {name} are not those of the key")
    passed = 0
    for interval, part in zip(intervals, found.parts, strict=True):
        _check_part(interval, part, page, index - passed)
        passed += part.child.count


def _check_part(interval: Interval, part: Part, page: Sequence[bytes], index: int) -> None:
    _check_rows(_Stretch(interval, part.child.count, part.child.root), part.rows, page, index)


def _name(interval: Interval) -> str:
    return f"milestones {interval.start} to {interval.end}"
