"""A network as the API sees it, and the lookup of a network by name.

A network has one protocol, IOTA or Wormhole. Only families of that protocol serve it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from api.fields.params import ADDRESS
from api.http.errors import BadParameter, NoSuchNetwork, OtherProtocol
from db.roles import KINDS
from db.schema.protocols import IOTA as IOTA_PROTOCOL
from db.schema.protocols import WORMHOLE
from db.store import Store
from ledger.base_token import IOTA, BaseToken
from ledger.crypto.bech32 import format_address
from ledger.eras import Coordinator
from ledger.stardust.protocol_parameters import ProtocolParameters


@dataclass(frozen=True, slots=True)
class NetworkMount:
    """One network: its store, and what its nodes return in `info`."""

    store: Store
    name: str = field(metadata={"help": "exact network name, the networkId of info"})
    bech32_hrp: str = field(default="", metadata={"help": "human-readable part of its addresses"})
    min_pow_score: int = field(default=0, metadata={"help": "minPoWScore of info"})
    stardust_name: str = field(default="", metadata={"help": "networkName of Stardust's info; default: the name"})
    parameters: ProtocolParameters | None = field(
        default=None, metadata={"help": "Stardust protocol parameters before a milestone announced any"}
    )
    stardust_from: int = field(default=0, metadata={"help": "first Stardust milestone; 0 if unknown"})
    base_token: BaseToken = field(default=IOTA, metadata={"help": "baseToken of info"})
    coordinator: Coordinator | None = field(default=None, metadata={"help": "keys of the milestone signers, if set"})
    kinds: tuple[str, ...] = field(default=KINDS, metadata={"help": "kinds of outputs that its ledger may contain"})
    is_of_one_era: bool = field(default=False, metadata={"help": "all milestones are of the era of the first loaded"})
    wormhole: str | None = field(
        default=None,
        metadata={"help": "contracts of a Wormhole network: mainnet, testnet or devnet; None for IOTA networks"},
    )
    prices: Store | None = field(
        default=None, metadata={"help": "store of a Wormhole network with prices of the base token's symbol, if any"}
    )

    @property
    def protocol(self) -> str:
        """The protocol: a key of db.schema.protocols.TABLES_OF."""
        return IOTA_PROTOCOL if self.wormhole is None else WORMHOLE

    def address(self, address: tuple[str, bytes], name: str = ADDRESS.name) -> str:
        """Returns a parsed bech32 address (prefix, serialized address) as the tables store it, in hex.

        Raises BadParameter, which names the parameter `name`, if the prefix belongs to another network.
        """
        hrp, serialized = address
        if hrp != self.bech32_hrp:
            raise BadParameter(name, f"an address of this network, {self.bech32_hrp}1…", f"{hrp}1…")
        return serialized.hex()

    def bech32(self, address: str) -> str:
        """Returns a stored address as bech32 text."""
        return format_address(self.bech32_hrp, bytes.fromhex(address))


def find_network(networks: Mapping[str, NetworkMount], name: str, protocol: str | None = None) -> NetworkMount:
    """Returns the network of that name. `protocol`: that of the family. Default: any.

    Raises NoSuchNetwork for an unknown name, OtherProtocol for a network of another protocol than the family.
    """
    mount = networks.get(name)
    if mount is None:
        raise NoSuchNetwork(name)
    if protocol is not None and mount.protocol != protocol:
        raise OtherProtocol(name, mount.protocol)
    return mount


def first_of(networks: Mapping[str, NetworkMount], protocol: str, default: str) -> str:
    """Returns the network that serves paths without a network name.

    That is the default network if it has this protocol, else the first network that has. Empty if there is none.
    """
    found = [name for name, mount in networks.items() if mount.protocol == protocol]
    return default if default in found else found[0] if found else ""
