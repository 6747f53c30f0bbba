"""Bech32 addresses (BIP-173, TIP-11) with any human-readable part.

Invariants:
1. Encoding writes lower case. Decoding accepts lower case or upper case, but not a mix.
2. Address types are not checked here.
3. The checksum is linear, so precomputed tables process ten bits per step when encoding and eight when decoding.
   Listings format thousands of addresses per request.

`format_address` and `parse_address` handle IOTA's serialized addresses of 33 bytes. Other ledgers have other lengths.
"""

from collections.abc import Sequence
from functools import cache, lru_cache, reduce
from operator import getitem, xor
from typing import TypeAlias

ADDRESS_BYTES = 33

_CHARSET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_PAIRS = [high + low for high in _CHARSET for low in _CHARSET]
_DIGITS = str.maketrans(_CHARSET, "0123456789abcdefghijklmnopqrstuv")
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CHECKSUM_CHARS = 6
_MAX_CHARS = 90
_MOST_CHARS = _MAX_CHARS - 1 - _CHECKSUM_CHARS  # of the human-readable part and the data together

_PARSED_KEPT = 4096
"""Size of the cache of parsed addresses: wallets and explorers request the same addresses repeatedly."""


class AddressError(ValueError):
    """An invalid address. The message says what is wrong."""


def _step(state: int, value: int) -> int:
    """The checksum's state after one more five-bit value, as BIP-173 defines it."""
    top = state >> 25
    state = (state & 0x1FFFFFF) << 5 ^ value
    for bit, term in enumerate(_GENERATOR):
        if top >> bit & 1:
            state ^= term
    return state


# The contribution of the state's highest bits after two steps. Steps are linear, so the rest is added by XOR.
_TWO_STEPS = [_step(_step(high << 20, 0), 0) for high in range(1024)]


@lru_cache(maxsize=64)
def _start(hrp: str) -> int:
    """The checksum state after the human-readable part: high bits, a zero, low bits."""
    if not hrp or not all("!" <= char <= "~" for char in hrp):
        raise AddressError(f"human-readable part {hrp!r}: expected 1 or more printable ASCII characters")
    if hrp != hrp.lower():
        raise AddressError(f"human-readable part {hrp!r}: expected lower case")
    state = 1
    for value in [*(ord(char) >> 5 for char in hrp), 0, *(ord(char) & 31 for char in hrp)]:
        state = _step(state, value)
    return state


@lru_cache(maxsize=64)
def _start_before(hrp: str, chars: int) -> int:
    """The contribution of the human-readable part to the state after this many more characters."""
    state = _start(hrp)
    for _ in range(chars):
        state = _step(state, 0)
    return state


def _left_by_bytes() -> list[list[int]]:
    """The contribution of each data byte (checksum included) to the final state, by position counted from the end."""
    of_bits = [1 << bit for bit in range(5)]
    while len(of_bits) < 5 * _MAX_CHARS + 7:
        of_bits.append(_step(of_bits[-5], 0))
    places = []
    for first in range(0, 5 * _MAX_CHARS, 8):
        left = [0]
        for of_bit in of_bits[first : first + 8]:
            left += [of_bit ^ each for each in left]
        places.append(left)
    return places


_LEFT_BY_BYTES = _left_by_bytes()


def format_address(hrp: str, address: bytes) -> str:
    """Encodes a serialized address (33 bytes, type first). Raises AddressError."""
    if len(address) != ADDRESS_BYTES:
        raise AddressError(f"expected {ADDRESS_BYTES} address bytes, found {len(address)}")
    return encode(hrp, address)


@lru_cache(maxsize=_PARSED_KEPT)
def parse_address(text: str) -> tuple[str, bytes]:
    """Decodes a text into its human-readable part and serialized address (33 bytes, type first). Raises
    AddressError.
    """
    return decode(text, ADDRESS_BYTES)


def encode(hrp: str, data: bytes) -> str:
    """Encodes bytes of any length. Raises AddressError."""
    size = len(data)
    chars = (8 * size + 4) // 5
    state = _start(hrp)
    if len(hrp) + chars > _MOST_CHARS:
        raise _too_long(hrp)
    bits = int.from_bytes(data) << 5 * chars - 8 * size  # zeros pad the last group
    text = [hrp, "1"]
    if chars & 1:
        first = bits >> 5 * (chars - 1)
        state = _step(state, first)
        text.append(_CHARSET[first])
    for shift in range(5 * (chars & ~1) - 10, -1, -10):
        ten = bits >> shift & 1023
        state = (state & 0xFFFFF) << 10 ^ ten ^ _TWO_STEPS[state >> 20]
        text.append(_PAIRS[ten])
    for _ in range(3):
        state = (state & 0xFFFFF) << 10 ^ _TWO_STEPS[state >> 20]
    checksum = state ^ 1
    text += (_PAIRS[checksum >> 20], _PAIRS[checksum >> 10 & 1023], _PAIRS[checksum & 1023])
    return "".join(text)


