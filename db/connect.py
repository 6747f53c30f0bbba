"""From a URL to an open store.

Rules of this file: adapters are imported only when their scheme is asked for, as their drivers are extras; a store
that was made for something else is refused here, so nobody above needs to check.
"""

from dataclasses import dataclass, field
from pathlib import Path

from db import schema
from db.migrations import Migratable, check
from db.store import StoreError, StoreMismatch, WritableStore
from ledger.networks import find_network

SQLITE = "sqlite:///"


@dataclass(frozen=True)
class StoreSettings:
    """Where one network is kept, and how its lookups are cut."""

    url: str = field(metadata={"help": "sqlite:///FOLDER"})
    network: str = field(metadata={"help": "exact network name, as mainnet; a store holds one network"})
    chunk_size: int = field(
        default=100_000, metadata={"help": "milestones of a range; fixed when the store is created"}
    )
    partition_size: int = field(
        default=100_000, metadata={"help": "rows a lookup partition is meant to hold; fixed when the store is created"}
    )

    def __post_init__(self) -> None:
        for name in ("chunk_size", "partition_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, not {getattr(self, name)}")

    def info(self) -> dict[str, str]:
        """What keyspace_info says of a store created with these settings."""
        return {
            "network": self.network,
            "protocol": "iota",
            "chunk_size": str(self.chunk_size),
            "partition_size": str(self.partition_size),
            "layout": str(schema.LAYOUT),
            "bech32_hrp": find_network(self.network).bech32_hrp,
        }


def open_adapter(url: str, *, writable: bool) -> Migratable:
    """The adapter behind a URL, its store unchecked and perhaps not yet created."""
    if url.startswith(SQLITE) and len(url) > len(SQLITE):
        from db.sqlite import SqliteStore

        return SqliteStore(Path(url.removeprefix(SQLITE)).expanduser(), writable=writable)
    scheme = url.partition(":")[0]
    if scheme in {"cassandra", "scylla"}:
        raise StoreError(f"{scheme} stores come with a later version; use {SQLITE}FOLDER")
    raise StoreError(f"no store is called {url!r}; a URL is {SQLITE}FOLDER, with a fourth slash for an absolute path")


def open_store(settings: StoreSettings, *, writable: bool = False) -> WritableStore:
    """The store of those settings; StoreMismatch when it is missing, outdated or made for something else.

    Unless `writable`, its writing half refuses.
    """
    store = open_adapter(settings.url, writable=writable)
    try:
        check(store, settings.info())
    except StoreMismatch as error:
        store.close()
        raise StoreMismatch(f"{settings.url}: {error}") from error
    except BaseException:
        store.close()
        raise
    return store
