"""Chains by Wormhole's number: name and address form.

`form` is the address form that `addresses` writes. bech32 is followed by its prefix. hex is for chains whose addresses
do not follow from 32 bytes, or have no known rule. Retired chains stay in the table, because their messages do.
Sources: sdk/vaa/structs.go and chainid_generated.go of wormhole-foundation/wormhole, the platforms of its TypeScript
SDK.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain of the network. `form` is one of evm, base58, bech32 PREFIX, algorand, move, near, hex."""

    id: int
    name: str
    form: str


_CHAINS = (
    Chain(0, "unset", "hex"),
    Chain(1, "solana", "base58"),
    Chain(2, "ethereum", "evm"),
    Chain(3, "terra", "bech32 terra"),
    Chain(4, "bsc", "evm"),
    Chain(5, "polygon", "evm"),
    Chain(6, "avalanche", "evm"),
    Chain(7, "oasis", "evm"),
    Chain(8, "algorand", "algorand"),
    Chain(9, "aurora", "evm"),
    Chain(10, "fantom", "evm"),
    Chain(11, "karura", "evm"),
    Chain(12, "acala", "evm"),
    Chain(13, "klaytn", "evm"),
    Chain(14, "celo", "evm"),
    Chain(15, "near", "near"),
    Chain(16, "moonbeam", "evm"),
    Chain(17, "neon", "evm"),
    Chain(18, "terra2", "bech32 terra"),
    Chain(19, "injective", "bech32 inj"),
    Chain(20, "osmosis", "bech32 osmo"),
    Chain(21, "sui", "move"),
    Chain(22, "aptos", "move"),
    Chain(23, "arbitrum", "evm"),
    Chain(24, "optimism", "evm"),
    Chain(25, "gnosis", "evm"),
    Chain(26, "pythnet", "base58"),
    Chain(28, "xpla", "bech32 xpla"),
    Chain(29, "btc", "hex"),
    Chain(30, "base", "evm"),
    Chain(31, "filecoin", "hex"),
    Chain(32, "sei", "bech32 sei"),
    Chain(33, "rootstock", "evm"),
    Chain(34, "scroll", "evm"),
    Chain(35, "mantle", "evm"),
    Chain(36, "blast", "evm"),
    Chain(37, "xlayer", "evm"),
    Chain(38, "linea", "evm"),
    Chain(39, "berachain", "evm"),
    Chain(40, "seievm", "evm"),
    Chain(41, "eclipse", "base58"),
    Chain(42, "bob", "evm"),
    Chain(43, "snaxchain", "evm"),
    Chain(44, "unichain", "evm"),
    Chain(45, "worldchain", "evm"),
    Chain(46, "ink", "evm"),
    Chain(47, "hyperevm", "evm"),
    Chain(48, "monad", "evm"),
    Chain(49, "movement", "move"),
    Chain(50, "mezo", "evm"),
    Chain(51, "fogo", "base58"),
    Chain(52, "sonic", "evm"),
    Chain(53, "converge", "evm"),
    Chain(54, "codex", "evm"),
    Chain(55, "plume", "evm"),
    Chain(56, "aztec", "hex"),
    Chain(57, "xrplevm", "evm"),
    Chain(58, "plasma", "evm"),
    Chain(59, "creditcoin", "evm"),
    Chain(60, "stacks", "hex"),
    Chain(61, "stellar", "hex"),
    Chain(62, "ton", "hex"),
    Chain(63, "moca", "evm"),
    Chain(64, "megaeth", "evm"),
    Chain(65, "dogecoin", "hex"),
    Chain(66, "xrpl", "hex"),
    Chain(67, "zerogravity", "evm"),
    Chain(68, "tempo", "evm"),
    Chain(69, "nexus", "evm"),
    Chain(70, "tron", "hex"),
    Chain(71, "arc", "evm"),
    Chain(72, "robinhoodchain", "evm"),
    Chain(73, "hydration", "hex"),
    Chain(3104, "wormchain", "bech32 wormhole"),
    Chain(4000, "cosmoshub", "bech32 cosmos"),
    Chain(4001, "evmos", "bech32 evmos"),
    Chain(4002, "kujira", "bech32 kujira"),
    Chain(4003, "neutron", "bech32 neutron"),
    Chain(4004, "celestia", "bech32 celestia"),
    Chain(4005, "stargaze", "bech32 stars"),
    Chain(4006, "seda", "bech32 seda"),
    Chain(4007, "dymension", "bech32 dym"),
    Chain(4008, "provenance", "bech32 pb"),
    Chain(4009, "noble", "bech32 noble"),
    Chain(10001, "ethereum-ropsten", "hex"),
    Chain(10002, "sepolia", "evm"),
    Chain(10003, "arbitrum_sepolia", "evm"),
    Chain(10004, "base_sepolia", "evm"),
    Chain(10005, "optimism_sepolia", "evm"),
    Chain(10006, "holesky", "evm"),
    Chain(10007, "polygon_sepolia", "evm"),
    Chain(10008, "monad_devnet", "evm"),
    Chain(10009, "monadtestnet", "evm"),
    Chain(65000, "hypercore", "evm"),
)

_BY_ID = {chain.id: chain for chain in _CHAINS}
CHAIN_IDS = tuple(_BY_ID)
CHAIN_OF_FORM = {chain.form: chain.id for chain in reversed(_CHAINS)}
"""The first chain with each address form."""

PYTHNET = 26
"""Pythnet's messages outnumber all others, so some totals over all chains exclude it and say so."""

_BY_NAME = {chain.name: chain for chain in _CHAINS}


def find_chain(chain_id: int) -> Chain:
    """The chain with this number. An unknown chain gets a placeholder name and the form hex."""
    return _BY_ID.get(chain_id) or Chain(chain_id, f"unknown chain ID: {chain_id}", "hex")


def find_chain_named(name: str) -> Chain | None:
    """The chain with this name, as the event tables wrote it; None if unknown."""
    return _BY_NAME.get(name)
