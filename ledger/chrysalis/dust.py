"""Dust (TIP-15): which outputs are dust, and how much of it an address may hold.

Rules of this file: the protocol's numbers stand here once. Dust values of outputs add up: an address has the sum over
its unspent outputs, so a row of it is kept by adding what is created and taking off what is spent.
"""

from dataclasses import dataclass

from ledger.chrysalis.values import SigLockedDustAllowance, TransferOutput

DUST_THRESHOLD = 1_000_000
"""A SigLockedSingle output below it is dust; a dust allowance output must not be below it."""

DUST_ALLOWANCE_DIVISOR = 100_000
"""So much allowance permits one dust output."""

MAX_DUST_OUTPUTS = 100
"""No address may hold more, whatever its allowance."""


@dataclass(frozen=True, slots=True)
class Dust:
    """Of one address: the sum of its unspent dust allowance outputs, and the number of its unspent dust outputs."""

    allowance: int = 0
    outputs: int = 0

    def __add__(self, other: "Dust") -> "Dust":
        return Dust(self.allowance + other.allowance, self.outputs + other.outputs)

    def __sub__(self, other: "Dust") -> "Dust":
        return Dust(self.allowance - other.allowance, self.outputs - other.outputs)

    @property
    def most_outputs(self) -> int:
        """How many dust outputs the allowance permits."""
        return min(self.allowance // DUST_ALLOWANCE_DIVISOR, MAX_DUST_OUTPUTS)

    @property
    def allowed(self) -> bool:
        """Whether the address may receive one more dust output: `dustAllowed` of the REST API."""
        return self.outputs < self.most_outputs


NO_DUST = Dust()


def dust_of(output: TransferOutput) -> Dust:
    """What one unspent output adds to its address."""
    if isinstance(output, SigLockedDustAllowance):
        return Dust(allowance=output.amount)
    return Dust(outputs=1) if output.amount < DUST_THRESHOLD else NO_DUST
