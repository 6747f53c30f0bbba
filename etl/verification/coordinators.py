"""Who may sign a network's milestones: what the operator configured, what is known of it, or what its genesis names.

Rules of this file: the first of these that tells anything stands alone. A genesis is believed in its keys as it is in
its outputs, which whoever gave it vouches for. What a line of an archive says of keys is not asked here: it may refute
a milestone and prove none (etl/verification/milestone_checks.py).
"""

from collections.abc import Sequence

from pyspark.sql import functions as F

from db.connect import StoreSettings
from etl.lake.delta import KEY_RANGES, Lake, few_rows
from ledger.eras import Coordinator, KeyRange


def find_coordinator(settings: StoreSettings, lake: Lake) -> Coordinator | None:
    """None where nobody says who signs. Raises ValueError for settings that do not fit each other."""
    told = settings.coordinator()
    if told is not None:
        return told
    if not lake.has("key_ranges"):
        return None
    row = lake.read("key_ranges").agg(F.collect_list(F.struct(*KEY_RANGES.names))).first()
    found = [each.asDict() for each in row[0]] if row else []
    if not found:
        return None
    ranges = tuple(
        KeyRange(bytes(each["public_key"]), each["first_milestone"], each["last_milestone"]) for each in found
    )
    return Coordinator(ranges, settings.coordinator_threshold or max(each["threshold"] for each in found))


def keep_keys(lake: Lake, keys: Sequence[bytes], first: int) -> None:
    """Puts a genesis's keys into the lake: all of them sign, from milestone `first` on. Raises ValueError when the lake
    has others.
    """
    if not keys:
        return
    rows = few_rows(lake.spark, KEY_RANGES, [(key, first, None, len(keys)) for key in sorted(keys)])
    if not lake.has("key_ranges"):
        lake.replace("key_ranges", rows, "true")
    elif not _same(lake, keys):
        raise ValueError("other coordinator's keys than the lake's")


def _same(lake: Lake, keys: Sequence[bytes]) -> bool:
    row = lake.read("key_ranges").agg(F.collect_list("public_key")).first()
    return row is not None and {bytes(key) for key in row[0]} == set(keys)
