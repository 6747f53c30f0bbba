"""A network as the API sees it."""

from dataclasses import dataclass, field

from api.errors import BadParameter
from api.params import ADDRESS
from db.store import Store
from ledger.base_token import IOTA, BaseToken
from ledger.bech32 import format_address
from ledger.eras import Coordinator
from ledger.protocol_parameters import ProtocolParameters


@dataclass(frozen=True, slots=True)
class NetworkMount:
    """One network: where its tables are, and what its nodes would say of themselves in `info`."""

    store: Store
    name: str = field(metadata={"help": "exact network name, the networkId of info"})
    bech32_hrp: str = field(metadata={"help": "human-readable part of its addresses"})
    min_pow_score: int = field(default=0, metadata={"help": "minPoWScore of info"})
    stardust_name: str = field(default="", metadata={"help": "networkName of Stardust's info; empty: the name"})
    parameters: ProtocolParameters | None = field(
        default=None, metadata={"help": "protocol parameters of Stardust before a milestone announced any"}
    )
    base_token: BaseToken = field(default=IOTA, metadata={"help": "baseToken of info"})
    coordinator: Coordinator | None = field(default=None, metadata={"help": "who signs its milestones, if that is set"})

    def address(self, address: tuple[str, bytes], name: str = ADDRESS.name) -> str:
        """A bech32 address (prefix, serialized address) as the tables have it; BadParameter for another network's,
        given in the parameter `name`.
        """
        hrp, serialized = address
        if hrp != self.bech32_hrp:
            raise BadParameter(name, f"an address of this network, {self.bech32_hrp}1…", f"{hrp}1…")
        return serialized.hex()

    def bech32(self, address: str) -> str:
        """An address of the tables as text."""
        return format_address(self.bech32_hrp, bytes.fromhex(address))

    def ed25519_address(self, address: tuple[str, bytes]) -> str:
        """The hash in a bech32 address, as address()."""
        return self.address(address)[2:]
