"""Networks by name: the name in messages' network ids, and the human-readable part of addresses; their token supply."""

from dataclasses import dataclass

TOKEN_SUPPLY = 2_779_530_283_277_761
"""Of every Chrysalis network: what all unspent outputs and the treasury are worth together."""


@dataclass(frozen=True, slots=True)
class Network:
    """`id_name` is what `ids.network_id` hashes; `bech32_hrp` stands before the 1 in addresses."""

    name: str
    id_name: str
    bech32_hrp: str


_MAINNET = Network("mainnet", "chrysalis-mainnet", "iota")
_DEVNET = Network("devnet", "chrysalis-devnet", "atoi")
_KNOWN = {"mainnet": _MAINNET, "chrysalis-mainnet": _MAINNET, "devnet": _DEVNET, "chrysalis-devnet": _DEVNET}


def find_network(name: str) -> Network:
    """The network of that name; an unknown one is taken for a test network, which all use the prefix `atoi`."""
    return _KNOWN.get(name) or Network(name, name, "atoi")
