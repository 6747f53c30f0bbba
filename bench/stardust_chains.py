"""Transitions of chains in a generated Stardust ledger: aliases with their foundries, and NFTs.

A transition defines the next outputs of a chain and what it needs of an owner's funds. The traffic adds the rest of the
transaction (change, tokens, signatures). Controllers are wallets. Foundries only mint.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from ledger.stardust.codec import foundry_id
from ledger.stardust.conditions import ALIAS
from ledger.stardust.values import (
    AddressCondition,
    AliasOutput,
    BasicOutput,
    FoundryOutput,
    Governor,
    ImmutableAlias,
    Issuer,
    Metadata,
    NativeToken,
    NftOutput,
    SimpleTokenScheme,
    StateController,
    TransferOutput,
    UnlockCondition,
)

ZERO = bytes(32)
MOST_FOUNDRIES = 2
"""The most foundries of an alias."""

_SUPPLY = 1 << 70  # of a native token: above 64 bits


def begin_alias(rng: Random, amount: int, controller: bytes, governor: bytes, issuer: bytes) -> AliasOutput:
    """The first state of an alias."""
    conditions = (StateController(controller), Governor(governor))
    immutable = (Issuer(issuer), Metadata(b"alias %d" % rng.randrange(10**6)))
    return AliasOutput(amount, (), ZERO, 0, b"", 0, conditions, (), immutable)


def begin_nft(rng: Random, amount: int, conditions: tuple[UnlockCondition, ...], issuer: bytes) -> NftOutput:
    """The first state of an NFT."""
    immutable = (Issuer(issuer), Metadata(b'{"standard":"IRC27","n":%d}' % rng.randrange(10**6)))
    return NftOutput(amount, (), ZERO, conditions, (), immutable)


def change_state(rng: Random, alias: AliasOutput, alias_id: bytes) -> AliasOutput:
    """The next state of an alias."""
    metadata = rng.randbytes(rng.randrange(40))
    return replace(alias, alias_id=alias_id, state_index=alias.state_index + 1, state_metadata=metadata)


def govern(alias: AliasOutput, alias_id: bytes, controller: bytes, governor: bytes) -> AliasOutput:
    """The alias with other controllers and the same state."""
    conditions = (StateController(controller), Governor(governor))
    return replace(alias, alias_id=alias_id, unlock_conditions=conditions)


def begin_foundry(rng: Random, becomes: AliasOutput, amount: int, holder: bytes) -> Sequence[TransferOutput]:
    """The alias with one more foundry, the foundry, and its first tokens for a holder."""
    alias = replace(becomes, foundry_counter=becomes.foundry_counter + 1)
    address = ImmutableAlias(bytes([ALIAS]) + becomes.alias_id)
    scheme = SimpleTokenScheme(0, 0, _SUPPLY)
    foundry = FoundryOutput(amount, (), alias.foundry_counter, scheme, (address,), (), (Metadata(b"token"),))
    return [alias, *mint(rng, foundry, amount, holder)]


def mint(rng: Random, foundry: FoundryOutput, amount: int, holder: bytes) -> Sequence[TransferOutput]:
    """The foundry after minting more tokens, and these for a holder."""
    minted = 1 + rng.randrange(10**6)
    scheme = replace(foundry.token_scheme, minted=foundry.token_scheme.minted + minted)
    tokens = (NativeToken(foundry_id(foundry), minted),)
    return [
        replace(foundry, token_scheme=scheme),
        BasicOutput(amount, tokens, (AddressCondition(holder),), ()),
    ]
