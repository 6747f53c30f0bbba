"""Parts of large responses that are rendered while they are read.

The objects of a response of many megabytes take several times its memory, and rendering them at once takes a tenth of a
second, in which no other request is served.
"""

import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from db.listing.turns import give_way

PLACE = os.urandom(16).hex()
"""What stands for a list in the rest of a response. No client knows it."""


def rendered(value: Any) -> orjson.Fragment:
    """Returns a value as JSON that is copied into the response."""
    return orjson.Fragment(orjson.dumps(value))


class RenderedList:
    """A list of a response that is rendered as it grows."""

    def __init__(self) -> None:
        self.parts: deque[bytes] = deque()

    def extend(self, values: Sequence[Any]) -> None:
        """Appends some values."""
        if values:
            self.parts.append(orjson.dumps(values)[1:-1])


class PartlyRendered(dict[str, Any]):
    """A JSON object of a response. Those of its values that are rendered lists come last."""

    def __init__(self, values: dict[str, Any], **lists: RenderedList) -> None:
        super().__init__(values | dict.fromkeys(lists, PLACE))
        self.lists = [*lists.values()]

    async def body(self, render: Callable[[Any], bytes]) -> bytearray:
        """Returns the body of the response, and gives way to other requests between the parts of its lists, which are
        empty then. `render` renders the object with its envelope.
        """
        first, *others = render(self).split(b'"%b"' % PLACE.encode())
        body = bytearray(first)
        for each, following in zip(self.lists, others, strict=True):
            body += b"["
            while each.parts:
                await give_way()
                body += each.parts.popleft()
                body += b"," if each.parts else b""
            body += b"]" + following
        return body
