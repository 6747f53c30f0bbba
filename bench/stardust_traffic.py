"""Generates the traffic of a Stardust ledger: tagged data, transfers with every condition and feature, chains.

A milestone's timestamp is known before its blocks are sent, so the owner and the lock of each output are known too.
What an alias or NFT owns is spent in its transitions. Every output is far above its storage deposit.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from random import Random

from bench import stardust_chains as chains
from bench.stardust_draft import Draft, owed, owner, sign, tokens, unlocker
from bench.stardust_faults import FAULTS, LEAST
from bench.tangle import GeneratorSettings
from bench.traffic import WALLETS, Consumed, Issued, Traffic, numbers
from ledger.chrysalis.values import UtxoInput
from ledger.ids import output_id
from ledger.stardust.chains import chain_name
from ledger.stardust.conditions import ED25519
from ledger.stardust.conflicts import Conflict
from ledger.stardust.values import (
    AddressCondition,
    AliasOutput,
    BasicOutput,
    Expiration,
    Feature,
    FoundryOutput,
    Metadata,
    NftOutput,
    Sender,
    StorageDepositReturn,
    Tag,
    TaggedData,
    Timelock,
    Transaction,
    TransferOutput,
    UnlockCondition,
)

_OWNED_AT_ONCE = 5  # outputs of a chain that one of its transitions spends
_SOON_S = 60  # the longest time until a lock or expiration ends


@dataclass(frozen=True)
class StardustSettings(GeneratorSettings):
    """Settings of a generated Stardust ledger."""

    conditions: float = field(default=0.2, metadata={"help": "Stardust: share of outputs with more than an owner"})
    chains: float = field(default=0.08, metadata={"help": "Stardust: share of transactions that move a chain"})
    chain_count: int = field(
        default=20, metadata={"help": "Stardust: number of aliases, and of NFTs, that exist at a time; at most 30"}
    )
    faults: float = field(default=0.01, metadata={"help": "Stardust: share of transactions that break a rule"})


class StardustTraffic(Traffic):
    """Transfers between wallets and chains, transitions of chains, and faults."""

    supply = 1_813_620_509_061_365
    least = LEAST

    def __init__(self, settings: StardustSettings, rng: Random, network_id: int) -> None:
        super().__init__(settings, settings.seed, rng)
        self._mix = settings
        self._network_id = network_id
        self._keys = {wallet.address: wallet for wallet in self._wallets}
        self._milestone = 0
        self._spent: dict[UtxoInput, int] = {}
        self._locked: list[tuple[int, int, UtxoInput]] = []
        self._lockings = numbers()
        self._faulty: dict[tuple[UtxoInput, ...], Conflict] = {}
        self._aliases: list[UtxoInput] = []
        self._nfts: list[UtxoInput] = []
        self._owned: dict[bytes, list[UtxoInput]] = {}
        """Address of a chain → basic outputs and foundries that belong to it."""

    def begin(self, unix_time: int) -> None:
        """Begins a milestone. Outputs whose lock has ended can be spent."""
        super().begin(unix_time)
        self._milestone += 1
        while self._locked and self._locked[0][0] <= unix_time:
            *_, each = heappop(self._locked)
            self._file(each, self._unspent[each])

    def settle(self, ordered: Iterable[Issued]) -> dict[bytes, int]:
        """Applies a milestone's transactions, with Hornet's reasons."""
        reasons = super().settle(ordered)
        self._faulty.clear()
        return reasons

    def _conflict(self, transaction: Transaction) -> int:
        inputs = transaction.essence.inputs
        for each in inputs:
            if each not in self._unspent:
                if each not in self._spent:
                    return Conflict.INPUT_NOT_FOUND
                now = self._spent[each] == self._milestone
                return Conflict.INPUT_SPENT_IN_MILESTONE if now else Conflict.INPUT_SPENT
        reason = self._faulty.get(inputs, Conflict.NONE)
        if not reason:
            self._spent.update(dict.fromkeys(inputs, self._milestone))
        return reason

    def _pay(self, address: bytes, amount: int) -> BasicOutput:
        return BasicOutput(amount, (), (AddressCondition(address),), ())

    def _tagged(self) -> TaggedData:
        return TaggedData(*self._tag_and_data())

    def _owner(self, output: TransferOutput) -> int | None:
        if not isinstance(output, BasicOutput) or _free_at(output) > self._now:
            return None
        return self._owners.get(owner(output, self._now))

    def _file(self, each: UtxoInput, output: TransferOutput) -> None:
        if _free_at(output) > self._now:
            heappush(self._locked, (_free_at(output), next(self._lockings), each))
        elif isinstance(output, AliasOutput | NftOutput):
            (self._aliases if isinstance(output, AliasOutput) else self._nfts).append(each)
            self._owned.setdefault(_chain(each, output), [])
        elif (address := owner(output, self._now))[0] != ED25519:
            self._owned.setdefault(address, []).append(each)
        else:
            super()._file(each, output)

    def _spend(self, consumed: Consumed) -> Transaction:
        draft = self._draft(consumed)
        assert draft is not None
        return self._sign(draft)

    def _sign(self, draft: Draft) -> Transaction:
        payload = self._tagged() if self._rng.random() < self._mix.tagged_transactions else None
        return sign(draft, self._keys, self._network_id, payload)

    def _transaction(self) -> tuple[Transaction, tuple[bytes, ...]] | None:
        kind = self._rng.random()
        draft = None
        if kind < self._mix.chains:
            draft = self._move_chain()
        elif kind < self._mix.chains + self._mix.faults:
            draft = self._go_wrong()
        return super()._transaction() if draft is None else (self._sign(draft), ())

    def _draft(self, consumed: Consumed, made: Sequence[TransferOutput] = ()) -> Draft | None:
        """The new outputs for these inputs: what is left after `made` and after deposits to return comes first. None if
        that is too little. Tokens are kept, except for a few that are burned if no foundry counts them.
        """
        rng = self._rng
        returns = [self._pay(address, amount) for address, amount in owed(consumed, self._now).items()]
        total = sum(each.amount for each in consumed.values())
        total -= sum(each.amount for each in [*returns, *made])
        if total < self.least // 2 and (total or not made):
            return None
        sender = unlocker(next(iter(consumed.values())), made, self._now)
        rare = self._rare_output(total)
        total -= sum(each.amount for each in rare)
        left = [self._output(number, amount, sender) for number, amount in self._shares(total)] if total else []
        kept = tokens(each for each in consumed.values() if isinstance(each, BasicOutput))
        mints = any(isinstance(each, FoundryOutput) for each in made)
        if kept and mints and not left:
            return None
        if kept and left and (mints or rng.random() < 0.95):
            left[0] = replace(left[0], native_tokens=kept)
        return Draft(self._now, consumed, [*left, *rare, *made, *returns])

    def _output(self, number: int, amount: int, sender: bytes) -> BasicOutput:
        """An amount for a wallet or a chain, with random conditions and features."""
        rng = self._rng
        if rng.random() >= self._mix.conditions:
            return self._pay(self._wallets[number].address, amount)
        if self._owned and rng.random() < 0.1:
            return self._pay(list(self._owned)[rng.randrange(len(self._owned))], amount)
        conditions = self._conditions(number, sender)
        # Hornet owes no deposit to oneself, and iota-sdk does.
        to_another = sender != self._wallets[number].address
        if to_another and amount >= 2 * self.least and rng.random() < 0.3:
            conditions = (conditions[0], StorageDepositReturn(sender, self.least), *conditions[1:])
        features: list[Feature] = [Sender(sender)] if rng.random() < 0.3 else []
        if rng.random() < 0.3:
            features.append(Metadata(b"memo %d" % rng.randrange(10**6)))
        if rng.random() < 0.5:
            features.append(Tag(self._common_tag()))
        return BasicOutput(amount, (), conditions, tuple(features))

    def _conditions(self, number: int, sender: bytes) -> tuple[UnlockCondition, ...]:
        rng = self._rng
        conditions: list[UnlockCondition] = [AddressCondition(self._wallets[number].address)]
        if rng.random() < 0.2:
            conditions.append(Timelock(self._now + 1 + rng.randrange(_SOON_S)))
        if rng.random() < 0.3:
            conditions.append(Expiration(sender, self._now + 1 + rng.randrange(_SOON_S)))
        return tuple(conditions)

    def _move_chain(self) -> Draft | None:
        """Begins a chain if there are few of its kind, else moves or ends one."""
        return self._move_nft() if self._rng.random() < 0.5 else self._move_alias()

    def _draw_chain(self, purse: list[UtxoInput]) -> tuple[dict[UtxoInput, TransferOutput], bytes]:
        """A chain's output with its address."""
        each = self._take(purse)
        self._reserved.append(each)
        return {each: self._unspent[each]}, _chain(each, self._unspent[each])

    def _draw_owned(self, chain: bytes, kind: type[TransferOutput]) -> dict[UtxoInput, TransferOutput]:
        """Some of the outputs of this kind that a chain owns."""
        found = [each for each in self._owned.get(chain, []) if isinstance(self._unspent[each], kind)]
        for each in found[:_OWNED_AT_ONCE]:
            self._owned[chain].remove(each)
            self._reserved.append(each)
        return {each: self._unspent[each] for each in found[:_OWNED_AT_ONCE]}

    def _move_nft(self) -> Draft | None:
        rng, number = self._rng, self._some_wallet()
        if len(self._nfts) < self._mix.chain_count:
            funds = self._draw()
            if not funds:
                return None
            sender = owner(next(iter(funds.values())), self._now)
            made = chains.begin_nft(rng, 2 * self.least, self._conditions(number, sender), sender)
            return self._draft(funds, [made])
        nft, chain = self._draw_chain(self._nfts)
        (output,) = nft.values()
        assert isinstance(output, NftOutput)
        consumed = nft | self._draw_owned(chain, BasicOutput)
        if rng.random() < 0.1:
            self._owned.pop(chain, None)
            return self._draft(consumed)
        conditions = self._conditions(number, owner(output, self._now))
        return self._draft(consumed, [replace(output, nft_id=chain[1:], unlock_conditions=conditions)])

    def _move_alias(self) -> Draft | None:
        rng, number = self._rng, self._some_wallet()
        holder, other = (self._wallets[each % WALLETS].address for each in (number, number + 1))
        if len(self._aliases) < self._mix.chain_count:
            funds = self._draw()
            if not funds:
                return None
            sender = owner(next(iter(funds.values())), self._now)
            return self._draft(funds, [chains.begin_alias(rng, 2 * self.least, holder, other, sender)])
        consumed, chain = self._draw_chain(self._aliases)
        (output,) = consumed.values()
        assert isinstance(output, AliasOutput)
        kind = rng.random()
        if kind < 0.1 and not output.foundry_counter:
            self._owned.pop(chain, None)
            return self._draft(consumed)
        if kind < 0.3:
            return self._draft(consumed, [chains.govern(output, chain[1:], holder, other)])
        becomes = chains.change_state(rng, output, chain[1:])
        if kind < 0.6:
            return self._draft(consumed | self._draw_owned(chain, BasicOutput), [becomes])
        funds = self._draw()
        if kind < 0.8 and output.foundry_counter < chains.MOST_FOUNDRIES:
            return self._draft(consumed | funds, chains.begin_foundry(rng, becomes, self.least, holder))
        foundries = self._draw_owned(chain, FoundryOutput)
        minting = (each for each in foundries.values() if isinstance(each, FoundryOutput))
        made = [each for foundry in minting for each in chains.mint(rng, foundry, self.least, holder)]
        return self._draft(consumed | foundries | funds, [becomes, *made])

    def _go_wrong(self) -> Draft | None:
        """A transaction that breaks one rule. It is never reattached."""
        rng = self._rng
        kind = rng.randrange(len(FAULTS) + 2)
        if kind < len(FAULTS):
            reason, fault = list(FAULTS.items())[kind]
            draft = self._draft(consumed) if (consumed := self._draw()) else None
            wrong = None if draft is None else fault(draft)
        elif kind == len(FAULTS):
            missing = UtxoInput(rng.randbytes(32), rng.randrange(3))
            reason, wrong = Conflict.INPUT_NOT_FOUND, self._draft({missing: self._pay(self._wallets[0].address, 10**7)})
        else:
            locked = {each: self._unspent[each] for *_, each in self._locked[-1:]}
            reason, wrong = Conflict.TIMELOCK, self._draft(locked) if locked else None
        if wrong is not None:
            self._faulty[tuple(wrong.consumed)] = reason
        return wrong


def _free_at(output: TransferOutput) -> int:
    """The unix time from which an output is not locked."""
    return max((each.unix_time for each in output.unlock_conditions if isinstance(each, Timelock)), default=0)


def _chain(each: UtxoInput, output: TransferOutput) -> bytes:
    """The address of the chain that an output is a state of."""
    name = chain_name(output, output_id(each.transaction_id, each.index))
    assert name is not None
    return name
