"""Parameters of the event database's functions, in a query or as keys of a posted object.

Names and meanings are the functions' own. functions.py reads posted objects.
"""

from dataclasses import replace
from functools import partial
from typing import Annotated

from pydantic import Field, PlainValidator, WithJsonSchema

from api.http.params import Param, converted, cursor, integer, reader, text, word_list, words
from api.wormhole.params import (
    CHAIN,
    CHAIN_NUMBER,
    CHAIN_PATTERN,
    CURSOR,
    EMITTER_HEX,
    SEQUENCE,
    TEXT_MAX,
    TX_HASH,
    UNTIL,
)
from db.queries.wormhole.values import INDEXED
from db.schema.event_columns import DETAILS, TRANSFER
from db.schema.event_columns import FAMILIES as ALL_FAMILIES
from ledger.wormhole.chains import find_chain_named

DAYS_MAX = 10_000
ROWS_MAX = 100

_chain_number = reader(CHAIN_NUMBER)


def parse_chain(given: str) -> int:
    """Reads the number or the name of a chain. Raises ValueError."""
    named = find_chain_named(given)
    return named.id if named is not None else int(_chain_number(given))


def parse_prefix(given: str) -> tuple[int, str | None]:
    """Reads chain and emitter of a prefix, whose form is already checked. Raises ValueError."""
    chain, emitter, *_ = given.split(":")
    return int(_chain_number(chain)), emitter or None


CHAIN_NAMED = converted(
    str,
    parse_chain,
    {
        "type": "string",
        "pattern": f"^({CHAIN_PATTERN}|solana|ethereum|terra|bsc|polygon)$",
        "description": "the number or the name of a chain",
    },
)
ROW_PREFIX = converted(
    text("", pattern="^[0-9]{1,5}:([0-9a-f]{64}:)?$"),
    parse_prefix,
    {
        "type": "string",
        "pattern": f"^{CHAIN_PATTERN}:([0-9a-f]{{64}}:)?$",
        "description": "CHAIN: or CHAIN:ADDRESS:, the address as 64 lower-case hex digits",
    },
)
SET = Annotated[bool, PlainValidator(bool), WithJsonSchema({"type": "string", "description": "any text"})]
"""A flag that any text sets."""

DAYS = integer(0, DAYS_MAX)

COLUMNS_FOUND = f"a column with a lookup: {', '.join(':'.join(column) for column in INDEXED)}"

EMITTER_CHAIN = replace(CHAIN, name="emitterChain", where="query", type=CHAIN_NAMED, example="1")
EMITTER_ADDRESS = replace(EMITTER_HEX, name="emitterAddress", where="query")
SEQUENCE_TEXT = replace(SEQUENCE, where="query", meaning=f"{SEQUENCE.meaning}, with or without leading zeros")
ID = replace(TX_HASH, name="id", meaning="InitiatingTxID of the message", required=True)
OF_CHAIN = replace(EMITTER_CHAIN, meaning="Only messages of this chain, by number or name", required=False)
OF_ADDRESS = replace(EMITTER_ADDRESS, meaning="Only messages of this contract", required=False)
FOR_CHAIN = replace(OF_CHAIN, name="forChain")
FOR_ADDRESS = replace(OF_ADDRESS, name="forAddress", meaning="Only messages of this contract of forChain")
GROUP_BY = Param(
    "groupBy", words(("chain", "address")), "Also group by chain or by contract, not only the total", "chain"
)
NUM_DAYS = Param("numDays", DAYS, "Days before the last one. Default: since the start of the bridge, 2021-09-13", 30)
DAYS_OF_30 = replace(NUM_DAYS, meaning="Days before the last one", default="30")
TO_DAY = replace(UNTIL, meaning="An extension of this server: the last day (UTC). Default: today")
FAMILIES = Param(
    "families",
    word_list(tuple(ALL_FAMILIES)),
    "An extension of this server: column families to return. Default: the columns that the original function returned",
    f"{TRANSFER},{DETAILS}",
)
PREFIX = Param("prefix", ROW_PREFIX, "Start of the row keys: a chain, or one of its contracts", "1:", required=True)
NUM_ROWS = Param(
    "numRows", integer(1, ROWS_MAX), "Maximum number of rows in each group, newest first", 30, default="30"
)
PAGE_ROWS = replace(NUM_ROWS, meaning="Maximum number of rows in one page")
NEXT = replace(CURSOR, type=cursor("Next"), meaning="`Next` of the previous page")
UNPAGED = "nothing: the newest rows have no pages; use readrows or findrows"
NO_CURSOR = replace(
    CURSOR,
    type=text(UNPAGED, max_length=0),
    meaning="Rejected: the newest rows have no pages. Use readrows or findrows",
    example="",
)
COLUMN_FAMILY = Param(
    "columnFamily",
    Annotated[words(sorted({family for family, _ in INDEXED})), Field(description=COLUMNS_FOUND)],
    "Family of the column",
    TRANSFER,
    required=True,
)
COLUMN_NAME = replace(
    COLUMN_FAMILY,
    name="columnName",
    type=Annotated[words(sorted({name for _, name in INDEXED})), Field(description=COLUMNS_FOUND)],
    meaning="Name of the column in its family",
    example="TargetAddress",
)
VALUE = Param(
    "value",
    text(f"1 to {TEXT_MAX} characters of ASCII", min_length=1, max_length=TEXT_MAX, pattern="^[ -~]+$"),
    "The complete value of the column, not a pattern",
    f"{4:064d}",
    required=True,
)

