"""What the users of a generated ledger send: indexations, transactions over real outputs, double spends.

Rules of this file:
1. Every transaction is valid by its own (sums, order, signatures); whether the ledger takes it is decided by `settle`
   alone, in white-flag order, as a node does.
2. No output is below the dust limit, so dust allowances never decide anything.
3. Only `random()`, `randrange` and `randbytes` of the one generator are used, and no set is iterated: the same seed
   gives the same traffic in every process.
4. Rare tags and addresses come up RARE_ROWS times each and never again; what a rare address got, nobody spends.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import count
from random import Random
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ledger.chrysalis import (
    Essence,
    Indexation,
    MessagePayload,
    ReferenceUnlock,
    SigLockedDustAllowance,
    SigLockedSingle,
    SignatureUnlock,
    Transaction,
    TransferOutput,
    Unlock,
    UtxoInput,
    encode_essence,
    encode_input,
    encode_output,
)
from ledger.dust import DUST_THRESHOLD
from ledger.ids import signing_hash
from ledger.networks import TOKEN_SUPPLY

TREASURY = 1_000_000_000_000
HOT_TAG = b"HORNET Spammer"
RARE_ROWS = 10

_WALLETS = 100  # genesis outputs are numbered by wallet, and an output's index is at most 126
_SWEEP = 30  # outputs in a purse from which its owner joins ten into one: the ledger stays small
_TAGS = (b"x", "grüße-🚀".encode(), bytes(range(192, 256)), *(b"sensor/%d" % n for n in range(200)))
_TEXT = b'{"what":"benchmark","unit":"\xc2\xb0C","values":[21.5,21.6,21.4,20.9,22.0,21.1]} ' * 10


@dataclass(frozen=True)
class TrafficSettings:
    """The mix. Shares are of 1; what is neither indexation nor transaction has no payload."""

    indexations: float = field(default=0.63, metadata={"help": "share of messages that carry an indexation"})
    transactions: float = field(default=0.32, metadata={"help": "share of messages that carry a transaction"})
    hot_tag: float = field(default=0.3, metadata={"help": "share of indexations under one hot tag"})
    hot_address: float = field(default=0.1, metadata={"help": "share of outputs for one hot address"})
    conflicts: float = field(default=0.03, metadata={"help": "share of transactions that respend or reattach one"})
    tagged_transactions: float = field(default=0.2, metadata={"help": "share of transactions with an indexation"})
    rare: float = field(default=0.0, metadata={"help": "share of indexations and of transactions with a rare key"})
    data_bytes: int = field(default=600, metadata={"help": "largest indexation data; a quarter of it is the mean"})


class Wallet:
    """An Ed25519 key with its address (33 bytes, type first)."""

    def __init__(self, seed: str) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(blake2b(seed.encode(), digest_size=32).digest())
        self.public_key = self._key.public_key().public_bytes_raw()
        self.address = b"\0" + blake2b(self.public_key, digest_size=32).digest()

    def sign(self, message: bytes) -> bytes:
        """The 64-byte signature of `message`."""
        return self._key.sign(message)


class Issued(NamedTuple):
    """A transaction inside a message; a reattachment is another one with the same transaction id."""

    message_id: bytes
    transaction_id: bytes
    transaction: Transaction


class Traffic:
    """Wallets, what they own, and what they send next."""

    def __init__(self, settings: TrafficSettings, seed: str, rng: Random) -> None:
        self._settings = settings
        self._seed = seed
        self._rng = rng
        self._wallets = [Wallet(f"{seed}|wallet|{n}") for n in range(_WALLETS)]
        self._owners = {wallet.address: n for n, wallet in enumerate(self._wallets)}
        amount = (TOKEN_SUPPLY - TREASURY) // _WALLETS
        amounts = [amount] * (_WALLETS - 1) + [TOKEN_SUPPLY - TREASURY - amount * (_WALLETS - 1)]
        self.genesis: dict[UtxoInput, TransferOutput] = {
            UtxoInput(bytes(32), n): SigLockedSingle(wallet.address, amount)
            for n, (wallet, amount) in enumerate(zip(self._wallets, amounts, strict=True))
        }
        self._unspent = dict(self.genesis)
        self._purses: list[list[UtxoInput]] = [[each] for each in self.genesis]
        self._reserved: list[UtxoInput] = []
        self._fresh: list[tuple[UtxoInput, TransferOutput, bytes]] = []
        self._rare_tags, self._rare_outputs = count(), count()
        self._recent: deque[tuple[Transaction, Mapping[UtxoInput, TransferOutput]]] = deque(maxlen=128)

    def next_payload(self) -> tuple[MessagePayload | None, tuple[bytes, ...]]:
        """What the next message carries, and the messages that must be among its parents."""
        kind = self._rng.random()
        if kind < self._settings.transactions:
            drawn = self._transaction()
            if drawn is not None:
                return drawn
            return self._indexation(), ()
        if kind < self._settings.transactions + self._settings.indexations:
            return self._indexation(), ()
        return None, ()

    def issued(self, sent: Issued) -> None:
        """Let later messages of the same milestone spend what this one creates."""
        for index, output in enumerate(sent.transaction.essence.outputs):
            if output.address in self._owners:
                self._fresh.append((UtxoInput(sent.transaction_id, index), output, sent.message_id))

    def settle(self, ordered: Iterable[Issued]) -> list[bytes]:
        """Apply a milestone's transactions in white-flag order; the ids of the messages that were included."""
        included = []
        created: list[UtxoInput] = []
        for message_id, transaction_id, transaction in ordered:
            essence = transaction.essence
            if not all(each in self._unspent for each in essence.inputs):
                continue
            included.append(message_id)
            for each in essence.inputs:
                del self._unspent[each]
            for index, output in enumerate(essence.outputs):
                created.append(UtxoInput(transaction_id, index))
                self._unspent[created[-1]] = output
        # Inputs of transactions that lost, and outputs that nobody of this milestone spent, can be spent next.
        for each in self._reserved + created:
            unspent = self._unspent.get(each)
            if unspent is not None and unspent.address in self._owners:
                self._purses[self._owners[unspent.address]].append(each)
        self._reserved.clear()
        self._fresh.clear()
        return included

    def _indexation(self) -> Indexation:
        rng = self._rng
        if self._is_rare():
            tag = b"rare/%d" % (next(self._rare_tags) // RARE_ROWS)
        elif rng.random() < self._settings.hot_tag:
            tag = HOT_TAG
        elif rng.random() < 0.02:
            tag = rng.randbytes(1 + rng.randrange(64))
        else:
            tag = _TAGS[int(len(_TAGS) * rng.random() ** 2)]
        size = int(self._settings.data_bytes * rng.random() ** 3)
        return Indexation(tag, rng.randbytes(size) if rng.random() < 0.5 else _TEXT[:size])

    def _transaction(self) -> tuple[Transaction, tuple[bytes, ...]] | None:
        rng = self._rng
        if self._recent and rng.random() < self._settings.conflicts:
            transaction, consumed = self._recent[rng.randrange(len(self._recent))]
            return (transaction if rng.random() < 0.5 else self._sign(consumed)), ()
        must: tuple[bytes, ...] = ()
        if self._fresh and rng.random() < 0.15:
            each, output, message_id = self._fresh.pop(rng.randrange(len(self._fresh)))
            consumed, must = {each: output}, (message_id,)
        else:
            consumed = self._draw()
        if not consumed:
            return None
        transaction = self._sign(consumed)
        self._recent.append((transaction, consumed))
        return transaction, must

    def _draw(self) -> dict[UtxoInput, TransferOutput]:
        """One or two outputs, or ten of a full purse; nothing if all purses are empty."""
        drawn: dict[UtxoInput, TransferOutput] = {}
        wanted = 1 if self._rng.random() < 0.6 else 2
        number = self._some_wallet()
        for _ in range(_WALLETS):
            purse = self._purses[number]
            if len(purse) > _SWEEP:
                wanted = 10
            while purse and len(drawn) < wanted:
                position = self._rng.randrange(len(purse))
                purse[position], purse[-1] = purse[-1], purse[position]
                each = purse.pop()
                # A respent output may be gone although its first spender lost and gave it back.
                if each in self._unspent:
                    drawn[each] = self._unspent[each]
                    self._reserved.append(each)
                if wanted == 2 and self._rng.random() < 0.5:
                    break
            if len(drawn) == wanted:
                break
            number = (number + 1) % _WALLETS
        return drawn

    def _some_wallet(self) -> int:
        return 0 if self._rng.random() < self._settings.hot_address else self._rng.randrange(_WALLETS)

    def _is_rare(self) -> bool:
        return self._settings.rare > 0 and self._rng.random() < self._settings.rare

    def _outputs(self, total: int) -> list[TransferOutput]:
        """One to three outputs for as many wallets, perhaps one for a rare address, that sum to `total`."""
        rng = self._rng
        rare: list[TransferOutput] = []
        if total >= 2 * DUST_THRESHOLD and self._is_rare():
            name = f"{self._seed}|rare|{next(self._rare_outputs) // RARE_ROWS}"
            address = b"\0" + blake2b(name.encode(), digest_size=32).digest()
            rare.append(SigLockedSingle(address, DUST_THRESHOLD))
            total -= DUST_THRESHOLD
        wanted = 1 + (rng.random() < 0.85) + (rng.random() < 0.2)
        count = max(1, min(wanted, total // DUST_THRESHOLD))
        outputs: list[TransferOutput] = []
        first = self._some_wallet()
        for n in range(count):
            spare = total - DUST_THRESHOLD * (count - n)
            amount = total if n == count - 1 else DUST_THRESHOLD + int(spare * rng.random())
            kind = SigLockedDustAllowance if rng.random() < 0.02 else SigLockedSingle
            outputs.append(kind(self._wallets[(first + n * 37) % _WALLETS].address, amount))
            total -= amount
        return outputs + rare

    def _sign(self, consumed: Mapping[UtxoInput, TransferOutput]) -> Transaction:
        """A transaction that spends `consumed`: inputs and outputs in byte order, one signature an owner."""
        outputs = self._outputs(sum(output.amount for output in consumed.values()))
        tagged = self._rng.random() < self._settings.tagged_transactions
        inputs = sorted(consumed, key=encode_input)
        essence = Essence(
            tuple(inputs), tuple(sorted(outputs, key=encode_output)), self._indexation() if tagged else None
        )
        digest = signing_hash(encode_essence(essence))
        unlocks: list[Unlock] = []
        signed: dict[bytes, int] = {}
        for each in inputs:
            address = consumed[each].address
            if address in signed:
                unlocks.append(ReferenceUnlock(signed[address]))
                continue
            signed[address] = len(unlocks)
            wallet = self._wallets[self._owners[address]]
            unlocks.append(SignatureUnlock(wallet.public_key, wallet.sign(digest)))
        return Transaction(essence, tuple(unlocks))
