"""Generates a tangle with milestones, in both eras: messages, cones, and the line of each milestone.

Invariants:
1. The same settings give the same bytes, and a longer ledger begins with the shorter one.
2. A milestone references its own messages and those of the previous one.
3. Receipts, pending messages and dust are not generated. chrysalis_tangle.py and stardust_tangle.py contain the
   differences between the eras.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar, NamedTuple

from bench.traffic import HOT_TAG, Issued, Traffic, TrafficSettings, Wallet
from ledger.eras import Codec
from ledger.ids import message_id, transaction_id
from ledger.white_flag import white_flag_order

ZERO_ID = bytes(32)
"""The parent of the first messages: a solid entry point, not a message."""

COORDINATORS = 2
"""The number of keys that sign every milestone."""

_START = 1_640_995_200  # unix seconds of milestone 0
_MAX_TIPS = 8  # a milestone's parents are all tips, at most eight
_RECENT = 40  # parents are chosen among this many of the newest messages
_PARENTS = (1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 5, 5, 6, 7, 8)  # drawn at random: 3.8 on average


@dataclass(frozen=True)
class GeneratorSettings(TrafficSettings):
    """Settings of a generated ledger."""

    seed: str = field(default="permanode", metadata={"help": "any text; the same text gives the same ledger"})
    network: str = field(default="permabench-1", metadata={"help": "name of the network"})
    first_milestone: int = field(default=1, metadata={"help": "index of the first milestone"})
    milestone_size: int = field(
        default=170, metadata={"help": "largest number of messages per milestone; the smallest is 3/5 of it"}
    )
    unsteady: bool = field(
        default=True,
        metadata={
            "help": "one milestone in ten has the timestamp of the previous one; in Chrysalis one in ten goes back"
        },
    )


class Confirmed(NamedTuple):
    """The messages of a cone in white-flag order, and those among them that changed the ledger."""

    order: Sequence[bytes]
    included: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Cone:
    """A milestone and what it references.

    `messages` (values) and `raw` (bytes) are by id, in order of issue. `order` is the white-flag order. `reasons` are
    the conflict reasons of transactions, 0 without conflict. `own` is the id of the milestone's own message.
    """

    milestone: Any
    own: bytes
    messages: Mapping[bytes, Any]
    raw: Mapping[bytes, bytes]
    order: Sequence[bytes]
    sent: Mapping[bytes, Issued]
    reasons: Mapping[bytes, int]


@dataclass(frozen=True, slots=True)
class MilestoneLine:
    """One milestone with its cone.

    `order` is the white-flag order, in Chrysalis with the milestone's own message last. `included` are the messages
    that changed the ledger, in that order. `raw` are the canonical bytes by id. `form` is the archive line. `counts`
    are summed in expected.json.
    """

    index: int
    timestamp: int
    order: Sequence[bytes]
    included: Sequence[bytes]
    raw: Mapping[bytes, bytes]
    form: dict[str, Any]
    counts: Counter[str]


class Tangle(ABC):
    """A ledger that grows by milestones."""

    codec: ClassVar[Codec]

    suffix: ClassVar[str]
    """The suffix of its file names."""

    confirms_itself: ClassVar[bool]
    """Whether a milestone's own message belongs to its cone; else it is the first of the next cone."""

    kinds: ClassVar[dict[Any, str]]
    """Class of a payload → its name in expected.json."""

    lateness: ClassVar[dict[int, int]]
    """Last digit of a milestone → seconds of delay if time is unsteady."""

    def __init__(self, settings: GeneratorSettings) -> None:
        self.settings = settings
        self._rng = Random(settings.seed)
        self._traffic = self._begin_traffic()
        wallets = [Wallet(f"{settings.seed}|coordinator|{n}") for n in range(COORDINATORS)]
        self._coordinators = sorted(wallets, key=lambda wallet: wallet.public_key)
        self._index = settings.first_milestone - 1
        self._recent = [ZERO_ID]
        self._waiting: dict[bytes, Any] = {}

    @abstractmethod
    def _begin_traffic(self) -> Traffic:
        """The traffic, with the tangle's random generator."""

    @abstractmethod
    def genesis(self) -> dict[str, Any]:
        """The state before the first milestone, as in genesis.json."""

    @abstractmethod
    def _wrap(self, parents: tuple[bytes, ...], payload: Any) -> Any:
        """Creates a message."""

    @abstractmethod
    def _sign(self, index: int, parents: tuple[bytes, ...], confirmed: Confirmed) -> Any:
        """Creates the milestone over a cone."""

    @abstractmethod
    def _line(self, cone: Cone) -> dict[str, Any]:
        """The archive line of a milestone."""

    @abstractmethod
    def _tag(self, payload: Any) -> bytes | None:
        """The tag of a tagged data payload; None for other payloads."""

    def milestones(self) -> Iterator[MilestoneLine]:
        """Yields milestones without end. A second call continues where the first stopped."""
        while True:
            self._index += 1
            yield self._milestone(self._index)

    def _milestone(self, index: int) -> MilestoneLine:
        rng, most, traffic = self._rng, self.settings.milestone_size, self._traffic
        messages: dict[bytes, Any] = dict(self._waiting)
        raw = {each: self.codec.encode(message) for each, message in messages.items()}
        sent: dict[bytes, Issued] = {}
        tips: dict[bytes, None] = dict.fromkeys(messages)

        def issue(message: Any) -> bytes:
            data = self.codec.encode(message)
            new = message_id(data)
            messages[new], raw[new] = message, data
            self._recent.append(new)
            return new

        traffic.begin(self._timestamp(index))
        least = most - most * 2 // 5
        for _ in range(least + rng.randrange(most - least + 1) - 1):
            payload, must = traffic.next_payload()
            parents = self._parents(tips, must)
            new = issue(self._wrap(parents, payload))
            for parent in parents:
                tips.pop(parent, None)
            tips[new] = None
            if self.kinds[type(payload)] == "transaction":
                sent[new] = Issued(new, transaction_id(self.codec.payload_bytes(raw[new])), payload)
                traffic.issued(sent[new])

        parents = tuple(sorted(tips)) or (self._recent[-1],)
        # The milestone's own id depends on the order, so a placeholder id represents it here.
        cone = {each: message.parents for each, message in messages.items()}
        order = white_flag_order(b"", {**cone, b"": parents})[:-1]
        reasons = traffic.settle(sent[each] for each in order if each in sent)
        included = [each for each, reason in reasons.items() if not reason]
        milestone = self._sign(index, parents, Confirmed(order, included))
        own = issue(self._wrap(parents, milestone))
        self._recent = list(messages)[-_RECENT:]
        if self.confirms_itself:
            order.append(own)
        else:
            self._waiting = {own: messages[own]}
        found = Cone(milestone, own, messages, raw, order, sent, reasons)
        return MilestoneLine(
            index=index,
            timestamp=milestone.timestamp,
            order=order,
            included=included,
            raw={each: raw[each] for each in raw if self.confirms_itself or each != own},
            form=self._line(found),
            counts=self._counts(found),
        )

    def _parents(self, tips: dict[bytes, None], must: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """Up to eight ids in ascending order; at least one tip once there are eight tips."""
        rng = self._rng
        chosen = dict.fromkeys(must)
        wanted = _PARENTS[rng.randrange(len(_PARENTS))]
        if tips and (len(tips) == _MAX_TIPS or rng.random() < 0.8):
            chosen[list(tips)[rng.randrange(len(tips))]] = None
        span = min(_RECENT, len(self._recent))
        for _ in range(wanted * 2):
            if len(chosen) >= wanted:
                break
            chosen[self._recent[-1 - rng.randrange(span)]] = None
        return tuple(sorted(chosen))

    def _timestamp(self, index: int) -> int:
        """Unix seconds: ten more for each milestone, except for delayed ones."""
        late = self.lateness.get(index % 10, 0) if self.settings.unsteady else 0
        return _START + 10 * index - late

    def _counts(self, cone: Cone) -> Counter[str]:
        counts = Counter(milestones=1)
        for reason in cone.reasons.values():
            counts["conflicting" if reason else "included"] += 1
        for each in cone.order:
            payload = cone.messages[each].payload
            counts["messages"] += 1
            counts[self.kinds[type(payload)]] += 1
            is_transaction = each in cone.sent
            if self._tag(payload.essence.payload if is_transaction else payload) == HOT_TAG:
                counts["hot_in_transactions" if is_transaction else "hot"] += 1
        return counts