flag = partial(Param, type=SET, example="true")
LAST_24_HOURS = flag("last24Hours", meaning="Any text adds LastDayCount: the count of the last day")
OF_LAST_DAY = flag("last24Hours", meaning="Any text adds Last24Hours: the last day. Also added without any other flag")
CHANGE_OF_LAST_DAY = flag("last24Hours", meaning="Any text adds Last24HoursChange: the change on the last day")
VAA_BYTES = flag("vaaBytes", meaning="Any text adds SignedVAABytes")
DAILY = flag("daily", meaning="Any text adds Daily: each day")
FOR_PERIOD = flag("forPeriod", meaning="Any text adds WithinPeriod: all days together")
ALL_TIME = flag("allTime", meaning="Any text adds AllTime. Also added without any other flag")
AMOUNTS = flag("amounts", meaning="Any text adds USD by address")
COUNTS = flag("counts", meaning="Any text adds the number of addresses. Also added without amounts")

KEY = (EMITTER_CHAIN, EMITTER_ADDRESS, SEQUENCE_TEXT, FAMILIES)
COUNTED = (LAST_24_HOURS, NUM_DAYS, GROUP_BY, FOR_CHAIN, FOR_ADDRESS, TO_DAY)
RECENT = (NUM_ROWS, GROUP_BY, FOR_CHAIN, FOR_ADDRESS, NO_CURSOR)
ROW_KEYS = (PREFIX, FAMILIES, PAGE_ROWS, NEXT)
COLUMN = (COLUMN_FAMILY, COLUMN_NAME, VALUE, OF_CHAIN, OF_ADDRESS, VAA_BYTES)
FOUND_ROWS = (*COLUMN, PAGE_ROWS, NEXT)
FOUND = (
    *COLUMN,
    replace(
        NUM_ROWS,
        type=integer(0, ROWS_MAX),
        meaning=f"Number of rows, newest first; 0: all rows, if there are at most {ROWS_MAX}",
        default="0",
    ),
)
MOVED = (OF_LAST_DAY, FOR_PERIOD, DAILY, DAYS_OF_30, FOR_CHAIN, FOR_ADDRESS, TO_DAY)
MOVED_SO_FAR = (ALL_TIME, DAILY, DAYS_OF_30, FOR_CHAIN, FOR_ADDRESS, TO_DAY)
LOCKED = (CHANGE_OF_LAST_DAY, TO_DAY)
LOCKED_SO_FAR = (NUM_DAYS, TO_DAY)
RECEIVED = (*MOVED, COUNTS, AMOUNTS)
RECEIVED_SO_FAR = (*MOVED_SO_FAR, COUNTS, AMOUNTS)
