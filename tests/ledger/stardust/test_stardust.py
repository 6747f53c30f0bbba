"""Stardust, bytes ⇄ values: ids, owners, each TIP rule at its limit. test_kinds.py tests what applies to every kind."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ledger import ids
from ledger.chrysalis.values import MigratedFunds, ReferenceUnlock, SignatureUnlock, TreasuryOutput, UtxoInput
from ledger.crypto.bech32 import format_address, parse_address
from ledger.reader import CodecError
from ledger.stardust import codec as stardust
from ledger.stardust.json import block_json
from ledger.stardust.json_parse import parse_block_json
from ledger.stardust.values import (
    AddressCondition,
    AliasOutput,
    AliasUnlock,
    BasicOutput,
    Block,
    Essence,
    Expiration,
    FoundryOutput,
    Governor,
    ImmutableAlias,
    Issuer,
    Metadata,
    Milestone,
    MilestoneSignature,
    NativeToken,
    NftOutput,
    NftUnlock,
    ReceiptOption,
    Sender,
    SimpleTokenScheme,
    StateController,
    StorageDepositReturn,
    Tag,
    TaggedData,
    Timelock,
    Transaction,
    Unlock,
)
from tests.ledger.cases import Case, cases, load

BLOCKS = [case for case in cases("stardust") if case.values[0].family == "block"]

ED25519, ALIAS, NFT = (bytes([tag]) + bytes([tag + 1]) * 32 for tag in (0, 8, 16))
OTHER = b"\0" + b"\7" * 32
ZERO, ID = bytes(32), b"\5" * 32
OWNED = AddressCondition(ED25519)
BASIC = BasicOutput(100, (), (OWNED,), ())
ALIAS_OUTPUT = AliasOutput(1, (), ID, 3, b"state", 2, (StateController(ED25519), Governor(NFT)), (), ())
FOUNDRY = FoundryOutput(1, (), 7, SimpleTokenScheme(10, 4, 6), (ImmutableAlias(ALIAS),), (), ())
NFT_OUTPUT = NftOutput(1, (), ID, (OWNED,), (), ())


def token(number: int, amount: int = 1) -> NativeToken:
    return NativeToken(number.to_bytes(38), amount)


def signature(number: int) -> SignatureUnlock:
    return SignatureUnlock(bytes([number]) * 32, bytes(64))


def transaction(*outputs: Any, inputs: int = 1, unlocks: tuple[Unlock, ...] | None = None) -> Transaction:
    essence = Essence(1, tuple(UtxoInput(ID, index) for index in range(inputs)), ID, outputs or (BASIC,), None)
    return Transaction(essence, unlocks or (signature(1), *[ReferenceUnlock(0)] * (inputs - 1)))


def milestone(**changes: Any) -> Milestone:
    plain = Milestone(5, 6, 2, ID, (ID,), ID, ID, b"", (), (MilestoneSignature(ID, bytes(64)),))
    return replace(plain, **changes)


def receipt(*funds: MigratedFunds) -> ReceiptOption:
    template: Any = stardust.decode_payload(milestone_with_receipt())
    return replace(template.options[0], funds=funds or template.options[0].funds)


def milestone_with_receipt() -> bytes:
    for case in BLOCKS:
        block = stardust.decode_block(case.values[0].data)
        options = block.payload.options if isinstance(block.payload, Milestone) else ()
        if options and isinstance(options[0], ReceiptOption):
            return case.values[0].data[6 + 32 * len(block.parents) : -8]
    raise AssertionError("no vector with a receipt")


def fund(number: int, deposit: int = 1_000_000, address: bytes = ED25519) -> MigratedFunds:
    return MigratedFunds(bytes([number]) * 49, address, deposit)


@pytest.mark.parametrize("case", BLOCKS)
def test_ids_are_those_of_other_implementations(case: Case) -> None:
    block = stardust.decode_block(case.data)
    if "id" in case.vector:
        assert ids.message_id(case.data).hex() == case.vector["id"].removeprefix("0x")
    payload = stardust.payload_bytes(case.data)
    assert payload == (b"" if block.payload is None else stardust.encode_payload(block.payload))
    if "transaction_id" in case.vector:
        assert ids.transaction_id(payload).hex() == case.vector["transaction_id"].removeprefix("0x")
    if "milestone_id" in case.vector:
        assert isinstance(block.payload, Milestone)
        assert stardust.milestone_id(block.payload).hex() == case.vector["milestone_id"].removeprefix("0x")


@pytest.mark.parametrize("vector", load("addresses", "stardust"), ids=lambda vector: vector["bech32"])
def test_addresses_of_all_types_have_their_text(vector: dict[str, Any]) -> None:
    hrp, address = parse_address(vector["bech32"])
    assert address.hex() == vector["bytes_hex"]
    assert format_address(hrp, address) == vector["bech32"]


GOOD_OUTPUTS = [
    BASIC,
    replace(BASIC, native_tokens=tuple(map(token, range(64)))),
    replace(BASIC, native_tokens=(token(1, 2**256 - 1),)),
    replace(BASIC, unlock_conditions=(OWNED, StorageDepositReturn(NFT, 100), Timelock(1), Expiration(ALIAS, 1))),
    replace(BASIC, features=(Sender(NFT), Metadata(bytes(8192)), Tag(bytes(64)))),
    ALIAS_OUTPUT,
    replace(ALIAS_OUTPUT, alias_id=ZERO, state_index=0, foundry_counter=0),
    replace(ALIAS_OUTPUT, state_metadata=bytes(8192)),
    replace(ALIAS_OUTPUT, features=(Sender(ALIAS), Metadata(b"1")), immutable_features=(Issuer(NFT), Metadata(b"1"))),
    FOUNDRY,
    replace(FOUNDRY, token_scheme=SimpleTokenScheme(2**256 - 1, 2**256 - 1, 1)),
    replace(FOUNDRY, features=(Metadata(b"1"),), immutable_features=(Metadata(b"1"),)),
    NFT_OUTPUT,
    replace(NFT_OUTPUT, nft_id=ZERO, unlock_conditions=(AddressCondition(b"\x10" + ZERO),)),
    replace(NFT_OUTPUT, features=(Sender(ALIAS), Tag(b"1")), immutable_features=(Issuer(ALIAS),)),
]
BAD_OUTPUTS = [
    (replace(BASIC, amount=0), "an amount above 0"),
    (replace(BASIC, native_tokens=tuple(map(token, range(65)))), "at most 64 native tokens, found 65"),
    (replace(BASIC, native_tokens=(token(2), token(1))), "native tokens in ascending order"),
    (replace(BASIC, native_tokens=(token(1), token(1))), "native tokens in ascending order"),
    (replace(BASIC, native_tokens=(token(1, 0),)), "native tokens with amounts above 0"),
    (replace(BASIC, unlock_conditions=()), r"unlock condition 0 \(address\), found none"),
    (replace(BASIC, unlock_conditions=(Timelock(1),)), r"unlock condition 0 \(address\), found none"),
    (replace(BASIC, unlock_conditions=(OWNED, OWNED)), "unlock conditions in ascending order"),
    (replace(BASIC, unlock_conditions=(Timelock(1), OWNED)), "unlock conditions in ascending order"),
    (replace(BASIC, unlock_conditions=(OWNED, Governor(NFT))), "unlock condition type .* found 5"),
    (replace(BASIC, unlock_conditions=(OWNED, Timelock(0))), "timelock's unix time above 0"),
    (replace(BASIC, unlock_conditions=(OWNED, Expiration(NFT, 0))), "expiration's unix time above 0"),
    (replace(BASIC, unlock_conditions=(AddressCondition(b"\1" + ID),)), "address type .* found 1"),
    (replace(BASIC, unlock_conditions=(OWNED, StorageDepositReturn(b"\2" + ID, 1))), "address type .* found 2"),
    (replace(BASIC, unlock_conditions=(OWNED, Expiration(b"\3" + ID, 1))), "address type .* found 3"),
    (replace(BASIC, features=(Issuer(NFT),)), "feature type .* found 1"),
    (replace(BASIC, features=(Tag(b"1"), Sender(NFT))), "features in ascending order"),
    (replace(BASIC, features=(Metadata(b""),)), "metadata of 1 to 8192 bytes, found 0"),
    (replace(BASIC, features=(Metadata(bytes(8193)),)), "metadata of 1 to 8192 bytes, found 8193"),
    (replace(BASIC, features=(Tag(b""),)), "a tag of 1 to 64 bytes, found 0"),
    (replace(BASIC, features=(Tag(bytes(65)),)), "a tag of 1 to 64 bytes, found 65"),
    (replace(ALIAS_OUTPUT, alias_id=ZERO, foundry_counter=0), "a new alias with state index 0"),
    (replace(ALIAS_OUTPUT, alias_id=ZERO, state_index=0), "a new alias with state index 0 and foundry counter 0"),
    (replace(ALIAS_OUTPUT, state_metadata=bytes(8193)), "state metadata of at most 8192 bytes, found 8193"),
    (replace(ALIAS_OUTPUT, unlock_conditions=(StateController(NFT),)), r"unlock condition 5 \(governor\)"),
    (replace(ALIAS_OUTPUT, unlock_conditions=(Governor(NFT),)), r"unlock condition 4 \(state controller\)"),
    (
        replace(ALIAS_OUTPUT, unlock_conditions=(StateController(b"\x08" + ID), Governor(NFT))),
        "another address in the unlock conditions than the output's own",
    ),
    (
        replace(ALIAS_OUTPUT, unlock_conditions=(StateController(NFT), Governor(b"\x08" + ID))),
        "another address in the unlock conditions than the output's own",
    ),
    (replace(ALIAS_OUTPUT, features=(Tag(b"1"),)), "feature type .* found 3"),
    (replace(ALIAS_OUTPUT, immutable_features=(Sender(NFT),)), "immutable feature type .* found 0"),
    (replace(FOUNDRY, token_scheme=SimpleTokenScheme(0, 0, 0)), "a maximum supply above 0"),
    (replace(FOUNDRY, token_scheme=SimpleTokenScheme(1, 2, 9)), "minted tokens, less the melted ones"),
    (replace(FOUNDRY, token_scheme=SimpleTokenScheme(9, 2, 6)), "minted tokens, less the melted ones"),
    (replace(FOUNDRY, unlock_conditions=(ImmutableAlias(NFT),)), r"address type 8 \(alias\), found 16"),
    (replace(FOUNDRY, unlock_conditions=()), r"unlock condition 6 \(immutable alias\)"),
    (replace(FOUNDRY, features=(Sender(NFT),)), "feature type .* found 0"),
    (replace(FOUNDRY, immutable_features=(Issuer(NFT),)), "immutable feature type .* found 1"),
    (replace(NFT_OUTPUT, unlock_conditions=(AddressCondition(b"\x10" + ID),)), "another address in the unlock cond"),
    (replace(NFT_OUTPUT, immutable_features=(Tag(b"1"),)), "immutable feature type .* found 3"),
]


@pytest.mark.parametrize("output", GOOD_OUTPUTS)
def test_the_last_good_output_passes(output: stardust.Output) -> None:
    assert stardust.decode_output(stardust.encode_output(output)) == output


@pytest.mark.parametrize(("output", "expected"), BAD_OUTPUTS)
def test_the_first_bad_output_is_rejected(output: stardust.Output, expected: str) -> None:
    with pytest.raises(CodecError, match=expected):
        stardust.decode_output(stardust.encode_output(output))


def new_alias(number: int) -> AliasOutput:
    return replace(ALIAS_OUTPUT, alias_id=bytes([number]) * 32)


GOOD_PAYLOADS = [
    TaggedData(b"", b""),
    TaggedData(bytes(64), b"data"),
    transaction(),
    transaction(*[BASIC] * 128),
    transaction(inputs=128),
    transaction(replace(BASIC, unlock_conditions=(OWNED, StorageDepositReturn(NFT, 100)))),
    transaction(
        new_alias(1), new_alias(2), *[replace(ALIAS_OUTPUT, alias_id=ZERO, state_index=0, foundry_counter=0)] * 2
    ),
    transaction(*[replace(BASIC, native_tokens=tuple(map(token, range(64))))] * 2),
    transaction(inputs=3, unlocks=(signature(1), AliasUnlock(0), NftUnlock(1))),
    transaction(inputs=3, unlocks=(signature(1), signature(2), ReferenceUnlock(1))),
    milestone(),
    milestone(metadata=bytes(8192)),
    milestone(signatures=tuple(MilestoneSignature(bytes([number]) * 32, bytes(64)) for number in range(1, 256))),
    milestone(options=(receipt(),)),
    milestone(options=(receipt(*[fund(number) for number in range(127)]),)),
]
BAD_PAYLOADS = [
    (TaggedData(bytes(65), b""), "a tag of at most 64 bytes, found 65"),
    (replace(transaction(), essence=replace(transaction().essence, outputs=())), "1 to 128 of output, found 0"),
    (transaction(*[BASIC] * 129), "1 to 128 of output, found 129"),
    (transaction(inputs=129), "1 to 128 of input, found 129"),
    (
        replace(transaction(), essence=replace(transaction().essence, inputs=(UtxoInput(ID, 128),))),
        "an output index below 128, found 128",
    ),
    (
        replace(
            transaction(inputs=2), essence=replace(transaction().essence, inputs=(UtxoInput(ID, 1), UtxoInput(ID, 1)))
        ),
        "inputs that differ",
    ),
    (
        transaction(replace(BASIC, unlock_conditions=(OWNED, StorageDepositReturn(NFT, 101)))),
        "outputs of at least their storage deposit return of 101",
    ),
    (transaction(new_alias(1), new_alias(1)), "one output for each alias, foundry and NFT"),
    (transaction(FOUNDRY, FOUNDRY), "one output for each alias, foundry and NFT"),
    (transaction(NFT_OUTPUT, NFT_OUTPUT), "one output for each alias, foundry and NFT"),
    (
        transaction(
            replace(BASIC, native_tokens=tuple(map(token, range(64)))), replace(BASIC, native_tokens=(token(64),))
        ),
        "at most 64 native tokens in all outputs, found 65",
    ),
    (transaction(inputs=2, unlocks=(signature(1),)), "2 unlocks, one for each input, found 1"),
    (transaction(inputs=2, unlocks=(signature(1), signature(1))), "an unlock with another signature"),
    (transaction(unlocks=(ReferenceUnlock(0),)), "the index of an earlier unlock, below 0, found 0"),
    (transaction(inputs=2, unlocks=(signature(1), ReferenceUnlock(1))), "an earlier unlock, below 1, found 1"),
    (transaction(inputs=2, unlocks=(signature(1), AliasUnlock(1))), "an earlier unlock, below 1, found 1"),
    (transaction(inputs=2, unlocks=(signature(1), NftUnlock(128))), "index of an unlock, below 128, found 128"),
    (
        transaction(inputs=3, unlocks=(signature(1), AliasUnlock(0), ReferenceUnlock(1))),
        "the index of a signature unlock, found 1",
    ),
    (milestone(signatures=()), "1 or more signatures, found 0"),
    (milestone(signatures=(MilestoneSignature(ID, bytes(64)),) * 2), "signatures in ascending order"),
    (milestone(metadata=bytes(8193)), "metadata of at most 8192 bytes, found 8193"),
    (milestone(parents=()), "1 to 8 parents, found 0"),
    (milestone(options=(receipt(), receipt())), "milestone options in ascending order"),
    (milestone(options=(receipt(fund(1, 999_999)),)), "a deposit of at least 1000000, found 999999"),
    (milestone(options=(receipt(fund(2), fund(1)),)), "migrated funds in ascending order"),
    (milestone(options=(receipt(fund(1), fund(1)),)), "migrated funds in ascending order"),
    (milestone(options=(receipt(*[fund(number) for number in range(128)]),)), "1 to 127 migrated funds, found 128"),
    (milestone(options=(receipt(fund(1, address=NFT)),)), "address type 0"),
]


@pytest.mark.parametrize("payload", GOOD_PAYLOADS)
def test_the_last_good_payload_passes(payload: stardust.Payload) -> None:
    assert stardust.decode_payload(stardust.encode_payload(payload)) == payload


@pytest.mark.parametrize(("payload", "expected"), BAD_PAYLOADS)
def test_the_first_bad_payload_is_rejected(payload: stardust.Payload, expected: str) -> None:
    with pytest.raises(CodecError, match=expected):
        stardust.decode_payload(stardust.encode_payload(payload))


PLAIN = Block(2, (ID,), TaggedData(b"tag", b"data"), 7)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda block: replace(block, protocol_version=1), "protocol version 2"),
        (lambda block: replace(block, protocol_version=3), "protocol version 2"),
        (lambda block: replace(block, parents=()), "1 to 8 parents, found 0"),
        (lambda block: replace(block, parents=(ID,) * 2), "each once"),
        (lambda block: replace(block, parents=(ID, ZERO)), "parents in ascending order"),
        (lambda block: replace(block, payload=milestone(), nonce=1), "nonce 0, as the payload is a milestone, found 1"),
        (
            lambda block: replace(block, payload=milestone(parents=(OTHER[1:],)), nonce=0),
            "the parents that the milestone in the payload has",
        ),
    ],
)
def test_a_bad_block_is_rejected(change: Callable[[Block], Block], expected: str) -> None:
    assert stardust.decode_block(stardust.encode_block(PLAIN)) == PLAIN
    with pytest.raises(CodecError, match=expected):
        stardust.decode_block(stardust.encode_block(change(PLAIN)))


@pytest.mark.parametrize("tag", [0, 1, 2, 3, 4, 8])
def test_a_block_carries_no_other_payloads(tag: int) -> None:
    data = bytearray(stardust.encode_block(PLAIN))
    data[38] = tag
    with pytest.raises(CodecError, match=f"payload type 5 .* or 6 .* or 7 .*, found {tag}") as rejected:
        stardust.decode_block(bytes(data))
    assert rejected.value.offset == 38


def test_a_block_over_32_kib_is_neither_read_nor_written() -> None:
    room = 32_768 - len(stardust.encode_block(replace(PLAIN, payload=TaggedData(b"", b""))))
    largest = replace(PLAIN, payload=TaggedData(b"", bytes(room)))
    assert stardust.decode_block(stardust.encode_block(largest)) == largest
    with pytest.raises(CodecError, match="at most 32768 bytes"):
        stardust.encode_block(replace(PLAIN, payload=TaggedData(b"", bytes(room + 1))))
    with pytest.raises(CodecError, match="at most 32768 bytes"):
        stardust.decode_block(bytes(32_769))


@pytest.mark.parametrize(
    ("output", "before", "after"),
    [
        (BASIC, ED25519, ED25519),
        (replace(BASIC, unlock_conditions=(OWNED, Expiration(OTHER, 1000))), ED25519, OTHER),
        (replace(NFT_OUTPUT, unlock_conditions=(OWNED, Timelock(2000), Expiration(OTHER, 1000))), ED25519, OTHER),
        (ALIAS_OUTPUT, ED25519, ED25519),
        (FOUNDRY, ALIAS, ALIAS),
        (TreasuryOutput(1), None, None),
    ],
)
def test_an_output_is_its_owners_until_it_expires(output: Any, before: bytes | None, after: bytes | None) -> None:
    assert stardust.owner_at(output, 999) == before
    assert stardust.owner_at(output, 1000) == after
    assert stardust.owner_at(output, 2**32) == after


def test_chains_keep_the_id_of_the_output_that_began_them() -> None:
    output_id = ids.output_id(ID, 1)
    began = ids.chain_id(output_id)
    assert stardust.chain_id(replace(ALIAS_OUTPUT, alias_id=ZERO), output_id) == began
    assert stardust.chain_id(replace(NFT_OUTPUT, nft_id=ZERO), output_id) == began
    assert stardust.chain_id(ALIAS_OUTPUT, output_id) == stardust.chain_id(NFT_OUTPUT, output_id) == ID
    assert stardust.chain_id(FOUNDRY, output_id) == ALIAS + b"\7\0\0\0" + b"\0"
    assert stardust.chain_id(BASIC, output_id) is None


@pytest.mark.parametrize("stored", load("shimmer", "stardust")["blocks"], ids=lambda stored: stored["id"][:8])
def test_real_blocks_are_filed_under_their_ids(stored: dict[str, str]) -> None:
    data = bytes.fromhex(stored["bytes_hex"])
    assert ids.message_id(data).hex() == stored["id"]
    block = stardust.decode_block(data)
    assert stardust.encode_block(block) == data
    assert parse_block_json(block_json(block)) == block
