"""Values that several formats name alike, read with one refusal each.

Rules of this file: a value of any JSON type may come in; out comes what the tables can hold, or JsonError.
"""

from typing import Any

from etl.sources.cone import INCLUSION_STATES
from ledger.json_reader import JsonError

MAX_MILESTONE_INDEX = (1 << 31) - 1
"""The largest that the tables' INT holds; four thousand years at one milestone a minute."""

MAX_CONFLICT_REASON = 255


def has_key(value: Any, key: str) -> bool:
    """Whether the value is an object with that key."""
    return isinstance(value, dict) and key in value


def read_milestone_index(value: Any, path: str) -> int:
    """A milestone index."""
    if type(value) is not int or not 0 <= value <= MAX_MILESTONE_INDEX:
        raise JsonError(path, f"a milestone index, found {value!r}")
    return value


def read_message_id(value: Any, path: str) -> bytes:
    """A message id, from hex."""
    try:
        identity = bytes.fromhex(value)
    except (ValueError, TypeError):
        identity = b""
    if len(identity) != 32:
        raise JsonError(path, f"64 hex digits, found {value!r}")
    return identity


def read_block_id(value: Any, path: str) -> bytes:
    """A block or milestone id of Stardust, from hex with 0x."""
    if not isinstance(value, str) or not value.startswith("0x"):
        raise JsonError(path, f"0x and 64 hex digits, found {value!r}")
    return read_message_id(value[2:], path)


def read_inclusion_state(value: Any, path: str) -> int | None:
    """INCLUSION_STATES by name; null stays None."""
    if value is None:
        return None
    if not isinstance(value, str) or value not in INCLUSION_STATES:
        raise JsonError(path, f"noTransaction, included or conflicting, found {value!r}")
    return INCLUSION_STATES[value]


def read_conflict_reason(value: Any, path: str) -> int | None:
    """Hornet's code; 0 and null are none."""
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= MAX_CONFLICT_REASON:
        raise JsonError(path, f"a known conflict reason, found {value!r}")
    return value or None
