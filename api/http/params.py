"""Every parameter of every operation, declared once: how it is read, and how openapi.yaml describes it.

Rules of this file: a parameter is an annotation, `Annotated[type, Param(...)]`, that handlers use as the type of an
argument; `parse` takes the text of the request and raises ValueError for anything but `expected`; a default is text
too, so that it is parsed and documented as if it had been sent.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

from api.http.errors import BadParameter
from api.http.page_sizes import CHRONICLE_V1, INX_API_CORE_V1, MAXIMUM, NODE_V1, PageSizes
from ledger.crypto.bech32 import parse_address

TAG_MAX_BYTES = 64
"""Longest index of an indexation payload (TIP-6)."""

INDEX_MAX = 2**32 - 1
"""Milestone indices are u32."""

OUTPUT_INDEX_MAX = 126
"""A transaction has at most 127 outputs (TIP-7)."""

TIMESTAMP_MAX = 2**64 - 1
"""Chronicle's timestamps are u64."""

CHRONICLE = "chronicle"
"""The dialect of mounts whose clients expect Chronicle v1."""

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


MESSAGE_ID = hex_param(
    "messageId",
    "Id of a message",
    32,
    "4bb9ae828f9a7f750a33d23a217563caf2b4b9e921eb8f87b2064ef7a1290dea",
)
TRANSACTION_ID = hex_param(
    "transactionId",
    "Id of a transaction",
    32,
    "09e65d589aa1616deab709b6b5f6314be7176b591a9723ffe1e57fe37bb2292f",
)
OUTPUT_INDEX = Param(
    "outputIndex",
    "path",
    "Index of an output in its transaction",
    f"an integer from 0 to {OUTPUT_INDEX_MAX}",
    {"type": "integer", "minimum": 0, "maximum": OUTPUT_INDEX_MAX},
    lambda text: parse_int(text, 0, OUTPUT_INDEX_MAX),
    0,
    required=True,
)
ED25519_ADDRESS = hex_param(
    "address",
    "An Ed25519 address: BLAKE2b-256 of its public key",
    32,
    "f90c0d94fa949f37a6fc5b7e95fb7be90f957bc6b2bed042fa360e31b9dc6455",
)
OUTPUT_ID = hex_param(
    "outputId",
    "Id of an output: transaction id, then output index (two bytes, little-endian)",
    34,
    "09e65d589aa1616deab709b6b5f6314be7176b591a9723ffe1e57fe37bb2292f0000",
)
MILESTONE_INDEX = Param(
    "index",
    "path",
    "Index of a milestone",
    f"an integer from 0 to {INDEX_MAX}",
    {"type": "integer", "minimum": 0, "maximum": INDEX_MAX},
    lambda text: parse_int(text, 0, INDEX_MAX),
    1,
    required=True,
)
MIGRATED_AT = replace(
    MILESTONE_INDEX,
    name="migratedAt",
    meaning="Index of a milestone of the legacy network",
    example=100,
)
TAG = Param(
    "index",
    "query",
    "The index bytes as hex, or with utf8=true as text; messages whose indexation payload, direct or inside a "
    "transaction, has this index",
    f"hex of 1 to {TAG_MAX_BYTES} bytes",
    {"type": "string", "minLength": 1, "maxLength": 2 * TAG_MAX_BYTES},
    str,
    "7065726d616e6f6465",
    required=True,
)
UTF8 = flag("utf8", "`index` is text, not hex", default="false")
ADDRESS = Param(
    "address",
    "path",
    "A bech32 address of this network",
    "a bech32 address",
    {"type": "string", "format": "bech32", "pattern": "^[A-Za-z]{1,30}1[02-9AC-HJ-NP-Zac-hj-np-z]{59}$"},
    parse_address,
    "atoi1qruscrv5l22f7daxl3dha90m005sl9tmc6eta5zzlgmquvdem3j927htlge",
    required=True,
)
OUTPUT_TYPE = Param(
    "type",
    "query",
    "Only outputs of this type: 0 SigLockedSingle, 1 SigLockedDustAllowance",
    "0 or 1",
    {"type": "integer", "enum": [0, 1]},
    choice({"0": 0, "1": 1}),
    0,
)
INCLUDE_SPENT = flag("include-spent", "Also outputs that are spent", default="false")
INCLUDE_SPENT_IN_HISTORY = replace(INCLUDE_SPENT, elsewhere={CHRONICLE: {"default": "true"}})
"""For the route that Chronicle had: it knew no spent outputs apart. The bech32 one is only the node's."""
INCLUDED = flag(
    "included",
    "Only outputs that an included transaction created; false: also those that only conflicting ones would have",
    default="true",
)
LEDGER_NONE = flag(
    "ledger_none", "Also transactions without inclusion state; an archive lists none of them", default="true"
)
LEDGER_INCLUDED = flag("ledger_included", "Also included transactions", default="true")
LEDGER_CONFLICTING = flag("ledger_conflicting", "Also conflicting transactions", default="true")
EXPANDED = flag("expanded", "Objects with inclusion state and milestone in place of ids", default="false")
START_TIMESTAMP = Param(
    "start_timestamp",
    "query",
    "Only what a milestone of this time or later referenced, in seconds since 1970",
    f"an integer from 0 to {TIMESTAMP_MAX}",
    {"type": "integer", "minimum": 0, "maximum": TIMESTAMP_MAX},
    lambda text: parse_int(text, 0, TIMESTAMP_MAX),
    1640995200,
)
END_TIMESTAMP = replace(
    START_TIMESTAMP,
    name="end_timestamp",
    meaning="Only what a milestone before this time referenced, in seconds since 1970",
    example=1640995700,
)
START_MILESTONE = Param(
    "start",
    "query",
    "The first milestone",
    f"an integer from 0 to {INDEX_MAX}",
    {"type": "integer", "minimum": 0, "maximum": INDEX_MAX},
    lambda text: parse_int(text, 0, INDEX_MAX),
    1,
    default="1",
)
END_MILESTONE = replace(
    START_MILESTONE, name="end", meaning="The milestone before which it ends", example=1000, default=str(2**31 - 1)
)
PAGE_SIZE = Param(
    "page_size",
    "query",
    "Most results in one answer",
    f"an integer from 1 to {MAXIMUM}",
    example=100,
    **page_size(NODE_V1, MAXIMUM),
    elsewhere={CHRONICLE: page_size(CHRONICLE_V1, MAXIMUM)},
)
HISTORY_PAGE_SIZE = replace(PAGE_SIZE, name="pageSize", **page_size(INX_API_CORE_V1, MAXIMUM), elsewhere={})
"""As inx-api-core-v1 spells and reads it, at every mount."""
PAGE_SIZE_OF_100 = replace(PAGE_SIZE, elsewhere={CHRONICLE: page_size(CHRONICLE_V1, 100)})
"""For routes that Chronicle had. A wallet, which asks by bech32 as it asks a node, looks at no second page."""
STATE = Param(
    "state",
    "query",
    "`state` of the answer before: the next page of the same listing",
    "the state of an answer to the same question",
    {"type": "string", "maxLength": 1024},
    str,
    None,
)
SORT = one_of(
    "sort", "Which end of the listing comes first", {"newest": True, "oldest": False}, "oldest", default="newest"
)
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

