"""Eras and protocol parameters: which apply at a milestone, and the storage deposit under them."""

from dataclasses import replace
from typing import Any

import pytest

from ledger import ids
from ledger.chrysalis.values import UtxoInput
from ledger.eras import CHRYSALIS, STARDUST, Codec, Coordinator, Era, Eras, KeyRange
from ledger.json_reader import JsonError
from ledger.reader import CodecError
from ledger.stardust import codec as stardust
from ledger.stardust.protocol_parameters import (
    decode_parameters,
    encode_parameters,
    find_violation,
    parameters_json,
    parse_parameters_json,
    storage_deposit,
)
from ledger.stardust.values import (
    AddressCondition,
    BasicOutput,
    Essence,
    Milestone,
    MilestoneSignature,
    ParametersOption,
    StorageDepositReturn,
)
from tests.ledger.cases import load

VECTORS = load("protocol_parameters", "stardust")
SHIMMER = parse_parameters_json(VECTORS[1]["json"])
ID = bytes(32)
ADDRESS = bytes(33)
FIRST_KEY, SECOND_KEY = b"\1" * 32, b"\2" * 32


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["json"]["networkName"])
def test_parameters_agree_in_bytes_and_json(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["bytes_hex"])
    parameters = decode_parameters(data)
    assert encode_parameters(parameters) == data
    assert parameters_json(parameters) == vector["json"]
    assert parse_parameters_json(vector["json"]) == parameters


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["json"]["networkName"])
def test_parameters_cut_anywhere_or_longer_are_rejected(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["bytes_hex"])
    for size in range(len(data)):
        with pytest.raises(CodecError):
            decode_parameters(data[:size])
    with pytest.raises(CodecError, match="the end, found 1 more bytes"):
        decode_parameters(data + b"\0")
    with pytest.raises(CodecError, match="network name in UTF-8"):
        decode_parameters(data[:2] + b"\xff" + data[3:])


@pytest.mark.parametrize(
    ("key", "value"),
    [("version", 256), ("networkName", 5), ("bech32Hrp", "a" * 256), ("tokenSupply", "x"), ("rentStructure", {})],
)
def test_a_wrong_parameter_is_named(key: str, value: Any) -> None:
    with pytest.raises(JsonError) as rejected:
        parse_parameters_json(VECTORS[0]["json"] | {key: value})
    assert rejected.value.path.startswith(key)


def essence(*outputs: BasicOutput, network: str = "shimmer") -> Essence:
    return Essence(ids.network_id(network), (UtxoInput(ID, 0),), ID, outputs, None)


PLAIN = BasicOutput(42_600, (), (AddressCondition(ADDRESS),), ())


def returning(amount: int) -> BasicOutput:
    return replace(
        PLAIN, amount=10**6, unlock_conditions=(AddressCondition(ADDRESS), StorageDepositReturn(ADDRESS, amount))
    )


def test_a_plain_output_costs_what_other_implementations_say() -> None:
    # 42600: from the oracle ledger's storageDeposits of its genesis outputs, which are plain.
    assert storage_deposit(stardust.encode_output(PLAIN), SHIMMER) == 42_600


@pytest.mark.parametrize(
    ("essence", "expected"),
    [
        (essence(PLAIN), None),
        (essence(returning(42_600)), None),
        (essence(replace(PLAIN, amount=42_599)), "outputs[0].amount: expected at least the storage deposit of 42600"),
        (
            essence(PLAIN, returning(42_599)),
            "outputs[1]: expected a storage deposit return of at least 42600, found 42599",
        ),
        (essence(replace(PLAIN, amount=SHIMMER.token_supply)), None),
        (essence(replace(PLAIN, amount=SHIMMER.token_supply), PLAIN), "outputs: expected amounts of at most"),
        (essence(PLAIN, network="testnet-1"), "networkId: expected 14364762045254553490 (shimmer), found 1856588631"),
    ],
)
def test_what_violates_the_parameters_is_named(essence: Essence, expected: str | None) -> None:
    found = find_violation(essence, SHIMMER)
    assert found is None if expected is None else found is not None and found.startswith(expected)


