"""Stardust conflict reasons: those of the oracle ledger, which iota-sdk confirms, and each rule at its limit."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ledger import ids
from ledger.chrysalis.values import ReferenceUnlock, SigLockedDustAllowance, SigLockedSingle, SignatureUnlock, UtxoInput
from ledger.inputs import InputConflict
from ledger.stardust import codec as stardust
from ledger.stardust.conflicts import Conflict, find_conflict
from ledger.stardust.json_parse import parse_output_json, parse_payload_json
from ledger.stardust.values import (
    AddressCondition,
    AliasOutput,
    AliasUnlock,
    BasicOutput,
    Essence,
    Expiration,
    FoundryOutput,
    Governor,
    ImmutableAlias,
    Issuer,
    Metadata,
    NativeToken,
    NftOutput,
    NftUnlock,
    Sender,
    SimpleTokenScheme,
    StateController,
    StorageDepositReturn,
    Timelock,
    Transaction,
)
from tests.conftest import needs_shared
from tests.ledger.cases import IOTA, lines, load

SEMANTIC = IOTA / "ledger" / "stardust" / "semantic.jsonl"


def judge_entry(payload: Any, outputs: list[Any], time: int) -> Conflict:
    transaction = parse_payload_json(payload)
    assert isinstance(transaction, Transaction)
    inputs: list[Any] = [parse_output_json(each) for each in outputs]
    return find_conflict(transaction, inputs, time)


@needs_shared
def test_reasons_are_those_of_the_oracle_ledger() -> None:
    seen: Counter[int] = Counter()
    for entry in lines(SEMANTIC):
        found = judge_entry(entry["payload"], [each["output"] for each in entry["inputs"]], entry["time"])
        assert found == entry["expectedConflict"], entry["note"]
        seen[found] += 1
    assert seen[0] > 300
    assert set(seen) == {0, 4, 5, 6, 7, 8, 9, 10, 11, 12}


@pytest.mark.parametrize("vector", load("conflicts", "stardust"), ids=lambda vector: vector["source"])
def test_shipped_transactions_have_their_reasons(vector: dict[str, Any]) -> None:
    assert judge_entry(vector["payload"], vector["inputs"], vector["time"]) == vector["expected_conflict"]


KEYS = [Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in range(3)]
PUBLIC = [key.public_key().public_bytes_raw() for key in KEYS]
ONE, TWO, THREE = (ids.ed25519_address(key) for key in PUBLIC)
ZERO, ID, OTHER_ID = bytes(32), b"\5" * 32, b"\6" * 32
NOW = 1000


def basic(owner: bytes = ONE, amount: int = 100, *conditions: Any, **fields: Any) -> BasicOutput:
    output = BasicOutput(amount, (), (AddressCondition(owner), *conditions), ())
    return replace(output, **fields)


ALIAS = AliasOutput(100, (), ID, 3, b"state", 2, (StateController(ONE), Governor(TWO)), (), ())
NEXT = replace(ALIAS, state_index=4)
NFT = NftOutput(100, (), ID, (AddressCondition(ONE),), (), (Metadata(b"m"),))
ALIAS_ADDRESS, NFT_ADDRESS = b"\x08" + ID, b"\x10" + ID
FOUNDRY = FoundryOutput(100, (), 1, SimpleTokenScheme(50, 10, 60), (ImmutableAlias(ALIAS_ADDRESS),), (), ())
TOKEN = stardust.foundry_id(FOUNDRY)


def holding(amount: int, token_id: bytes = TOKEN) -> BasicOutput:
    return basic(native_tokens=(NativeToken(token_id, amount),) if amount else ())


def scheme(minted: int, melted: int, maximum: int = 60) -> FoundryOutput:
    return replace(FOUNDRY, token_scheme=SimpleTokenScheme(minted, melted, maximum))


def judge(inputs: list[tuple[Any, Any]], outputs: list[Any], time: int = NOW, **changes: Any) -> Conflict:
    """The verdict of a transaction; an input's unlock is the number of the signing key, or an unlock."""
    spent = [output for output, _ in inputs]
    commitment = ids.inputs_commitment(stardust.encode_output(each) for each in spent)
    essence = Essence(1, tuple(UtxoInput(ID, index) for index in range(len(inputs))), commitment, tuple(outputs), None)
    essence = replace(essence, **changes)
    signed = ids.signing_hash(stardust.encode_essence(essence))
    unlocks = [
        SignatureUnlock(PUBLIC[unlock], KEYS[unlock].sign(signed)) if isinstance(unlock, int) else unlock
        for _, unlock in inputs
    ]
    return find_conflict(Transaction(essence, tuple(unlocks)), spent, time)


