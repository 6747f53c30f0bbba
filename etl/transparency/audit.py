"""Compares the logs of several archives: whose proofs fail, and the first milestone at which two of them differ.

Logs with the same first milestone are compared by their tiles, top down. Others share no tree, but the records of
intervals that both have: equal ones are skipped, of different ones the smaller intervals are compared. Of selective
permanodes, what they have is compared (etl/transparency/partial_audit.py).
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TypeAlias

from db.intervals import Intervals
from etl.fetch.http import Fault
from etl.report import Notify, Progress, quiet
from etl.transparency.partial_audit import (
    NOT_COMPARED,
    Archive,
    PartialComparison,
    Unlike,
    compare_ids,
    compare_roots,
)
from etl.transparency.remote_log import RemoteLog
from etl.transparency.remote_selection import RemoteSelection
from ledger.completeness.intervals import LEVELS, Interval, lowest, size_of
from ledger.transparency.errors import LogError
from ledger.transparency.keys import VerifierKey
from ledger.transparency.positions import index_of_interval, index_of_milestone, milestone_at
from ledger.transparency.records import MilestoneRecord
from ledger.transparency.tiled_tree import first_difference

LOG_FORM = "the log of an IOTA network, https://HOST/api/NETWORK/log"

_STAGE = "audit"

Opened: TypeAlias = "tuple[Archive, Operator]"


@dataclass
class Operator:
    """What the audit found about one archive.

    Attributes:
        url: the prefix of its log.
        origin: the name of its log; empty if it could not be read.
        size: the number of signed records.
        first: the first milestone in the log.
        last: the last milestone in it.
        verifier: the key that signed, as text.
        is_key_given: whether the key was given, and not taken from the archive.
        witnesses: names of the witnesses with a valid cosignature.
        filters: the number of filters of a selective permanode; None for an archive with all messages.
        milestones: its complete milestones.
        fault: what proof of it fails, or why there is no proof; empty if all are valid.
        is_read: whether its checkpoint could be read. False: `fault` is the reason.
    """

    url: str
    origin: str = ""
    size: int = 0
    first: int = 0
    last: int = 0
    verifier: str = ""
    is_key_given: bool = False
    witnesses: list[str] = field(default_factory=list)
    filters: int | None = None
    milestones: Intervals = field(default_factory=list)
    fault: str = ""
    is_read: bool = True


@dataclass(frozen=True)
class Difference:
    """The first milestone at which two archives differ. `records`: what each has there, as hex: a record, an id or a
    root. `is_first`: false if a milestone before it may differ.
    """

    urls: tuple[str, str]
    milestone: int
    what: str
    records: tuple[str, str]
    is_first: bool = True


@dataclass
class AuditResult:
    """The result of an audit. `partial`: pairs of which at least one is selective. `unshared`: pairs of archives that
    have no milestone in common.
    """

    operators: list[Operator]
    differences: list[Difference] = field(default_factory=list)
    partial: list[PartialComparison] = field(default_factory=list)
    unshared: list[tuple[str, str]] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether all proofs are valid and no archives differ."""
        return not self.differences and not any(each.fault for each in self.operators)

    @property
    def newest(self) -> int:
        """The last milestone of the archive that is furthest."""
        return max((each.last for each in self.operators), default=0)


