"""Parses the DDL of the project's schemas without an engine: simple types, DECIMAL, STRUCT and ARRAY."""

import re
from collections.abc import Iterator

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

SIMPLE: dict[str, type[DataType]] = {
    "BIGINT": LongType,
    "BINARY": BinaryType,
    "BOOLEAN": BooleanType,
    "DATE": DateType,
    "DOUBLE": DoubleType,
    "FLOAT": FloatType,
    "INT": IntegerType,
    "SMALLINT": ShortType,
    "STRING": StringType,
    "TIMESTAMP": TimestampType,
    "TINYINT": ByteType,
}
TOKEN = re.compile(r"\s*(\w+|[<>(),:])")


def parse_ddl(text: str) -> StructType:
    """Returns the columns of a DDL string. All are nullable. Raises ValueError for anything else."""
    tokens = _Tokens(text)
    fields = _fields(tokens, end="")
    return StructType(fields)


class _Tokens:
    def __init__(self, text: str) -> None:
        self._text = text
        self._rest = self._split(text)
        self.next = ""
        self.advance()

    def _split(self, text: str) -> Iterator[str]:
        at = 0
        while found := TOKEN.match(text, at):
            yield found[1]
            at = found.end()
        if text[at:].strip():
            raise ValueError(f"invalid DDL at {text[at : at + 20]!r}: {text}")

    def advance(self, expected: str | None = None) -> str:
        """Returns the next token and moves on. Raises ValueError if it is not the expected one."""
        token = self.next
        if expected is not None and token != expected:
            raise ValueError(f"invalid DDL: expected {expected!r}, found {token!r}: {self._text}")
        self.next = next(self._rest, "")
        return token


def _fields(tokens: _Tokens, end: str) -> list[StructField]:
    fields = []
    while True:
        name = tokens.advance()
        if tokens.next == ":":
            tokens.advance()
        fields.append(StructField(name, _type(tokens)))
        if tokens.next != ",":
            tokens.advance(end)
            return fields
        tokens.advance(",")


def _type(tokens: _Tokens) -> DataType:
    name = tokens.advance().upper()
    if name == "STRUCT":
        tokens.advance("<")
        return StructType(_fields(tokens, end=">"))
    if name == "ARRAY":
        tokens.advance("<")
        inner = _type(tokens)
        tokens.advance(">")
        return ArrayType(inner)
    if name == "DECIMAL":
        tokens.advance("(")
        precision = int(tokens.advance())
        tokens.advance(",")
        scale = int(tokens.advance())
        tokens.advance(")")
        return DecimalType(precision, scale)
    if name not in SIMPLE:
        raise ValueError(f"unknown type {name!r} in DDL: {tokens._text}")
    return SIMPLE[name]()