def test_an_unknown_input_gives_its_own_reason() -> None:
    transaction = Transaction(Essence(1, (UtxoInput(ID, 0),), ZERO, (basic(),), None), (ReferenceUnlock(0),))
    for reason in InputConflict:
        assert find_conflict(transaction, [reason], NOW) == reason


RETURN = StorageDepositReturn(THREE, 40)
UNLOCKS = [
    ([(basic(), 0)], [basic(TWO)], Conflict.NONE),
    ([(basic(), 1)], [basic()], Conflict.INVALID_SIGNATURE),
    ([(basic(), SignatureUnlock(PUBLIC[0], bytes(64)))], [basic()], Conflict.INVALID_SIGNATURE),
    ([(basic(), 0), (basic(), ReferenceUnlock(0))], [basic(amount=200)], Conflict.NONE),
    ([(basic(), 0), (basic(TWO), ReferenceUnlock(0))], [basic(amount=200)], Conflict.INVALID_UNLOCK),
    ([(basic(), 0), (basic(), 0)], [basic(amount=200)], Conflict.INVALID_UNLOCK),
    ([(NFT, 0), (basic(NFT_ADDRESS), NftUnlock(0))], [NFT, basic()], Conflict.NONE),
    ([(NFT, 0), (basic(NFT_ADDRESS), AliasUnlock(0))], [NFT, basic()], Conflict.INVALID_UNLOCK),
    ([(NFT, 0), (basic(NFT_ADDRESS), 1)], [NFT, basic()], Conflict.INVALID_UNLOCK),
    ([(NFT, 0), (basic(NFT_ADDRESS), ReferenceUnlock(0))], [NFT, basic()], Conflict.INVALID_UNLOCK),
    ([(NFT, 0), (basic(b"\x10" + OTHER_ID), NftUnlock(0))], [NFT, basic()], Conflict.INVALID_UNLOCK),
    ([(basic(), 0), (basic(NFT_ADDRESS), NftUnlock(0))], [basic(amount=200)], Conflict.INVALID_UNLOCK),
    ([(ALIAS, 0), (basic(ALIAS_ADDRESS), AliasUnlock(0))], [NEXT, basic()], Conflict.NONE),
    ([(ALIAS, 1), (basic(ALIAS_ADDRESS), AliasUnlock(0))], [ALIAS, basic()], Conflict.INVALID_UNLOCK),
    ([(ALIAS, 1)], [NEXT], Conflict.INVALID_SIGNATURE),
    ([(ALIAS, 0)], [ALIAS], Conflict.INVALID_SIGNATURE),
    ([(ALIAS, 0)], [basic()], Conflict.INVALID_SIGNATURE),
    ([(ALIAS, 1)], [basic()], Conflict.NONE),
    ([(ALIAS, 0)], [replace(ALIAS, state_index=5)], Conflict.CHAIN_TRANSITION),
    ([(ALIAS, 0)], [replace(ALIAS, state_index=2)], Conflict.CHAIN_TRANSITION),
]
TIMES = [
    ([(basic(ONE, 100, Timelock(NOW + 1)), 0)], [basic()], Conflict.TIMELOCK),
    ([(basic(ONE, 100, Timelock(NOW)), 0)], [basic()], Conflict.NONE),
    ([(basic(ONE, 100, Expiration(TWO, NOW + 1)), 0)], [basic()], Conflict.NONE),
    ([(basic(ONE, 100, Expiration(TWO, NOW + 1)), 1)], [basic()], Conflict.INVALID_SIGNATURE),
    ([(basic(ONE, 100, Expiration(TWO, NOW)), 1)], [basic()], Conflict.NONE),
    ([(basic(ONE, 100, Expiration(TWO, NOW)), 0)], [basic()], Conflict.INVALID_SIGNATURE),
]
AMOUNTS = [
    ([(basic(), 0)], [basic(amount=99)], Conflict.SUMS_DIFFER),
    ([(basic(), 0)], [basic(amount=101)], Conflict.SUMS_DIFFER),
    ([(basic(ONE, 100, RETURN), 0)], [basic(THREE, 40), basic(amount=60)], Conflict.NONE),
    ([(basic(ONE, 100, RETURN), 0)], [basic(THREE, 15), basic(THREE, 25), basic(amount=60)], Conflict.NONE),
    ([(basic(ONE, 100, RETURN), 0)], [basic(THREE, 39), basic(amount=61)], Conflict.DEPOSIT_NOT_RETURNED),
    ([(basic(ONE, 100, RETURN), 0)], [basic()], Conflict.DEPOSIT_NOT_RETURNED),
    (
        [(basic(ONE, 100, RETURN), 0)],
        [basic(THREE, 40, Timelock(1)), basic(amount=60)],
        Conflict.DEPOSIT_NOT_RETURNED,
    ),
    (
        [(basic(ONE, 100, RETURN), 0)],
        [basic(THREE, 40, features=(Metadata(b"m"),)), basic(amount=60)],
        Conflict.DEPOSIT_NOT_RETURNED,
    ),
    (
        [(basic(ONE, 100, RETURN), 0), (basic(ONE, 100, RETURN), ReferenceUnlock(0))],
        [basic(THREE, 79), basic(amount=121)],
        Conflict.DEPOSIT_NOT_RETURNED,
    ),
    ([(basic(ONE, 100, RETURN, Expiration(THREE, NOW)), 2)], [basic()], Conflict.NONE),
]
SENDERS = [
    ([(basic(), 0)], [basic(features=(Sender(ONE),))], Conflict.NONE),
    ([(basic(), 0)], [basic(features=(Sender(TWO),))], Conflict.SENDER_NOT_UNLOCKED),
    ([(NFT, 0)], [replace(NFT, features=(Sender(NFT_ADDRESS),))], Conflict.NONE),
    ([(ALIAS, 0)], [replace(NEXT, features=(Sender(ALIAS_ADDRESS),))], Conflict.NONE),
    ([(ALIAS, 1)], [replace(ALIAS, features=(Sender(ALIAS_ADDRESS),))], Conflict.SENDER_NOT_UNLOCKED),
]
OTHER_TOKEN = b"\7" * 38
TOKENS = [
    ([(holding(9, OTHER_TOKEN), 0)], [holding(9, OTHER_TOKEN)], Conflict.NONE),
    ([(holding(9, OTHER_TOKEN), 0)], [holding(8, OTHER_TOKEN)], Conflict.NONE),
    ([(holding(9, OTHER_TOKEN), 0)], [holding(10, OTHER_TOKEN)], Conflict.NATIVE_TOKENS),
    ([(holding(0), 0)], [holding(1, OTHER_TOKEN)], Conflict.NATIVE_TOKENS),
    (
        [(holding(2**256 - 1), 0), (holding(1), ReferenceUnlock(0))],
        [basic(amount=200)],
        Conflict.NATIVE_TOKENS,
    ),
    (
        [
            (basic(native_tokens=tuple(NativeToken(bytes([n]) * 38, 1) for n in range(1, 34))), 0),
            (basic(native_tokens=tuple(NativeToken(bytes([n]) * 38, 1) for n in range(34, 66))), ReferenceUnlock(0)),
        ],
        [basic(amount=200)],
        Conflict.NATIVE_TOKENS,
    ),
]


