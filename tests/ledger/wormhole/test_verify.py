"""Verdicts: equal to those of the records, and for each fault the message that names it."""

from dataclasses import replace
from typing import Any

import pytest
from coincurve import PrivateKey, PublicKey
from hypothesis import given
from hypothesis import strategies as st

from ledger.crypto.hashes import keccak256
from ledger.crypto.secp256k1 import recover_address, recover_addresses
from ledger.reader import CodecError
from ledger.wormhole.guardians import GuardianSet, quorum
from ledger.wormhole.vaa import Signature, Vaa, decode_vaa, digest, encode_vaa
from ledger.wormhole.verify import verify
from tests.ledger.wormhole.cases import (
    PRIVATE,
    address_of,
    addresses,
    guardian_set,
    public_sets,
    published,
    records,
    shipped,
    signed,
    vaa_of,
)


def judged(record: dict[str, Any]) -> dict[int, GuardianSet]:
    if record["network"] == "devnet":
        index = record["guardian_set"]
        return {index: GuardianSet(index, addresses(public_sets("devnet")["all19"]))}
    return published("mainnet" if record["network"] == "unknown" else record["network"])


def enough(record: dict[str, Any]) -> bool:
    """Whether a devnet VAA has a quorum of the set that its record assumes: no message contains the size of the set."""
    count = record["num_signatures"]
    return bool(count >= quorum(1 if count == 1 else 19 if count >= 12 else count))


@pytest.mark.parametrize("record", records())
def test_the_verdict_is_the_one_that_the_record_states(record: dict[str, Any]) -> None:
    verdict = verify(vaa_of(record), judged(record))
    signers = [None if each["address"] is None else each["address"][2:] for each in record["signers"]]
    assert [None if each is None else each.hex() for each in verdict.signers] == signers
    assert verdict.valid_signatures == record["signatures_valid"]
    if record["network"] == "devnet" and verdict.fault == "quorum":
        assert enough(record) == record["quorum"]
    else:
        assert verdict.verified == record["quorum"]
    assert bool(verdict.reason) != verdict.verified


def test_what_nobodys_guardians_signed_verifies_on_no_network() -> None:
    strangers = [record for record in shipped() if record["network"] == "unknown"]
    assert len(strangers) >= 10
    for record in strangers:
        for network in ("mainnet", "testnet", "devnet"):
            verdict = verify(vaa_of(record), published(network))
            assert verdict.fault in ("signer", "unknown_set", "index"), verdict


VAA = Vaa(1, (), 1_700_000_000, 7, 2, bytes(32), 2**63, 1, b"payload")
KEYS = PRIVATE[:7]
SETS = {1: guardian_set(1, KEYS)}  # a quorum is five


def indexed(vaa: Vaa, *indices: int) -> Vaa:
    signatures = [each._replace(place=index) for each, index in zip(vaa.signatures, indices, strict=True)]
    return replace(vaa, signatures=tuple(signatures))


def test_a_quorum_verifies_and_more_does_too() -> None:
    for count in (5, 6, 7):
        verdict = verify(signed(VAA, KEYS[:count]), SETS)
        assert (verdict.fault, verdict.reason, verdict.valid_signatures, verdict.quorum) == (None, "", count, 5)
        assert verdict.signers == SETS[1].addresses[:count]
    assert verify(signed(VAA, {1: KEYS[1], 2: KEYS[2], 4: KEYS[4], 5: KEYS[5], 6: KEYS[6]}), SETS).verified


FIVE = signed(VAA, KEYS[:5])
OTHER = PRIVATE[20]
TWICE = {1: guardian_set(1, [*KEYS[:6], KEYS[0]])}


@pytest.mark.parametrize(
    ("vaa", "sets", "fault", "reason"),
    [
        (FIVE, {}, "unknown_set", "guardian set 1 is not known; known are none"),
        (replace(FIVE, guardian_set_index=9), SETS, "unknown_set", "guardian set 9 is not known; known are 1"),
        (VAA, SETS, "quorum", "expected 5 signatures of 7 guardians, found 0"),
        (signed(VAA, KEYS[:4]), SETS, "quorum", "expected 5 signatures of 7 guardians, found 4"),
        (VAA, {1: GuardianSet(1, ())}, "quorum", "expected 1 signatures of 0 guardians, found 0"),
        (indexed(FIVE, 0, 1, 3, 2, 4), SETS, "order", "signature 4: expected a guardian index above 3, found 2"),
        (indexed(FIVE, 0, 0, 1, 2, 3), SETS, "order", "signature 2: expected a guardian index above 0, found 0"),
        (indexed(FIVE, 0, 1, 2, 3, 7), SETS, "index", "signature 5: expected a guardian index below 7, found 7"),
        (
            indexed(FIVE, 0, 1, 2, 3, 5),
            SETS,
            "signer",
            f"signature 5: expected one by guardian 5, 0x{address_of(KEYS[5]).hex()}, "
            f"found one by 0x{address_of(KEYS[4]).hex()}",
        ),
        (
            signed(VAA, [*KEYS[:6], OTHER]),
            SETS,
            "signer",
            f"signature 7: expected one by guardian 6, 0x{address_of(KEYS[6]).hex()}, "
            f"found one by 0x{address_of(OTHER).hex()}",
        ),
        (
            replace(FIVE, signatures=(Signature(0, bytes(65)), *FIVE.signatures[1:])),
            SETS,
            "signer",
            f"signature 1: expected one by guardian 0, 0x{address_of(KEYS[0]).hex()}, "
            "found one that no key can have made",
        ),
        (
            signed(VAA, [*KEYS[:6], KEYS[0]]),
            TWICE,
            "repeated",
            "expected each guardian once, found one at two places of the set",
        ),
    ],
)
def test_each_fault_is_named(vaa: Vaa, sets: dict[int, GuardianSet], fault: str, reason: str) -> None:
    verdict = verify(vaa, sets)
    assert (verdict.fault, verdict.reason, verdict.verified) == (fault, reason, False)


