"""Chain transitions (TIP-18): which states an alias, a foundry or an NFT may take next.

A chain is named by its address (33 bytes); a foundry has none and is named by its id (38 bytes). Sources: TIP-18, and
iota.go 3.0.0-rc.3 where TIP-18 is silent.
"""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import TypeAlias

from ledger.stardust.conditions import ALIAS, NFT
from ledger.stardust.outputs import ZERO_ID, chain_id, foundry_id, owner_at
from ledger.stardust.values import (
    AliasOutput,
    Feature,
    FoundryOutput,
    Governor,
    Issuer,
    Metadata,
    NftOutput,
    SimpleTokenScheme,
    StateController,
    TransferOutput,
)

Chains: TypeAlias = Mapping[bytes, TransferOutput]
"""The chain outputs on one side of a transaction, by chain name. New chains have no name yet."""


def chain_name(output: TransferOutput, output_id: bytes | None = None) -> bytes | None:
    """The name of an output's chain. None for basic outputs, and for new chains if `output_id` is None."""
    match output:
        case FoundryOutput():
            return foundry_id(output)
        case AliasOutput(alias_id=own) | NftOutput(nft_id=own):
            kind = ALIAS if isinstance(output, AliasOutput) else NFT
            if output_id is None:
                return None if own == ZERO_ID else bytes([kind]) + own
            chain = chain_id(output, output_id)
            assert chain is not None
            return bytes([kind]) + chain
    return None


def controllers(output: AliasOutput) -> tuple[bytes, bytes]:
    """The state controller and the governor of an alias."""
    controller, governor = output.unlock_conditions
    assert isinstance(controller, StateController)
    assert isinstance(governor, Governor)
    return controller.address, governor.address


def transitions_allowed(
    before: Chains,
    after: Chains,
    created: Sequence[TransferOutput],
    spent_tokens: Counter[bytes],
    created_tokens: Counter[bytes],
    unlocked: Container[bytes],
) -> bool:
    """Whether each chain of the inputs may make its transition, and each new chain may begin.

    `created` are all outputs, the tokens are sums over each side, `unlocked` are the addresses that inputs unlock.
    """
    fresh = [each for each in created if isinstance(each, FoundryOutput) and foundry_id(each) not in before]
    for chain, was in before.items():
        becomes = after.get(chain)
        minted = created_tokens[chain] - spent_tokens[chain]
        match was, becomes:
            case AliasOutput(), AliasOutput():
                good = _alias_transition_allowed(was, becomes, [each for each in fresh if owner_at(each, 0) == chain])
            case NftOutput(), NftOutput():
                good = was.immutable_features == becomes.immutable_features
            case FoundryOutput(), FoundryOutput():
                good = was.immutable_features == becomes.immutable_features and _scheme_change_allowed(
                    was.token_scheme, becomes.token_scheme, minted
                )
            case FoundryOutput(), None:
                good = was.token_scheme.minted + minted == was.token_scheme.melted
            case _:
                good = True  # aliases and NFTs may end without condition
        if not good:
            return False
    for output in created:
        name = chain_name(output)
        if isinstance(output, AliasOutput | NftOutput):
            good = name in before if name else _issuer_agrees(output.immutable_features, unlocked)
        elif isinstance(output, FoundryOutput) and name not in before:
            good = _foundry_may_begin(output, before, after, fresh, created_tokens)
        else:
            good = True
        if not good:
            return False
    return True


def _issuer_agrees(features: Sequence[Feature], unlocked: Container[bytes]) -> bool:
    return all(each.address in unlocked for each in features if isinstance(each, Issuer))


def _alias_transition_allowed(was: AliasOutput, becomes: AliasOutput, fresh: Sequence[FoundryOutput]) -> bool:
    """Whether an alias may make this transition. `fresh` are the foundries that begin with it."""
    if was.immutable_features != becomes.immutable_features:
        return False
    if was.state_index == becomes.state_index:  # a transition by its governor
        return (was.amount, was.native_tokens, was.state_metadata, was.foundry_counter) == (
            becomes.amount,
            becomes.native_tokens,
            becomes.state_metadata,
            becomes.foundry_counter,
        )
    new_foundries = becomes.foundry_counter - was.foundry_counter
    return (
        was.unlock_conditions == becomes.unlock_conditions
        and was.state_index + 1 == becomes.state_index
        and _metadata(was) == _metadata(becomes)
        and new_foundries >= 0
        and (new_foundries == 0 or new_foundries == len(fresh))
    )


def _metadata(output: AliasOutput) -> list[Feature]:
    return [each for each in output.features if isinstance(each, Metadata)]


def _scheme_change_allowed(was: SimpleTokenScheme, becomes: SimpleTokenScheme, minted: int) -> bool:
    """Whether a token scheme may change like this. `minted` is the outputs' amount of the token minus the inputs'."""
    more_minted, more_melted = becomes.minted - was.minted, becomes.melted - was.melted
    if was.maximum != becomes.maximum or more_minted < 0 or more_melted < 0:
        return False
    if minted >= 0:
        return more_minted == minted and more_melted == 0
    return more_minted == 0 and more_melted <= -minted  # the rest of the missing tokens is burned


def _foundry_may_begin(
    output: FoundryOutput,
    before: Chains,
    after: Chains,
    fresh: Sequence[FoundryOutput],
    created_tokens: Counter[bytes],
) -> bool:
    """Whether a foundry may begin. Its alias must change state and count it, and new foundries of one alias must be in
    order of their serial numbers.
    """
    alias = owner_at(output, 0)
    assert alias is not None
    was, becomes = before.get(alias), after.get(alias)
    if not isinstance(was, AliasOutput) or not isinstance(becomes, AliasOutput):
        return False
    numbers = [each.serial_number for each in fresh if owner_at(each, 0) == alias]
    earlier = numbers[: numbers.index(output.serial_number)]
    scheme = output.token_scheme
    return (
        was.foundry_counter < output.serial_number <= becomes.foundry_counter
        and all(each < output.serial_number for each in earlier)
        and scheme.melted == 0
        and scheme.minted == created_tokens[foundry_id(output)]
    )
