"""Decodes the values of the event tables' cells: from bytes to column values.

There is one decoder per form in db/schema/event_columns.py. A value of another form is rejected with what was expected.
Two peculiarities of the original programs are reversed here: 256-bit numbers with 64-bit limbs in reverse order, and
floats as eight bytes.
"""

import re
import struct
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import TypeAlias

from db.schema.event_columns import Form

Column: TypeAlias = str | int | bytes

SUM_DIGITS, SUM_DECIMALS = 30, 8
"""Digits of a number in sums: before the decimal point, and after it."""

_DIGITS = re.compile(r"[0-9]{1,78}", re.ASCII)
_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{64})", re.ASCII)
_GO_TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d{1,9}))? \+0000 UTC(?: m=\S+)?", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_LIMB = 8
_U256 = 32


class ValueFormError(ValueError):
    """A value does not have the form of its column. The message contains what was expected."""


def read_value(form: Form, value: bytes) -> Column:
    """Decodes the value of a cell. Raises ValueFormError."""
    return _READ[form](value)


def _text(value: bytes) -> str:
    # Some emitters pad names with NUL, which stores do not accept in text.
    return value.decode("utf-8", "replace").replace("\0", "")


def _number(value: bytes) -> int:
    text = _text(value)
    if not _DIGITS.fullmatch(text) or int(text) >= 2**63:
        raise ValueFormError(f"expected a number in decimal digits, found {text[:40]!r}")
    return int(text)


def _amount(value: bytes) -> str:
    text = value.decode("utf-8", "replace")
    # Above 64 bits the writer reversed the order of the limbs.
    return str(int(text)) if _DIGITS.fullmatch(text) else _token_id(value)


def _token_id(value: bytes) -> str:
    if len(value) > _U256:
        raise ValueFormError(f"expected at most {_U256} bytes, found {len(value)}")
    padded = value.rjust(_U256, b"\0")
    limbs = [padded[start : start + _LIMB] for start in range(0, _U256, _LIMB)]
    return str(int.from_bytes(b"".join(reversed(limbs))))


def _hex(value: bytes) -> bytes:
    text = _text(value)
    match = _HEX.fullmatch(text)
    if match is None:
        raise ValueFormError(f"expected 64 hex digits, found {text[:80]!r}")
    return bytes.fromhex(match[1])


def _float(value: bytes) -> str:
    if len(value) != _LIMB:
        raise ValueFormError(f"expected a float of {_LIMB} bytes, found {len(value)}")
    (number,) = struct.unpack(">d", value)
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueFormError(f"expected a finite float, found {number}")
    return plain(Decimal(repr(number)))


def _time(value: bytes) -> int:
    text = _text(value)
    match = _GO_TIME.fullmatch(text)
    try:
        if match is not None:
            moment = datetime.fromisoformat(f"{match[1]}+00:00")
            return int(moment.timestamp()) * 1000 + int(f"{match[2] or '':0<3}"[:3])
    except ValueError:
        pass
    raise ValueFormError(f"expected a time as '2021-09-21 01:52:26.038 +0000 UTC', found {text[:60]!r}")


_READ: Mapping[Form, Callable[[bytes], Column]] = {
    "text": _text,
    "number": _number,
    "amount": _amount,
    "token_id": _token_id,
    "hex": _hex,
    "bytes": bytes,
    "float": _float,
    "time": _time,
}


def plain(number: Decimal) -> str:
    """A number in digits, without an exponent or trailing zeros."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def summand(text: str | None) -> str | None:
    """The number in a text as the sums of a day take it: in digits, with 8 decimals at most, rounded half up. None for
    other texts, and for numbers of 10^30 or more, which no sum can contain.
    """
    # Engines differ in the texts that they cast to decimals: in exponents, in digits of other alphabets.
    if text is None or not _DECIMAL.fullmatch(text):
        return None
    number = Decimal(text)
    if number and number.adjusted() >= SUM_DIGITS:
        return None
    with localcontext(prec=SUM_DIGITS + SUM_DECIMALS + 1):
        number = number.quantize(Decimal(1).scaleb(-SUM_DECIMALS), ROUND_HALF_UP)
    return plain(number) if number.adjusted() < SUM_DIGITS else None
