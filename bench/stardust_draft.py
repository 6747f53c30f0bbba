"""A draft of a generated Stardust transaction, and its unlocks and signatures.

The functions are pure. An alias, foundry or NFT precedes what it unlocks; all other outputs belong to wallets.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.traffic import Consumed, Wallet
from ledger.chrysalis.values import ReferenceUnlock, SignatureUnlock
from ledger.ids import inputs_commitment, output_id, signing_hash
from ledger.stardust.chains import chain_name, controllers
from ledger.stardust.codec import encode_essence, encode_output, owner_at
from ledger.stardust.conditions import ALIAS, ED25519, NFT
from ledger.stardust.values import (
    AliasOutput,
    AliasUnlock,
    Essence,
    NativeToken,
    NftUnlock,
    StorageDepositReturn,
    TaggedData,
    Transaction,
    TransferOutput,
    Unlock,
)

_REFERENCES: dict[int, type[ReferenceUnlock | AliasUnlock | NftUnlock]] = {
    ED25519: ReferenceUnlock,
    ALIAS: AliasUnlock,
    NFT: NftUnlock,
}


@dataclass(frozen=True)
class Draft:
    """The inputs in order with the outputs they spend, and the new outputs, for a milestone at that time.

    `commitment` and `digest`, if not None, replace the correct ones. With `leans`, later inputs refer to the unlock of
    the first one, whoever owns them.
    """

    unix_time: int
    consumed: Consumed
    outputs: Sequence[TransferOutput]
    commitment: bytes | None = None
    digest: bytes | None = None
    leans: bool = False


def owner(output: TransferOutput, unix_time: int) -> bytes:
    """The owner of an output at that time; for an alias its state controller."""
    found = owner_at(output, unix_time)
    assert found is not None
    return found


def owed(consumed: Consumed, unix_time: int) -> dict[bytes, int]:
    """Address → amount to return to it. If the return address itself spends the output, nothing is owed."""
    found: Counter[bytes] = Counter()
    for output in consumed.values():
        for each in output.unlock_conditions:
            if isinstance(each, StorageDepositReturn) and owner(output, unix_time) != each.return_address:
                found[each.return_address] += each.amount
    return dict(found)


def tokens(outputs: Iterable[TransferOutput]) -> tuple[NativeToken, ...]:
    """The native tokens of all these outputs, merged as in one output."""
    amounts: Counter[bytes] = Counter()
    for output in outputs:
        for token in output.native_tokens:
            amounts[token.token_id] += token.amount
    return tuple(NativeToken(token_id, amount) for token_id, amount in sorted(amounts.items()))


def unlocker(spent: TransferOutput, outputs: Iterable[TransferOutput], unix_time: int) -> bytes:
    """The address that unlocks an input of a transaction with these outputs: the governor of an alias whose state does
    not change.
    """
    if isinstance(spent, AliasOutput):
        controller, governor = controllers(spent)
        states = [each.state_index for each in outputs if isinstance(each, AliasOutput)]
        return controller if spent.state_index + 1 in states else governor
    return owner(spent, unix_time)


def sign(draft: Draft, wallets: Mapping[bytes, Wallet], network_id: int, payload: TaggedData | None) -> Transaction:
    """Creates the transaction, with one signature per owner."""
    commitment = draft.commitment or inputs_commitment(map(encode_output, draft.consumed.values()))
    essence = Essence(network_id, tuple(draft.consumed), commitment, tuple(draft.outputs), payload)
    digest = draft.digest or signing_hash(encode_essence(essence))
    unlocks: list[Unlock] = []
    unlocked: dict[bytes, int] = {}
    for index, (each, spent) in enumerate(draft.consumed.items()):
        address = unlocker(spent, draft.outputs, draft.unix_time)
        if address not in unlocked and not (draft.leans and index):
            wallet = wallets[address]
            unlocks.append(SignatureUnlock(wallet.public_key, wallet.sign(digest)))
            unlocked[address] = index
        else:
            unlocks.append(_REFERENCES[address[0]](unlocked.get(address, 0)))
        if chain := chain_name(spent, output_id(each.transaction_id, each.index)):
            unlocked[chain] = index
    return Transaction(essence, tuple(unlocks))
