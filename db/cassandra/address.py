"""Where a cluster is and how it is spoken to: its URL, its settings.

Rules of this file: text in, values out, no driver; whatever is wrong is answered with what was expected, and a
password in a URL is refused without being shown.
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
READERS = ("", "acsylla")


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """What a store on a cluster needs beside its URL; an embedded one takes none of it."""

    password: str = field(default="", repr=False, metadata={"help": "of the user in a cluster's URL", "secret": True})
    tls_ca: str = field(
        default="", metadata={"help": "PEM file of whom a cluster's nodes are certified by; empty: no TLS"}
    )
    tls_cert: str = field(
        default="", metadata={"help": "PEM file of our own certificate, where a cluster asks for one"}
    )
    tls_key: str = field(default="", metadata={"help": "PEM file of its key; empty: in tls_cert"})
    tls_hostnames: bool = field(default=True, metadata={"help": "whether a node's certificate must name its address"})
    consistency: str = field(
        default="LOCAL_QUORUM", metadata={"help": "replicas of a cluster that answer for what changes"}
    )
    consistency_immutable: str = field(
        default="LOCAL_ONE", metadata={"help": "the same for rows that no longer change; before a 404 `consistency`"}
    )
    query_timeout_s: float = field(default=5.0, metadata={"help": "seconds that a cluster has for one query"})
    speculative_delay_s: float = field(
        default=0.2, metadata={"help": "seconds until a cluster's next replica is asked the same; 0: it is not"}
    )
    write_patience_s: float = field(
        default=120.0, metadata={"help": "seconds that a load waits for a cluster that is away before it ends"}
    )
    reader: str = field(
        default="", metadata={"help": "what a cluster is read with: acsylla, which is faster; empty: what writes"}
    )

    def __post_init__(self) -> None:
        for name in ("consistency", "consistency_immutable"):
            if getattr(self, name) not in CONSISTENCIES:
                raise ValueError(f"{name} must be one of {', '.join(CONSISTENCIES)}, not {getattr(self, name)!r}")
        if self.reader not in READERS:
            raise ValueError(f"reader must be {' or '.join(filter(None, READERS))} or empty, not {self.reader!r}")
        if self.query_timeout_s <= 0 or self.speculative_delay_s < 0 or self.write_patience_s < 0:
            raise ValueError("query_timeout_s must be more than 0, speculative_delay_s and write_patience_s 0 or more")


@dataclass(frozen=True)
class Address:
    """Where a cluster is, and what of it is meant; `dc` and `rf` None: not said."""

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
    """The parts of a URL; without a keyspace the network's name stands for it. StoreError for what is no such URL."""
    scheme, _, rest = url.partition("://")
    where, _, query = rest.partition("?")
    where, _, path = where.partition("/")
    user, at, hosts = where.rpartition("@")
    if ":" in user:
        raise StoreError("a password has no place in the URL of a store; give it as the setting `password`")
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
        # The text is not shown, as somebody may have put a password into it.
        raise StoreError(
            f"the URL of a cluster must be {FORM}, all hosts with one port, KEYSPACE of a-z, 0-9 and _, at most 48"
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
    """A network's name as a keyspace: small letters, digits and _. Names that fold alike are told apart by
    keyspace_info, which refuses the second.
    """
    name = re.sub(r"[^a-z0-9]", "_", network.lower())
    return (name if name[:1].isalpha() else f"n_{name}")[:48]
