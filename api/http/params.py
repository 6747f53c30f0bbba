"""How an operation declares a parameter: its name, its pydantic type and what openapi.yaml says about it.

A handler annotates an argument with `Annotated[type, Param(...)]`. The pydantic type reads the text of a request and
gives the JSON schema; its description completes "expected …" in errors. Types are compiled once, on import. A default
is text, parsed and documented as if the client had sent it.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, partial
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    PlainValidator,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, core_schema

from api.http.errors import BadParameter
from api.http.page_sizes import MAXIMUM, PageSizes


class Explained(ValueError):
    """A text is not a value of a type. The message says what is wrong, and BadParameter repeats it."""


@cache
def adapter(type_: Any) -> TypeAdapter[Any]:
    """The compiled type."""
    return TypeAdapter(type_)


def reader(type_: Any) -> Callable[[str], Any]:
    """The function that reads a text as this type. It raises ValueError."""
    read: Callable[[str], Any] = adapter(type_).validator.validate_python
    return read


@cache
def described(type_: Any) -> tuple[str, Mapping[str, Any]]:
    """What a type expects, in words and as a JSON schema."""
    schema = adapter(type_).json_schema(mode="serialization")
    expected = schema.pop("description", None)
    if expected is None and "enum" in schema:
        words = [str(word) for word in schema["enum"]]
        expected = " or ".join(words) if len(words) <= 2 else f"one of {', '.join(words)}"
    elif expected is None and schema.get("type") == "integer":
        expected = f"an integer from {schema['minimum']} to {schema['maximum']}"
    return expected or "text", {"type": schema.pop("type"), **schema} if "type" in schema else schema


def _reason(error: ValueError) -> str:
    """What an Explained error says, or "" for any other error."""
    cause = error.errors()[0].get("ctx", {}).get("error") if isinstance(error, ValidationError) else None
    return str(cause) if isinstance(cause, Explained) else ""


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of an operation. `name` is its name in the request, `meaning` its description in openapi.yaml."""

    name: str
    type: Any
    meaning: str
    example: object
    where: Literal["path", "query", "header"] = "query"
    default: str | None = None
    required: bool = False
    elsewhere: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Fields that have other values in another dialect: dialect → field → value."""
    empty_is_none: bool | None = None
    """Whether an empty text counts as missing. None: as in the family."""
    is_json_only: bool = False
    """Whether exports reject it. They ignore other parameters that they do not take."""
    also: "Param | None" = None
    """The same argument of the handler under another name, read in its own way. A request has one of the two."""
    _parse: Callable[[str], Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_parse", reader(self.type))

    @property
    def expected(self) -> str:
        """What the parameter accepts, in words."""
        return described(self.type)[0]

    def at(self, dialect: str, *, empty_is_none: bool = False) -> "Param":
        """The parameter in that dialect. `empty_is_none`: the rule of the family, which the parameter can override."""
        found = replace(self, **self.elsewhere[dialect]) if dialect in self.elsewhere else self
        if found.also is not None:
            found = replace(found, also=found.also.at(dialect, empty_is_none=empty_is_none))
        is_open = found.where == "query" and found.empty_is_none is None
        return replace(found, empty_is_none=empty_is_none) if is_open else found

    def is_missing(self, text: str | None) -> bool:
        """Whether a text, or None, counts as missing."""
        return text is None or bool(self.empty_is_none and not text)

    def read(self, text: str | None) -> object:
        """The value of a text. None returns the value of the default, or None. Raises BadParameter."""
        if text is None or self.is_missing(text):
            if self.required:
                raise BadParameter(self.name, self.expected, None)
            if self.default is None:
                return None
            text = self.default
        try:
            return self._parse(text)
        except ValueError as error:
            raise BadParameter(self.name, self.expected, text, _reason(error)) from error

    def documented(self) -> dict[str, object]:
        """The OpenAPI parameter object."""
        schema = dict(described(self.type)[1])
        if self.default is not None:
            schema["default"] = self.default if schema.get("type") == "string" else json.loads(self.default)
        head = {"name": self.name, "in": self.where, "required": self.required, "description": self.meaning}
        empty = {"allowEmptyValue": True} if self.empty_is_none and not self.required else {}
        return {**head, **empty, "schema": schema, "example": self.example}


@dataclass(frozen=True, slots=True)
class Params:
    """Query parameters that a handler takes as one argument: name → value, None for a missing one."""

    members: tuple[Param, ...]


def path(name: str, type_: Any, meaning: str, example: object) -> Param:
    """A parameter in the path."""
    return Param(name, type_, meaning, example, "path", required=True)


def flag(name: str, meaning: str, default: str | None = None) -> Param:
    """A query parameter that is true or false."""
    return Param(name, FLAG, meaning, example=True, default=default)


@dataclass(frozen=True, slots=True)
class Spelled:
    """Restricts a type to texts that match another type: pydantic alone reads "1_0" as an integer, "yes" as true."""

    as_type: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The text is checked first, then read."""
        return core_schema.chain_schema([handler.generate_schema(self.as_type), handler(source)])


