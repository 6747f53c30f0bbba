"""Generates the traffic of a ledger, in both eras: tagged data, transactions over real outputs, double spends.

Invariants:
1. Every transaction is valid by itself (sums, order, signatures), except for intentional faults in Stardust. `settle`
   alone decides in white-flag order whether the ledger accepts it, as in a node.
2. chrysalis_traffic.py and stardust_traffic.py contain the differences between the eras.
3. Only `random()`, `randrange` and `randbytes` of one generator are used, and no set is iterated: the same seed gives
   the same traffic in every process.
4. Rare tags and addresses occur RARE_ROWS times each. Outputs of a rare address are never spent.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random
from typing import Any, ClassVar, NamedTuple, TypeAlias

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ledger.chrysalis.values import UtxoInput
from ledger.ids import ed25519_address

TREASURY = 1_000_000_000_000
HOT_TAG = b"HORNET Spammer"
RARE_ROWS = 10
WALLETS = 100
"""Genesis outputs are numbered by wallet, and an output's index is at most 126."""

_SWEEP = 30  # number of outputs in a purse at which ten are joined into one, so that the ledger stays small
_TAGS = (b"x", "grüße-🚀".encode(), bytes(range(192, 256)), *(b"sensor/%d" % n for n in range(200)))
_TEXT = b'{"what":"benchmark","unit":"\xc2\xb0C","values":[21.5,21.6,21.4,20.9,22.0,21.1]} ' * 10

Transaction: TypeAlias = Any
"""A transaction of either era: an `essence` with `inputs` and `outputs`."""

Output: TypeAlias = Any
"""An output of either era, with an `amount`."""

Consumed: TypeAlias = Mapping[UtxoInput, Output]


@dataclass(frozen=True)
class TrafficSettings:
    """The mix of messages. Shares are of 1. Messages without tagged data and transaction have no payload."""

    indexations: float = field(default=0.63, metadata={"help": "share of messages that carry tagged data"})
    transactions: float = field(default=0.32, metadata={"help": "share of messages that carry a transaction"})
    hot_tag: float = field(default=0.3, metadata={"help": "share of tagged data under one hot tag"})
    hot_address: float = field(default=0.1, metadata={"help": "share of outputs for one hot address"})
    conflicts: float = field(default=0.03, metadata={"help": "share of transactions that respend or reattach one"})
    tagged_transactions: float = field(default=0.2, metadata={"help": "share of transactions with tagged data"})
    rare: float = field(default=0.0, metadata={"help": "share of tagged data and of transactions with a rare key"})
    data_bytes: int = field(default=600, metadata={"help": "largest size of tagged data; the mean is a quarter of it"})


def numbers() -> Iterator[int]:
    """0, 1, 2 and so on, as an iterator that can be pickled with its position."""
    return iter(range(2**62))


