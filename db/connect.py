"""Opens the store that a URL names.

Invariants:
1. Adapters are imported only if their scheme is used, because their drivers are extras.
2. A store that was created for something else is rejected here, so callers need not check.
"""

from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import cast

from db import schema
from db.cassandra.address import FORM, ClusterSettings, parse_address
from db.network_settings import NetworkSettings
from db.schema.migration_files import Migratable, check
from db.schema.protocols import IOTA, WORMHOLE
from db.store import StoreError, StoreMismatch, WritableStore
from ledger.eras import Codec, Coordinator, Eras
from ledger.milestone_proof import parse_coordinator
from ledger.networks import Network, find_network, is_known
from ledger.stardust.protocol_parameters import ProtocolParameters, decode_parameters

SQLITE = "sqlite:///"
CLUSTERS = {"cassandra": "cassandra-driver", "scylla": "scylla-driver"}
"""The distribution of the driver for each cluster scheme. Both install the module `cassandra`."""


GENESIS_PARAMETERS = "genesis_parameters"
"""Key of keyspace_info: the serialized protocol parameters of the genesis snapshot, in hex."""


@dataclass(frozen=True)
class StoreSettings(NetworkSettings, ClusterSettings):
    """Settings of one network's store: its location and how its lookups are partitioned."""

    url: str = field(metadata={"help": "sqlite:///FOLDER, or cassandra://HOST/KEYSPACE, scylla://HOST/KEYSPACE"})
    network: str = field(metadata={"help": "exact network name, e.g. mainnet; a store holds one network"})
    chunk_size: int = field(default=100_000, metadata={"help": "milestones per range; fixed when the store is created"})
    partition_size: int = field(
        default=100_000,
        metadata={"help": "target rows per lookup partition; fixed when the store is created"},
    )
    chunk_days: int = field(
        default=100, metadata={"help": "days per range of a Wormhole network; fixed when the store is created"}
    )

    def __post_init__(self) -> None:
        for name in ("chunk_size", "chunk_days", "partition_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, not {getattr(self, name)}")
        super().__post_init__()

    @property
    def protocol(self) -> str:
        """A key of `db.schema.protocols.TABLES_OF`."""
        return IOTA if self.wormhole_network is None else WORMHOLE

    @property
    def wormhole_network(self) -> str | None:
        """The Wormhole network whose contracts and guardians apply (mainnet, testnet or devnet); None for an IOTA
        network.
        """
        return self.wormhole_of(self.network)

    @property
    def range_size(self) -> int:
        """Milestones per range (days in a Wormhole network): `chunk_size` in keyspace_info."""
        return self.chunk_size if self.wormhole_network is None else self.chunk_days

    def info(self) -> dict[str, str]:
        """The keyspace_info of a store that is created with these settings."""
        info = {
            "network": self.network,
            "protocol": self.protocol,
            "chunk_size": str(self.range_size),
            "partition_size": str(self.partition_size),
            "layout": str(schema.LAYOUT),
        }
        # Without it, the address prefix follows from the data, which may come later.
        is_fixed = self.bech32_hrp or is_known(self.network)
        return info | ({"bech32_hrp": self.known_network().bech32_hrp} if is_fixed else {})

    def coordinator(self) -> Coordinator | None:
        """The coordinator from the settings, else the built-in one of the network; None if there is neither.

        Raises:
            ValueError: The settings contradict each other.
        """
        if self.coordinator_keys:
            return parse_coordinator(self.coordinator_keys, self.coordinator_threshold)
        known = find_network(self.network)
        return parse_coordinator(known.coordinator_keys, self.coordinator_threshold or known.coordinator_threshold)

    def known_network(self) -> Network:
        """The built-in values of the network, overridden by these settings."""
        return self.network_of(self.network)

    def eras(self, only: Codec) -> Eras:
        """The eras of the network. `only` is the codec of all milestones if the first Stardust milestone is unknown.

        Raises:
            ValueError: The protocol parameters are invalid.
        """
        return self.eras_of(self.network, only)


def checked_url(url: str) -> str:
    """Returns the URL of a store. Raises StoreError for one of another form, and for an unknown scheme."""
    scheme, colon, _ = url.partition(":")
    is_folder = url.startswith(SQLITE) and len(url) > len(SQLITE)
    if is_folder or (scheme in CLUSTERS and url.startswith(f"{scheme}://")):
        return url
    # A URL with a user is not shown, because it might contain a password.
    if "@" not in url and (folder := url.removeprefix("sqlite://").strip("/")):
        if url.startswith("sqlite://"):
            raise StoreError(
                f"{url} has two slashes; write {SQLITE}{folder}, or {SQLITE}/{folder} for an absolute path"
            )
        if not colon:
            raise StoreError(f"{url!r} has no scheme; write {SQLITE}{url}")
    fault = "invalid store URL" if scheme in {"sqlite", *CLUSTERS} else f"unknown store scheme {scheme!r}"
    raise StoreError(f"{fault}; expected {SQLITE}FOLDER (a fourth slash for an absolute path) or {FORM}")


def open_adapter(settings: StoreSettings, *, writable: bool) -> Migratable:
    """The adapter for these settings. The store is not checked and may not exist yet."""
    url = checked_url(settings.url)
    if url.startswith(SQLITE):
        from db.sqlite.store import SqliteStore

        folder = Path(url.removeprefix(SQLITE)).expanduser()
        return SqliteStore(folder, writable=writable, protocol=settings.protocol)
    address = parse_address(url, settings.network)
    try:
        from db.cassandra.store import CassandraStore
    except ModuleNotFoundError as error:
        scheme = address.scheme
        raise StoreError(f"scheme {scheme} needs the driver {CLUSTERS[scheme]}: install permanode[{scheme}]") from error
    return CassandraStore(address, settings, writable=writable, protocol=settings.protocol)


def find_parameters(store: WritableStore, network: str) -> ProtocolParameters | None:
    """The Stardust parameters in the data of a store: the newest that a milestone announced, else those of the genesis
    snapshot. None without either. Reads two small tables and blocks.
    """
    rows = cast(Migratable, store).read_all(schema.protocol_parameters)
    announced = [row for row in rows if row["network"] == network]
    if announced:
        return decode_parameters(max(announced, key=itemgetter("milestone_index", "announced_by"))["params"])
    infos = {row["name"]: row["value"] for row in cast(Migratable, store).read_all(schema.keyspace_info)}
    return decode_parameters(bytes.fromhex(infos[GENESIS_PARAMETERS])) if GENESIS_PARAMETERS in infos else None


def open_store(settings: StoreSettings, *, writable: bool = False) -> WritableStore:
    """Opens the store of these settings. Unless `writable`, its write methods raise.

    Raises:
        StoreMismatch: The store is missing, outdated or was created for something else.
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
