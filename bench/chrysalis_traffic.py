"""Generates the traffic of a Chrysalis ledger: indexations and transfers. No output is below the dust limit, so dust
allowances never matter.
"""

from bench.traffic import Consumed, Traffic
from ledger.chrysalis.codec import (
    Essence,
    Indexation,
    ReferenceUnlock,
    SigLockedDustAllowance,
    SigLockedSingle,
    SignatureUnlock,
    Transaction,
    TransferOutput,
    Unlock,
    encode_essence,
    encode_input,
    encode_output,
)
from ledger.chrysalis.dust import DUST_THRESHOLD
from ledger.ids import signing_hash
from ledger.networks import TOKEN_SUPPLY


class ChrysalisTraffic(Traffic):
    """Transfers between wallets. One output in fifty is a dust allowance."""

    supply = TOKEN_SUPPLY
    least = DUST_THRESHOLD

    def _pay(self, address: bytes, amount: int) -> TransferOutput:
        return SigLockedSingle(address, amount)

    def _tagged(self) -> Indexation:
        return Indexation(*self._tag_and_data())

    def _owner(self, output: TransferOutput) -> int | None:
        return self._owners.get(output.address)

    def _spend(self, consumed: Consumed) -> Transaction:
        """Inputs and outputs in byte order, one signature per owner."""
        total = sum(output.amount for output in consumed.values())
        rare = self._rare_output(total)
        outputs = self._outputs(total - sum(each.amount for each in rare)) + rare
        tagged = self._rng.random() < self._settings.tagged_transactions
        inputs = sorted(consumed, key=encode_input)
        essence = Essence(tuple(inputs), tuple(sorted(outputs, key=encode_output)), self._tagged() if tagged else None)
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

    def _outputs(self, total: int) -> list[TransferOutput]:
        outputs: list[TransferOutput] = []
        for number, amount in self._shares(total):
            kind = SigLockedDustAllowance if self._rng.random() < 0.02 else SigLockedSingle
            outputs.append(kind(self._wallets[number].address, amount))
        return outputs
