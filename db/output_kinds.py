"""Kinds of outputs, and the protocol's type numbers for them."""

LEGACY, BASIC, ALIAS, FOUNDRY, NFT = KINDS = ("legacy", "basic", "alias", "foundry", "nft")
"""Values of output_kind."""

STARDUST_KINDS = (BASIC, ALIAS, FOUNDRY, NFT)
"""Kinds of a ledger that began with Stardust."""

KIND_OF_TYPE = {0: LEGACY, 1: LEGACY, 3: BASIC, 4: ALIAS, 5: FOUNDRY, 6: NFT}
"""The protocol's output type number → output_kind. Type 2 is the treasury, which has no kind."""


def types_of(kind: str) -> tuple[int, ...]:
    """The output type numbers of a kind."""
    return tuple(number for number, name in KIND_OF_TYPE.items() if name == kind)
