"""The parameters of the event database's functions, in a query or as the keys of a posted object.

Rules of this file: names and meanings are the functions'; how they are posted api/wormhole/events/functions.py says.
"""

import re
from dataclasses import replace
from functools import partial

from api.http.params import Param, choice, one_of, parse_int
from api.wormhole.params import (
    CHAIN,
    CHAIN_PATTERN,
    CURSOR,
    EMITTER_HEX,
    SEQUENCE,
    TEXT_MAX,
    TX_HASH,
    UNTIL,
    listed_words,
)
from db.queries.wormhole.values import INDEXED
from db.schema.event_columns import DETAILS, TRANSFER
from db.schema.event_columns import FAMILIES as ALL_FAMILIES
from ledger.wormhole.chains import find_chain_named

DAYS_MAX = 10_000


def parse_chain(text: str) -> int:
    """A chain by its number or its name; ValueError otherwise."""
    named = find_chain_named(text)
    return named.id if named is not None else int(str(CHAIN.parse(text)))


EMITTER_CHAIN = replace(
    CHAIN,
    name="emitterChain",
    where="query",
    expected="the number or the name of a chain",
    schema={"type": "string", "pattern": f"^({CHAIN_PATTERN}|solana|ethereum|terra|bsc|polygon)$"},
    parse=parse_chain,
    example="1",
)
EMITTER_ADDRESS = replace(EMITTER_HEX, name="emitterAddress", where="query")
SEQUENCE_TEXT = replace(SEQUENCE, name="sequence", where="query", meaning=f"{SEQUENCE.meaning}, padded or not")
ID = replace(TX_HASH, name="id", meaning="InitiatingTxID of the message", required=True, example="0x" + "5a" * 32)
FOR_CHAIN = replace(
    EMITTER_CHAIN, name="forChain", meaning="Only messages of this chain, by number or name", required=False
)
FOR_ADDRESS = replace(
    EMITTER_ADDRESS, name="forAddress", meaning="Only messages of this contract of forChain", required=False
)
GROUP_BY = one_of(
    "groupBy",
    "Counted apart by chain or by contract, not only all together",
    {"chain": "chain", "address": "address"},
    "chain",
)
NUM_DAYS = Param(
    "numDays",
    "query",
    "So many days before the last one; nothing: all since the bridge began, 2021-09-13",
    f"an integer from 0 to {DAYS_MAX}",
    {"type": "integer", "minimum": 0, "maximum": DAYS_MAX},
    lambda text: parse_int(text, 0, DAYS_MAX),
    30,
)
LAST_24_HOURS = Param(
    "last24Hours",
    "query",
    "Whatever it says: with LastDayCount, of the last day",
    "a text",
    {"type": "string"},
    bool,
    "true",
)
TO_DAY = replace(UNTIL, meaning="Ours: the last day, of UTC; nothing: today")

FAMILIES = Param(
    "families",
    "query",
    "Ours: all that these families tell; no others are read; nothing: what the functions told of each",
    f"of {', '.join(ALL_FAMILIES)}, with commas between them",
    {"type": "string", "pattern": f"^({'|'.join(ALL_FAMILIES)})(,({'|'.join(ALL_FAMILIES)}))*$"},
    partial(listed_words, parse=choice({each: each for each in ALL_FAMILIES})),
    f"{TRANSFER},{DETAILS}",
)


def parse_prefix(text: str) -> tuple[int, str | None]:
    """Chain and emitter of the beginning of a row key; ValueError for what is none, or ends amid a part."""
    found = re.fullmatch(r"([0-9]{1,5}):(?:([0-9a-f]{64}):)?", text, re.ASCII)
    if found is None:
        raise ValueError("no prefix")
    return int(str(CHAIN.parse(found[1]))), found[2]


PREFIX = Param(
    "prefix",
    "query",
    "The beginning of row keys: of a chain, or of one of its contracts",
    "CHAIN: or CHAIN:ADDRESS:, the address 64 lower-case hex digits",
    {"type": "string", "pattern": f"^{CHAIN_PATTERN}:([0-9a-f]{{64}}:)?$"},
    parse_prefix,
    "1:",
    required=True,
)
KEY = (EMITTER_CHAIN, EMITTER_ADDRESS, SEQUENCE_TEXT, FAMILIES)
COUNTED = (LAST_24_HOURS, NUM_DAYS, GROUP_BY, FOR_CHAIN, FOR_ADDRESS, TO_DAY)

