"""A network as the API sees it."""

from dataclasses import dataclass, field

from api.errors import BadParameter
from api.params import ADDRESS
from db.store import Store


@dataclass(frozen=True, slots=True)
class NetworkMount:
    """One network: where its tables are, and what its nodes would say of themselves in `info`."""

    store: Store
    name: str = field(metadata={"help": "exact network name, the networkId of info"})
    bech32_hrp: str = field(metadata={"help": "human-readable part of its addresses"})
    min_pow_score: int = field(default=0, metadata={"help": "minPoWScore of info"})

    def ed25519_address(self, address: tuple[str, bytes]) -> str:
        """The hash in a bech32 address (prefix, serialized address) as hex; BadParameter for another network's."""
        hrp, serialized = address
        if hrp != self.bech32_hrp:
            raise BadParameter(ADDRESS.name, f"an address of this network, {self.bech32_hrp}1…", f"{hrp}1…")
        return serialized[1:].hex()