def stating(**fields: Any) -> tuple[list[Any], list[Any]]:
    return [(ALIAS, 0)], [replace(NEXT, **fields)]


def governing(**fields: Any) -> tuple[list[Any], list[Any]]:
    return [(ALIAS, 1)], [replace(ALIAS, **fields)]


def founding(*foundries: FoundryOutput, counter: int, minted: int = 0) -> tuple[list[Any], list[Any]]:
    """An alias that creates foundries; `minted` is the amount of the first one's token in an output."""
    held = holding(minted, stardust.foundry_id(foundries[0]))
    alias = replace(NEXT, foundry_counter=counter)
    return [(ALIAS, 0), (basic(amount=100 * len(foundries) + 100), ReferenceUnlock(0))], [alias, *foundries, held]


def minting(becomes: FoundryOutput | None, before: int, after: int) -> tuple[list[Any], list[Any]]:
    """A foundry with its alias, and tokens before and after."""
    inputs = [(ALIAS, 0), (FOUNDRY, AliasUnlock(0)), (holding(before), ReferenceUnlock(0))]
    return inputs, [NEXT, holding(after), becomes or basic()]


def new_foundry(number: int, minted: int = 0, melted: int = 0) -> FoundryOutput:
    return replace(FOUNDRY, serial_number=number, token_scheme=SimpleTokenScheme(minted, melted, 60))


