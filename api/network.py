"""A network as the API sees it."""

from dataclasses import dataclass, field

from db.store import Store


@dataclass(frozen=True, slots=True)
class NetworkMount:
    """One network: where its tables are, and what its nodes would say of themselves in `info`."""

    store: Store
    name: str = field(metadata={"help": "exact network name, the networkId of info"})
    bech32_hrp: str = field(metadata={"help": "human-readable part of its addresses"})
    min_pow_score: int = field(default=0, metadata={"help": "minPoWScore of info"})