MessageId: TypeAlias = Annotated[str, MESSAGE_ID]
OutputId: TypeAlias = Annotated[str, OUTPUT_ID]
OutputIndex: TypeAlias = Annotated[int, OUTPUT_INDEX]
TransactionId: TypeAlias = Annotated[str, TRANSACTION_ID]
Ed25519Address: TypeAlias = Annotated[str, ED25519_ADDRESS]
MilestoneIndex: TypeAlias = Annotated[int, MILESTONE_INDEX]
MigratedAt: TypeAlias = Annotated[int, MIGRATED_AT]
Tag: TypeAlias = Annotated[str, TAG]
Utf8: TypeAlias = Annotated[bool, UTF8]
Address: TypeAlias = Annotated[tuple[str, bytes], ADDRESS]
OutputType: TypeAlias = Annotated[int | None, OUTPUT_TYPE]
IncludeSpent: TypeAlias = Annotated[bool, INCLUDE_SPENT]
IncludeSpentInHistory: TypeAlias = Annotated[bool, INCLUDE_SPENT_IN_HISTORY]
Included: TypeAlias = Annotated[bool, INCLUDED]
LedgerNone: TypeAlias = Annotated[bool, LEDGER_NONE]
LedgerIncluded: TypeAlias = Annotated[bool, LEDGER_INCLUDED]
LedgerConflicting: TypeAlias = Annotated[bool, LEDGER_CONFLICTING]
Expanded: TypeAlias = Annotated[bool, EXPANDED]
StartMilestone: TypeAlias = Annotated[int, START_MILESTONE]
EndMilestone: TypeAlias = Annotated[int, END_MILESTONE]
StartTimestamp: TypeAlias = Annotated[int | None, START_TIMESTAMP]
EndTimestamp: TypeAlias = Annotated[int | None, END_TIMESTAMP]
PageSize: TypeAlias = Annotated[int, PAGE_SIZE]
HistoryPageSize: TypeAlias = Annotated[int, HISTORY_PAGE_SIZE]
PageSizeOf100: TypeAlias = Annotated[int, PAGE_SIZE_OF_100]
State: TypeAlias = Annotated[str | None, STATE]
NewestFirst: TypeAlias = Annotated[bool, SORT]
OldestFirst: TypeAlias = Annotated[bool, replace(SORT, example="newest", default="oldest")]


def tag_of(index: str, *, utf8: bool) -> str:
    """The index bytes as lowercase hex; BadParameter when it is not that."""
    try:
        return parse_hex(index.encode().hex() if utf8 else index, 1, TAG_MAX_BYTES)
    except ValueError as error:
        expected = f"text of 1 to {TAG_MAX_BYTES} bytes" if utf8 else TAG.expected
        raise BadParameter(TAG.name, expected, index) from error
