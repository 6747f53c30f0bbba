"""Parameters of the event database's functions, in a query or as keys of a posted object.

Names and meanings are the functions' own. functions.py reads posted objects.
"""

from dataclasses import replace
from functools import partial
from typing import Annotated

from pydantic import PlainValidator, WithJsonSchema

from api.http.params import Param, converted, cursor, hexadecimal, integer, reader, text, word_list, words
from api.wormhole.params import (
    CHAIN,
    CHAIN_NUMBER,
    CHAIN_PATTERN,
    CURSOR,
    EMITTER_HEX,
    SEQUENCE,
    SEQUENCE_NUMBER,
    TX_HASH,
    UNTIL,
)
from db.queries.wormhole.row_keys import RowKey
from db.schema.event_columns import DETAILS, TRANSFER
from db.schema.event_columns import FAMILIES as ALL_FAMILIES
from ledger.wormhole.chains import find_chain_named

DAYS_MAX = 10_000
ROWS_MAX = 100

_chain_number, _sequence_number = reader(CHAIN_NUMBER), reader(SEQUENCE_NUMBER)


def parse_chain(given: str) -> int:
    """Reads the number or the name of a chain. Raises ValueError."""
    named = find_chain_named(given)
    return named.id if named is not None else int(_chain_number(given))


def parse_prefix(given: str) -> tuple[int, str, str]:
    """Reads the beginning of a row key, whose form is already checked: chain, digits of the address, digits of the
    sequence. Raises ValueError.
    """
    chain, emitter, *digits = given.split(":")
    return int(_chain_number(chain)), emitter, "".join(digits)


def parse_bound(given: str) -> RowKey:
    """Reads a row key or its beginning, whose form is already checked. Raises ValueError."""
    chain, emitter, digits = parse_prefix(given)
    return RowKey(chain, emitter, _sequence_number(digits) if digits else None)


CHAIN_NAMED = converted(
    str,
    parse_chain,
    {
        "type": "string",
        "pattern": f"^({CHAIN_PATTERN}|solana|ethereum|terra|bsc|polygon)$",
        "description": "the number or the name of a chain",
    },
)
_KEY_FORM = "([0-9a-f]{0,64}|[0-9a-f]{64}:[0-9]{0,20})"
_KEY_SCHEMA = {
    "type": "string",
    "pattern": f"^{CHAIN_PATTERN}:{_KEY_FORM}$",
    "description": "CHAIN:ADDRESS:SEQUENCE or its beginning from CHAIN: on, the address as 64 lower-case hex digits",
}
ROW_PREFIX = converted(text("", pattern=f"^[0-9]{{1,5}}:{_KEY_FORM}$"), parse_prefix, _KEY_SCHEMA)
ROW_BOUND = converted(text("", pattern=f"^[0-9]{{1,5}}:{_KEY_FORM}$"), parse_bound, _KEY_SCHEMA)
SET = Annotated[bool, PlainValidator(bool), WithJsonSchema({"type": "string", "description": "any text"})]
"""A flag that any text sets."""

DAYS = integer(0, DAYS_MAX)

COLUMNS_FOUND = (
    "a column of the family; for Signatures the address of a guardian, for VAAState Signatures or Signatures:SET"
)
VALUE_MAX = 12_000
"""Characters of a value. The largest governance messages have 5 kB, in hex twice as much."""

EMITTER_CHAIN = replace(CHAIN, name="emitterChain", where="query", type=CHAIN_NAMED, example="1")
EMITTER_ADDRESS = replace(EMITTER_HEX, name="emitterAddress", where="query", type=hexadecimal(32, may_have_0x=True))
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
PREFIX = Param("prefix", ROW_PREFIX, "Beginning of the row keys: a chain, or more", "1:")
START_KEY = Param("startKey", ROW_BOUND, "Only row keys from this one on", "1:")
END_KEY = Param("endKey", ROW_BOUND, "Only row keys before this one", "2:")
FROM_SEQUENCE = Param("fromSequence", SEQUENCE_NUMBER, "With emitterAddress: only this sequence and higher ones", 1)
TO_SEQUENCE = Param("toSequence", SEQUENCE_NUMBER, "With emitterAddress: only this sequence and lower ones", 1337)
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
    words(ALL_FAMILIES),
    "Family of the column",
    TRANSFER,
    required=True,
)
COLUMN_NAME = replace(
    COLUMN_FAMILY,
    name="columnName",
    type=text(COLUMNS_FOUND, pattern="^[A-Za-z0-9:]{1,64}$"),
    meaning="Name of the column in its family",
    example="TargetAddress",
)
VALUE = Param(
    "value",
    text(
        f"1 to {VALUE_MAX} characters, none of them a control character",
        min_length=1,
        max_length=VALUE_MAX,
        pattern=r"^[^\x00-\x1f\x7f]+$",
    ),
    "The complete value of the column as rows return it, not a pattern; bytes in base64 or hex",
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
ROW_KEYS = (
    PREFIX, START_KEY, END_KEY, OF_CHAIN, OF_ADDRESS, FROM_SEQUENCE, TO_SEQUENCE, FAMILIES, PAGE_ROWS, NEXT,
)  # fmt: skip
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
