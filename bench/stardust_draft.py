"""What a generated Stardust transaction will be, and how it is unlocked and signed.

Rules of this file: pure; an alias, foundry or NFT stands before what it unlocks; everything else belongs to a wallet.
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
    """Inputs in their order, with the outputs they spend, and what they become, for a milestone of that time.

    `commitment` and `digest`, where not None, stand for the right ones; `leans`: later inputs lean on the first one,
    whosever they are.
    """

    unix_time: int
    consumed: Consumed
    outputs: Sequence[TransferOutput]
    commitment: bytes | None = None
    digest: bytes | None = None
    leans: bool = False


def owner(output: TransferOutput, unix_time: int) -> bytes:
    """The address that an output belongs to at that time; an alias's is its state controller's."""
    found = owner_at(output, unix_time)
    assert found is not None
    return found


def owed(consumed: Consumed, unix_time: int) -> dict[bytes, int]:
    """Address → what must go back to it; who gets an output back itself is owed nothing for it."""
    found: Counter[bytes] = Counter()
    for output in consumed.values():
        for each in output.unlock_conditions:
            if isinstance(each, StorageDepositReturn) and owner(output, unix_time) != each.return_address:
                found[each.return_address] += each.amount
    return dict(found)


def tokens(outputs: Iterable[TransferOutput]) -> tuple[NativeToken, ...]:
    """The native tokens of all those outputs, as one of them would hold them."""
    amounts: Counter[bytes] = Counter()
    for output in outputs:
        for token in output.native_tokens:
            amounts[token.token_id] += token.amount
    return tuple(NativeToken(token_id, amount) for token_id, amount in sorted(amounts.items()))


def unlocker(spent: TransferOutput, outputs: Iterable[TransferOutput], unix_time: int) -> bytes:
    """The address that unlocks an input of a transaction with those outputs: of an alias whose state does not change
    it is the governor's.
    """
    if isinstance(spent, AliasOutput):
        controller, governor = controllers(spent)
        states = [each.state_index for each in outputs if isinstance(each, AliasOutput)]
        return controller if spent.state_index + 1 in states else governor
    return owner(spent, unix_time)


def sign(draft: Draft, wallets: Mapping[bytes, Wallet], network_id: int, payload: TaggedData | None) -> Transaction:
    """The transaction, with one signature an owner."""
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
