"""Faults in a generated Stardust ledger: one ledger rule broken in an otherwise valid transaction.

A fault is a function of a valid draft; it returns None if the draft cannot have the fault. Nothing else in the draft is
wrong, so the conflict reason is that of the fault.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from bench.stardust_draft import Draft, owed, owner
from ledger.stardust.conditions import ALIAS
from ledger.stardust.conflicts import Conflict
from ledger.stardust.values import NativeToken, NftOutput, Sender, TransferOutput

Fault: TypeAlias = Callable[[Draft], Draft | None]

STRANGER = b"\0" + b"\x7f" * 32
"""An address without a key."""

NOWHERE = bytes([ALIAS]) + b"\x7f" * 32 + bytes([1, 0, 0, 0, 0])
"""The id of a token that does not exist."""

LEAST = 1_000_000
"""The least amount of an output in a generated ledger."""


def _first(draft: Draft, changed: TransferOutput, *more: TransferOutput) -> Draft:
    """The draft with another first output, which is a basic output, and more outputs at the end."""
    return replace(draft, outputs=[changed, *draft.outputs[1:], *more])


def _sums_differ(draft: Draft) -> Draft:
    return _first(draft, replace(draft.outputs[0], amount=draft.outputs[0].amount - 1))


def _signs_something_else(draft: Draft) -> Draft:
    return replace(draft, digest=bytes(32))


def _commits_to_something_else(draft: Draft) -> Draft:
    return replace(draft, commitment=b"\x7f" * 32)


def _names_a_stranger_as_sender(draft: Draft) -> Draft:
    others = tuple(each for each in draft.outputs[0].features if not isinstance(each, Sender))
    return _first(draft, replace(draft.outputs[0], features=(Sender(STRANGER), *others)))


def _has_tokens_from_nowhere(draft: Draft) -> Draft:
    return _first(draft, replace(draft.outputs[0], native_tokens=(NativeToken(NOWHERE, 7),)))


def _moves_an_nft_that_is_not_there(draft: Draft) -> Draft | None:
    first = draft.outputs[0]
    half = first.amount // 2
    if half < LEAST or len(first.unlock_conditions) > 1:  # the rest might not suffice for the deposit to return
        return None
    nft = NftOutput(half, (), NOWHERE[1:33], first.unlock_conditions, (), ())
    return _first(draft, replace(first, amount=first.amount - half), nft)


def _keeps_what_is_owed(draft: Draft) -> Draft | None:
    due = owed(draft.consumed, draft.unix_time)
    outputs = draft.outputs[: len(draft.outputs) - len(due)]
    if not due or any(owner(each, 0) in due for each in outputs):
        return None
    first = replace(outputs[0], amount=outputs[0].amount + sum(due.values()))
    return replace(draft, outputs=[first, *outputs[1:]])


def _leans_on_another_owner(draft: Draft) -> Draft | None:
    owners = {owner(each, draft.unix_time) for each in draft.consumed.values()}
    return replace(draft, leans=True) if len(owners) > 1 else None


FAULTS: Mapping[Conflict, Fault] = {
    Conflict.SUMS_DIFFER: _sums_differ,
    Conflict.INVALID_SIGNATURE: _signs_something_else,
    Conflict.NATIVE_TOKENS: _has_tokens_from_nowhere,
    Conflict.DEPOSIT_NOT_RETURNED: _keeps_what_is_owed,
    Conflict.INVALID_UNLOCK: _leans_on_another_owner,
    Conflict.INPUTS_COMMITMENT: _commits_to_something_else,
    Conflict.SENDER_NOT_UNLOCKED: _names_a_stranger_as_sender,
    Conflict.CHAIN_TRANSITION: _moves_an_nft_that_is_not_there,
}
"""Reason → the function that causes it. Spent, missing and locked inputs need no changed draft."""
