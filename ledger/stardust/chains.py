"""How the chains of Stardust go on: which states an alias, a foundry or an NFT may take next (TIP-18).

Rules of this file: chains are named by the address they own, 33 bytes, and foundries, which own none, by their id of
38. Source of the rules: TIP-18, and iota.go 3.0.0-rc.3 where it is silent.
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
"""The outputs of one side of a transaction that are states of chains, by the chain's name; new chains have none yet."""


def chain_name(output: TransferOutput, output_id: bytes | None = None) -> bytes | None:
    """The name of an output's chain; None for basic outputs, and for new chains where their output id is not given."""
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
    """State controller and governor of an alias."""
    controller, governor = output.unlock_conditions
    assert isinstance(controller, StateController)
    assert isinstance(governor, Governor)
    return controller.address, governor.address


def chains_go_on(
    before: Chains,
    after: Chains,
    created: Sequence[TransferOutput],
    spent_tokens: Counter[bytes],
    created_tokens: Counter[bytes],
    unlocked: Container[bytes],
) -> bool:
    """Whether each chain of the inputs may become what it becomes, and each new one may begin.

    `created` are all outputs; the tokens are sums over each side; `unlocked` holds the addresses that inputs unlock.
    """
    fresh = [each for each in created if isinstance(each, FoundryOutput) and foundry_id(each) not in before]
    for chain, was in before.items():
        becomes = after.get(chain)
        minted = created_tokens[chain] - spent_tokens[chain]
        match was, becomes:
            case AliasOutput(), AliasOutput():
                good = _alias_may_become(was, becomes, [each for each in fresh if owner_at(each, 0) == chain])
            case NftOutput(), NftOutput():
                good = was.immutable_features == becomes.immutable_features
            case FoundryOutput(), FoundryOutput():
                good = was.immutable_features == becomes.immutable_features and _scheme_may_become(
                    was.token_scheme, becomes.token_scheme, minted
                )
            case FoundryOutput(), None:
                good = was.token_scheme.minted + minted == was.token_scheme.melted
            case _:
                good = True  # aliases and NFTs may end as they like
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


def _alias_may_become(was: AliasOutput, becomes: AliasOutput, fresh: Sequence[FoundryOutput]) -> bool:
    """`fresh` are its foundries that begin with it."""
    if was.immutable_features != becomes.immutable_features:
        return False
    if was.state_index == becomes.state_index:  # its governor's doing
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


def _scheme_may_become(was: SimpleTokenScheme, becomes: SimpleTokenScheme, minted: int) -> bool:
    """`minted` is how much more of the token the outputs hold than the inputs."""
    more_minted, more_melted = becomes.minted - was.minted, becomes.melted - was.melted
    if was.maximum != becomes.maximum or more_minted < 0 or more_melted < 0:
        return False
    if minted >= 0:
        return more_minted == minted and more_melted == 0
    return more_minted == 0 and more_melted <= -minted  # what is not melted is burned


def _foundry_may_begin(
    output: FoundryOutput,
    before: Chains,
    after: Chains,
    fresh: Sequence[FoundryOutput],
    created_tokens: Counter[bytes],
) -> bool:
    """Its alias changes its state and counts it; new foundries of one alias stand in order of their serial numbers."""
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
