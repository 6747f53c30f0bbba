"""From a URL to an open store.

Rules of this file: adapters are imported only when their scheme is asked for, as their drivers are extras; a store
that was made for something else is refused here, so nobody above needs to check.
"""

from dataclasses import dataclass, field
from pathlib import Path

from db import schema
from db.cassandra_address import FORM, ClusterSettings, parse_address
from db.migrations import Migratable, check
from db.store import StoreError, StoreMismatch, WritableStore
from ledger.networks import find_network

SQLITE = "sqlite:///"
CLUSTERS = {"cassandra": "cassandra-driver", "scylla": "scylla-driver"}
"""Scheme of a cluster's URL → the distribution that speaks to it; both install the module `cassandra`."""


@dataclass(frozen=True)
class StoreSettings(ClusterSettings):
    """Where one network is kept, and how its lookups are cut."""

    url: str = field(metadata={"help": "sqlite:///FOLDER, or cassandra://HOST/KEYSPACE, scylla://HOST/KEYSPACE"})
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
        super().__post_init__()

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


def open_adapter(settings: StoreSettings, *, writable: bool) -> Migratable:
    """The adapter behind those settings, its store unchecked and perhaps not yet created."""
    url = settings.url
    if url.startswith(SQLITE) and len(url) > len(SQLITE):
        from db.sqlite import SqliteStore

        return SqliteStore(Path(url.removeprefix(SQLITE)).expanduser(), writable=writable)
    scheme = url.partition(":")[0]
    if scheme in CLUSTERS and url.startswith(f"{scheme}://"):
        address = parse_address(url, settings.network)
        try:
            from db.cassandra import CassandraStore
        except ModuleNotFoundError as error:
            raise StoreError(
                f"a store of scheme {scheme} needs {CLUSTERS[scheme]}: install permanode[{scheme}]"
            ) from error
        return CassandraStore(address, settings, writable=writable)
    raise StoreError(
        f"no store is called {scheme!r}; a URL is {SQLITE}FOLDER, with a fourth slash for an absolute path, or {FORM}"
    )


def open_store(settings: StoreSettings, *, writable: bool = False) -> WritableStore:
    """The store of those settings; StoreMismatch when it is missing, outdated or made for something else.

    Unless `writable`, its writing half refuses.
    """
    store = open_adapter(settings, writable=writable)
    try:
        check(store, settings.info())
    except StoreMismatch as error:
        store.close()
        raise StoreMismatch(f"{settings.url}: {error}") from error
    except BaseException:
        store.close()
        raise
    return store