DIGITS = Spelled(Annotated[str, Field(pattern="^[0-9]{1,20}$")])
DAY = Annotated[date, Spelled(Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")])]


def flag_of(*spellings: str) -> Any:
    """Flags with these spellings, which are among those that pydantic knows, in any letter case."""
    spelled = Spelled(Annotated[str, Field(pattern=f"^(?i:{'|'.join(spellings)})$")])
    return Annotated[bool, spelled, Field(description="true or false")]


PARSE_BOOL = ("1", "t", "true", "0", "f", "false")
"""The spellings of Go's strconv.ParseBool. Hornet and inx-api-core-v1 lower the text first."""

FLAG = flag_of(*PARSE_BOOL)


def text(expected: str, **limits: Any) -> Any:
    """Texts within the limits of pydantic's Field."""
    return Annotated[str, Field(description=expected, **limits)]


def unchecked_text(expected: str, **schema: Any) -> Any:
    """Any text. The handler checks it, as another parameter decides what is valid."""
    return Annotated[Any, WithJsonSchema({"type": "string", "description": expected, **schema})]


def converted(type_: Any, convert: Callable[[Any], Any], json_schema: dict[str, Any] | None = None) -> Any:
    """A type whose values are converted after it has read them. `json_schema` replaces the type's own."""
    documented = [] if json_schema is None else [WithJsonSchema(json_schema)]
    return Annotated[type_, AfterValidator(convert), *documented]


def integer(lowest: int, highest: int) -> Any:
    """Decimal integers in these bounds."""
    return Annotated[int, Field(ge=lowest, le=highest), DIGITS]


def hexadecimal(shortest: int, longest: int | None = None, *, may_have_0x: bool = False) -> Any:
    """Hex of `shortest` to `longest` bytes (default: the same), read as lowercase without 0x. No bytes are 0x."""
    longest = shortest if longest is None else longest
    pattern, expected = f"[0-9a-fA-F]{{{2 * longest}}}", f"{2 * longest} hex characters"
    if shortest != longest:
        pattern, expected = f"([0-9a-fA-F]{{2}}){{{shortest},{longest}}}", f"hex of {shortest} to {longest} bytes"
    if may_have_0x:
        pattern, expected = f"(0[xX])?{pattern}", f"{expected}, with or without 0x"
    most = 2 * longest + 2 * may_have_0x
    checked = StringConstraints(pattern=f"^{pattern}$", min_length=max(1, 2 * shortest), max_length=most, to_lower=True)
    digits = Annotated[str, checked, Field(description=expected)]
    return converted(digits, lambda given: given.removeprefix("0x")) if may_have_0x else digits


def words(values: Mapping[str, object] | Iterable[str]) -> Any:
    """These words, read as the values that they map to, if any."""
    spelled: Any = Literal[tuple(values)]
    return converted(spelled, values.__getitem__) if isinstance(values, Mapping) else spelled


def comma_separated(type_: Any, expected: str, pattern: str, most: int | None = None, **schema: Any) -> Any:
    """Items of a type, separated by commas, at most `most`. `pattern` matches one; `schema`: more JSON schema."""
    repeated = "*" if most is None else f"{{0,{most - 1}}}"
    schema |= {"type": "string", "pattern": f"^{pattern}(,{pattern}){repeated}$", "description": expected}
    items: Any = tuple[type_, ...]
    return Annotated[items, Field(max_length=most), BeforeValidator(_items), WithJsonSchema(schema)]


def _items(text: str) -> list[str]:
    """The items of a list. Raises Explained for an empty one."""
    found = text.split(",")
    if "" in found:
        raise Explained(f"item {found.index('') + 1} is empty")
    return found


def word_list(values: Mapping[str, object] | Sequence[str], **schema: Any) -> Any:
    """Some of these words with commas between them."""
    expected = f"any of {', '.join(values)}, separated by commas"
    return comma_separated(words(values), expected, f"({'|'.join(values)})", **schema)


def cursor(name: str = "cursor") -> Any:
    """Opaque texts that lead to the next page."""
    return text(f"the `{name}` of the previous page, unchanged; leave it out for the first page", max_length=1024)


def page_size(sizes: PageSizes, default: int) -> dict[str, Any]:
    """Type and default of a page size that a family reads by these rules."""
    schema = {**sizes.schema(), "description": f"an integer from 1 to {MAXIMUM}"}
    either: Any = integer(1, MAXIMUM) | Annotated[int, PlainValidator(partial(sizes.read, default=default))]
    type_ = Annotated[either, Field(union_mode="left_to_right"), WithJsonSchema(schema)]
    return {"type": type_, "default": str(default)}


NETWORK_NAME = text("the name of a network", pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=64)
NETWORK = path("network", NETWORK_NAME, "Name of a network that this server serves", "mainnet")
