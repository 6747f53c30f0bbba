"""Every Stardust value survives encoding to bytes and to JSON; invalid input raises only CodecError or JsonError."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.chrysalis.values import (
    MigratedFunds,
    ReferenceUnlock,
    SignatureUnlock,
    TreasuryInput,
    TreasuryOutput,
    TreasuryTransaction,
    UtxoInput,
)
from ledger.json_reader import JsonError
from ledger.reader import CodecError
from ledger.stardust import codec as stardust
from ledger.stardust.json import block_json, output_json
from ledger.stardust.json_parse import parse_block_json, parse_output_json, parse_payload_json
from ledger.stardust.json_text import block_text, output_text
from ledger.stardust.protocol_parameters import (
    ProtocolParameters,
    decode_parameters,
    encode_parameters,
    parameters_json,
    parse_parameters_json,
)
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
    ParametersOption,
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
from tests.ledger.cases import Case, cases
from tests.ledger.chrysalis.test_properties import JSON, PARENTS, U32, U64, exactly, spoilt

U8 = st.integers(0, 255)
U256 = st.integers(0, 2**256 - 1)
ABOVE_0 = st.integers(1, 2**64 - 1)
TIMES = st.integers(1, 2**32 - 1)
IDS = exactly(32)
ADDRESSES = st.builds(lambda tag, hashed: bytes([tag]) + hashed, st.sampled_from([0, 8, 16]), IDS)
ALIASES = IDS.map(lambda alias_id: b"\x08" + alias_id)


def sets(*strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Some of these, in order."""
    return st.tuples(*[st.none() | each for each in strategies]).map(lambda drawn: tuple(x for x in drawn if x))


def after(first: st.SearchStrategy[Any], rest: st.SearchStrategy[tuple[Any, ...]]) -> st.SearchStrategy[Any]:
    return st.tuples(first, rest).map(lambda drawn: (drawn[0], *drawn[1]))


TOKENS = st.dictionaries(exactly(38), st.integers(1, 2**256 - 1), max_size=3).map(
    lambda amounts: tuple(NativeToken(token_id, amounts[token_id]) for token_id in sorted(amounts))
)
METADATA = st.builds(Metadata, st.binary(min_size=1, max_size=40))
FEATURES = sets(st.builds(Sender, ADDRESSES), METADATA, st.builds(Tag, st.binary(min_size=1, max_size=64)))
CHAIN_FEATURES = sets(st.builds(Issuer, ADDRESSES), METADATA)
CONDITIONS = after(
    st.builds(AddressCondition, ADDRESSES),
    sets(
        st.builds(StorageDepositReturn, ADDRESSES, st.just(1)),
        st.builds(Timelock, TIMES),
        st.builds(Expiration, ADDRESSES, TIMES),
    ),
)
CONTROLLERS = st.tuples(st.builds(StateController, ADDRESSES), st.builds(Governor, ADDRESSES))
BASICS = st.builds(BasicOutput, ABOVE_0, TOKENS, CONDITIONS, FEATURES)
NFTS = st.builds(NftOutput, ABOVE_0, TOKENS, IDS, CONDITIONS, FEATURES, CHAIN_FEATURES)
ALIAS_FEATURES = sets(st.builds(Sender, ADDRESSES), METADATA)
ALIAS_OUTPUTS = st.builds(
    AliasOutput,
    ABOVE_0,
    TOKENS,
    IDS.filter(any),
    U32,
    st.binary(max_size=40),
    U32,
    CONTROLLERS,
    ALIAS_FEATURES,
    CHAIN_FEATURES,
) | st.builds(
    AliasOutput,
    ABOVE_0,
    TOKENS,
    st.just(bytes(32)),
    st.just(0),
    st.binary(max_size=40),
    st.just(0),
    CONTROLLERS,
    ALIAS_FEATURES,
    CHAIN_FEATURES,
)


@st.composite
def schemes(draw: st.DrawFn) -> SimpleTokenScheme:
    maximum = draw(st.integers(1, 2**256 - 1))
    minted = draw(U256)
    melted = draw(st.integers(max(0, minted - maximum), minted))
    return SimpleTokenScheme(minted, melted, maximum)


FOUNDRIES = st.builds(
    FoundryOutput,
    ABOVE_0,
    TOKENS,
    U32,
    schemes(),
    st.tuples(st.builds(ImmutableAlias, ALIASES)),
    sets(METADATA),
    sets(METADATA),
)


def not_its_own(output: Any) -> bool:
    """Whether no unlock condition names the alias or NFT itself, which decoding rejects."""
    own = (b"\x08" + output.alias_id) if isinstance(output, AliasOutput) else (b"\x10" + output.nft_id)
    return all(getattr(each, "address", None) != own for each in output.unlock_conditions)


OUTPUTS = BASICS | ALIAS_OUTPUTS.filter(not_its_own) | FOUNDRIES | NFTS.filter(not_its_own)
TAGGED_DATA = st.builds(TaggedData, st.binary(max_size=64), st.binary(max_size=80))


def chain_of(output: Any) -> Any:
    """A key that differs between any two outputs of a transaction; new chains and basic outputs all differ."""
    chain = getattr(output, "alias_id", None) or getattr(output, "nft_id", None)
    if isinstance(output, FoundryOutput):
        return stardust.foundry_id(output)
    return (type(output), chain) if chain and any(chain) else id(output)