def audit_logs(
    urls: Sequence[str],
    keys: Sequence[VerifierKey] = (),
    witnesses: Sequence[VerifierKey] = (),
    *,
    whole: bool = False,
    notify: Notify = quiet,
) -> AuditResult:
    """Reads and compares the logs at these URLs. An archive whose proof fails is not compared.

    Args:
        urls: prefixes of C2SP paths.
        keys: known keys of logs. Without any, each archive states its own.
        witnesses: known keys of witnesses.
        whole: read every record and tile of each log.
        notify: receives the progress.

    Raises ValueError for an invalid URL.
    """
    result = AuditResult([])
    with ExitStack() as stack:
        opened: list[Opened] = []
        for url in urls:
            log = stack.enter_context(RemoteLog(url))
            operator = Operator(log.url)
            result.operators.append(operator)
            notify(Progress(_STAGE, len(result.operators) - 1, len(urls), "archives"))
            try:
                opened.append((_open(log, operator, keys, witnesses, notify, whole=whole), operator))
            except LogError as error:
                operator.fault = str(error)
            except Fault as fault:
                is_missing = fault.is_for_good and not operator.origin
                operator.fault = f"{fault}: expected {LOG_FORM}" if is_missing else str(fault)
                operator.is_read = bool(operator.origin)
        notify(Progress(_STAGE, len(urls), len(urls), "archives"))
        pairs = list(combinations(opened, 2))
        for number, (one, other) in enumerate(pairs):
            notify(Progress("compare", number, len(pairs), "pairs"))
            if not one[1].fault and not other[1].fault:
                _compare(one, other, result, whole=whole)
        notify(Progress("compare", len(pairs), len(pairs), "pairs"))
    return result


def _open(
    log: RemoteLog,
    operator: Operator,
    keys: Sequence[VerifierKey],
    witnesses: Sequence[VerifierKey],
    notify: Notify,
    *,
    whole: bool,
) -> Archive:
    selection = RemoteSelection.find(log)
    if selection is not None:
        operator.filters, operator.milestones = selection.filters, selection.milestones
        operator.first, operator.last = (selection.milestones or [(0, 0)])[-1]
    try:
        log.open(keys, witnesses, is_selective=selection is not None)
    except Fault as fault:
        if selection is None or not fault.is_for_good:
            raise
        return Archive(log.url, None, selection)
    operator.origin, operator.size = log.origin, log.size
    operator.first, operator.last = log.first, log.last
    operator.verifier, operator.is_key_given = log.key.text, log.is_key_given
    operator.witnesses = [each.name for each in log.signed.cosignatures]
    if whole and log.is_whole:
        log.check_all(lambda done: notify(Progress(f"read {log.url}", done, log.size, "records")))
    return Archive(log.url, log, selection)


def _compare(one: Opened, other: Opened, result: AuditResult, *, whole: bool) -> None:
    archives, logs = (one[0], other[0]), (one[0].log, other[0].log)
    urls = archives[0].url, archives[1].url
    by_records = by_roots = by_ids = ""
    found: Unlike | None = None
    try:
        if logs[0] is not None and logs[1] is not None:
            if logs[0].network != logs[1].network:
                result.unshared.append(urls)
                return
            if logs[0].is_whole and logs[1].is_whole:
                found = _compare_logs((logs[0], logs[1]), result)
                by_records = f"the records up to milestone {min(logs[0].last, logs[1].last):,}"
            else:
                by_roots, found = compare_roots(logs[0], logs[1])
        is_partial = any(each.selection is not None for each in archives)
        if is_partial and (found is None or not found.is_first):
            by_ids, unlike = compare_ids(*archives, whole=whole)
            # A comparison of ids finds the first milestone, which one of roots does not.
            found = unlike or found
    except (LogError, Fault) as error:
        _blame(one, other, error)
        return
    if found is not None:
        records = found.values[0].hex(), found.values[1].hex()
        result.differences.append(Difference(urls, found.milestone, found.what, records, found.is_first))
    elif is_partial and (by_ids or not by_records):
        compared = tuple(filter(None, (by_records, by_roots, by_ids)))
        result.partial.append(PartialComparison(urls, compared, NOT_COMPARED))


def _compare_logs(logs: tuple[RemoteLog, RemoteLog], result: AuditResult) -> Unlike | None:
    """The first record that differs in logs that have all tiles."""
    found = _first_by_tiles(*logs) if logs[0].first == logs[1].first else _first_by_records(*logs, result)
    if found is None:
        return None
    milestone, what, indexes = found
    return Unlike(milestone, what, _different_records(logs, indexes), is_first=True)


