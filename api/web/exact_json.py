"""JSON of others, for pages that show its values as those of an object."""

import json
import math
from decimal import Decimal, InvalidOperation
from typing import Any


def exact_json(text: str) -> Any:
    """Parses JSON. Raises ValueError for anything else, and for what would be shown with other values than it has:
    numbers that a float rounds, and names that occur twice in an object, of which readers take different ones.
    """
    return json.loads(text, parse_float=_exact, parse_constant=_no_number, object_pairs_hook=_object)


def _exact(text: str) -> float:
    number = float(text)
    try:
        if Decimal(number if math.isinf(number) else repr(number)) == Decimal(text):
            return number
    except InvalidOperation:
        # An exponent beyond those of decimal numbers.
        pass
    raise ValueError(f"not shown exactly: {text}")


def _no_number(text: str) -> float:
    raise ValueError(f"not JSON: {text}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice in an object")
    return found
