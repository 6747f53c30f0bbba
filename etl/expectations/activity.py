"""Counts of the messages of milestones and of days, from the lake's files, read without the engine.

Few columns are read, so that the counts cost little for any number of milestones.
"""

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from db.intervals import Intervals
from db.measures.measure import CONFLICTING, INCLUDED, NO_TRANSACTION
from etl.expectations.comparison import Comparison, WrongRows, wrong_rows
from etl.expectations.fingerprints import ACTIVITY, DAYS, Fingerprint
from etl.expectations.message_batch import Items, Numbers, child, inside, numbers, valid
from etl.expectations.words import Words, plain_amounts, row_hashes, words
from etl.lake.delta import Lake

BATCH_ROWS = 100_000
_DEPTH = 4
"""Dots in the path of a field of an output."""

_FLAT = ("milestone_index", "timestamp", "message_id", "inclusion_state", "payload_kind", "verified")
_STATES = {"transaction_count": INCLUDED, "conflicting_count": CONFLICTING, "no_transaction_count": NO_TRANSACTION}
_PAYLOADS = {
    "transaction_payload_count": (0, 6),
    "treasury_transaction_payload_count": (4,),
    "milestone_payload_count": (1, 7),
    "tagged_data_payload_count": (2, 5),
}
_OF_MILESTONES = {
    "message_count": "message_count",
    "transaction_count": "included",
    "conflicting_count": "conflicting",
    "no_transaction_count": "no_transaction",
    "transaction_payload_count": "transactions",
    "no_payload_count": "no_payload",
}
"""Counts and their names in the lake's milestones."""

_MOST = np.uint64(2**63)
"""Sums of amounts from here on are null in a table."""


def activity_comparison(lake: Lake, milestones: Intervals) -> Comparison | None:
    """Returns the comparison of ms_analytics for these complete milestones. None: this process does not read the lake.

    Raises WrongRows if the lake's milestones have other counts than its messages.
    """
    if not lake.is_local:
        return None
    counts = _message_counts(lake, milestones)
    held = _milestones(lake, milestones)
    index, place = np.unique(numbers(held["milestone_index"]), return_index=True)
    for count, name in _OF_MILESTONES.items():
        found = numbers(held[name])[place]
        if not np.array_equal(index.view(np.uint64), counts["milestone_index"]) or (found != counts[count]).any():
            raise WrongRows(
                wrong_rows("milestones of the lake", milestones, counts[count].sum(), f"{found.sum()} {name}")
            )
    amounts = np.where(counts[ACTIVITY.amount or ""] < _MOST, counts[ACTIVITY.amount or ""], np.uint64(0))
    hashes = row_hashes(counts, ACTIVITY.columns, len(index))
    sums = (int(each.sum(dtype=np.uint64)) for each in (amounts, hashes))
    return Comparison(milestones, {ACTIVITY.name: Fingerprint(len(index), *sums)})


def days_comparison(lake: Lake, milestones: Intervals, dates: Collection[str]) -> Comparison | None:
    """Returns the comparison of daily_analytics for these UTC dates, which have these complete milestones. None: this
    process does not read the lake.
    """
    if not lake.is_local:
        return None
    held = _milestones(lake, milestones)
    days = pc.strftime(held["timestamp"], "%Y-%m-%d")
    kept = pc.is_in(days, pa.array(list(dates), pa.string()))
    held, days = held.filter(kept), days.filter(kept)
    date, of_date = np.unique(days.to_numpy(zero_copy_only=False).astype(str), return_inverse=True)
    counts: dict[str, Words] = {"date": words(pa.array(date, pa.string()))}
    counts["milestone_count"] = _per(of_date, len(date))
    for count in ("message_count", "transaction_count", "conflicting_count", "transaction_payload_count"):
        counts[count] = _per(of_date, len(date), numbers(held[_OF_MILESTONES[count]]).view(np.uint64))
    hashes = row_hashes(counts, DAYS.columns, len(date))
    return Comparison(milestones, {DAYS.name: Fingerprint(len(date), 0, int(hashes.sum(dtype=np.uint64)))})


