"""Reads JSON values field by field. Bad JSON raises only JsonError.

Invariants:
1. Each function takes an object and the key to read. The path to a fault is built only when there is one.
2. Numbers are JSON integers, never floats or booleans.
3. REST API v1 writes hex without prefix, v2 with 0x.
"""

from binascii import unhexlify
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")

U32, U64 = (1 << 32) - 1, (1 << 64) - 1

_NOT_THERE = (KeyError, TypeError, IndexError)  # `member` then finds the cause; valid input does not pay for the check


class JsonError(ValueError):
    """Malformed JSON. `path` is the key path to the fault (empty: the whole value), `expected` what belongs there."""

    def __init__(self, path: str, expected: str) -> None:
        super().__init__(f"{path or 'value'}: expected {expected}")
        self.path = path
        self.expected = expected

    def __reduce__(self) -> tuple[type["JsonError"], tuple[str, str]]:
        # Pickling would rebuild the error from its message alone, and the error must survive the way back from a
        # worker.
        return JsonError, (self.path, self.expected)

    def under(self, key: str) -> "JsonError":
        """The same error, relative to the object that contains `key`."""
        return JsonError(f"{key}.{self.path}" if self.path else key, self.expected)


def member(obj: Any, key: str, absent: Any = None) -> Any:
    """The value of a key, or `absent` (if given) for a missing key."""
    try:
        return obj[key]
    except KeyError:
        if absent is not None:
            return absent
        raise JsonError(key, "a value, found none") from None
    except (TypeError, IndexError):
        raise JsonError("", f"an object with key {key!r}") from None


def nested(obj: Any, key: str, parse: Callable[[Any], T]) -> T:
    """The value of a key, parsed by `parse`."""
    try:
        value = obj[key]
    except _NOT_THERE:
        value = member(obj, key)
    try:
        return parse(value)
    except JsonError as error:
        raise error.under(key) from None


def optional(obj: Any, key: str, parse: Callable[[Any], T]) -> T | None:
    """The value of a key, parsed by `parse`; None if the key is missing or null."""
    try:
        value = obj.get(key)
    except AttributeError:
        raise JsonError("", f"an object with key {key!r}") from None
    if value is None:
        return None
    try:
        return parse(value)
    except JsonError as error:
        raise error.under(key) from None


def listed(obj: Any, key: str, parse: Callable[[Any], T], least: int, most: int) -> tuple[T, ...]:
    """A list of `least` to `most` values, each parsed by `parse`."""
    try:
        values = obj[key]
    except _NOT_THERE:
        values = member(obj, key)
    if type(values) is not list or not least <= len(values) <= most:
        raise JsonError(key, f"a list of {least} to {most}")
    try:
        return tuple([parse(value) for value in values])
    except JsonError as error:
        raise error.under(f"{key}[{_first_invalid(values, parse)}]") from None


def _first_invalid(values: list[Any], parse: Callable[[Any], object]) -> int:
    """The position of the first invalid value. Only computed after a fault, so that valid lists need no counter."""
    for position, value in enumerate(values):
        try:
            parse(value)
        except JsonError:
            return position
    raise AssertionError("a value was rejected")


def choose(obj: Any, parsers: Mapping[int, Callable[[Any], T]]) -> T:
    """Parses the object with the parser of its `type`."""
    try:
        tag = obj["type"]
        parse = parsers[tag]
    except _NOT_THERE:
        member(obj, "type")
        raise JsonError("type", _one_of(parsers)) from None
    if type(tag) is not int:  # True and 1.0 are equal to the key 1
        raise JsonError("type", _one_of(parsers))
    return parse(obj)


def choose_in(obj: Any, key: str, parsers: Mapping[int, Callable[[Any], T]]) -> T:
    """Parses the value of a key with the parser of its `type`."""
    try:
        value = obj[key]
        tag = value["type"]
        parse = parsers[tag]
    except _NOT_THERE:
        return nested(obj, key, lambda value: choose(value, parsers))
    if type(tag) is not int:
        raise JsonError(f"{key}.type", _one_of(parsers))
    try:
        return parse(value)
    except JsonError as error:
        raise error.under(key) from None


def choose_each(obj: Any, key: str, parsers: Mapping[int, Callable[[Any], T]], least: int, most: int) -> list[T]:
    """A list of `least` to `most` objects, each parsed with the parser of its `type`."""
    try:
        values = obj[key]
    except _NOT_THERE:
        values = member(obj, key)
    if type(values) is not list or not least <= len(values) <= most:
        raise JsonError(key, f"a list of {least} to {most}")
    chosen = []
    try:
        for value in values:
            tag = value["type"]
            parse = parsers[tag]
            if type(tag) is not int:
                break
            chosen.append(parse(value))
        else:
            return chosen
    except (JsonError, *_NOT_THERE):
        pass
    position = len(chosen)
    try:
        choose(values[position], parsers)
    except JsonError as error:
        raise error.under(f"{key}[{position}]") from None
    raise AssertionError("an object was rejected")


