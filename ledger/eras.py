"""The eras of a network: which codec and which protocol parameters apply at a milestone, and who may sign milestones.

Invariants:
1. Eras are immutable. `learn` returns new eras.
2. A milestone belongs to the last era that begins at or below its index. Each era has its own protocol parameters.
   Parameters that a milestone announces apply from its target milestone.
3. Coordinator keys are independent of eras.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ledger import ids
from ledger.chrysalis import codec as chrysalis
from ledger.chrysalis import json as rest_json
from ledger.stardust import codec as stardust
from ledger.stardust import json as stardust_json
from ledger.stardust import json_parse as stardust_parse
from ledger.stardust.protocol_parameters import ProtocolParameters, decode_parameters
from ledger.stardust.values import Milestone, ParametersOption

MAX_PARAMETERS_DELAY = 30
"""Most milestones between an announcement of parameters and their target (TIP-29)."""


@dataclass(frozen=True, slots=True)
class Codec:
    """How one protocol reads and writes its messages (Stardust: blocks)."""

    name: str
    protocol_version: int
    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]
    render: Callable[[Any], dict[str, Any]]
    pack: Callable[[Any], bytes]  # JSON to bytes
    payload_bytes: Callable[[bytes], bytes]
    milestone_id: Callable[[Any], bytes]


# Named functions: a codec is pickled on its way to other processes.
def _pack_chrysalis(value: Any) -> bytes:
    return chrysalis.encode_message(rest_json.parse_message_json(value))


def _chrysalis_milestone_id(milestone: Any) -> bytes:
    return ids.milestone_id(chrysalis.encode_payload(milestone))


CHRYSALIS = Codec(
    "Chrysalis",
    1,
    chrysalis.decode_message,
    chrysalis.encode_message,
    rest_json.message_json,
    _pack_chrysalis,
    chrysalis.payload_bytes,
    _chrysalis_milestone_id,
)
STARDUST = Codec(
    "Stardust",
    stardust.PROTOCOL_VERSION,
    stardust.decode_block,
    stardust.encode_block,
    stardust_json.block_json,
    stardust_parse.pack_block_json,
    stardust.payload_bytes,
    stardust.milestone_id,
)


@dataclass(frozen=True, slots=True)
class KeyRange:
    """A coordinator's key, 32 bytes, with the first and last milestone that it may sign. `last` is None if
    open-ended.
    """

    public_key: bytes
    first: int
    last: int | None

    def holds(self, milestone_index: int) -> bool:
        """Whether the key may sign this milestone."""
        return self.first <= milestone_index and (self.last is None or milestone_index <= self.last)


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The keys that may sign milestones, each with its range, and how many must."""

    key_ranges: tuple[KeyRange, ...]
    threshold: int

    def __post_init__(self) -> None:
        keys = {each.public_key for each in self.key_ranges}
        if not 1 <= self.threshold <= len(keys):
            raise ValueError(f"a threshold of 1 to {len(keys)} signatures expected, not {self.threshold}")

    def keys_at(self, milestone_index: int) -> frozenset[bytes]:
        """The keys that may sign this milestone."""
        return frozenset(each.public_key for each in self.key_ranges if each.holds(milestone_index))


@dataclass(frozen=True, slots=True)
class Era:
    """The milestones from `first` that one codec reads."""

    first: int
    codec: Codec
    parameters: tuple[tuple[int, ProtocolParameters], ...] = ()
    """Pairs of the first milestone of some parameters and the parameters, ascending. Empty in Chrysalis, whose data
    contains none.
    """
    network_name: str = ""
    """The name whose hash is the network id."""

    @property
    def network_id(self) -> int:
        """The number in the era's messages (Chrysalis) or transactions (Stardust)."""
        return ids.network_id(self.network_name)

    def parameters_at(self, milestone_index: int) -> ProtocolParameters | None:
        """The protocol parameters that apply at a milestone; None if unknown."""
        position = bisect_right(self.parameters, milestone_index, key=lambda each: each[0])
        return self.parameters[position - 1][1] if position else None


@dataclass(frozen=True, slots=True)
class Eras:
    """All eras of a network, ascending, without gaps."""

    eras: tuple[Era, ...]

    def __post_init__(self) -> None:
        firsts = [each.first for each in self.eras]
        if not firsts or firsts != sorted(set(firsts)):
            raise ValueError(f"eras: expected one or more, each beginning after the one before, found {firsts}")

    def at(self, milestone_index: int) -> Era:
        """The era of a milestone. Raises ValueError for a milestone before the first era."""
        position = bisect_right(self.eras, milestone_index, key=lambda each: each.first)
        if position == 0:
            raise ValueError(f"milestone {milestone_index}: expected one from {self.eras[0].first} on")
        return self.eras[position - 1]

    def read_by(self, codec: Codec) -> Era | None:
        """The era that a codec reads; None if the network has none."""
        found = (each for each in self.eras if each.codec.protocol_version == codec.protocol_version)
        return next(found, None)

    def learn(self, milestone: Milestone) -> "Eras":
        """Adds the protocol parameters that a milestone announces, if any.

        Raises:
            ValueError: TIP-29 does not allow the target milestone.
            CodecError: The parameters are malformed.
        """
        announced = [each for each in milestone.options if isinstance(each, ParametersOption)]
        if not announced:
            return self
        (option,) = announced
        target = option.target_milestone_index
        if not 0 < target - milestone.index <= MAX_PARAMETERS_DELAY:
            raise ValueError(
                f"targetMilestoneIndex: expected {milestone.index + 1} to {milestone.index + MAX_PARAMETERS_DELAY}, "
                f"found {target}"
            )
        era = self.at(milestone.index)
        known = [each for each in era.parameters if each[0] != target]
        changed = sorted([*known, (target, decode_parameters(option.params))], key=lambda each: each[0])
        learned = replace(era, parameters=tuple(changed))
        return Eras(tuple([learned if each is era else each for each in self.eras]))
