"""The JSON body of a request, for the few operations that take one.

Rules of this file: a body is an annotation, as a parameter is, `Annotated[type, Body(...)]`; it is read no further than
its bound and no longer than the request's deadline; `parse` raises JsonError for what is not as expected.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import BaseModel
from starlette.types import Receive, Scope

from api.http.errors import BadBody, BodyTooLarge
from db.listing.deadline import remaining_s
from db.store import DeadlinePassed
from ledger.json_reader import JsonError

LENGTH_DIGITS_MAX = 20
"""Of a Content-Length; Python reads no number of thousands of digits."""


@dataclass(frozen=True, slots=True)
class Body:
    """What an operation expects: `model` is what openapi.yaml says of it, `most_bytes` how long it may be, `empty` what
    stands for one of no bytes; none: it is no JSON.
    """

    meaning: str
    model: type[BaseModel]
    parse: Callable[[Any], object]
    most_bytes: int
    empty: bytes = b""

    async def read(self, scope: Scope, receive: Receive) -> object:
        """The value of a request's body. BadBody names the field that is wrong, BodyTooLarge the bound."""
        try:
            async with asyncio.timeout(remaining_s()):
                data = await self._collect(scope, receive)
        except TimeoutError:
            raise DeadlinePassed("the body did not come") from None
        try:
            return self.parse(orjson.loads(data or self.empty))
        except orjson.JSONDecodeError as error:
            raise BadBody("", f"JSON ({error})") from None
        except JsonError as error:
            raise BadBody(error.path, error.expected) from None

    async def _collect(self, scope: Scope, receive: Receive) -> bytes:
        stated = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if stated.isdigit() and (len(stated) > LENGTH_DIGITS_MAX or int(stated) > self.most_bytes):
            raise BodyTooLarge(self.most_bytes)
        data = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise BadBody("", "all of the body before the connection ends")
            data += message.get("body", b"")
            if len(data) > self.most_bytes:
                raise BodyTooLarge(self.most_bytes)
            more = message.get("more_body", False)
        return bytes(data)

    def documented(self) -> dict[str, object]:
        """The OpenAPI request body object.

        A model that is one of several has parts: what they refer to are components, as some operation answers with
        them; the parts are not, and stand in their places.
        """
        schema = self.model.model_json_schema(ref_template="#/components/schemas/{model}")
        if "anyOf" in schema:
            parts = schema.pop("$defs")
            schema["anyOf"] = [parts[each["$ref"].rpartition("/")[2]] for each in schema["anyOf"]]
        content = {"schema": schema}
        return {"required": not self.empty, "description": self.meaning, "content": {"application/json": content}}
