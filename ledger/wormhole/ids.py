"""Message ids (emitter chain, emitter address, sequence) in the forms that clients and tables use.

Addresses have 32 bytes. Sequences are unsigned 64-bit integers of up to 20 digits. Governance chooses them at random,
so more than half of its messages exceed the padding of a row key.
"""

import re

_ROW_KEY = re.compile(r"(0|[1-9][0-9]{0,4}):([0-9a-f]{64}):([0-9]{1,20})", re.ASCII)
_MAX_CHAIN = 2**16 - 1
_MAX_SEQUENCE = 2**64 - 1


class MessageIdError(ValueError):
    """An invalid message id. The message of the error says what was expected."""


def message_id(chain: int, emitter_address: bytes, sequence: int) -> str:
    """Formats `chain/address/sequence` without padding, as guardians do."""
    return f"{chain}/{emitter_address.hex()}/{sequence}"


def row_key(chain: int, emitter_address: bytes, sequence: int) -> str:
    """Formats `chain:address:sequence` with the sequence padded to 16 digits, as in the event tables.

    Row keys sort by sequence only below 10^16. `sequence_key` always does.
    """
    return f"{chain}:{emitter_address.hex()}:{sequence:016d}"


def sequence_key(sequence: int) -> str:
    """Formats a sequence as 20 digits, which sort as the numbers do, for stores without unsigned 64-bit integers."""
    return f"{sequence:020d}"


def parse_row_key(text: str) -> tuple[int, bytes, int]:
    """Parses chain, address and sequence of a row key. Any padding is accepted: until 2021-09-21 row keys had none.

    Raises:
        MessageIdError: The text is not a row key.
    """
    return _parsed(_ROW_KEY.fullmatch(text), text, "CHAIN:ADDRESS:SEQUENCE, the address 64 lower-case hex digits")


def _parsed(match: re.Match[str] | None, text: str, expected: str) -> tuple[int, bytes, int]:
    if match is None:
        raise MessageIdError(f"{text!r}: expected {expected}")
    chain, sequence = int(match[1]), int(match[3])
    if chain > _MAX_CHAIN:
        raise MessageIdError(f"{text!r}: expected a chain up to {_MAX_CHAIN}, found {chain}")
    if sequence > _MAX_SEQUENCE:
        raise MessageIdError(f"{text!r}: expected a sequence up to {_MAX_SEQUENCE}, found {sequence}")
    return chain, bytes.fromhex(match[2]), sequence
