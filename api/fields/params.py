"""Parameters that families of both IOTA eras share: addresses, milestones, timestamps and paging."""

from dataclasses import replace
from typing import Annotated, TypeAlias

from api.http.page_sizes import CHRONICLE_V1, MAXIMUM, NODE_V1
from api.http.params import Param, flag, one_of, page_size, parse_int
from ledger.crypto.bech32 import parse_address

TAG_MAX_BYTES = 64
"""Longest index of an indexation payload (TIP-6)."""


INDEX_MAX = 2**32 - 1
"""Milestone indices are u32."""


TIMESTAMP_MAX = 2**64 - 1
"""Chronicle's timestamps are u64."""


CHRONICLE = "chronicle"
"""The dialect of mounts whose clients expect Chronicle v1."""

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
PAGE_SIZE = Param(
    "page_size",
    "query",
    "Most results in one answer",
    f"an integer from 1 to {MAXIMUM}",
    example=100,
    **page_size(NODE_V1, MAXIMUM),
    elsewhere={CHRONICLE: page_size(CHRONICLE_V1, MAXIMUM)},
)
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
MilestoneIndex: TypeAlias = Annotated[int, MILESTONE_INDEX]
MigratedAt: TypeAlias = Annotated[int, MIGRATED_AT]
Utf8: TypeAlias = Annotated[bool, UTF8]
Address: TypeAlias = Annotated[tuple[str, bytes], ADDRESS]
StartTimestamp: TypeAlias = Annotated[int | None, START_TIMESTAMP]
EndTimestamp: TypeAlias = Annotated[int | None, END_TIMESTAMP]
PageSize: TypeAlias = Annotated[int, PAGE_SIZE]
State: TypeAlias = Annotated[str | None, STATE]
NewestFirst: TypeAlias = Annotated[bool, SORT]
OldestFirst: TypeAlias = Annotated[bool, replace(SORT, example="newest", default="oldest")]
