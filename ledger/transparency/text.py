"""Base64 and decimal numbers of the text formats. Each value has one valid text."""

import re
from base64 import b64decode, b64encode

from ledger.crypto.log_tree import HASH_BYTES
from ledger.transparency.errors import LogError

MAX_NUMBER = 2**63 - 1
"""The largest number in a text: that of other implementations, which use signed integers of 64 bits."""

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}")


def encode_base64(data: bytes) -> str:
    """Base64 of RFC 4648 section 4, with padding."""
    return b64encode(data).decode("ascii")


def decode_base64(text: str) -> bytes:
    """Decodes Base64.

    Raises:
        LogError: the text is not what `encode_base64` returns for any bytes.
    """
    try:
        data = b64decode(text, validate=True)
    except ValueError:
        raise LogError(f"expected Base64, found {text[:80]!r}") from None
    if encode_base64(data) != text:
        raise LogError(f"expected Base64 without unused bits, found {text[:80]!r}")
    return data


def decode_hash(text: str) -> bytes:
    """Decodes the Base64 of 32 bytes.

    Raises:
        LogError: the text is not Base64, or has another number of bytes.
    """
    found = decode_base64(text)
    if len(found) != HASH_BYTES:
        raise LogError(f"expected a hash of {HASH_BYTES} bytes, found {len(found)}")
    return found


def parse_number(text: str) -> int:
    """Parses a decimal number from 0 to 2^63 − 1 without leading zeros.

    Raises:
        LogError: the text is not such a number.
    """
    if not _DECIMAL.fullmatch(text) or int(text) > MAX_NUMBER:
        raise LogError(f"expected a decimal number without leading zeros, found {text[:80]!r}")
    return int(text)