def _one_of(parsers: Mapping[int, object]) -> str:
    return " or ".join(map(str, parsers))


def uint(obj: Any, key: str, most: int, absent: int | None = None) -> int:
    """An integer from 0 to `most`. `absent`, if given, is the value of a missing key."""
    try:
        value = obj[key]
    except _NOT_THERE:
        value = member(obj, key, absent)
    if type(value) is not int or not 0 <= value <= most:
        raise JsonError(key, f"a whole number from 0 to {most}")
    return value


def uint_text(obj: Any, key: str, most: int, absent: int | None = None) -> int:
    """An integer from 0 to `most` as decimal digits (REST's form of a u64), or as a JSON number, as some clients write
    it.
    """
    try:
        value = obj[key]
    except _NOT_THERE:
        value = member(obj, key, absent)
    if type(value) is str:
        if value.isdigit() and value.isascii() and len(value) <= 20 and (number := int(value)) <= most:
            return number
    elif type(value) is int and 0 <= value <= most:
        return value
    raise JsonError(key, f"decimal digits of a number from 0 to {most}")


def boolean(obj: Any, key: str) -> bool:
    """True or false."""
    value = member(obj, key)
    if type(value) is not bool:
        raise JsonError(key, "true or false")
    return value


def hex_bytes(value: Any, size: int | None = None) -> bytes:
    """Bytes of a hex text without prefix. `size` is the expected number of bytes. Default: any."""
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


def prefixed_hex(obj: Any, key: str, size: int) -> bytes:
    """The value of a key: `size` bytes as hex with 0x."""
    try:
        text = obj[key]
        if len(text) == 2 * size + 2 and text[0] == "0" and text[1] == "x":
            return unhexlify(text[2:])
    except (*_NOT_THERE, ValueError):
        member(obj, key)
    raise JsonError(key, f"0x and {2 * size} hex digits")


def prefixed_ids(obj: Any, key: str, least: int, most: int) -> list[bytes]:
    """A list of `least` to `most` ids of 32 bytes, as hex with 0x."""
    try:
        texts = obj[key]
        if type(texts) is list and least <= len(texts) <= most:
            ids = [unhexlify(text[2:]) for text in texts if len(text) == 66 and text[0] == "0" and text[1] == "x"]
            if len(ids) == len(texts):
                return ids
    except (*_NOT_THERE, ValueError):
        pass
    return list(listed(obj, key, prefixed_id, least, most))


def prefixed_id(value: Any) -> bytes:
    """32 bytes as hex with 0x."""
    try:
        if len(value) == 66 and value[0] == "0" and value[1] == "x":
            return unhexlify(value[2:])
    except (*_NOT_THERE, ValueError):
        pass
    raise JsonError("", "0x and 64 hex digits")


def prefixed_hash(obj: Any, key: str) -> bytes:
    """The value of a key: an id, hash or key of 32 bytes as hex with 0x."""
    try:
        text = obj[key]
        if len(text) == 66 and text[0] == "0" and text[1] == "x":
            return unhexlify(text[2:])
    except (*_NOT_THERE, ValueError):
        member(obj, key)
    raise JsonError(key, "0x and 64 hex digits")


def prefixed_hex_up_to(obj: Any, key: str, most: int) -> bytes:
    """The value of a key: at most `most` bytes as hex with 0x. A missing key, null and an empty text give no bytes."""
    try:
        text = obj.get(key)
        if text:
            if text[0] == "0" and text[1] == "x" and len(text) <= 2 * most + 2:
                return unhexlify(text[2:])
        elif text is None or text == "":
            return b""
    except AttributeError:
        raise JsonError("", f"an object with key {key!r}") from None
    except (*_NOT_THERE, ValueError):
        pass
    raise JsonError(key, f"0x and the hex digits of at most {most} bytes")


def prefixed_uint(obj: Any, key: str, size: int) -> int:
    """The value of a key: an integer of at most `size` bytes as hex with 0x, REST's form of a u256."""
    value = member(obj, key)
    if type(value) is not str or not 3 <= len(value) <= 2 * size + 2 or value[:2] != "0x" or not _is_hex(value[2:]):
        raise JsonError(key, f"0x and 1 to {2 * size} hex digits")
    return int(value, 16)


def _is_hex(text: str) -> bool:
    return set(text) <= _HEX_DIGITS