def _different_records(logs: tuple[RemoteLog, RemoteLog], indexes: tuple[int, int]) -> tuple[bytes, bytes]:
    """The proved records at these indexes. Raises LogError if they are equal, so that a tile is wrong."""
    one, other = (log.record(index) for log, index in zip(logs, indexes, strict=True))
    if one == other:
        raise LogError(f"a tile has another hash of record {indexes[0]} than that of the record")
    return one, other


Found = tuple[int, str, tuple[int, int]]
"""The milestone, what differs there, and the index of that record in each log."""


def _first_by_tiles(one: RemoteLog, other: RemoteLog) -> Found | None:
    """The first record that differs in logs with the same first milestone."""
    size = min(one.size, other.size)
    if not size or one.root_at(size) == other.root_at(size):
        return None
    index = first_difference(size, one.tile, other.tile)
    if index is None:
        raise LogError("equal tiles have different roots")
    record = one.parsed(index)
    what = "milestone" if isinstance(record, MilestoneRecord) else "trees of listings"
    return milestone_at(one.first, index), what, (index, index)


def _first_by_records(one: RemoteLog, other: RemoteLog, result: AuditResult) -> Found | None:
    """The first record that differs in logs with different first milestones, over the milestones of both."""
    first, last = max(one.first, other.first), min(one.last, other.last)
    if last < first:
        result.unshared.append((one.url, other.url))
        return None
    for part in _parts(first, last):
        if found := _first_in(one, other, part):
            return found
    return None


def _parts(first: int, last: int) -> Iterator[Interval | int]:
    """The largest intervals that lie in (first, last), and the milestones beside them, in order."""
    at = first
    while at <= last:
        whole = [
            Interval(level, at // size_of(level))
            for level in range(LEVELS)
            if at in (Interval(level, at // size_of(level)).start, 1)
            and at // size_of(level) >= lowest(first, level)
            and Interval(level, at // size_of(level)).end <= last
        ]
        part = whole[-1] if whole else at
        yield part
        at = part.end + 1 if isinstance(part, Interval) else at + 1


def _first_in(one: RemoteLog, other: RemoteLog, part: Interval | int) -> Found | None:
    """The first record that differs in an interval or is that of a milestone."""
    if isinstance(part, int):
        indexes = index_of_milestone(one.first, part), index_of_milestone(other.first, part)
        return None if one.record(indexes[0]) == other.record(indexes[1]) else (part, "milestone", indexes)
    indexes = index_of_interval(one.first, part), index_of_interval(other.first, part)
    if one.record(indexes[0]) == other.record(indexes[1]):
        return None
    smaller: Iterator[Interval | int]
    smaller = iter(part.children()) if part.level else iter(range(max(part.start, 1), part.end + 1))
    for each in smaller:
        if found := _first_in(one, other, each):
            return found
    return part.end, "trees of listings", indexes


def _blame(one: Opened, other: Opened, error: Exception) -> None:
    """Notes the fault at the archive whose tiles do not lead to its root; at both if both do."""
    faulty = []
    for archive, operator in (one, other):
        log = archive.log
        if log is None or not log.is_whole:
            continue
        try:
            log.check_all(lambda _: None)
        except (LogError, Fault) as own:
            operator.fault = str(own)
            faulty.append(operator)
    if not faulty:
        one[1].fault = other[1].fault = f"could not be compared: {error}"


def as_json(result: AuditResult) -> dict[str, Any]:
    """The result as a JSON object."""
    return {
        "operators": [vars(each) | {"behind": result.newest - each.last} for each in result.operators],
        "differences": [vars(each) for each in result.differences],
        "partial": [vars(each) for each in result.partial],
        "unshared": result.unshared,
        "valid": result.is_good,
    }
