"""JSON request bodies, for the few operations that take one.

A body is an annotation like a parameter: `Annotated[type, Body(...)]`. It is read up to its maximum size and until the
deadline of the request. `parse` raises JsonError for an unexpected value.
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
"""Maximum digits of a Content-Length. Python rejects numbers with thousands of digits."""


@dataclass(frozen=True, slots=True)
class Body:
    """The body of an operation. `model` is its schema in openapi.yaml, `most_bytes` its maximum size. `empty` is the
    JSON that an empty body stands for; by default an empty body is invalid JSON. `names`: the fields of a body that
    takes the place of query parameters; None: it is something else.
    """

    meaning: str
    model: type[BaseModel]
    parse: Callable[[Any], object]
    most_bytes: int
    empty: bytes = b""
    names: frozenset[str] | None = None

    async def read(
        self, scope: Scope, receive: Receive, *, is_strict: bool = False, elsewhere: frozenset[str] = frozenset()
    ) -> object:
        """Returns the value of a request's body. Fields that it does not have are treated as query parameters are.

        Raises BadBody, which names the invalid field, or BodyTooLarge, which names the maximum size.
        """
        try:
            async with asyncio.timeout(remaining_s()):
                data = await self._collect(scope, receive)
        except TimeoutError:
            raise DeadlinePassed("the body did not come") from None
        try:
            document = orjson.loads(data or self.empty)
            self._check_names(document, is_strict=is_strict, elsewhere=elsewhere)
            return self.parse(document)
        except orjson.JSONDecodeError as error:
            raise BadBody("", f"JSON ({error})") from None
        except JsonError as error:
            raise BadBody(error.path, error.expected) from None

    def _check_names(self, document: object, *, is_strict: bool, elsewhere: frozenset[str]) -> None:
        if self.names is None or not isinstance(document, dict):
            return
        for name in document:
            if name not in self.names and (is_strict or name in elsewhere):
                raise BadBody(name, f"only {', '.join(sorted(self.names))}")

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
        """Returns the OpenAPI request body object.

        The parts of a union model are written inline. The models that they refer to are components, because some
        operation returns them.
        """
        schema = self.model.model_json_schema(ref_template="#/components/schemas/{model}")
        if "anyOf" in schema:
            parts = schema.pop("$defs")
            schema["anyOf"] = [parts[each["$ref"].rpartition("/")[2]] for each in schema["anyOf"]]
        content = {"schema": schema}
        return {"required": not self.empty, "description": self.meaning, "content": {"application/json": content}}