BAD = Conflict.CHAIN_TRANSITION
ISSUED = replace(NFT, nft_id=ZERO, immutable_features=(Issuer(ONE),))
CHAINS = [
    (*stating(state_metadata=b"other"), Conflict.NONE),
    (*stating(features=(Sender(ONE),)), Conflict.NONE),
    (*stating(features=(Metadata(b"m"),)), BAD),
    (*stating(unlock_conditions=(StateController(TWO), Governor(TWO))), BAD),
    (*stating(unlock_conditions=(StateController(ONE), Governor(ONE))), BAD),
    (*stating(immutable_features=(Metadata(b"m"),)), BAD),
    (*stating(foundry_counter=1), BAD),
    (*stating(foundry_counter=3), BAD),
    (*governing(unlock_conditions=(StateController(THREE), Governor(THREE))), Conflict.NONE),
    (*governing(features=(Metadata(b"m"),)), Conflict.NONE),
    (*governing(state_metadata=b"other"), BAD),
    (*governing(foundry_counter=3), BAD),
    ([(ALIAS, 1), (basic(), 0)], [replace(ALIAS, amount=150), basic(amount=50)], BAD),
    ([(NFT, 0)], [replace(NFT, unlock_conditions=(AddressCondition(TWO),))], Conflict.NONE),
    ([(NFT, 0)], [replace(NFT, immutable_features=())], BAD),
    ([(NFT, 0)], [basic()], Conflict.NONE),
    ([(basic(), 0)], [NFT], BAD),
    ([(basic(), 0)], [ALIAS], BAD),
    ([(basic(), 0)], [ISSUED], Conflict.NONE),
    ([(basic(TWO), 1)], [ISSUED], BAD),
    (
        [(basic(TWO), 1)],
        [replace(ALIAS, alias_id=ZERO, state_index=0, foundry_counter=0, immutable_features=(Issuer(ONE),))],
        BAD,
    ),
    (*minting(FOUNDRY, 30, 30), Conflict.NONE),
    (*minting(FOUNDRY, 30, 29), Conflict.NONE),
    (*minting(FOUNDRY, 30, 31), BAD),
    (*minting(scheme(55, 10), 30, 35), Conflict.NONE),
    (*minting(scheme(55, 10), 30, 34), BAD),
    (*minting(scheme(55, 11), 30, 35), BAD),
    (*minting(scheme(50, 15), 30, 25), Conflict.NONE),
    (*minting(scheme(50, 12), 30, 25), Conflict.NONE),
    (*minting(scheme(50, 16), 30, 25), BAD),
    (*minting(scheme(51, 16), 30, 25), BAD),
    (*minting(scheme(50, 9), 30, 31), BAD),
    (*minting(scheme(49, 10), 30, 29), BAD),
    (*minting(scheme(50, 10, 61), 30, 30), BAD),
    (*minting(replace(FOUNDRY, immutable_features=(Metadata(b"m"),)), 30, 30), BAD),
    (*minting(None, 40, 0), Conflict.NONE),
    (*minting(None, 41, 1), Conflict.NONE),
    (*minting(None, 40, 1), BAD),
    (*founding(new_foundry(3), counter=3), Conflict.NONE),
    (*founding(new_foundry(3, 7), counter=3, minted=7), Conflict.NONE),
    (*founding(new_foundry(3, 7), counter=3, minted=6), BAD),
    (*founding(new_foundry(3, 7, 1), counter=3, minted=7), BAD),
    (*founding(new_foundry(3), new_foundry(4), counter=4), Conflict.NONE),
    (*founding(new_foundry(4), new_foundry(3), counter=4), BAD),
    (*founding(new_foundry(3), counter=4), BAD),
    (*founding(new_foundry(2), counter=3), BAD),
    (*founding(new_foundry(4), counter=3), BAD),
    ([(basic(), 0)], [new_foundry(3)], BAD),
]


