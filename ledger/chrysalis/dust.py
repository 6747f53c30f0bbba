"""Dust protection (TIP-15): which outputs are dust, and how much dust an address may hold.

Dust values are additive: an address has the sum over its unspent outputs. So its row is updated by adding created
outputs and subtracting spent ones.
"""

from dataclasses import dataclass

from ledger.chrysalis.values import SigLockedDustAllowance, TransferOutput

DUST_THRESHOLD = 1_000_000
"""A SigLockedSingle output below this amount is dust. A dust allowance output must be at least this large."""

DUST_ALLOWANCE_DIVISOR = 100_000
"""The allowance that permits one dust output."""

MAX_DUST_OUTPUTS = 100
"""The most dust outputs of an address, whatever its allowance."""


@dataclass(frozen=True, slots=True)
class Dust:
    """Dust of one address: the sum of its unspent dust allowance outputs, and the number of its unspent dust
    outputs.
    """

    allowance: int = 0
    outputs: int = 0

    def __add__(self, other: "Dust") -> "Dust":
        return Dust(self.allowance + other.allowance, self.outputs + other.outputs)

    def __sub__(self, other: "Dust") -> "Dust":
        return Dust(self.allowance - other.allowance, self.outputs - other.outputs)

    @property
    def most_outputs(self) -> int:
        """The number of dust outputs that the allowance permits."""
        return min(self.allowance // DUST_ALLOWANCE_DIVISOR, MAX_DUST_OUTPUTS)

    @property
    def allowed(self) -> bool:
        """Whether the address may receive another dust output: `dustAllowed` of the REST API."""
        return self.outputs < self.most_outputs


NO_DUST = Dust()


def dust_of(output: TransferOutput) -> Dust:
    """The contribution of one unspent output to its address."""
    if isinstance(output, SigLockedDustAllowance):
        return Dust(allowance=output.amount)
    return Dust(outputs=1) if output.amount < DUST_THRESHOLD else NO_DUST
