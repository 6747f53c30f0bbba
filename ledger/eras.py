"""Which codec, key ranges and protocol parameters hold at which milestone: a network's eras, in order, and its
coordinator, whose keys no era bounds.

Rules of this file:
1. Values only: what is learned from a milestone gives new eras, and the old ones stay as they were.
2. A milestone belongs to the last era that begins at or below its index. Protocol parameters are an era's own; those
   that a milestone announces hold from its target on.
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
"""Parameters hold from at most so many milestones after the one that announces them (TIP-29)."""


@dataclass(frozen=True, slots=True)
class Codec:
    """How one protocol reads and writes what its tangle is made of: messages, or blocks as Stardust calls them."""

    name: str
    protocol_version: int
    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]
    render: Callable[[Any], dict[str, Any]]
    pack: Callable[[Any], bytes]  # JSON to bytes
    payload_bytes: Callable[[bytes], bytes]
    milestone_id: Callable[[Any], bytes]


CHRYSALIS = Codec(
    "Chrysalis",
    1,
    chrysalis.decode_message,
    chrysalis.encode_message,
    rest_json.message_json,
    lambda value: chrysalis.encode_message(rest_json.parse_message_json(value)),
    chrysalis.payload_bytes,
    lambda milestone: ids.milestone_id(chrysalis.encode_payload(milestone)),
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
    """A coordinator's key, 32 bytes, and the milestones that it may sign, first and last; None: no last one."""

    public_key: bytes
    first: int
    last: int | None

    def holds(self, milestone_index: int) -> bool:
        """Whether the key may sign that milestone."""
        return self.first <= milestone_index and (self.last is None or milestone_index <= self.last)


@dataclass(frozen=True, slots=True)
class Coordinator:
    """Who may sign milestones: keys with the milestones they may sign, and how many of them must."""

    key_ranges: tuple[KeyRange, ...]
    threshold: int

    def __post_init__(self) -> None:
        keys = {each.public_key for each in self.key_ranges}
        if not 1 <= self.threshold <= len(keys):
            raise ValueError(f"a threshold of 1 to {len(keys)} signatures expected, not {self.threshold}")

    def keys_at(self, milestone_index: int) -> frozenset[bytes]:
        """The keys that may sign a milestone."""
        return frozenset(each.public_key for each in self.key_ranges if each.holds(milestone_index))


@dataclass(frozen=True, slots=True)
class Era:
    """The milestones from `first` on that one codec reads."""

    first: int
    codec: Codec
    parameters: tuple[tuple[int, ProtocolParameters], ...] = ()
    """With the milestone from which on each holds, ascending; none in Chrysalis, which has none in its data."""
    network_name: str = ""
    """What its network id is the hash of."""

    @property
    def network_id(self) -> int:
        """The number that its messages (Chrysalis) or transactions (Stardust) carry."""
        return ids.network_id(self.network_name)

    def parameters_at(self, milestone_index: int) -> ProtocolParameters | None:
        """The protocol parameters that hold at a milestone, None where none are known."""
        position = bisect_right(self.parameters, milestone_index, key=lambda each: each[0])
        return self.parameters[position - 1][1] if position else None


@dataclass(frozen=True, slots=True)
class Eras:
    """All eras of a network, ascending and without gaps between them."""

    eras: tuple[Era, ...]

    def __post_init__(self) -> None:
        firsts = [each.first for each in self.eras]
        if not firsts or firsts != sorted(set(firsts)):
            raise ValueError(f"eras: expected one or more, each beginning after the one before, found {firsts}")

    def at(self, milestone_index: int) -> Era:
        """The era of a milestone. Raises ValueError below the first."""
        position = bisect_right(self.eras, milestone_index, key=lambda each: each.first)
        if position == 0:
            raise ValueError(f"milestone {milestone_index}: expected one from {self.eras[0].first} on")
        return self.eras[position - 1]

    def read_by(self, codec: Codec) -> Era | None:
        """The era that a codec reads; None: the network has none such."""
        found = (each for each in self.eras if each.codec.protocol_version == codec.protocol_version)
        return next(found, None)

    def learn(self, milestone: Milestone) -> "Eras":
        """These eras, with the protocol parameters that a milestone announces, if it does.

        Raises ValueError for a target that TIP-29 does not allow, and CodecError for parameters that cannot be read.
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