@pytest.mark.parametrize(("size", "needed"), [(1, 1), (2, 2), (3, 3), (4, 3), (6, 5), (7, 5), (18, 13), (19, 13)])
def test_a_quorum_is_more_than_two_thirds(size: int, needed: int) -> None:
    assert quorum(size) == needed


def test_an_expired_set_is_recorded_and_not_rejected() -> None:
    sets = {**SETS, 2: guardian_set(2, KEYS, since=1_000)}
    for timestamp, expired in [(0, False), (1_000 + 86_400, False), (1_000 + 86_401, True)]:
        verdict = verify(signed(replace(VAA, timestamp=timestamp), KEYS), sets)
        assert (verdict.verified, verdict.expired) == (True, expired)
    assert not verify(signed(replace(VAA, timestamp=2**32 - 1, guardian_set_index=2), KEYS), sets).expired


def test_a_set_named_by_a_message_without_a_time_lets_none_expire() -> None:
    sets = {**SETS, 2: guardian_set(2, KEYS)}
    assert not verify(signed(replace(VAA, timestamp=2**32 - 1), KEYS), sets).expired


SAMPLES = [record for record in shipped() if record["network"] == "mainnet" and record["quorum"]]
MAINNET = published("mainnet")


def verifies(data: bytes) -> bool:
    try:
        vaa = decode_vaa(data)
    except CodecError:
        return False
    assert encode_vaa(vaa) == data
    return verify(vaa, MAINNET).verified


def signs_too(vaa: Vaa, guardians: GuardianSet | None) -> bool:
    """Whether all signers have the same positions in another set as well: the header is not signed."""
    signers = verify(vaa, MAINNET).signers
    return (
        guardians is not None
        and len(signers) >= guardians.quorum
        and all(
            guardians.addresses[each.place : each.place + 1] == (signer,)
            for each, signer in zip(vaa.signatures, signers, strict=True)
        )
    )


@given(st.sampled_from(SAMPLES), st.data())
def test_one_bit_flipped_never_verifies(record: dict[str, Any], data: st.DataObject) -> None:
    whole = bytearray.fromhex(record["hex"])
    assert verifies(bytes(whole))
    bit = data.draw(st.integers(0, 8 * len(whole) - 1))
    whole[bit // 8] ^= 1 << bit % 8
    if 1 <= bit // 8 <= 4:  # the guardian set's index: the next set has mostly the same guardians
        named = MAINNET.get(int.from_bytes(whole[1:5]))
        assert verifies(bytes(whole)) == signs_too(vaa_of(record), named)
    else:
        assert not verifies(bytes(whole))


def test_a_payload_cut_anywhere_is_another_message_that_nobody_signed() -> None:
    whole = bytes.fromhex(next(record["hex"] for record in SAMPLES if record["num_signatures"] == 1))
    assert len(decode_vaa(whole).payload) > 400
    for size in range(len(whole)):
        assert not verifies(whole[:size])
    assert not verifies(whole + b"\0")
    assert verifies(whole)


@given(st.binary(min_size=65, max_size=65), st.binary(min_size=32, max_size=32))
def test_any_bytes_are_some_signature_or_none(signature: bytes, message: bytes) -> None:
    found = recover_address(message, signature)
    assert found is None or (len(found) == 20 and signature[64] < 2)


def test_only_0_and_1_determine_the_key() -> None:
    vaa = decode_vaa(bytes.fromhex(SAMPLES[0]["hex"]))
    signature = vaa.signatures[0].signature
    assert recover_address(digest(vaa), signature) == MAINNET[vaa.guardian_set_index].addresses[0]
    for v in (2, 3, 4, 27, 28, 255):
        assert recover_address(digest(vaa), signature[:64] + bytes([v])) is None


@given(st.binary(min_size=0, max_size=70), st.sampled_from((0, 31, 32, 33)))
def test_signatures_and_digests_of_other_lengths_are_invalid(signature: bytes, size: int) -> None:
    if (len(signature), size) != (65, 32):
        assert recover_address(bytes(size), signature) is None


@given(st.lists(st.tuples(st.binary(min_size=32, max_size=32), st.integers(0, 255)), max_size=5), st.binary(min_size=1))
def test_signers_are_those_of_coincurve(made: list[tuple[bytes, int]], text: bytes) -> None:
    message = keccak256(text)
    signatures = []
    for secret, v in made:
        try:
            signed = PrivateKey(secret).sign_recoverable(message, hasher=None)
        except ValueError:  # not the number of a key
            signed = bytes(65)
        signatures.append(signed[:64] + bytes([v % 3 if v < 250 else v]))
    assert recover_addresses(message, signatures) == tuple(coincurve_signer(message, each) for each in signatures)


def coincurve_signer(message: bytes, signature: bytes) -> bytes | None:
    try:
        key = PublicKey.from_signature_and_message(signature, message, hasher=None)
    except ValueError:
        return None
    return keccak256(key.format(compressed=False)[1:])[12:] if signature[64] < 2 else None