ROWS_MAX = 100
NUM_ROWS = Param(
    "numRows",
    "query",
    "Most rows of each group, the newest",
    f"an integer from 1 to {ROWS_MAX}",
    {"type": "integer", "minimum": 1, "maximum": ROWS_MAX},
    lambda text: parse_int(text, 1, ROWS_MAX),
    30,
    default="30",
)
NEXT = replace(CURSOR, meaning="`Next` of the answer before: the rows behind those")
ROW_KEYS = (PREFIX, FAMILIES, replace(NUM_ROWS, meaning="Most rows in one answer"), NEXT)
NO_CURSOR = replace(
    NEXT,
    meaning="Refused, as the newest rows are not paged; readrows and findrows are",
    expected="nothing, as the newest rows are not paged",
    schema={"type": "string", "maxLength": 0},
    parse=choice({"": None}),
    example="",
)
RECENT = (NUM_ROWS, GROUP_BY, FOR_CHAIN, FOR_ADDRESS, NO_CURSOR)

COLUMNS_FOUND = f"one that rows are looked up by: {', '.join(':'.join(column) for column in INDEXED)}"
COLUMN_FAMILY = Param(
    "columnFamily",
    "query",
    "The family of the column",
    COLUMNS_FOUND,
    {"type": "string", "enum": sorted({family for family, _ in INDEXED})},
    choice({family: family for family, _ in INDEXED}),
    TRANSFER,
    required=True,
)
COLUMN_NAME = replace(
    COLUMN_FAMILY,
    name="columnName",
    meaning="The column, by its name in the family",
    schema={"type": "string", "enum": sorted({name for _, name in INDEXED})},
    parse=choice({name: name for _, name in INDEXED}),
    example="TargetAddress",
)


def parse_value(text: str) -> str:
    """What a column that is looked up may hold; ValueError otherwise."""
    if not 1 <= len(text) <= TEXT_MAX or not (text.isascii() and text.isprintable()):
        raise ValueError("length or alphabet")
    return text


VALUE = Param(
    "value",
    "query",
    "The whole of what the column holds; no pattern",
    f"1 to {TEXT_MAX} characters of ASCII",
    {"type": "string", "minLength": 1, "maxLength": TEXT_MAX, "pattern": "^[ -~]+$"},
    parse_value,
    f"{4:064d}",
    required=True,
)
VAA_BYTES = replace(LAST_24_HOURS, name="vaaBytes", meaning="Whatever it says: with SignedVAABytes")
COLUMN = (
    COLUMN_FAMILY,
    COLUMN_NAME,
    VALUE,
    replace(EMITTER_CHAIN, meaning="Only messages of this chain, by number or name", required=False),
    replace(EMITTER_ADDRESS, meaning="Only messages of this contract", required=False),
    VAA_BYTES,
)
FOUND = (
    *COLUMN,
    replace(
        NUM_ROWS,
        meaning=f"So many rows, the newest; 0: all, if they are no more than {ROWS_MAX}",
        expected=f"an integer from 0 to {ROWS_MAX}",
        schema={"type": "integer", "minimum": 0, "maximum": ROWS_MAX},
        parse=lambda text: parse_int(text, 0, ROWS_MAX),
        default="0",
    ),
)
FOUND_ROWS = (*COLUMN, replace(NUM_ROWS, meaning="Most rows in one answer"), NEXT)

DAYS_OF_30 = replace(NUM_DAYS, meaning="So many days before the last one", default="30")
DAILY = replace(LAST_24_HOURS, name="daily", meaning="Whatever it says: with Daily, of each day")
FOR_PERIOD = replace(LAST_24_HOURS, name="forPeriod", meaning="Whatever it says: with WithinPeriod, of all days")
ALL_TIME = replace(
    LAST_24_HOURS, name="allTime", meaning="Whatever it says: with AllTime; so is it if nothing is asked"
)
OF_LAST_DAY = replace(
    LAST_24_HOURS, meaning="Whatever it says: with Last24Hours, of the last day; so is it if nothing is asked"
)
MOVED = (OF_LAST_DAY, FOR_PERIOD, DAILY, DAYS_OF_30, FOR_CHAIN, FOR_ADDRESS, TO_DAY)
MOVED_SO_FAR = (ALL_TIME, DAILY, DAYS_OF_30, FOR_CHAIN, FOR_ADDRESS, TO_DAY)
LOCKED = (replace(LAST_24_HOURS, meaning="Whatever it says: with Last24HoursChange, of the last day"), TO_DAY)
LOCKED_SO_FAR = (NUM_DAYS, TO_DAY)
AMOUNTS = replace(LAST_24_HOURS, name="amounts", meaning="Whatever it says: with USD by address")
COUNTS = replace(LAST_24_HOURS, name="counts", meaning="Whatever it says: with how many; so is it without amounts")
RECEIVED = (*MOVED, COUNTS, AMOUNTS)
RECEIVED_SO_FAR = (*MOVED_SO_FAR, COUNTS, AMOUNTS)
