"""Parameters that explorer v2 and analytics v2 share, and their cursors.

A cursor ends with the page size of its first page, which holds for all pages, as in inx-chronicle. Before it comes a
cursor of this server or, as inx-chronicle writes it, the columns of the next row.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import Annotated, TypeAlias

from pydantic import Field

from api.fields.params import INDEX, KNOWN_INDEX, PAGE_SIZE, SORT, TAG_MAX_BYTES
from api.fields.stardust_params import OUTPUT_ID_TYPE
from api.http.errors import BadParameter
from api.http.page_sizes import EXPLORER_V2, MAXIMUM
from api.http.params import (
    DAY,
    Param,
    converted,
    cursor,
    hexadecimal,
    integer,
    page_size,
    path,
    reader,
    unchecked_text,
    words,
)
from db.listing.page import Page
from db.store import Bound, Value

DEFAULT_PAGE_SIZE = 100

SKIPPED_MAX = 10_000
"""Children that `page` can skip: the server reads and counts them."""

Column: TypeAlias = Callable[[str], Value]

_index: Column = reader(KNOWN_INDEX)
_output: Column = reader(OUTPUT_ID_TYPE)
_spent: Column = reader(words({"true": True, "false": False}))


@dataclass(frozen=True, slots=True)
class After:
    """Where a page begins, and its maximum number of items. `start`: its first row, if the cursor names it."""

    page_size: int
    cursor: str | None = None
    start: Bound | None = None

    def next(self, page: Page) -> str | None:
        """The cursor of the next page; None: this is the last page."""
        return None if page.cursor is None else f"{page.cursor}.{self.page_size}"


def parse_after(text: str, columns: tuple[Column, ...]) -> After:
    """Reads a cursor. `columns`: of a row in inx-chronicle's cursors. Raises ValueError."""
    head, _, size = text.rpartition(".")
    if not head:
        raise ValueError("page size is missing")
    most = EXPLORER_V2.read(size, MAXIMUM)
    parts = head.split(".")
    if len(parts) == 1 and not (columns and head.isdigit()):
        return After(most, head)
    if len(parts) != len(columns):
        raise ValueError("cursor of another listing")
    return After(most, start=Bound(tuple(read(part) for read, part in zip(columns, parts, strict=True))))


def cursor_param(*columns: Column) -> Param:
    """The cursor of a listing."""
    return Param(
        "cursor",
        converted(cursor(), partial(parse_after, columns=columns)),
        "`cursor` of the previous page of the same listing; the page size stays the same",
        None,
    )


ROLES = {
    "address": "address",
    "sender": "sender",
    "issuer": "issuer",
    "stateController": "state_controller",
    "governor": "governor",
    "storageDepositReturn": "storage_deposit_return",
    "expirationReturn": "expiration_return",
}
"""Role of an address in an output → variant in the tables."""

PAGE_MEANING = f"Number of the page, from 0, as in inx-chronicle. Use `cursor` to read more than {SKIPPED_MAX} children"
PAGE = Param("page", integer(0, SKIPPED_MAX), PAGE_MEANING, 0, default="0")
START = Param("startTimestamp", INDEX, "Only milestones of this time or later, in seconds since 1970", 1664553600)
END = Param("endTimestamp", INDEX, "Only milestones of this time or earlier, in seconds since 1970", 1664554100)
UPDATED_BEFORE = "Only updates of earlier milestones; with sort=oldest, of later ones"
STATE_AFTER = (
    "Ledger state after this milestone: the current state, one of the last few that were loaded, or that at the end of "
    "a UTC day"
)
LEDGER_INDEX = Param("ledgerIndex", KNOWN_INDEX, STATE_AFTER, 50)
BLOCK_TAG = Param(
    "tag",
    unchecked_text(f"0x and hex of at most {TAG_MAX_BYTES} bytes", minLength=1, maxLength=2 * TAG_MAX_BYTES + 2),
    "Tag of tagged data, direct or inside a transaction: hex, or with utf8=true text",
    "0x7065726d616e6f6465",
    required=True,
)

ExplorerPageSize = Annotated[
    int, replace(PAGE_SIZE, name="pageSize", **page_size(EXPLORER_V2, DEFAULT_PAGE_SIZE), elsewhere={})
]
ExplorerNewestFirst = Annotated[bool, SORT]
PageNumber = Annotated[int, PAGE]
Start = Annotated[int | None, START]
End = Annotated[int | None, END]
StartMilestone = Annotated[int | None, Param("startMilestoneIndex", KNOWN_INDEX, UPDATED_BEFORE, 20)]
Top = Annotated[
    int, Param("top", **page_size(EXPLORER_V2, DEFAULT_PAGE_SIZE), meaning="Number of addresses", example=100)
]
LedgerIndex = Annotated[int | None, LEDGER_INDEX]
LedgerIndexAsServed = Annotated[
    int | None, replace(LEDGER_INDEX, name="ledger_index", meaning="The same, with inx-chronicle's name for it here")
]
EndOfDay = Annotated[
    date | None,
    Param(
        "date",
        DAY,
        "An extension of this server: the ledger state after the last milestone of this UTC day; the current one if "
        "the day has not ended",
        "2022-09-30",
    ),
]
BlockTag = Annotated[str, BLOCK_TAG]
Day = Annotated[
    date,
    path("date", Annotated[DAY, Field(description="a date such as 2022-09-30")], "A UTC day", "2022-09-30"),
]
Role = Annotated[str | None, Param("role", words(ROLES), "Only outputs in which the address has this role", "sender")]
OwnCursor = Annotated[After | None, cursor_param()]
IndexCursor = Annotated[After | None, cursor_param(_index)]
UpdateCursor = Annotated[After | None, cursor_param(_index, _output, _spent)]
ChangeCursor = Annotated[After | None, cursor_param(_output, _spent)]

_tag_hex = reader(hexadecimal(0, TAG_MAX_BYTES, may_have_0x=True))
_tag_bytes = reader(hexadecimal(1, TAG_MAX_BYTES))


def tag_of(tag: str, *, utf8: bool) -> str:
    """The tag's bytes as lowercase hex. Raises BadParameter."""
    try:
        found: str = _tag_bytes(tag.encode().hex()) if utf8 else _tag_hex(tag)
    except ValueError as error:
        expected = f"text of 1 to {TAG_MAX_BYTES} bytes" if utf8 else BLOCK_TAG.expected
        raise BadParameter(BLOCK_TAG.name, expected, tag) from error
    return found
