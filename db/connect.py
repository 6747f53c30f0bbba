"""From a URL to an open store.

Rules of this file: adapters are imported only when their scheme is asked for, as their drivers are extras; a store
that was made for something else is refused here, so nobody above needs to check.
"""

from dataclasses import dataclass, field
from pathlib import Path

from db import schema
from db.cassandra.address import FORM, ClusterSettings, parse_address
from db.network_settings import NetworkSettings
from db.schema.migration_files import Migratable, check
from db.schema.protocols import IOTA, WORMHOLE
from db.store import StoreError, StoreMismatch, WritableStore
from ledger.eras import Codec, Coordinator, Eras
from ledger.milestone_proof import parse_coordinator
from ledger.networks import Network, find_network

SQLITE = "sqlite:///"
CLUSTERS = {"cassandra": "cassandra-driver", "scylla": "scylla-driver"}
"""Scheme of a cluster's URL → the distribution that speaks to it; both install the module `cassandra`."""


@dataclass(frozen=True)
class StoreSettings(NetworkSettings, ClusterSettings):
    """Where one network is kept, and how its lookups are cut."""

    url: str = field(metadata={"help": "sqlite:///FOLDER, or cassandra://HOST/KEYSPACE, scylla://HOST/KEYSPACE"})
    network: str = field(metadata={"help": "exact network name, as mainnet; a store holds one network"})
    chunk_size: int = field(
        default=100_000, metadata={"help": "milestones of a range; fixed when the store is created"}
    )
    partition_size: int = field(
        default=100_000, metadata={"help": "rows a lookup partition is meant to hold; fixed when the store is created"}
    )
    chunk_days: int = field(
        default=100, metadata={"help": "days of a range of a Wormhole network; fixed when the store is created"}
    )

    def __post_init__(self) -> None:
        for name in ("chunk_size", "chunk_days", "partition_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, not {getattr(self, name)}")
        super().__post_init__()

    @property
    def protocol(self) -> str:
        """A key of db.schema.protocols.TABLES_OF."""
        return IOTA if self.wormhole_network is None else WORMHOLE

    @property
    def wormhole_network(self) -> str | None:
        """Whose contracts and guardians a Wormhole network has: mainnet, testnet or devnet; None for one of IOTA."""
        return self.wormhole_of(self.network)

    @property
    def range_size(self) -> int:
        """Milestones of a range, days of one in a Wormhole network: what keyspace_info calls chunk_size."""
        return self.chunk_size if self.wormhole_network is None else self.chunk_days

    def info(self) -> dict[str, str]:
        """What keyspace_info says of a store created with these settings."""
        return {
            "network": self.network,
            "protocol": self.protocol,
            "chunk_size": str(self.range_size),
            "partition_size": str(self.partition_size),
            "layout": str(schema.LAYOUT),
            "bech32_hrp": self.known_network().bech32_hrp,
        }

    def coordinator(self) -> Coordinator | None:
        """Who signs its milestones, as these settings say, else as is known of the network; None where neither does.

        Raises ValueError for settings that do not fit each other.
        """
        if self.coordinator_keys:
            return parse_coordinator(self.coordinator_keys, self.coordinator_threshold)
        known = find_network(self.network)
        return parse_coordinator(known.coordinator_keys, self.coordinator_threshold or known.coordinator_threshold)

    def known_network(self) -> Network:
        """The network, as it is known by name and by these settings."""
        return self.network_of(self.network)

    def eras(self, only: Codec) -> Eras:
        """Its eras; `only` is the codec of all of it where nothing says where Stardust begins. Raises ValueError."""
        return self.eras_of(self.network, only)


def open_adapter(settings: StoreSettings, *, writable: bool) -> Migratable:
    """The adapter behind those settings, its store unchecked and perhaps not yet created."""
    url = settings.url
    if url.startswith(SQLITE) and len(url) > len(SQLITE):
        from db.sqlite.store import SqliteStore

        folder = Path(url.removeprefix(SQLITE)).expanduser()
        return SqliteStore(folder, writable=writable, protocol=settings.protocol)
    scheme = url.partition(":")[0]
    if scheme in CLUSTERS and url.startswith(f"{scheme}://"):
        address = parse_address(url, settings.network)
        try:
            from db.cassandra.store import CassandraStore
        except ModuleNotFoundError as error:
            raise StoreError(
                f"a store of scheme {scheme} needs {CLUSTERS[scheme]}: install permanode[{scheme}]"
            ) from error
        return CassandraStore(address, settings, writable=writable, protocol=settings.protocol)
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