@pytest.mark.parametrize(("inputs", "outputs", "expected"), [*UNLOCKS, *TIMES, *AMOUNTS, *SENDERS, *TOKENS, *CHAINS])
def test_each_rule_holds_at_its_edge(inputs: list[Any], outputs: list[Any], expected: Conflict) -> None:
    assert judge(inputs, outputs) == expected


def test_an_output_of_chrysalis_is_spent_as_the_basic_output_it_became() -> None:
    """With commitment and signature over that input; also for a dust allowance, and for no other owner."""
    for legacy in (SigLockedSingle(ONE, 100), SigLockedDustAllowance(ONE, 100)):
        commitment = ids.inputs_commitment([stardust.encode_output(basic())])
        essence = Essence(1, (UtxoInput(ID, 0),), commitment, (basic(TWO),), None)
        signed = ids.signing_hash(stardust.encode_essence(essence))
        for key, verdict in ((0, Conflict.NONE), (1, Conflict.INVALID_SIGNATURE)):
            unlock = SignatureUnlock(PUBLIC[key], KEYS[key].sign(signed))
            assert find_conflict(Transaction(essence, (unlock,)), [legacy], NOW) == verdict


def test_the_inputs_commitment_is_over_the_outputs_spent() -> None:
    assert judge([(basic(), 0)], [basic()], inputs_commitment=ZERO) == Conflict.INPUTS_COMMITMENT


def test_the_first_check_that_fails_gives_the_reason() -> None:
    late = basic(ONE, 100, Timelock(NOW + 1))
    unsent = basic(features=(Sender(THREE),), amount=1)
    assert judge([(late, 1)], [unsent], inputs_commitment=ZERO) == Conflict.TIMELOCK
    assert judge([(basic(), 1)], [unsent], inputs_commitment=ZERO) == Conflict.INPUTS_COMMITMENT
    assert judge([(basic(), 1)], [unsent]) == Conflict.INVALID_SIGNATURE
    assert judge([(basic(), 0)], [unsent]) == Conflict.SENDER_NOT_UNLOCKED
    minted = holding(1)
    assert judge([(basic(amount=99), 0)], [minted, NFT]) == Conflict.SUMS_DIFFER
    assert judge([(basic(amount=200), 0)], [minted, NFT]) == Conflict.NATIVE_TOKENS
    assert judge([(basic(amount=200), 0)], [basic(), NFT]) == Conflict.CHAIN_TRANSITION
