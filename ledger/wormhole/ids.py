"""The name of a message: emitter chain, emitter address and sequence, in the forms that clients and tables use.

Rules of this file: addresses are 32 bytes, sequences unsigned 64-bit numbers of up to 20 digits. Governance draws them
at random, so more than half of its messages have more digits than a row key is padded to.
"""

import re

_ROW_KEY = re.compile(r"(0|[1-9][0-9]{0,4}):([0-9a-f]{64}):([0-9]{1,20})", re.ASCII)
_MAX_CHAIN = 2**16 - 1
_MAX_SEQUENCE = 2**64 - 1


class MessageIdError(ValueError):
    """A text that names no message; the message of the error says what was expected."""


def message_id(chain: int, emitter_address: bytes, sequence: int) -> str:
    """`chain/address/sequence`, nothing padded, as guardians write it."""
    return f"{chain}/{emitter_address.hex()}/{sequence}"


def row_key(chain: int, emitter_address: bytes, sequence: int) -> str:
    """`chain:address:sequence`, the sequence padded to 16 digits, as the event tables have it.

    It sorts by sequence only below 10^16: `sequence_key` sorts always.
    """
    return f"{chain}:{emitter_address.hex()}:{sequence:016d}"


def sequence_key(sequence: int) -> str:
    """The sequence as 20 digits: texts that sort as the numbers do, for stores without unsigned 64-bit numbers."""
    return f"{sequence:020d}"


def parse_row_key(text: str) -> tuple[int, bytes, int]:
    """Chain, address and sequence of a row key. Until 2021-09-21 none was padded, so any padding will do.

    Raises MessageIdError.
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
