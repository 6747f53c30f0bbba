"""The keys that may sign a network's milestones: from the settings, else built-in, else from the genesis.

Only the first of these sources counts. The keys of a genesis are trusted like its outputs. Keys in the lines of an
archive are not used here: they can refute a milestone but not prove it (etl/verification/milestone_checks.py).
"""

from collections.abc import Sequence

from pyspark.sql import functions as F

from db.connect import StoreSettings
from etl.lake.delta import Lake, few_rows
from etl.lake.genesis_tables import KEY_RANGES
from ledger.eras import Coordinator, KeyRange


def find_coordinator(settings: StoreSettings, lake: Lake) -> Coordinator | None:
    """The coordinator; None if it is unknown. Raises ValueError if the settings contradict each other."""
    configured = settings.coordinator()
    if configured is not None:
        return configured
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
    """Stores the keys of a genesis in the lake. All of them sign from milestone `first`. Raises ValueError if the lake
    contains other keys.
    """
    if not keys:
        return
    rows = few_rows(lake.spark, KEY_RANGES, [(key, first, None, len(keys)) for key in sorted(keys)])
    if not lake.has("key_ranges"):
        lake.replace("key_ranges", rows)
    elif not _same(lake, keys):
        raise ValueError("the genesis contains other coordinator keys than the lake; use the genesis of the first load")


def _same(lake: Lake, keys: Sequence[bytes]) -> bool:
    row = lake.read("key_ranges").agg(F.collect_list("public_key")).first()
    return row is not None and {bytes(key) for key in row[0]} == set(keys)
