"""Parameters that families of both IOTA eras share: addresses, milestones, timestamps and paging."""

from collections.abc import Container
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from api.http.page_sizes import CHRONICLE_V1, MAXIMUM, NODE_V1
from api.http.params import (
    PARSE_BOOL,
    Explained,
    Param,
    converted,
    cursor,
    flag,
    flag_of,
    integer,
    page_size,
    path,
    text,
    words,
)
from db.schema import PENDING_RANGE
from ledger.crypto.bech32 import AddressError, parse_address

TAG_MAX_BYTES = 64
"""Longest index of an indexation payload (TIP-6)."""

INDEX_MAX = 2**32 - 1
"""Milestone indices are u32."""

TIMESTAMP_MAX = 2**64 - 1
"""Chronicle's timestamps are u64."""

PEER_ID_MAX = 128
"""Most characters of the ID of a peer. No ID is read: an archive has no peers."""

CHRONICLE = "chronicle"
"""The dialect of mounts whose clients expect Chronicle v1."""

CHRONICLE_FLAG = flag_of(*PARSE_BOOL, "on", "yes", "off", "no")
"""Also the spellings of Rocket, which Chronicle used."""

INDEX = integer(0, INDEX_MAX)
KNOWN_INDEX = converted(INDEX, partial(min, PENDING_RANGE))
"""A milestone index, no later than any that can exist."""


def bech32(
    expected: str = "a bech32 address", schema_format: str = "bech32", types: Container[int] | None = None
) -> Any:
    """Addresses of any network, read as prefix and serialized address, of any type or only some types."""
    pattern = "^[A-Za-z]{1,30}1[02-9AC-HJ-NP-Zac-hj-np-z]{59}$"
    schema = {"type": "string", "format": schema_format, "pattern": pattern, "description": expected}

    def parse(given: str) -> tuple[str, bytes]:
        try:
            hrp, serialized = parse_address(given)
        except AddressError as error:
            raise Explained(str(error)) from error
        if types is not None and serialized[0] not in types:
            raise ValueError("another type of address")
        return hrp, serialized

    return converted(str, parse, schema)


def node_flag(name: str, meaning: str, default: str) -> Param:
    """A flag of node REST v1 and Chronicle v1."""
    return replace(flag(name, meaning, default), elsewhere={CHRONICLE: {"type": CHRONICLE_FLAG}})


ADDRESS = path(
    "address",
    bech32(),
    "A bech32 address of this network",
    "atoi1qruscrv5l22f7daxl3dha90m005sl9tmc6eta5zzlgmquvdem3j927htlge",
)
MILESTONE_INDEX = path("index", INDEX, "Index of a milestone", 1)
PEER_ID = path(
    "peerId",
    text(f"text of at most {PEER_ID_MAX} characters", max_length=PEER_ID_MAX),
    "ID of a peer",
    "12D3KooWFJ8Nq6gHLLvigTpPSbyMmLk35k1TcpJof8Y4y8yFAB32",
)
START_TIMESTAMP = Param(
    "start_timestamp",
    integer(0, TIMESTAMP_MAX),
    "Only messages that a milestone of this time or later referenced, in seconds since 1970",
    1640995200,
)
END_TIMESTAMP = replace(
    START_TIMESTAMP,
    name="end_timestamp",
    meaning="Only messages that a milestone before this time referenced, in seconds since 1970",
    example=1640995700,
)
PAGE_SIZE = Param(
    "page_size",
    **page_size(NODE_V1, MAXIMUM),
    meaning="Maximum number of results in one page",
    example=100,
    elsewhere={CHRONICLE: page_size(CHRONICLE_V1, MAXIMUM)},
)
SORT = Param("sort", words({"newest": True, "oldest": False}), "Which end comes first", "oldest", default="newest")
STATE = Param(
    "state",
    cursor("state"),
    "`state` of the previous page of the same listing",
    None,
    # Chronicle decodes every state that it gets; other empty values are missing there.
    elsewhere={CHRONICLE: {"empty_is_none": False}},
)
PROOF = Param(
    "proof",
    Annotated[words(["complete"]), Field(description="complete")],
    "An extension of this server: `complete` adds proofs that the listing has no other rows between the ends of the "
    "page, up to the milestone `completeTo` (docs/proofs.md). The status is 404 without a signed log",
    "complete",
    is_json_only=True,
)
STATE_INDEX = Param(
    "ledgerIndex",
    KNOWN_INDEX,
    "An extension of this server: the ledger state after this milestone, which can be any from the genesis to the "
    "current one (the default)",
    20,
)

Address = Annotated[tuple[str, bytes], ADDRESS]
MilestoneIndex = Annotated[int, MILESTONE_INDEX]
StateIndex = Annotated[int | None, STATE_INDEX]
PeerId = Annotated[str, PEER_ID]
MigratedAt = Annotated[int, path("migratedAt", INDEX, "Index of a milestone of the legacy network", 100)]
Utf8 = Annotated[bool, node_flag("utf8", "The index or tag is text, not hex", "false")]
StartTimestamp = Annotated[int | None, START_TIMESTAMP]
EndTimestamp = Annotated[int | None, END_TIMESTAMP]
PageSize = Annotated[int, PAGE_SIZE]
State = Annotated[str | None, STATE]
Proof = Annotated[str | None, PROOF]
NewestFirst = Annotated[bool, SORT]
OldestFirst = Annotated[bool, replace(SORT, example="newest", default="oldest")]
