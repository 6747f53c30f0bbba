"""Parts of large responses that are rendered while they are read.

The objects of a response of many megabytes take several times its memory, and rendering them at once takes a tenth of a
second, in which no other request is served.
"""

from collections.abc import Sequence
from typing import Any

import orjson


def rendered(value: Any) -> orjson.Fragment:
    """Returns a value as JSON that is copied into the response."""
    return orjson.Fragment(orjson.dumps(value))


class RenderedList:
    """A list of a response that is rendered as it grows."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def extend(self, values: Sequence[Any]) -> None:
        """Appends some values."""
        if values:
            self._parts.append(orjson.dumps(values)[1:-1])

    def json(self) -> orjson.Fragment:
        """Returns the list as JSON that is copied into the response."""
        return orjson.Fragment(b"[%b]" % b",".join(self._parts))