def format_addresses(hrp: str, addresses: bytes) -> list[str]:
    """Encodes serialized addresses of 33 bytes that follow each other. Raises AddressError.

    All first characters, then all second ones, …: each step is one call for all addresses, which takes a tenth of the
    time of encoding each.
    """
    if len(addresses) % ADDRESS_BYTES:
        raise AddressError(f"expected a multiple of {ADDRESS_BYTES} address bytes, found {len(addresses)}")
    count, blank = len(addresses) // ADDRESS_BYTES, format_address(hrp, bytes(ADDRESS_BYTES)).encode()
    width, data_at = len(blank), len(blank) - _ADDRESS_CHARS - _CHECKSUM_CHARS
    columns = [addresses[at::ADDRESS_BYTES] for at in range(ADDRESS_BYTES)]
    text = bytearray(blank * count)
    for char, parts in enumerate(_columns_of_data()):
        text[data_at + char :: width] = _xor(0, count, columns, parts)
    for char, parts in enumerate(_columns_of_checksum()):
        zero = _CHARSET.index(chr(blank[width - _CHECKSUM_CHARS + char]))
        text[width - _CHECKSUM_CHARS + char :: width] = _xor(zero, count, columns, parts)
    whole = text.decode()
    return [whole[at : at + width] for at in range(0, len(whole), width)]


_ADDRESS_CHARS = (8 * ADDRESS_BYTES + 4) // 5
_TO_CHARSET = _CHARSET.encode() + bytes(256 - len(_CHARSET))

_Parts: TypeAlias = list[tuple[int, bytes]]
"""The bytes of an address, by number, that a character depends on, and what each value of the byte adds to it."""


def _xor(first: int, count: int, columns: Sequence[bytes], parts: _Parts) -> bytes:
    """A character of each address, whose five bits are the XOR of `first` and of what its bytes add."""
    bits = int.from_bytes(bytes([first]) * count)
    for at, added in parts:
        bits ^= int.from_bytes(columns[at].translate(added))
    return bits.to_bytes(count).translate(_TO_CHARSET)


@cache
def _columns_of_data() -> list[_Parts]:
    """The parts of each data character."""
    found = []
    for char in range(_ADDRESS_CHARS):
        byte, bit = divmod(5 * char, 8)
        parts = [(byte, bytes([(value << bit & 255) >> 3 for value in range(256)]))]
        if bit > 3 and byte + 1 < ADDRESS_BYTES:
            parts.append((byte + 1, bytes([value >> 11 - bit for value in range(256)])))
        found.append(parts)
    return found


@cache
def _columns_of_checksum() -> list[_Parts]:
    """The parts of each checksum character."""

    def checksum(data: bytes) -> int:
        text = encode("a", data)
        return int(text[-_CHECKSUM_CHARS:].translate(_DIGITS), 32)

    zero, found = checksum(bytes(ADDRESS_BYTES)), [_Parts() for _ in range(_CHECKSUM_CHARS)]
    for byte in range(ADDRESS_BYTES):
        added = [0]
        for bit in range(8):
            of_bit = checksum(bytes(byte) + bytes([1 << bit]) + bytes(ADDRESS_BYTES - 1 - byte)) ^ zero
            added += [of_bit ^ each for each in added]
        for char, parts in enumerate(found):
            shift = 5 * (_CHECKSUM_CHARS - 1 - char)
            parts.append((byte, bytes([each >> shift & 31 for each in added])))
    return found


def decode(text: str, size: int | None = None) -> tuple[str, bytes]:
    """Decodes a text into its human-readable part and its bytes.

    Args:
        text: The Bech32 text.
        size: The expected number of bytes. Default: any.

    Raises:
        AddressError: The text is not Bech32, or contains a different number of bytes.
    """
    if not text.isascii():
        # Before its letters become lower case: the Kelvin sign becomes a k.
        raise AddressError(f"expected ASCII characters, found {next(each for each in text if not each.isascii())!r}")
    lower = text.lower()
    if text not in (lower, text.upper()):
        raise AddressError("expected one case, found upper and lower")
    hrp, separator, data = lower.rpartition("1")
    if not separator:
        raise AddressError("expected a human-readable part, 1 and the data, found no 1")
    chars = len(data) - _CHECKSUM_CHARS
    if size is None:
        size = max(chars * 5 // 8, 0)
    expected = (8 * size + 4) // 5
    if chars != expected:
        raise AddressError(f"expected {expected + _CHECKSUM_CHARS} characters after the 1, found {len(data)}")
    if len(hrp) + chars > _MOST_CHARS:
        raise _too_long(hrp)
    state = _start_before(hrp, len(data))
    wrong = data.lstrip(_CHARSET)
    if wrong:
        raise AddressError(f"expected characters of the Bech32 alphabet, found {wrong[0]!r}")
    bits = int(data.translate(_DIGITS), 32)
    data_bytes = bits.to_bytes((5 * len(data) + 7) // 8, "little")
    if reduce(xor, map(getitem, _LEFT_BY_BYTES, data_bytes), state) != 1:
        raise AddressError("the checksum does not match: a character is wrong")
    bits >>= 5 * _CHECKSUM_CHARS
    filling = 5 * chars - 8 * size
    if bits & (1 << filling) - 1:
        raise AddressError("expected a zero as the bit that fills up the data")
    return hrp, (bits >> filling).to_bytes(size)


def _too_long(hrp: str) -> AddressError:
    return AddressError(f"human-readable part {hrp!r}: too long for an address of at most {_MAX_CHARS} characters")
