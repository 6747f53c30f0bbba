"""Settings of one network: its names, address prefix, token and eras.

Public networks are built in (ledger/networks.py) and need no settings. A setting overrides the built-in value.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import orjson

from ledger.base_token import BaseToken, known_token, parse_base_token_json
from ledger.eras import CHRYSALIS, STARDUST, Codec, Era, Eras
from ledger.json_reader import JsonError, nested
from ledger.networks import Network, find_network, is_known
from ledger.stardust.protocol_parameters import ProtocolParameters, parse_parameters_json
from ledger.wormhole.emitters import NETWORKS

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """A network's eras, and who signs its milestones. Defaults are the built-in values for the network."""

    chrysalis_name: str = field(
        default="",
        metadata={
            "help": "name whose hash is the network id of Chrysalis messages; default: built-in value for the network"
        },
    )
    stardust_name: str = field(
        default="",
        metadata={
            "help": "name whose hash is the network id of Stardust transactions; default: built-in value for the "
            "network"
        },
    )
    bech32_hrp: str = field(
        default="",
        metadata={
            "help": "human-readable part of addresses; default: built-in value for the network, else that of the "
            "protocol parameters"
        },
    )
    stardust_from: int | None = field(
        default=None,
        metadata={
            "help": "first Stardust milestone; earlier ones are Chrysalis; default: built-in value for the network, "
            "else a single era"
        },
    )
    protocol_parameters: str = field(
        default="",
        metadata={
            "help": "JSON file with the first Stardust parameters: a node's response to /api/core/v2/info, which "
            "also contains the token, or its `protocol` object"
        },
    )

    coordinator_keys: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "keys that sign milestones, each KEY, KEY:FIRST or KEY:FIRST:LAST; default: built-in keys of the "
            "network, else those of the genesis"
        },
    )
    coordinator_threshold: int = field(
        default=0,
        metadata={
            "help": "signatures that a milestone needs; 0: as many as the milestone with the fewest keys has keys"
        },
    )

    log_key: str = field(
        default="",
        metadata={
            "help": "file of the private key that signs checkpoints of the transparency log; `permanode log key` "
            "creates one; default: they stay unsigned"
        },
    )
    log_witnesses: tuple[str, ...] = field(
        default=(),
        metadata={"help": "keys of witnesses whose cosignatures are accepted, each NAME+ID+KEY as in signed-note"},
    )

    wormhole: str = field(
        default="",
        metadata={
            "help": "mainnet, testnet or devnet: the Wormhole network whose contracts and guardians apply; default: "
            "derived from the names wormhole-mainnet, wormhole-testnet and wormhole-devnet, else an IOTA network"
        },
    )

    def wormhole_of(self, name: str) -> str | None:
        """mainnet, testnet or devnet for a Wormhole network; None for an IOTA network. Raises ValueError for another
        value.
        """
        if self.wormhole:
            if self.wormhole not in NETWORKS:
                raise ValueError(f"wormhole must be {', '.join(NETWORKS)} or empty, not {self.wormhole!r}")
            return self.wormhole
        prefix, _, known = name.partition("-")
        return known if prefix == "wormhole" and known in NETWORKS else None

    def network_of(self, name: str) -> Network:
        """The network with this name, with the values of these settings."""
        known = find_network(name)
        return Network(
            known.name,
            self.chrysalis_name or known.id_name,
            self.hrp_of(name) or known.bech32_hrp,
            self.stardust_name or known.stardust_name,
            known.stardust_from if self.stardust_from is None else self.stardust_from,
        )

    def hrp_of(self, name: str) -> str:
        """The address prefix of a network by its settings: its own, that of a built-in network, or that of the file
        with its parameters. Empty if the prefix is unknown. Raises ValueError for an invalid file.
        """
        if self.bech32_hrp or is_known(name):
            return self.bech32_hrp or find_network(name).bech32_hrp
        parameters = self.stardust_parameters()
        return "" if parameters is None else parameters.bech32_hrp

    def eras_of(self, name: str, only: Codec) -> Eras:
        """The eras of a network. `only` is the codec of all milestones if the first Stardust milestone is unknown.

        Raises:
            ValueError: The protocol parameters are invalid.
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
        """The first Stardust protocol parameters; None without a file. Raises ValueError for an invalid file."""

        def parse(document: dict[str, Any]) -> ProtocolParameters:
            if "protocol" in document:
                return nested(document, "protocol", parse_parameters_json)
            return parse_parameters_json(document)

        return self._read(parse)

    def base_token_of(self, name: str) -> BaseToken:
        """The token of a network: from the file, else the built-in one. Raises ValueError for an invalid file."""

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
