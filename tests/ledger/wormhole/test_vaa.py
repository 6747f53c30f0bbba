"""Signed VAAs: bytes ↔ values, ids and hashes equal other implementations'; all other bytes are rejected."""

import json
from itertools import pairwise
from typing import Any

import pytest
from Crypto.Hash import keccak
from hypothesis import example, given
from hypothesis import strategies as st

from ledger.reader import CodecError
from ledger.wormhole import ids
from ledger.wormhole.vaa import (
    Signature,
    Vaa,
    body_hash,
    decode_signatures,
    decode_vaa,
    digest,
    encode_body,
    encode_vaa,
)
from tests.conftest import needs_shared
from tests.ledger.wormhole.cases import WORMHOLE, records, shipped, vaa_of

HEADER, BODY = 6, 51


@pytest.mark.parametrize("record", records())
def test_a_vaa_says_what_its_record_states_and_comes_back(record: dict[str, Any]) -> None:
    data = bytes.fromhex(record["hex"])
    vaa = decode_vaa(data)
    assert encode_vaa(vaa) == data
    assert encode_body(vaa) == data[HEADER + 66 * record["num_signatures"] :]
    assert digest(vaa).hex() == record["digest"]
    assert keccak.new(digest_bits=256, data=body_hash(vaa)).hexdigest() == record["digest"]
    assert {
        "guardian_set": vaa.guardian_set_index,
        "timestamp": vaa.timestamp,
        "nonce": vaa.nonce,
        "emitter_chain": vaa.emitter_chain,
        "emitter_address": vaa.emitter_address.hex(),
        "sequence": vaa.sequence,
        "consistency_level": vaa.consistency_level,
        "num_signatures": len(vaa.signatures),
        "message_id": ids.message_id(vaa.emitter_chain, vaa.emitter_address, vaa.sequence),
        "row_key": ids.row_key(vaa.emitter_chain, vaa.emitter_address, vaa.sequence),
    }.items() <= record.items()
    assert [each.place for each in vaa.signatures] == [each["index"] for each in record["signers"]]


@needs_shared
@pytest.mark.parametrize("record", shipped(), ids=lambda record: record["line"])
def test_a_vector_is_the_line_that_it_names(record: dict[str, Any]) -> None:
    name, number = record["line"].split(":")
    line = (WORMHOLE / name).read_text().splitlines()[int(number) - 1]
    assert {"line": record["line"], **json.loads(line)} == record


def exactly(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


U8, U16, U32, U64 = (st.integers(0, 2**bits - 1) for bits in (8, 16, 32, 64))
SIGNATURES = st.lists(st.builds(Signature, U8, exactly(65)), max_size=20).map(tuple)
VAAS = st.builds(Vaa, U32, SIGNATURES, U32, U32, U16, exactly(32), U64, U8, st.binary(max_size=300))


@given(VAAS)
def test_any_vaa_comes_back(vaa: Vaa) -> None:
    data = encode_vaa(vaa)
    assert decode_vaa(data) == vaa
    assert len(data) == HEADER + 66 * len(vaa.signatures) + BODY + len(vaa.payload)


@given(VAAS, st.data())
def test_a_vaa_cut_before_its_payload_is_rejected_where_the_cut_is(vaa: Vaa, data: st.DataObject) -> None:
    whole = encode_vaa(vaa)
    size = data.draw(st.integers(0, len(whole) - len(vaa.payload) - 1))
    with pytest.raises(CodecError) as rejected:
        decode_vaa(whole[:size])
    assert rejected.value.offset <= size
    assert "found" in rejected.value.expected


FIELDS = [
    (0, "version"),
    (1, "guardian set index"),
    (5, "signatures count"),
    (6, "signature 1 of 2"),
    (72, "signature 2 of 2"),
    (138, "timestamp"),
    (142, "nonce"),
    (146, "emitter chain"),
    (148, "emitter address"),
    (180, "sequence"),
    (188, "consistency level"),
    (189, "payload"),
]


@pytest.mark.parametrize(("start", "stop", "name"), [(at, after, name) for (at, name), (after, _) in pairwise(FIELDS)])
def test_a_cut_is_reported_by_field_and_offset(start: int, stop: int, name: str) -> None:
    whole = encode_vaa(Vaa(4, (Signature(0, bytes(65)), Signature(1, bytes(65))), 1, 2, 3, bytes(32), 4, 5, b""))
    assert len(whole) == FIELDS[-1][0]
    for size in range(start, stop):
        with pytest.raises(CodecError) as rejected:
            decode_vaa(whole[:size])
        assert rejected.value.offset == start
        assert rejected.value.expected.startswith(f"{name} (")
        assert rejected.value.expected.endswith(f"found {size - start} bytes")


@pytest.mark.parametrize("version", [0, 2, 255])
def test_another_version_is_rejected(version: int) -> None:
    with pytest.raises(CodecError, match=f"at byte 0: expected version 1, found {version}"):
        decode_vaa(bytes([version]) + bytes(56))


@given(st.binary(max_size=400))
@example(b"")
@example(b"\1" + bytes(56))
def test_out_of_random_bytes_comes_nothing_but_codec_error(data: bytes) -> None:
    try:
        vaa = decode_vaa(data)
    except CodecError:
        return
    assert encode_vaa(vaa) == data


@given(SIGNATURES, st.binary(max_size=3))
def test_a_list_of_signatures_is_read_whole(signatures: tuple[Signature, ...], more: bytes) -> None:
    data = bytes([len(signatures)]) + b"".join(bytes([each.place]) + each.signature for each in signatures)
    assert decode_signatures(data) == signatures
    if more:
        with pytest.raises(CodecError, match=f"at byte {len(data)}: expected the end"):
            decode_signatures(data + more)


def test_re_signed_messages_have_one_digest() -> None:
    by_digest: dict[str, set[int]] = {}
    for record in shipped():
        if record["network"] == "mainnet" and record["quorum"]:
            by_digest.setdefault(digest(vaa_of(record)).hex(), set()).add(record["guardian_set"])
    assert max(map(len, by_digest.values())) == 2


@given(U64, U64)
@example(10**16 - 1, 10**16)
@example(2**63 - 1, 2**63)
@example(9, 2**64 - 1)
def test_sequence_keys_sort_as_sequences_do(one: int, other: int) -> None:
    assert (ids.sequence_key(one) < ids.sequence_key(other)) == (one < other)


@given(U16, exactly(32), U64)
@example(1, bytes(31) + b"\4", 2**64 - 1)
@example(0, bytes(32), 0)
def test_names_come_back(chain: int, address: bytes, sequence: int) -> None:
    name = (chain, address, sequence)
    assert ids.message_id(*name) == f"{chain}/{address.hex()}/{sequence}"
    assert ids.parse_row_key(ids.row_key(*name)) == name
    assert ids.parse_row_key(f"{chain}:{address.hex()}:{sequence}") == name  # as in rows written before 2021-09-21
    assert len(ids.row_key(*name).rpartition(":")[2]) == max(16, len(str(sequence)))


A = "00" * 31 + "04"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        f"1:{A}",
        f"1:{A}:",
        f"01:{A}:1",
        f"1:{A[:-2]}AB:1",
        f"1:{A[2:]}:1",
        f"1:{A}:1 ",
        f"1:{A}:-1",
        f"1:{A}:١",
        f"65536:{A}:1",
        f"1:{A}:{2**64}",
        f"1:{A}:{1:021d}",
        f"1/{A}/1",
    ],
)
def test_an_invalid_row_key_is_rejected(text: str) -> None:
    with pytest.raises(ids.MessageIdError, match="expected"):
        ids.parse_row_key(text)
