"""The stores that the contract suite runs over. A further adapter is one more line."""

from collections.abc import Callable
from pathlib import Path

from db.connect import StoreSettings, open_store
from db.migrate import migrate
from db.store import WritableStore

NETWORK = "permatest-1"


def sqlite(folder: Path) -> StoreSettings:
    """A new SQLite store."""
    settings = StoreSettings(f"sqlite:///{folder / 'store'}", NETWORK, chunk_size=7, partition_size=3)
    migrate(settings)
    return settings


STORES: dict[str, Callable[[Path], StoreSettings]] = {"sqlite": sqlite}


def reopened(settings: StoreSettings) -> WritableStore:
    """One more client of the same store, able to write."""
    return open_store(settings, writable=True)
