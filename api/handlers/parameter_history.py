"""The protocol parameters of a network at each of its Stardust milestones."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from api.http.errors import NotKept
from api.network import NetworkMount
from db.queries import milestones
from db.schema import PENDING_RANGE
from ledger.stardust.protocol_parameters import ProtocolParameters, decode_parameters


@dataclass(frozen=True, slots=True)
class History:
    """The protocol parameters of a network, each with the first milestone where they apply, ascending."""

    held: Sequence[tuple[int, ProtocolParameters]]

    def at(self, milestone_index: int) -> ProtocolParameters | None:
        """Returns the parameters at a milestone, or None if they are unknown."""
        position = bisect_right(self.held, milestone_index, key=lambda each: each[0])
        return self.held[position - 1][1] if position else None


async def parameter_history(network: NetworkMount) -> History:
    """Returns the parameters in the settings, from the first Stardust milestone on, and those that milestones
    announced.
    """
    announced = await milestones.list_parameters(network.store, network.name, PENDING_RANGE)
    began_with = [] if network.parameters is None else [(network.stardust_from, network.parameters)]
    changed = ((row["milestone_index"], decode_parameters(row["params"])) for row in reversed(announced))
    return History([*began_with, *changed])


async def parameters_at(network: NetworkMount, milestone_index: int) -> ProtocolParameters:
    """Returns the protocol parameters at a milestone. Raises NotKept if they are unknown."""
    found = (await parameter_history(network)).at(milestone_index)
    if found is None:
        raise NotKept(
            f"unknown protocol parameters of milestone {milestone_index}: it is a Chrysalis milestone, or no "
            "milestone up to it announced any and the setting protocol_parameters of the network is empty"
        )
    return found