def _message_counts(lake: Lake, milestones: Intervals) -> dict[str, Words]:
    """The columns of ACTIVITY, and its amounts, of each milestone."""
    parts = [part for path in lake.local_files("messages", milestones) for part in _parts(path, milestones)]
    if not parts:
        return dict.fromkeys((*ACTIVITY.columns, ACTIVITY.amount or ""), np.zeros(0, np.uint64))
    values = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    index, group = np.unique(values.pop("milestone_index"), return_inverse=True)
    latest = np.full(len(index), np.iinfo(np.int64).min)
    np.maximum.at(latest, group, values.pop("ms_timestamp").view(np.int64))
    counts = {name: _per(group, len(index), each) for name, each in values.items()}
    return {"milestone_index": index, "ms_timestamp": latest.view(np.uint64), **counts}


def _parts(path: Path, milestones: Intervals) -> Iterator[dict[str, Words]]:
    """The counts of complete milestones in a file, for each batch of its rows."""
    with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
        paths = [file.schema.column(number).path for number in range(len(file.schema))]
        nested = [each for each in paths if each.startswith("transaction.outputs.") and each.count(".") == _DEPTH]
        amount = [each for each in nested if each.endswith(".amount")]
        for batch in file.iter_batches(BATCH_ROWS, columns=[*_FLAT, *amount], use_threads=False):
            rows = pa.Table.from_batches([batch])
            kept = inside(numbers(rows["milestone_index"]), milestones) & valid(rows["verified"])
            rows = rows.filter(pa.array(kept)).combine_chunks()
            if rows.num_rows:
                yield _counts(rows)


def _counts(rows: pa.Table) -> dict[str, Words]:
    index, group = np.unique(numbers(rows["milestone_index"]), return_inverse=True)
    is_message = valid(rows["message_id"])
    state, payload = numbers(rows["inclusion_state"]), numbers(rows["payload_kind"])

    def count(mask: npt.NDArray[np.bool_]) -> Words:
        return _per(group[is_message & mask], len(index))

    latest = np.full(len(index), np.iinfo(np.int64).min)
    # Spark's timestamps have a time zone, those of Sail have none.
    naive = rows["timestamp"].cast(pa.timestamp("us"))
    np.maximum.at(latest, group, numbers(pc.divide(pc.cast(naive, pa.int64()), 1_000)))
    return {
        "milestone_index": index.view(np.uint64),
        "ms_timestamp": latest.view(np.uint64),
        "message_count": count(is_message),
        **{name: count(state == number) for name, number in _STATES.items()},
        **{name: count(np.isin(payload, kinds)) for name, kinds in _PAYLOADS.items()},
        "no_payload_count": count(payload < 0),
        ACTIVITY.amount or "": _per(group, len(index), _moved(rows)),
    }


def _moved(rows: pa.Table) -> Words:
    """What each message moved in an included transaction."""
    outputs = Items(child(rows["transaction"].combine_chunks(), "outputs"))
    amounts = np.zeros(rows.num_rows, np.uint64)
    np.add.at(amounts, outputs.messages, plain_amounts(outputs.field("amount")))
    return np.where(numbers(rows["inclusion_state"]) == INCLUDED, amounts, np.uint64(0))


def _milestones(lake: Lake, milestones: Intervals) -> pa.Table:
    """Numbers of the lake's complete milestones among these."""
    names = ["milestone_index", "timestamp", "verified", *_OF_MILESTONES.values()]
    parts = []
    for path in lake.local_files("milestones", milestones):
        with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            rows = file.read(columns=names, use_threads=False)
        kept = inside(numbers(rows["milestone_index"]), milestones) & valid(rows["verified"])
        parts.append(_naive(rows.filter(pa.array(kept)).select(names)))
    return pa.concat_tables(parts).combine_chunks()


def _naive(rows: pa.Table) -> pa.Table:
    """The rows with timestamps without a time zone and without columns that cannot be null: the engines differ."""
    columns = dict(zip(rows.column_names, rows.columns, strict=True))
    return pa.table(columns | {"timestamp": rows["timestamp"].cast(pa.timestamp("us"))})


def _per(groups: Numbers, total: int, weights: Words | None = None) -> Words:
    """The number of members of each group, or the sum of their weights, modulo 2^64."""
    sums = np.zeros(total, np.uint64)
    np.add.at(sums, groups, np.uint64(1) if weights is None else weights)
    return sums
