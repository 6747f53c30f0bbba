"""The stores of the contract suite: a fixture NAME_settings for each, and what they share."""

import pytest

from db.connect import StoreSettings, open_store
from db.store import WritableStore

NETWORK = "permatest-1"
CHUNK_SIZE = 7
PARTITION_SIZE = 3

MIGRATIONS = [
    "0001_chrysalis",
    "0002_ledger",
    "0003_unspent",
    "0004_stardust",
    "0005_lookups",
    "0006_proofs",
    "0007_analytics",
    "0009_logged",
    "0010_calendar",
    "0012_native_tokens",
    "0013_movements",
    "0014_search",
]
"""The file names of an IOTA store's tables, repeated here independently of the schema."""

STORES = [
    pytest.param("sqlite"),
    pytest.param("cassandra", marks=pytest.mark.cassandra),
    pytest.param("acsylla", marks=pytest.mark.cassandra),
]
"""A further adapter, or a further reader of one, is one more line."""


def settings_of(url: str) -> StoreSettings:
    """A store in which every lookup is cut at every possible place."""
    return StoreSettings(url, NETWORK, chunk_size=CHUNK_SIZE, partition_size=PARTITION_SIZE)


def reopened(settings: StoreSettings) -> WritableStore:
    """One more writing client of the same store."""
    return open_store(settings, writable=True)
