"""How a parameter of an operation is declared: how it is read, and how openapi.yaml describes it.

A parameter is an annotation, `Annotated[type, Param(...)]`, that handlers use as the type of an argument. A default is
text, parsed and documented as if the client had sent it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeAlias

from api.http.errors import BadParameter
from api.http.page_sizes import PageSizes

Schema: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter. `name` is spelled as on the wire; `expected` ends the sentence "parameter NAME: expected …"."""

    name: str
    where: Literal["path", "query"]
    meaning: str
    expected: str
    schema: Schema
    parse: Callable[[str], object]
    example: object
    default: str | None = None
    required: bool = False
    elsewhere: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What differs at mounts of another dialect: dialect → field → value."""
    empty_is_none: bool = False
    """Whether an empty text is none."""

    def at(self, dialect: str) -> "Param":
        """The parameter as a mount of that dialect has it."""
        return replace(self, **self.elsewhere[dialect]) if dialect in self.elsewhere else self

    def read(self, text: str | None) -> object:
        """The value of that text; of the default when there is none, or None. BadParameter names what was expected."""
        if text is None or (self.empty_is_none and not text):
            if self.required:
                raise BadParameter(self.name, self.expected, None)
            if self.default is None:
                return None
            text = self.default
        try:
            return self.parse(text)
        except ValueError as error:
            raise BadParameter(self.name, self.expected, text) from error

    def documented(self) -> dict[str, object]:
        """The OpenAPI parameter object."""
        schema = dict(self.schema)
        if self.default is not None:
            schema["default"] = self.default if schema.get("type") == "string" else json.loads(self.default)
        empty = {"allowEmptyValue": True} if self.empty_is_none and not self.required else {}
        return {
            "name": self.name,
            "in": self.where,
            "required": self.required,
            "description": self.meaning,
            **empty,
            "schema": schema,
            "example": self.example,
        }


@dataclass(frozen=True, slots=True)
class Params:
    """Query parameters that are one argument together: their values by name, None where nothing is given."""

    members: tuple[Param, ...]


def parse_hex(text: str, shortest: int, longest: int) -> str:
    """Lowercase hex of `shortest` to `longest` bytes; ValueError otherwise."""
    if not 2 * shortest <= len(text) <= 2 * longest or not text.isalnum():
        raise ValueError("length or alphabet")
    return bytes.fromhex(text).hex()


def parse_int(text: str, lowest: int, highest: int) -> int:
    """A decimal integer in those bounds, ASCII digits only; ValueError otherwise."""
    if not (text.isascii() and text.isdigit()) or len(text) > 20 or not lowest <= int(text) <= highest:
        raise ValueError("not in bounds")
    return int(text)


def choice(words: Mapping[str, object]) -> Callable[[str], object]:
    """A parser of exactly these words."""

    def parse(text: str) -> object:
        if text not in words:
            raise ValueError("not among the words")
        return words[text]

    return parse


def one_of(
    name: str,
    meaning: str,
    words: Mapping[str, object],
    example: str,
    *,
    default: str | None = None,
    required: bool = False,
) -> Param:
    """A query parameter that is one of those words, and means what they map to."""
    expected = " or ".join(words) if len(words) == 2 else f"one of {', '.join(words)}"
    schema: Schema = {"type": "string", "enum": list(words)}
    return Param(name, "query", meaning, expected, schema, choice(words), example, default=default, required=required)


def flag(name: str, meaning: str, default: str) -> Param:
    """A query parameter that is true or false."""
    words = choice({"true": True, "false": False, "1": True, "0": False})
    return Param(name, "query", meaning, "true or false", {"type": "boolean"}, words, example=True, default=default)


def page_size(sizes: PageSizes, default: int) -> dict[str, Any]:
    """The fields of a page size that is read as those of a family are."""
    return {"schema": sizes.schema(), "parse": lambda text: sizes.read(text, default), "default": str(default)}


def hex_param(name: str, meaning: str, size: int, example: str) -> Param:
    """A path parameter that is an id of `size` bytes."""
    pattern = f"^[0-9a-fA-F]{{{2 * size}}}$"
    schema = {"type": "string", "pattern": pattern, "minLength": 2 * size, "maxLength": 2 * size}
    expected = f"{2 * size} hex characters"
    parse = partial(parse_hex, shortest=size, longest=size)
    return Param(name, "path", meaning, expected, schema, parse, example, required=True)


NETWORK = Param(
    "network",
    "path",
    "A network of this server, by the name it is mounted under",
    "a network of this server",
    {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$", "maxLength": 64},
    str,
    "mainnet",
    required=True,
)
