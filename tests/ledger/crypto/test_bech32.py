"""Addresses as text in both directions, and errors for invalid texts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.crypto.bech32 import AddressError, format_address, format_addresses, parse_address
from tests.ledger.cases import load

ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
PREFIXES = st.text(
    st.characters(min_codepoint=33, max_codepoint=126).filter(lambda c: not c.isupper()), min_size=1, max_size=30
)
ADDRESSES = st.binary(min_size=33, max_size=33)


@pytest.mark.parametrize("vector", load("addresses"), ids=lambda vector: vector["source"])
def test_texts_of_other_implementations(vector: dict[str, Any]) -> None:
    address = bytes.fromhex(vector["address_hex"])
    assert format_address(vector["hrp"], address) == vector["bech32"]
    assert parse_address(vector["bech32"]) == (vector["hrp"], address)
    assert parse_address(vector["bech32"].upper()) == (vector["hrp"], address)


def test_prefixes_of_every_network_share_one_key_hash() -> None:
    # TIP-31's example; the four checksums were computed by other implementations.
    address = bytes.fromhex("00efdc112efe262b304bcf379b26c31bad029f616ee3ec4aa6345a366e4c9e43a3")
    endings = {"iota": "qgyzyx", "atoi": "x8x4r7t", "smr": "xhcazjh", "rms": "xrlkcfw"}
    for hrp, ending in endings.items():
        assert format_address(hrp, address).endswith(ending)


@given(PREFIXES, ADDRESSES)
def test_any_prefix_and_any_bytes_come_back(hrp: str, address: bytes) -> None:
    assert parse_address(format_address(hrp, address)) == (hrp, address)


@given(PREFIXES, st.lists(ADDRESSES, max_size=20))
def test_many_addresses_have_the_texts_of_each(hrp: str, addresses: list[bytes]) -> None:
    assert format_addresses(hrp, b"".join(addresses)) == [format_address(hrp, each) for each in addresses]


def test_many_addresses_are_those_of_other_implementations() -> None:
    vectors = load("addresses")
    for hrp in {each["hrp"] for each in vectors}:
        own = [each for each in vectors if each["hrp"] == hrp]
        data = bytes.fromhex("".join(each["address_hex"] for each in own))
        assert format_addresses(hrp, data) == [each["bech32"] for each in own]
    with pytest.raises(AddressError, match="multiple of 33"):
        format_addresses("iota", bytes(34))
    with pytest.raises(AddressError, match="lower case"):
        format_addresses("IOTA", bytes(33))


@given(ADDRESSES, st.integers(0, 58), st.integers(1, 31))
def test_one_wrong_character_is_always_noticed(address: bytes, position: int, shift: int) -> None:
    text = format_address("iota", address)
    at = 5 + position
    wrong = ALPHABET[(ALPHABET.index(text[at]) + shift) % 32]
    with pytest.raises(AddressError, match=r"checksum|zero"):
        parse_address(text[:at] + wrong + text[at + 1 :])


@given(st.text())
def test_no_text_causes_any_other_error(text: str) -> None:
    try:
        hrp, address = parse_address(text)
    except AddressError:
        return
    assert format_address(hrp, address) == text.lower()


VALID = "iota1qrhacyfwlcnzkvzteumekfkrrwks98mpdm37cj4xx3drvmjvnep6xqgyzyx"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "found no 1"),
        ("iota", "found no 1"),
        (VALID[4:], "human-readable part ''"),
        (VALID[:-1], "expected 59 characters after the 1, found 58"),
        (VALID + "q", "expected 59 characters after the 1, found 60"),
        (VALID[:-1] + "X", "one case"),
        (VALID[:10] + "b" + VALID[11:], "alphabet, found 'b'"),
        (VALID.replace("iota", "atoi"), "checksum"),
        (VALID.replace("iota", "ïota"), "ASCII characters, found 'ï'"),
        (VALID.upper().replace("K", "\u212a"), "ASCII characters, found '\u212a'"),
        ("a" * 31 + VALID[4:], "too long"),
    ],
)
def test_what_is_wrong_is_reported(text: str, wrong: str) -> None:
    with pytest.raises(AddressError, match=wrong):
        parse_address(text)


def test_a_filling_bit_that_is_set_is_rejected() -> None:
    # Made with BIP-173's reference algorithm: the 33 bytes of VALID, but the lowest bit of the last data character is
    # 1.
    hrp, address = parse_address(VALID)
    quintets = [(int.from_bytes(address) << 1 | 1) >> shift & 31 for shift in range(260, -1, -5)]
    values = [ord(c) >> 5 for c in hrp] + [0] + [ord(c) & 31 for c in hrp] + quintets + [0] * 6
    state = 1
    for value in values:
        top = state >> 25
        state = (state & 0x1FFFFFF) << 5 ^ value
        for bit, term in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            state ^= term if top >> bit & 1 else 0
    checksum = [(state ^ 1) >> 5 * (5 - place) & 31 for place in range(6)]
    with pytest.raises(AddressError, match="zero as the bit"):
        parse_address(f"{hrp}1" + "".join(ALPHABET[value] for value in quintets + checksum))


@pytest.mark.parametrize(
    ("hrp", "address"), [("", bytes(33)), ("IOTA", bytes(33)), ("iota", bytes(32)), ("a" * 31, bytes(33))]
)
def test_nothing_that_cannot_be_read_is_written(hrp: str, address: bytes) -> None:
    with pytest.raises(AddressError):
        format_address(hrp, address)
