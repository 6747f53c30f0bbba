"""Reading JSON values field by field, and the one error that bad JSON can cause.

Rules of this file: each function takes the object and the key it reads; paths are put together only when something is
wrong, from the inside out. Numbers are JSON integers, never floats or booleans.
"""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

U32, U64 = (1 << 32) - 1, (1 << 64) - 1


class JsonError(ValueError):
    """JSON not of the form: `path` is the key path to the place (empty: the whole), `expected` what belongs there."""

    def __init__(self, path: str, expected: str) -> None:
        super().__init__(f"{path or 'value'}: expected {expected}")
        self.path = path
        self.expected = expected

    def __reduce__(self) -> tuple[type["JsonError"], tuple[str, str]]:
        # The default rebuilds from the message alone, and the error must survive the way back from a worker process.
        return JsonError, (self.path, self.expected)

    def under(self, key: str) -> "JsonError":
        """The same error, seen from the object that holds `key`."""
        return JsonError(f"{key}.{self.path}" if self.path else key, self.expected)


def member(obj: Any, key: str, absent: Any = None) -> Any:
    """The value of a key; `absent`, if given, where the key is not there."""
    try:
        return obj[key]
    except KeyError:
        if absent is not None:
            return absent
        raise JsonError(key, "a value, found none") from None
    except (TypeError, IndexError):
        raise JsonError("", f"an object with key {key!r}") from None


def nested(obj: Any, key: str, parse: Callable[[Any], T]) -> T:
    """A value that has a parser of its own."""
    value = member(obj, key)
    try:
        return parse(value)
    except JsonError as error:
        raise error.under(key) from None


def optional(obj: Any, key: str, parse: Callable[[Any], T]) -> T | None:
    """The same, or None where the key is absent or null."""
    try:
        if obj[key] is None:
            return None
    except KeyError:
        return None
    except (TypeError, IndexError):
        raise JsonError("", f"an object with key {key!r}") from None
    return nested(obj, key, parse)


def listed(obj: Any, key: str, parse: Callable[[Any], T], least: int, most: int) -> tuple[T, ...]:
    """A list of `least` to `most` values, each with the same parser."""
    values = member(obj, key)
    if type(values) is not list or not least <= len(values) <= most:
        raise JsonError(key, f"a list of {least} to {most}")
    parsed: list[T] = []
    try:
        parsed.extend(map(parse, values))  # which keeps what came before the bad one: its length is the position
    except JsonError as error:
        raise error.under(f"{key}[{len(parsed)}]") from None
    return tuple(parsed)


def uint(obj: Any, key: str, most: int, absent: int | None = None) -> int:
    """A number from 0 to `most`; `absent`, if given, stands for a key that is not there."""
    value = member(obj, key, absent)
    if type(value) is not int or not 0 <= value <= most:
        raise JsonError(key, f"a whole number from 0 to {most}")
    return value


def uint_text(obj: Any, key: str, most: int, absent: int | None = None) -> int:
    """A number from 0 to `most` as decimal digits, REST's form of a u64; or a plain one, as some clients write it."""
    value = member(obj, key, absent)
    if type(value) is str and value.isascii() and value.isdigit() and len(value) <= 20:
        value = int(value)
    if type(value) is not int or not 0 <= value <= most:
        raise JsonError(key, f"decimal digits of a number from 0 to {most}")
    return value


def boolean(obj: Any, key: str) -> bool:
    """True or false."""
    value = member(obj, key)
    if type(value) is not bool:
        raise JsonError(key, "true or false")
    return value


def hex_bytes(value: Any, size: int | None = None) -> bytes:
    """Bytes of a hex text without prefix, `size` of them if given."""
    try:
        data = bytes.fromhex(value)
    except (TypeError, ValueError):
        raise JsonError("", _hex_form(size)) from None
    # fromhex skips blanks, so the length of the text is checked as well.
    if len(value) != 2 * len(data) or (size is not None and len(data) != size):
        raise JsonError("", _hex_form(size))
    return data


def _hex_form(size: int | None) -> str:
    return "hex digits of whole bytes" if size is None else f"{2 * size} hex digits"


def hex_member(obj: Any, key: str, size: int | None = None) -> bytes:
    """`hex_bytes` of a key's value."""
    value = member(obj, key)
    try:
        return hex_bytes(value, size)
    except JsonError as error:
        raise error.under(key) from None
