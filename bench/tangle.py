"""A Chrysalis tangle that confirms itself: messages, milestones, and what each line of an archive says of them.

Rules of this file: the same settings give the same bytes, and a longer ledger begins with the shorter one; a milestone
refers to its own messages and to those of the one before; the order of a line's messages says nothing. Receipts,
pending messages and dust are not generated.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from bench.archive_form import message_form, metadata_form, milestone_form
from bench.traffic import HOT_TAG, TREASURY, Issued, Traffic, TrafficSettings, Wallet
from ledger.chrysalis import (
    Indexation,
    Message,
    MessagePayload,
    Milestone,
    Transaction,
    encode_message,
    encode_milestone_essence,
    payload_bytes,
)
from ledger.ids import message_id, network_id, output_id, signing_hash, transaction_id
from ledger.merkle import merkle_root
from ledger.networks import find_network
from ledger.white_flag import white_flag_order

ZERO_ID = bytes(32)
"""The parent of the first messages of all: a solid entry point, no message."""

_START = 1_640_995_200  # unix seconds of milestone 0
_MAX_TIPS = 8  # a milestone names all tips as its parents, and has eight at most
_RECENT = 40  # parents are chosen among so many of the newest messages
_PARENTS = (1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 5, 5, 6, 7, 8)  # drawn from: 3.8 on average
_SOURCES = ("Incoming", "Expected", "Syncer")
_KINDS: dict[type[MessagePayload | None], str] = {
    Transaction: "transaction",
    Milestone: "milestone",
    Indexation: "indexation",
    type(None): "no payload",
}


@dataclass(frozen=True)
class GeneratorSettings(TrafficSettings):
    """What a generated ledger is made of."""

    seed: str = field(default="permanode", metadata={"help": "any text; the same text gives the same ledger"})
    network: str = field(default="permabench-1", metadata={"help": "name of the network"})
    first_milestone: int = field(default=1, metadata={"help": "index of the first milestone"})
    milestone_size: int = field(
        default=170, metadata={"help": "most messages of a milestone; the fewest are 3/5 of it"}
    )
    unsteady: bool = field(default=True, metadata={"help": "one milestone of ten stands still in time, one falls back"})


@dataclass(frozen=True, slots=True)
class MilestoneLine:
    """One milestone with its cone.

    `order` is the white-flag order, the milestone's own message last; `included` the messages that changed the ledger,
    in that order; `raw` the canonical bytes by id; `form` the line of the archive; `counts` what expected.json sums.
    """

    index: int
    timestamp: int
    order: Sequence[bytes]
    included: Sequence[bytes]
    raw: dict[bytes, bytes]
    form: dict[str, Any]
    counts: Counter[str]


class Tangle:
    """A ledger that grows milestone by milestone."""

    def __init__(self, settings: GeneratorSettings) -> None:
        self.settings = settings
        self._rng = Random(settings.seed)
        self._traffic = Traffic(settings, settings.seed, self._rng)
        self._network_id = network_id(find_network(settings.network).id_name)
        wallets = [Wallet(f"{settings.seed}|coordinator|{n}") for n in range(2)]
        self._coordinators = sorted(wallets, key=lambda wallet: wallet.public_key)
        self._index = settings.first_milestone - 1
        self._recent = [ZERO_ID]

    def genesis(self) -> dict[str, Any]:
        """The state before the first milestone."""
        outputs = [
            {
                "outputId": output_id(each.transaction_id, each.index).hex(),
                "output": {
                    "type": output.KIND,
                    "address": {"type": output.address[0], "address": output.address[1:].hex()},
                    "amount": output.amount,
                },
            }
            for each, output in self._traffic.genesis.items()
        ]
        return {
            "network": self.settings.network,
            "networkId": str(self._network_id),
            "bech32HRP": find_network(self.settings.network).bech32_hrp,
            "solidEntryPoints": [ZERO_ID.hex()],
            "ledgerIndex": self.settings.first_milestone - 1,
            "treasury": {"milestoneId": ZERO_ID.hex(), "amount": TREASURY},
            "coordinatorPublicKeys": [wallet.public_key.hex() for wallet in self._coordinators],
            "outputs": outputs,
        }

    def milestones(self) -> Iterator[MilestoneLine]:
        """Milestone after milestone, without end; a second call goes on where the first one was left."""
        while True:
            self._index += 1
            yield self._milestone(self._index)

    def _milestone(self, index: int) -> MilestoneLine:
        rng, most = self._rng, self.settings.milestone_size
        messages: dict[bytes, Message] = {}
        raw: dict[bytes, bytes] = {}
        sent: dict[bytes, Issued] = {}
        tips: dict[bytes, None] = {}

        def issue(message: Message) -> bytes:
            data = encode_message(message)
            new = message_id(data)
            messages[new], raw[new] = message, data
            self._recent.append(new)
            return new

        least = most - most * 2 // 5
        for _ in range(least + rng.randrange(most - least + 1) - 1):
            payload, must = self._traffic.next_payload()
            parents = self._parents(tips, must)
            new = issue(Message(self._network_id, parents, payload, rng.getrandbits(64)))
            for parent in parents:
                tips.pop(parent, None)
            tips[new] = None
            if isinstance(payload, Transaction):
                sent[new] = Issued(new, transaction_id(payload_bytes(raw[new])), payload)
                self._traffic.issued(sent[new])

        parents = tuple(sorted(tips)) or (self._recent[-1],)
        # The milestone's own id depends on the order: an id that no message has stands for it.
        cone = {each: message.parents for each, message in messages.items()}
        order = white_flag_order(b"", {**cone, b"": parents})[:-1]
        included = self._traffic.settle(sent[each] for each in order if each in sent)
        milestone = self._sign_milestone(index, parents, merkle_root(included))
        own = issue(Message(self._network_id, parents, milestone, rng.getrandbits(64)))
        self._recent = list(messages)[-_RECENT:]

        states = dict.fromkeys(sent, "conflicting") | dict.fromkeys(included, "included")
        return MilestoneLine(
            index=index,
            timestamp=milestone.timestamp,
            order=[*order, own],
            included=included,
            raw=raw,
            form=self._line(milestone, messages, states),
            counts=_counts(messages.values(), states),
        )

    def _parents(self, tips: dict[bytes, None], must: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """Up to eight ids in ascending order; one tip at least once there are eight of them."""
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

    def _sign_milestone(self, index: int, parents: tuple[bytes, ...], root: bytes) -> Milestone:
        keys = tuple(wallet.public_key for wallet in self._coordinators)
        unsigned = Milestone(index, self._timestamp(index), parents, root, 0, 0, keys, None, ())
        digest = signing_hash(encode_milestone_essence(unsigned))
        signatures = tuple(wallet.sign(digest) for wallet in self._coordinators)
        return Milestone(index, unsigned.timestamp, parents, root, 0, 0, keys, None, signatures)

    def _timestamp(self, index: int) -> int:
        """Unix seconds: ten more each milestone, but for those that stand still (…4) or fall behind three (…7)."""
        late = {4: 10, 7: 35}.get(index % 10, 0) if self.settings.unsteady else 0
        return _START + 10 * index - late

    def _line(self, milestone: Milestone, messages: dict[bytes, Message], states: dict[bytes, str]) -> dict[str, Any]:
        shuffled = list(messages)
        self._rng.shuffle(shuffled)
        pairs = {}
        for each in shuffled:
            form = message_form(messages[each])
            state = states.get(each, "noTransaction")
            pairs[each.hex()] = (form, metadata_form(each.hex(), form["parents"], milestone.index, state))
        return {
            "milestone_index": milestone.index,
            "milestone": milestone_form(milestone),
            "messages": pairs,
            "pending": {},
            "created_by": _SOURCES[self._rng.randrange(len(_SOURCES))],
        }


def _counts(messages: Iterable[Message], states: dict[bytes, str]) -> Counter[str]:
    counts = Counter(milestones=1, **Counter(states.values()))
    for message in messages:
        payload = message.payload
        counts["messages"] += 1
        counts[_KINDS[type(payload)]] += 1
        tagged = payload.essence.payload if isinstance(payload, Transaction) else payload
        if isinstance(tagged, Indexation) and tagged.index == HOT_TAG:
            counts["hot_in_transactions" if isinstance(payload, Transaction) else "hot"] += 1
    return counts


def generate(settings: GeneratorSettings) -> Iterator[MilestoneLine]:
    """The milestones of that ledger, without end."""
    return Tangle(settings).milestones()
