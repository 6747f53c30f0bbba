"""A function of the event database as two operations: GET with a query, POST with a JSON object of texts and integers.

A function is declared once. A posted value is parsed like a query parameter; an integer like its digits. An empty text
means that the parameter is missing. If no key is required, an empty body is valid.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, create_model

from api.http.body import Body
from api.http.operations import Operation
from api.http.params import Param, Params
from api.http.responses import Json, omitted
from api.network import NetworkMount
from ledger.json_reader import JsonError

BODY_MAX_BYTES = 16_384

Given: TypeAlias = Mapping[str, Any]
"""The parsed parameters by name."""

Function: TypeAlias = Callable[[NetworkMount, Given], Awaitable[Json | list[Json]]]


def posted(members: tuple[Param, ...], document: Any) -> Given:
    """Returns the members of a posted object, parsed like query parameters. Raises JsonError, or BadParameter for a
    value.
    """
    if not isinstance(document, Mapping):
        raise JsonError("", "an object")
    texts = {name: str(value) if type(value) is int else value for name, value in document.items()}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise JsonError(str(name), "a text or an integer")
    return {member.name: member.read(texts.get(member.name)) for member in members}


def posted_model(name: str, meaning: str, members: tuple[Param, ...]) -> type[BaseModel]:
    """Returns the schema of a posted object for openapi.yaml."""
    fields: dict[str, Any] = {each.name: (str | int, ... if each.required else omitted()) for each in members}
    made: type[BaseModel] = create_model(name, __doc__=meaning, **fields)
    return made


def function(
    path: str,
    answers: Function,
    members: tuple[Param, ...],
    answer: type[BaseModel],
    errors: tuple[int, ...] = (),
    *,
    is_extension: bool = False,
) -> tuple[Operation, Operation]:
    """Returns the GET and POST operations of a function, with its name and docstring."""
    name, meaning = answers.__name__, answers.__doc__
    members = tuple([replace(each, empty_is_none=True) for each in members])
    what = "The parameters, as texts or integers"
    model = posted_model(f"Posted{name.title().replace('_', '')}", f"{what}.", members)
    empty = b"" if any(each.required for each in members) else b"{}"
    names = frozenset(each.name for each in members)
    body = Body(what, model, lambda document: posted(members, document), BODY_MAX_BYTES, empty, names)

    async def handle(network: NetworkMount, given: Annotated[Given, Params(members)]) -> Json | list[Json]:
        return await answers(network, given)

    async def sent(network: NetworkMount, given: Annotated[Given, body]) -> Json | list[Json]:
        return await answers(network, given)

    handle.__name__, sent.__name__ = name, f"{name}_posted"
    handle.__doc__ = sent.__doc__ = meaning
    return Operation(path, handle, answer, errors, is_extension=is_extension), Operation(
        path, sent, answer, errors, method="POST", alias_of=handle, is_extension=is_extension
    )
