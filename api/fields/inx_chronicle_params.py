"""The parameters of explorer v2, and where its pages begin.

Rules of this file: as in params.py. A cursor ends with the page size that it was made with, which holds for all pages,
as in inx-chronicle; before that stands ours, or what inx-chronicle has there: the columns of the next row.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, TypeAlias

from api.fields.params import INDEX_MAX, PAGE_SIZE, SORT, START_TIMESTAMP, TAG_MAX_BYTES
from api.fields.stardust_params import parse_prefixed
from api.http.page_sizes import EXPLORER_V2, MAXIMUM
from api.http.params import Param, choice, one_of, page_size, parse_int
from db.listing.page import Page
from db.queries.ledger import RICHEST
from db.schema import PENDING_RANGE
from db.store import Bound, Value

DEFAULT_PAGE_SIZE = 100

SKIPPED_MAX = 10_000
"""Children that a page by number may lie behind: those before it are read to be counted."""

Column: TypeAlias = Callable[[str], Value]


@dataclass(frozen=True, slots=True)
class After:
    """Where a page begins, and how many items it has at most. `start`: the first row, where that is known."""

    page_size: int
    cursor: str | None = None
    start: Bound | None = None

    def next(self, page: Page) -> str | None:
        """The cursor of the page behind that one; None: there is none."""
        return None if page.cursor is None else f"{page.cursor}.{self.page_size}"


def parse_after(text: str, columns: tuple[Column, ...]) -> After:
    """A cursor; ValueError for what can be none of this listing. `columns`: of a row in inx-chronicle's cursors."""
    head, _, size = text.rpartition(".")
    if not head:
        raise ValueError("no page size")
    most = EXPLORER_V2.read(size, MAXIMUM)
    parts = head.split(".")
    if len(parts) == 1 and not (columns and head.isdigit()):
        return After(most, head)
    if len(parts) != len(columns):
        raise ValueError("not of this listing")
    return After(most, start=Bound(tuple(read(part) for read, part in zip(columns, parts, strict=True))))


def parse_index(text: str) -> int:
    """An index (u32), no later than any that there can be; ValueError otherwise."""
    return min(parse_int(text, 0, INDEX_MAX), PENDING_RANGE)


OUTPUT: Column = partial(parse_prefixed, size=34)


def parse_spent(text: str) -> bool:
    """`true` or `false`; ValueError otherwise."""
    return bool(choice({"true": True, "false": False})(text))


def cursor_param(*columns: Column) -> Param:
    """The cursor of a listing."""
    return Param(
        "cursor",
        "query",
        "`cursor` of the answer before: the next page of the same listing, as large as that one",
        "the cursor of an answer to the same question",
        {"type": "string", "maxLength": 1024},
        partial(parse_after, columns=columns),
        None,
    )


def parse_tag(text: str) -> str:
    """Lowercase hex of a tag given with 0x, which may be empty; ValueError otherwise."""
    digits = text.removeprefix("0x")
    if len(digits) > 2 * TAG_MAX_BYTES or not (digits.isalnum() or text == "0x"):
        raise ValueError("length or alphabet")
    return bytes.fromhex(digits).hex()


ROLES = {
    "address": "address",
    "sender": "sender",
    "issuer": "issuer",
    "stateController": "state_controller",
    "governor": "governor",
    "storageDepositReturn": "storage_deposit_return",
    "expirationReturn": "expiration_return",
}
"""An address's part in an output → variant in the tables."""

EXPLORER_PAGE_SIZE = replace(PAGE_SIZE, name="pageSize", **page_size(EXPLORER_V2, DEFAULT_PAGE_SIZE), elsewhere={})
PAGE = Param(
    "page",
    "query",
    f"Number of the page, from 0, as inx-chronicle has it; behind {SKIPPED_MAX} children only a cursor leads",
    "an integer from 0",
    {"type": "integer", "minimum": 0, "maximum": SKIPPED_MAX},
    lambda text: parse_int(text, 0, SKIPPED_MAX),
    0,
    default="0",
)
START = replace(
    START_TIMESTAMP,
    name="startTimestamp",
    meaning="Only what belongs to a milestone of this time or later, in seconds since 1970",
    expected=f"an integer from 0 to {INDEX_MAX}",
    schema={"type": "integer", "minimum": 0, "maximum": INDEX_MAX},
    parse=lambda text: parse_int(text, 0, INDEX_MAX),
    example=1664553600,
)
END = replace(
    START,
    name="endTimestamp",
    meaning="Only what belongs to a milestone of this time or earlier, in seconds since 1970",
    example=1664554100,
)
START_MILESTONE = Param(
    "startMilestoneIndex",
    "query",
    "Only updates of earlier milestones; with sort=oldest, of later ones",
    f"an integer from 0 to {INDEX_MAX}",
    {"type": "integer", "minimum": 0, "maximum": INDEX_MAX},
    parse_index,
    20,
)
TOP = Param(
    "top",
    "query",
    "How many addresses",
    f"an integer from 1 to {RICHEST}",
    example=100,
    **page_size(EXPLORER_V2, DEFAULT_PAGE_SIZE),
)
LEDGER_INDEX = Param(
    "ledgerIndex",
    "query",
    "The ledger state after this milestone: that of now, or one of the last few that were loaded",
    f"an integer from 0 to {INDEX_MAX}",
    {"type": "integer", "minimum": 0, "maximum": INDEX_MAX},
    parse_index,
    50,
)
BLOCK_TAG = Param(
    "tag",
    "query",
    "The tag's bytes as hex, or with utf8=true as text; blocks whose tagged data, direct or inside a transaction, has "
    "this tag",
    f"0x and hex of at most {TAG_MAX_BYTES} bytes",
    {"type": "string", "maxLength": 2 * TAG_MAX_BYTES + 2},
    str,
    "0x7065726d616e6f6465",
    required=True,
)
ROLE = one_of("role", "Only outputs that the address has this part in", ROLES, "sender")

ExplorerPageSize: TypeAlias = Annotated[int, EXPLORER_PAGE_SIZE]
ExplorerNewestFirst: TypeAlias = Annotated[bool, SORT]
PageNumber: TypeAlias = Annotated[int, PAGE]
Start: TypeAlias = Annotated[int | None, START]
End: TypeAlias = Annotated[int | None, END]
StartMilestone: TypeAlias = Annotated[int | None, START_MILESTONE]
Top: TypeAlias = Annotated[int, TOP]
LedgerIndex: TypeAlias = Annotated[int | None, LEDGER_INDEX]
LedgerIndexAsServed: TypeAlias = Annotated[
    int | None, replace(LEDGER_INDEX, name="ledger_index", meaning="The same, as inx-chronicle spells it here")
]
BlockTag: TypeAlias = Annotated[str, BLOCK_TAG]
Role: TypeAlias = Annotated[str | None, ROLE]
OwnCursor: TypeAlias = Annotated[After | None, cursor_param()]
IndexCursor: TypeAlias = Annotated[After | None, cursor_param(parse_index)]
UpdateCursor: TypeAlias = Annotated[After | None, cursor_param(parse_index, OUTPUT, parse_spent)]
ChangeCursor: TypeAlias = Annotated[After | None, cursor_param(OUTPUT, parse_spent)]
