"""Public networks: the names that network ids are hashes of, address prefixes, and the first Stardust milestone."""

from dataclasses import dataclass

TOKEN_SUPPLY = 2_779_530_283_277_761
"""Token supply of every Chrysalis network: the sum of all unspent outputs and the treasury."""


@dataclass(frozen=True, slots=True)
class Network:
    """A network's constants.

    Args:
        name: The name in the configuration.
        id_name: The name that `ids.network_id` hashes in Chrysalis.
        bech32_hrp: The human-readable part of addresses.
        stardust_name: The name that `ids.network_id` hashes in Stardust.
        stardust_from: The first Stardust milestone; None if unknown.
        coordinator_keys: The public keys that may sign milestones.
        coordinator_threshold: The least number of signatures.
    """

    name: str
    id_name: str
    bech32_hrp: str
    stardust_name: str
    stardust_from: int | None = None
    coordinator_keys: tuple[str, ...] = ()
    coordinator_threshold: int = 0

    @property
    def is_stardust_alone(self) -> bool:
        """Whether the network has no Chrysalis era, not even a genesis."""
        return self.stardust_from is not None and self.stardust_from <= 1


_MAINNET = Network("mainnet", "chrysalis-mainnet", "iota", "iota-mainnet", 7_669_901)
_DEVNET = Network("devnet", "chrysalis-devnet", "atoi", "devnet")
_SHIMMER_KEYS = (
    "16ee3356c21e410a0aaab42896021b1a857eb8d97a14a66fed9b13d634c21317",
    "1df26178a7914126fd8cb934c7a7437073794c1c8ce99319172436b1d4973eba",
    "45432d7c767e16586403262331a725c7eaa0b2dd79ea442f373c845ae3443aa9",
    "4af647910ba47000108b87c63abe0545643f9b203eacee2b713729b0450983fe",
    "71a09774449a081450a51e0245a1e9850190f93508fd8f21bb9b9ca169765f30",
    "99c7d9752c295cb56b550191015ab5a40226fb632e8b02ec15cfe574ea17cf67",
    "9d87b4d2538b10799b582e25ace4726d92d7798ddfb696ff08e450db7917c9ad",
    "a375515bfe5adf7fedb64ef4cebe1e621e85a056b0ccd5db72bc0d474325bf38",
    "a507d2a592a5f0424ed8530603c08acebe088ae26211e90b79bfec0970a2397f",
    "a921841628d64c3f08bd344118b8106ade072e68c774beff30135e036194493a",
)
"""Source: inx-chronicle's test data, which came from a node. All ten keys signed the milestones in it (2022, 2023)."""

_SHIMMER = Network("shimmer", "shimmer", "smr", "shimmer", 0, _SHIMMER_KEYS, 7)
_KNOWN = {
    "mainnet": _MAINNET,
    "chrysalis-mainnet": _MAINNET,
    "iota-mainnet": _MAINNET,
    "devnet": _DEVNET,
    "chrysalis-devnet": _DEVNET,
    "shimmer": _SHIMMER,
}


def is_known(name: str) -> bool:
    """Whether the network of this name is built in."""
    return name in _KNOWN


def known_networks() -> frozenset[Network]:
    """The built-in networks."""
    return frozenset(_KNOWN.values())


def find_network(name: str) -> Network:
    """The network of this name. An unknown network is treated as a test network with the address prefix `atoi`."""
    return _KNOWN.get(name) or Network(name, name, "atoi", name)