def announcing(index: int, target: int, params: bytes) -> Milestone:
    option = ParametersOption(target, 2, params)
    return Milestone(index, 0, 2, ID, (ID,), ID, ID, b"", (option,), (MilestoneSignature(ID, bytes(64)),))


ERAS = Eras(
    (
        Era(1, CHRYSALIS),
        Era(100, STARDUST, ((100, SHIMMER),)),
    )
)
COORDINATOR = Coordinator(
    (KeyRange(FIRST_KEY, 1, 50), KeyRange(SECOND_KEY, 40, 99), KeyRange(FIRST_KEY, 100, None)), threshold=1
)


@pytest.mark.parametrize(
    ("index", "codec", "keys", "known"),
    [
        (1, CHRYSALIS, {FIRST_KEY}, False),
        (40, CHRYSALIS, {FIRST_KEY, SECOND_KEY}, False),
        (51, CHRYSALIS, {SECOND_KEY}, False),
        (99, CHRYSALIS, {SECOND_KEY}, False),
        (100, STARDUST, {FIRST_KEY}, True),
        (10**6, STARDUST, {FIRST_KEY}, True),
    ],
)
def test_a_milestone_has_its_eras_codec_keys_and_parameters(
    index: int, codec: Codec, keys: set[bytes], known: bool
) -> None:
    era = ERAS.at(index)
    assert era.codec is codec
    assert COORDINATOR.keys_at(index) == keys
    assert era.parameters_at(index) == (SHIMMER if known else None)


def test_announced_parameters_hold_from_their_target_on() -> None:
    later = replace(SHIMMER, v_byte_cost=200)
    learned = ERAS.learn(announcing(120, 130, encode_parameters(later)))
    assert [learned.at(index).parameters_at(index) for index in (100, 129, 130, 131)] == [
        SHIMMER,
        SHIMMER,
        later,
        later,
    ]
    assert ERAS.at(130).parameters_at(130) == SHIMMER
    newest = replace(SHIMMER, v_byte_cost=300)
    corrected = learned.learn(announcing(121, 130, encode_parameters(newest)))
    assert corrected.at(130).parameters_at(130) == newest
    assert corrected.at(1) == ERAS.at(1)


@pytest.mark.parametrize("target", [119, 120, 151])
def test_parameters_hold_from_one_of_the_next_thirty_milestones_on(target: int) -> None:
    ERAS.learn(announcing(120, 150, encode_parameters(SHIMMER)))
    with pytest.raises(ValueError, match=f"targetMilestoneIndex: expected 121 to 150, found {target}"):
        ERAS.learn(announcing(120, target, encode_parameters(SHIMMER)))


def test_eras_begin_one_after_the_other() -> None:
    with pytest.raises(ValueError, match=r"found \[\]"):
        Eras(())
    with pytest.raises(ValueError, match=r"found \[5, 5\]"):
        Eras((Era(5, CHRYSALIS), Era(5, STARDUST)))
    with pytest.raises(ValueError, match="milestone 0: expected one from 1 on"):
        ERAS.at(0)


@pytest.mark.parametrize(
    ("codec", "name", "vertex"), [(CHRYSALIS, "chrysalis", "message"), (STARDUST, "stardust", "block")]
)
def test_each_codec_reads_and_writes_its_era(codec: Codec, name: str, vertex: str) -> None:
    milestones = 0
    for vector in load(vertex, name)["vectors"]:
        data = bytes.fromhex(vector["bytes_hex"])
        value = codec.decode(data)
        assert codec.encode(value) == codec.pack(vector["json"]) == data
        assert codec.render(value) == vector["json"]
        if "milestone_id" in vector:
            assert codec.milestone_id(value.payload).hex() == vector["milestone_id"].removeprefix("0x")
            milestones += 1
        assert ids.message_id(data).hex() == vector.get("id", ids.message_id(data).hex()).removeprefix("0x")
    assert codec.protocol_version == {"chrysalis": 1, "stardust": 2}[name]
    assert milestones
