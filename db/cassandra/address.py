"""The URL of a cluster, and its connection settings. Does not import a driver.

Errors say what was expected. A password in a URL is rejected and never shown.
"""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from db.store import StoreError

FORM = "cassandra://[USER@]HOST[:PORT][,HOST…][/KEYSPACE][?dc=DATACENTER&rf=REPLICAS]"
PORT = 9042
KEYSPACE = re.compile(r"[a-z][a-z0-9_]{0,47}")
DATACENTER = re.compile(r"[A-Za-z0-9_.-]+")
HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9_.-]+))(?::([0-9]{1,5}))?")


CONSISTENCIES = ("LOCAL_ONE", "LOCAL_QUORUM", "QUORUM", "ALL", "ONE", "TWO", "THREE", "EACH_QUORUM")
READERS = ("acsylla", "cassandra")
"""Drivers for reads: acsylla, or that of the writes, whose module is `cassandra`."""


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """Settings of a store on a cluster, in addition to its URL. SQLite ignores them."""

    password: str = field(
        default="", repr=False, metadata={"help": "password of the user in a cluster's URL", "secret": True}
    )
    tls_ca: str = field(
        default="",
        metadata={"help": "CA certificate (PEM) that signed the cluster nodes' certificates; setting it enables TLS"},
    )
    tls_cert: str = field(default="", metadata={"help": "client certificate (PEM), if the cluster requires one"})
    tls_key: str = field(default="", metadata={"help": "private key (PEM) of tls_cert; default: in tls_cert"})
    tls_hostnames: bool = field(default=True, metadata={"help": "verify that a node's certificate names its address"})
    consistency: str = field(
        default="LOCAL_QUORUM", metadata={"help": "consistency level of writes, and of reads of rows that may change"}
    )
    consistency_immutable: str = field(
        default="LOCAL_ONE",
        metadata={
            "help": "consistency level of reads of rows that no longer change; a missing row is read again with "
            "`consistency`"
        },
    )
    query_timeout_s: float = field(default=5.0, metadata={"help": "timeout of a query on a cluster, in seconds"})
    speculative_delay_s: float = field(
        default=0.2, metadata={"help": "seconds after which the same query is also sent to the next replica; 0: never"}
    )
    write_patience_s: float = field(
        default=120.0,
        metadata={"help": "seconds for which a load, or `fsck`, retries while the cluster is unavailable"},
    )
    reader: str = field(
        default="",
        metadata={
            "help": "driver for reads: acsylla, which is faster, or cassandra, the driver for writes; default: acsylla "
            "if it is installed, except in commands that write"
        },
    )

    def __post_init__(self) -> None:
        for name in ("consistency", "consistency_immutable"):
            if getattr(self, name) not in CONSISTENCIES:
                raise ValueError(f"{name} must be one of {', '.join(CONSISTENCIES)}, not {getattr(self, name)!r}")
        if self.reader and self.reader not in READERS:
            raise ValueError(f"reader must be {' or '.join(READERS)} or empty, not {self.reader!r}")
        if self.query_timeout_s <= 0 or self.speculative_delay_s < 0 or self.write_patience_s < 0:
            raise ValueError(
                "query_timeout_s must be greater than 0, speculative_delay_s and write_patience_s must be at least 0"
            )


@dataclass(frozen=True)
class Address:
    """A parsed URL. `dc` and `rf` are None if the URL does not contain them."""

    scheme: str
    hosts: tuple[str, ...]
    port: int
    user: str | None
    keyspace: str
    dc: str | None
    rf: int | None

    def __str__(self) -> str:
        return f"{self.scheme}://{','.join(self.hosts)}:{self.port}/{self.keyspace}"


def parse_address(url: str, network: str) -> Address:
    """Parses a cluster's URL. Without a keyspace it uses the network's name. Raises StoreError for an invalid URL."""
    scheme, _, rest = url.partition("://")
    where, _, query = rest.partition("?")
    where, _, path = where.partition("/")
    user, at, hosts = where.rpartition("@")
    if ":" in user:
        raise StoreError("the URL of a store must not contain a password; use the setting `password`")
    found = [HOST.fullmatch(host) for host in hosts.split(",")]
    ports = {int(host[3] or PORT) for host in found if host}
    options = dict(parse_qsl(query, keep_blank_values=True))
    keyspace = path or fold(network)
    dc, rf = options.get("dc"), options.get("rf")
    well_formed = (
        all(found)
        and len(ports) == 1
        and max(ports) < 65_536
        and bool(user) == bool(at)
        and KEYSPACE.fullmatch(keyspace)
        and options.keys() <= {"dc", "rf"}
        and (dc is None or DATACENTER.fullmatch(dc))
        and (rf is None or re.fullmatch("[1-9][0-9]?", rf))
    )
    if not well_formed:
        # The URL is not shown, because it might contain a password.
        raise StoreError(
            f"the URL of a cluster must have the form {FORM}: the same port for all hosts, "
            "KEYSPACE of a-z, 0-9 and _, at most 48"
        )
    return Address(
        scheme=scheme,
        hosts=tuple(str(host[1] or host[2]) for host in found if host),
        port=ports.pop(),
        user=user or None,
        keyspace=keyspace,
        dc=dc,
        rf=int(rf) if rf else None,
    )


def fold(network: str) -> str:
    """Converts a network's name to a keyspace name: lower case, digits and _. If two names give the same keyspace,
    keyspace_info rejects the second.
    """
    name = re.sub(r"[^a-z0-9]", "_", network.lower())
    return (name if name[:1].isalpha() else f"n_{name}")[:48]