@st.composite
def transactions(draw: st.DrawFn) -> Transaction:
    inputs = draw(st.lists(st.builds(UtxoInput, IDS, st.integers(0, 127)), min_size=1, max_size=4, unique=True))
    outputs = draw(st.lists(OUTPUTS, min_size=1, max_size=3, unique_by=chain_of))
    signatures = draw(st.lists(st.builds(SignatureUnlock, IDS, exactly(64)), min_size=4, max_size=4, unique=True))
    unlocks: list[Unlock] = [signatures.pop()]
    for position in range(1, len(inputs)):
        kind = draw(st.sampled_from([SignatureUnlock, ReferenceUnlock, AliasUnlock, NftUnlock]))
        earlier = [i for i in range(position) if isinstance(unlocks[i], SignatureUnlock)]
        if kind is SignatureUnlock:
            unlocks.append(signatures.pop())
        else:
            named = earlier if kind is ReferenceUnlock else range(position)
            unlocks.append(kind(draw(st.sampled_from(named))))
    payload = draw(st.none() | TAGGED_DATA)
    return Transaction(Essence(draw(U64), tuple(inputs), draw(IDS), tuple(outputs), payload), tuple(unlocks))


TREASURIES = st.builds(TreasuryTransaction, st.builds(TreasuryInput, IDS), st.builds(TreasuryOutput, U64))
FUNDS = st.builds(
    MigratedFunds, exactly(49), IDS.map(lambda key_hash: b"\0" + key_hash), st.integers(1_000_000, 2**64 - 1)
)
RECEIPTS = st.builds(
    ReceiptOption,
    U32,
    st.booleans(),
    st.lists(FUNDS, min_size=1, max_size=3, unique_by=lambda each: each.tail_transaction_hash).map(
        lambda funds: tuple(sorted(funds, key=lambda each: each.tail_transaction_hash))
    ),
    TREASURIES,
)
SIGNATURES = st.dictionaries(IDS, exactly(64), min_size=1, max_size=3).map(
    lambda by_key: tuple(MilestoneSignature(key, by_key[key]) for key in sorted(by_key))
)
OPTIONS = sets(RECEIPTS, st.builds(ParametersOption, U32, U8, st.binary(max_size=60)))
MILESTONES = st.builds(Milestone, U32, U32, U8, IDS, PARENTS, IDS, IDS, st.binary(max_size=40), OPTIONS, SIGNATURES)
BLOCKS = st.builds(Block, st.just(2), PARENTS, st.none() | TAGGED_DATA | transactions(), U64) | MILESTONES.map(
    lambda milestone: Block(2, milestone.parents, milestone, 0)
)


@given(BLOCKS)
def test_a_block_comes_back_from_bytes_and_from_json(block: Block) -> None:
    data = stardust.encode_block(block)
    assert stardust.decode_block(data) == block
    assert parse_block_json(json.loads(json.dumps(block_json(block)))) == block
    assert block_text(data) == json.dumps(block_json(block), separators=(",", ":"))
    assert stardust.parents_of(data) == [*block.parents]
    assert stardust.payload_type(data) == (None if block.payload is None else block.payload.KIND)


@given(OUTPUTS)
def test_an_output_comes_back_alone(output: stardust.Output) -> None:
    assert stardust.decode_output(stardust.encode_output(output)) == output
    assert parse_output_json(json.loads(json.dumps(output_json(output)))) == output
    if not isinstance(output, TreasuryOutput):
        assert output_text(stardust.encode_output(output)) == json.dumps(output_json(output), separators=(",", ":"))


@given(BLOCKS, st.data())
def test_a_block_cut_anywhere_is_rejected(block: Block, data: st.DataObject) -> None:
    whole = stardust.encode_block(block)
    size = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(CodecError) as rejected:
        stardust.decode_block(whole[:size])
    assert rejected.value.offset <= size


@given(BLOCKS, st.lists(st.tuples(st.integers(0, 2**15), U8), min_size=1, max_size=4))
def test_a_damaged_block_is_rejected_or_kept(block: Block, damage: list[tuple[int, int]]) -> None:
    data = bytearray(stardust.encode_block(block))
    for position, value in damage:
        data[position % len(data)] = value
    try:
        damaged = stardust.decode_block(bytes(data))
    except CodecError:
        return
    assert stardust.encode_block(damaged) == data


@given(st.binary(max_size=400))
def test_out_of_random_bytes_comes_nothing_but_codec_error(data: bytes) -> None:
    for decode, encode in (
        (stardust.decode_block, stardust.encode_block),
        (stardust.decode_payload, stardust.encode_payload),
        (stardust.decode_output, stardust.encode_output),
        (decode_parameters, encode_parameters),
    ):
        try:
            value: Any = decode(data)
        except CodecError:
            continue
        assert encode(value) == data


@given(JSON)
def test_random_json_raises_nothing_but_the_documented_errors(value: Any) -> None:
    for parse in (parse_block_json, parse_payload_json, parse_output_json, parse_parameters_json):
        try:
            parse(value)
        except (JsonError, CodecError):
            continue


VECTORS = [case.values[0] for case in cases("stardust") if case.values[0].family == "block"]


@given(st.sampled_from(VECTORS), JSON, st.data())
def test_garbage_inside_a_block_is_rejected_or_kept(case: Case, garbage: Any, data: st.DataObject) -> None:
    value = spoilt(case.vector["json"], garbage, data)
    try:
        block = parse_block_json(value)
    except (JsonError, CodecError):
        return
    assert stardust.decode_block(stardust.encode_block(block)) == block


TEXTS = st.text(max_size=60)
PARAMETERS = st.builds(ProtocolParameters, U8, TEXTS, TEXTS, U32, U8, U32, U8, U8, U64)


@given(PARAMETERS)
def test_protocol_parameters_come_back_from_bytes_and_from_json(parameters: ProtocolParameters) -> None:
    assert decode_parameters(encode_parameters(parameters)) == parameters
    assert parse_parameters_json(json.loads(json.dumps(parameters_json(parameters)))) == parameters
