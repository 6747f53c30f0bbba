"""A network as the API sees it, and how it is found among those of a server.

Rules of this file: a network is of one protocol, and only the families of that protocol answer for it.
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
    """One network: where its tables are, and what its nodes would say of themselves in `info`."""

    store: Store
    name: str = field(metadata={"help": "exact network name, the networkId of info"})
    bech32_hrp: str = field(default="", metadata={"help": "human-readable part of its addresses"})
    min_pow_score: int = field(default=0, metadata={"help": "minPoWScore of info"})
    stardust_name: str = field(default="", metadata={"help": "networkName of Stardust's info; empty: the name"})
    parameters: ProtocolParameters | None = field(
        default=None, metadata={"help": "protocol parameters of Stardust before a milestone announced any"}
    )
    stardust_from: int = field(default=0, metadata={"help": "first milestone of Stardust; 0: no other era is known"})
    base_token: BaseToken = field(default=IOTA, metadata={"help": "baseToken of info"})
    coordinator: Coordinator | None = field(default=None, metadata={"help": "who signs its milestones, if that is set"})
    kinds: tuple[str, ...] = field(default=KINDS, metadata={"help": "kinds of outputs that its ledger may hold"})
    wormhole: str | None = field(
        default=None,
        metadata={"help": "whose contracts a Wormhole network has: mainnet, testnet, devnet; none: of IOTA"},
    )

    @property
    def protocol(self) -> str:
        """A key of db.schema.protocols.TABLES_OF."""
        return IOTA_PROTOCOL if self.wormhole is None else WORMHOLE

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


def find_network(networks: Mapping[str, NetworkMount], name: str, protocol: str) -> NetworkMount:
    """The network of that name; NoSuchNetwork, or OtherProtocol for one that other families answer for."""
    mount = networks.get(name)
    if mount is None:
        raise NoSuchNetwork(name)
    if mount.protocol != protocol:
        raise OtherProtocol(name, mount.protocol)
    return mount


def first_of(networks: Mapping[str, NetworkMount], protocol: str, default: str) -> str:
    """The name of the network that stands where a path names none: the default one, where that is of the protocol, else
    the first one that is; empty: there is none.
    """
    found = [name for name, mount in networks.items() if mount.protocol == protocol]
    return default if default in found else found[0] if found else ""
