"""What distinguishes one network from another: its names, its address prefix, its token, and where its eras begin.

Rules of this file: what is known of a public network stands in ledger/networks.py and needs no setting; a setting wins
over it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import orjson

from ledger.base_token import BaseToken, known_token, parse_base_token_json
from ledger.eras import CHRYSALIS, STARDUST, Codec, Era, Eras
from ledger.json_reader import JsonError, nested
from ledger.networks import Network, find_network
from ledger.stardust.protocol_parameters import ProtocolParameters, parse_parameters_json
from ledger.wormhole.emitters import NETWORKS

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """A network's eras and who signs its milestones, as far as they are not known by its name."""

    chrysalis_name: str = field(
        default="", metadata={"help": "name whose hash is the network id of Chrysalis messages; empty: as known"}
    )
    stardust_name: str = field(
        default="", metadata={"help": "name whose hash is the network id of Stardust transactions; empty: as known"}
    )
    bech32_hrp: str = field(default="", metadata={"help": "human-readable part of its addresses; empty: as known"})
    stardust_from: int | None = field(
        default=None,
        metadata={
            "help": "first milestone of Stardust, before which all is Chrysalis; nothing: as known, else one era alone"
        },
    )
    protocol_parameters: str = field(
        default="",
        metadata={
            "help": "JSON file of those that Stardust began with: a node's answer to info, which tells the token "
            "too, or its `protocol`"
        },
    )

    coordinator_keys: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "keys that sign milestones: KEY, KEY:FIRST or KEY:FIRST:LAST each; none: as known, else genesis's"
        },
    )
    coordinator_threshold: int = field(
        default=0, metadata={"help": "signatures that a milestone needs; 0: one of each key that may sign it"}
    )

    wormhole: str = field(
        default="",
        metadata={
            "help": "mainnet, testnet or devnet: a Wormhole network, whose contracts and guardians are that one's; "
            "empty: as known, wormhole-mainnet and so on are, else a network of IOTA"
        },
    )

    def wormhole_of(self, name: str) -> str | None:
        """mainnet, testnet or devnet, where the network of that name is one of Wormhole; ValueError for another."""
        if self.wormhole:
            if self.wormhole not in NETWORKS:
                raise ValueError(f"wormhole must be {', '.join(NETWORKS)} or empty, not {self.wormhole!r}")
            return self.wormhole
        prefix, _, known = name.partition("-")
        return known if prefix == "wormhole" and known in NETWORKS else None

    def network_of(self, name: str) -> Network:
        """The network of that name with what these settings say of it."""
        known = find_network(name)
        return Network(
            known.name,
            self.chrysalis_name or known.id_name,
            self.bech32_hrp or known.bech32_hrp,
            self.stardust_name or known.stardust_name,
            known.stardust_from if self.stardust_from is None else self.stardust_from,
        )

    def eras_of(self, name: str, only: Codec) -> Eras:
        """The eras of the network of that name; where nothing says where Stardust begins, all of it is of `only`.

        Raises ValueError for protocol parameters that cannot be read.
        """
        network = self.network_of(name)
        first = network.stardust_from
        if first is None:
            first = 0 if only.protocol_version == STARDUST.protocol_version else None
        chrysalis = Era(0, CHRYSALIS, network_name=network.id_name)
        if first is None:
            return Eras((chrysalis,))
        first = 0 if network.is_stardust_alone else first
        began_with = self.stardust_parameters()
        parameters = () if began_with is None else ((first, began_with),)
        stardust = Era(first, STARDUST, parameters=parameters, network_name=network.stardust_name)
        return Eras((chrysalis, stardust) if first else (stardust,))

    def stardust_parameters(self) -> ProtocolParameters | None:
        """Those that Stardust began with; None where no file tells. Raises ValueError for one that cannot be read."""

        def parse(document: dict[str, Any]) -> ProtocolParameters:
            if "protocol" in document:
                return nested(document, "protocol", parse_parameters_json)
            return parse_parameters_json(document)

        return self._read(parse)

    def base_token_of(self, name: str) -> BaseToken:
        """The token of the network of that name: the file's, else as known. Raises ValueError too."""

        def parse(document: dict[str, Any]) -> BaseToken | None:
            return nested(document, "baseToken", parse_base_token_json) if "baseToken" in document else None

        return self._read(parse) or known_token(name)

    def _read(self, parse: Callable[[dict[str, Any]], T | None]) -> T | None:
        if not self.protocol_parameters:
            return None
        try:
            return parse(_object(orjson.loads(Path(self.protocol_parameters).expanduser().read_bytes())))
        except (OSError, JsonError, orjson.JSONDecodeError) as error:
            raise ValueError(f"protocol_parameters: {self.protocol_parameters}: {error}") from error


def _object(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise JsonError("", "an object")
    return document
