"""Values that several formats share. Each function takes a JSON value of any type and returns a value for the tables,
or raises JsonError.
"""

from typing import Any

from etl.sources.cone import INCLUSION_STATES
from ledger.json_reader import JsonError

MAX_MILESTONE_INDEX = (1 << 31) - 1
"""The largest INT of the tables: four thousand years at one milestone per minute."""

MAX_CONFLICT_REASON = 255


def has_key(value: Any, key: str) -> bool:
    """Whether the value is an object with that key."""
    return isinstance(value, dict) and key in value


def read_milestone_index(value: Any, path: str) -> int:
    """Reads a milestone index."""
    if type(value) is not int or not 0 <= value <= MAX_MILESTONE_INDEX:
        raise JsonError(path, f"a milestone index, found {value!r}")
    return value


def read_message_id(value: Any, path: str) -> bytes:
    """Reads a message id from hex."""
    try:
        identity = bytes.fromhex(value)
    except (ValueError, TypeError):
        identity = b""
    if len(identity) != 32:
        raise JsonError(path, f"64 hex digits, found {value!r}")
    return identity


def read_block_id(value: Any, path: str) -> bytes:
    """Reads a Stardust block id or milestone id from hex with 0x."""
    if not isinstance(value, str) or not value.startswith("0x"):
        raise JsonError(path, f"0x and 64 hex digits, found {value!r}")
    return read_message_id(value[2:], path)


def read_inclusion_state(value: Any, path: str) -> int | None:
    """Reads an inclusion state by name. Returns None for null."""
    if value is None:
        return None
    if not isinstance(value, str) or value not in INCLUSION_STATES:
        raise JsonError(path, f"noTransaction, included or conflicting, found {value!r}")
    return INCLUSION_STATES[value]


def read_conflict_reason(value: Any, path: str) -> int | None:
    """Reads Hornet's conflict code. Returns None for 0 and null."""
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= MAX_CONFLICT_REASON:
        raise JsonError(path, f"a known conflict reason, found {value!r}")
    return value or None