class Wallet:
    """An Ed25519 key with its address (33 bytes, type first)."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._key = Ed25519PrivateKey.from_private_bytes(blake2b(seed.encode(), digest_size=32).digest())
        self.public_key = self._key.public_key().public_bytes_raw()
        self.address = ed25519_address(self.public_key)

    def __reduce__(self) -> tuple[Any, ...]:
        # Keys of `cryptography` cannot be pickled.
        return Wallet, (self._seed,)

    def sign(self, message: bytes) -> bytes:
        """The 64-byte signature of `message`."""
        return self._key.sign(message)


class Issued(NamedTuple):
    """A transaction in a message. A reattachment is another one with the same transaction id."""

    message_id: bytes
    transaction_id: bytes
    transaction: Transaction


class Traffic(ABC):
    """Wallets, their outputs, and the next messages."""

    supply: ClassVar[int]
    """The sum of all unspent outputs and the treasury."""

    least: ClassVar[int]
    """The least amount of an output."""

    def __init__(self, settings: TrafficSettings, seed: str, rng: Random) -> None:
        self._settings = settings
        self._seed = seed
        self._rng = rng
        self._now = 0
        self._wallets = [Wallet(f"{seed}|wallet|{n}") for n in range(WALLETS)]
        self._owners = {wallet.address: n for n, wallet in enumerate(self._wallets)}
        amount = (self.supply - TREASURY) // WALLETS
        amounts = [amount] * (WALLETS - 1) + [self.supply - TREASURY - amount * (WALLETS - 1)]
        self.genesis: dict[UtxoInput, Output] = {
            UtxoInput(bytes(32), n): self._pay(wallet.address, amount)
            for n, (wallet, amount) in enumerate(zip(self._wallets, amounts, strict=True))
        }
        self._unspent = dict(self.genesis)
        self._purses: list[list[UtxoInput]] = [[each] for each in self.genesis]
        self._reserved: list[UtxoInput] = []
        self._fresh: list[tuple[UtxoInput, Output, bytes]] = []
        self._rare_tags, self._rare_outputs = numbers(), numbers()
        self._recent: deque[tuple[Transaction, Consumed]] = deque(maxlen=128)

    @abstractmethod
    def _pay(self, address: bytes, amount: int) -> Output:
        """The simplest output for an address."""

    @abstractmethod
    def _tagged(self) -> Any:
        """A tagged data payload."""

    @abstractmethod
    def _owner(self, output: Output) -> int | None:
        """The wallet that can spend an output now; None if there is none."""

    @abstractmethod
    def _spend(self, consumed: Consumed) -> Transaction:
        """A valid transaction that spends these outputs."""

    def begin(self, unix_time: int) -> None:
        """Begins a milestone with this timestamp, in seconds."""
        self._now = unix_time

    def next_payload(self) -> tuple[Any, tuple[bytes, ...]]:
        """The payload of the next message (None: none), and the messages that must be among its parents."""
        kind = self._rng.random()
        if kind < self._settings.transactions:
            drawn = self._transaction()
            if drawn is not None:
                return drawn
            return self._tagged(), ()
        if kind < self._settings.transactions + self._settings.indexations:
            return self._tagged(), ()
        return None, ()

    def issued(self, sent: Issued) -> None:
        """Allows later messages of the same milestone to spend the outputs of this one."""
        for index, output in enumerate(sent.transaction.essence.outputs):
            if self._owner(output) is not None:
                self._fresh.append((UtxoInput(sent.transaction_id, index), output, sent.message_id))

    def settle(self, ordered: Iterable[Issued]) -> dict[bytes, int]:
        """Applies a milestone's transactions in white-flag order: message id → conflict reason, 0 without conflict."""
        reasons = {}
        created: list[UtxoInput] = []
        for message_id, transaction_id, transaction in ordered:
            essence = transaction.essence
            reasons[message_id] = self._conflict(transaction)
            if reasons[message_id]:
                continue
            for each in essence.inputs:
                del self._unspent[each]
            for index, output in enumerate(essence.outputs):
                created.append(UtxoInput(transaction_id, index))
                self._unspent[created[-1]] = output
        # Inputs of conflicting transactions, and outputs not spent in this milestone, can be spent next.
        for each in self._reserved + created:
            if each in self._unspent:
                self._file(each, self._unspent[each])
        self._reserved.clear()
        self._fresh.clear()
        return reasons

    def _conflict(self, transaction: Transaction) -> int:
        return int(not all(each in self._unspent for each in transaction.essence.inputs))

    def _file(self, each: UtxoInput, output: Output) -> None:
        """Files an unspent output where it is drawn from. Ignores outputs that no wallet can spend."""
        owner = self._owner(output)
        if owner is not None:
            self._purses[owner].append(each)

    def _tag_and_data(self) -> tuple[bytes, bytes]:
        rng = self._rng
        tag = b"rare/%d" % (next(self._rare_tags) // RARE_ROWS) if self._is_rare() else self._common_tag()
        size = int(self._settings.data_bytes * rng.random() ** 3)
        return tag, rng.randbytes(size) if rng.random() < 0.5 else _TEXT[:size]

    def _common_tag(self) -> bytes:
        rng = self._rng
        if rng.random() < self._settings.hot_tag:
            return HOT_TAG
        if rng.random() < 0.02:
            return rng.randbytes(1 + rng.randrange(64))
        return _TAGS[int(len(_TAGS) * rng.random() ** 2)]

    def _transaction(self) -> tuple[Transaction, tuple[bytes, ...]] | None:
        rng = self._rng
        if self._recent and rng.random() < self._settings.conflicts:
            transaction, consumed = self._recent[rng.randrange(len(self._recent))]
            return (transaction if rng.random() < 0.5 else self._spend(consumed)), ()
        must: tuple[bytes, ...] = ()
        if self._fresh and rng.random() < 0.15:
            each, output, message_id = self._fresh.pop(rng.randrange(len(self._fresh)))
            consumed, must = {each: output}, (message_id,)
        else:
            consumed = self._draw()
        if not consumed:
            return None
        transaction = self._spend(consumed)
        self._recent.append((transaction, consumed))
        return transaction, must

    def _draw(self) -> dict[UtxoInput, Output]:
        """Draws one or two outputs of one or several wallets, or ten of a full purse; none if all purses are empty."""
        drawn: dict[UtxoInput, Output] = {}
        wanted = 1 if self._rng.random() < 0.6 else 2
        number = self._some_wallet()
        for _ in range(WALLETS):
            purse = self._purses[number]
            if len(purse) > _SWEEP:
                wanted = 10
            while purse and len(drawn) < wanted:
                each = self._take(purse)
                # A respent output may be gone although its first spender was a conflict and returned it.
                if each not in self._unspent:
                    continue
                output = self._unspent[each]
                if self._owner(output) != number:
                    self._file(each, output)
                    continue
                drawn[each] = output
                self._reserved.append(each)
                if wanted == 2 and self._rng.random() < 0.5:
                    break
            if len(drawn) == wanted:
                break
            number = (number + 1) % WALLETS
        return drawn

    def _take(self, purse: list[UtxoInput]) -> UtxoInput:
        """Removes a random output from a purse."""
        position = self._rng.randrange(len(purse))
        purse[position], purse[-1] = purse[-1], purse[position]
        return purse.pop()

    def _some_wallet(self) -> int:
        return 0 if self._rng.random() < self._settings.hot_address else self._rng.randrange(WALLETS)

    def _is_rare(self) -> bool:
        return self._settings.rare > 0 and self._rng.random() < self._settings.rare

    def _rare_output(self, total: int) -> list[Output]:
        """One output for a rare address if it is due and the amount suffices, else none."""
        if total < 2 * self.least or not self._is_rare():
            return []
        name = f"{self._seed}|rare|{next(self._rare_outputs) // RARE_ROWS}"
        return [self._pay(b"\0" + blake2b(name.encode(), digest_size=32).digest(), self.least)]

    def _shares(self, total: int) -> Iterator[tuple[int, int]]:
        """One to three wallets, and amounts for them that sum to `total`."""
        rng = self._rng
        wanted = 1 + (rng.random() < 0.85) + (rng.random() < 0.2)
        count = max(1, min(wanted, total // self.least))
        first = self._some_wallet()
        for n in range(count):
            spare = total - self.least * (count - n)
            amount = total if n == count - 1 else self.least + int(spare * rng.random())
            yield (first + n * 37) % WALLETS, amount
            total -= amount
