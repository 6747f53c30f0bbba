"""The parameters of the event database's functions, in a query or as the keys of a posted object.

Rules of this file: names and meanings are the functions'; a posted value is a text that is read as one of a query is.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, TypeAlias

from api.body import Body
from api.params import Param, Params, choice, parse_int
from api.params_wormhole import CHAIN, EMITTER_HEX, SEQUENCE, TX_HASH, UNTIL
from api.responses_events import PostedId, PostedKey, PostedTotals
from ledger.json_reader import JsonError
from ledger.wormhole.chains import find_chain_named

BODY_MAX_BYTES = 4_096

DAYS_MAX = 10_000

Given: TypeAlias = dict[str, Any]


def parse_chain(text: str) -> int:
    """A chain by its number or its name; ValueError otherwise."""
    named = find_chain_named(text)
    return named.id if named is not None else int(str(CHAIN.parse(text)))


EMITTER_CHAIN = replace(
    CHAIN,
    name="emitterChain",
    where="query",
    expected="the number or the name of a chain",
    schema={"type": "string", "pattern": "^([0-9]{1,4}|solana|ethereum|terra|bsc|polygon)$"},
    parse=parse_chain,
    example="1",
)
EMITTER_ADDRESS = replace(EMITTER_HEX, name="emitterAddress", where="query")
SEQUENCE_TEXT = replace(SEQUENCE, name="sequence", where="query", meaning=f"{SEQUENCE.meaning}, padded or not")
ID = replace(TX_HASH, name="id", meaning="InitiatingTxID of the message", required=True, example="0x" + "ab" * 32)
FOR_CHAIN = replace(
    EMITTER_CHAIN, name="forChain", meaning="Only messages of this chain, by number or name", required=False
)
FOR_ADDRESS = replace(
    EMITTER_ADDRESS, name="forAddress", meaning="Only messages of this contract of forChain", required=False
)
GROUP_BY = Param(
    "groupBy",
    "query",
    "Counted apart by chain or by contract, not only all together",
    "chain or address",
    {"type": "string", "enum": ["chain", "address"]},
    choice({"chain": "chain", "address": "address"}),
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

KEY = (EMITTER_CHAIN, EMITTER_ADDRESS, SEQUENCE_TEXT)
COUNTED = (LAST_24_HOURS, NUM_DAYS, GROUP_BY, FOR_CHAIN, FOR_ADDRESS, TO_DAY)


def posted(members: tuple[Param, ...], document: Any) -> Given:
    """The members of an object, each read as of a query. Raises JsonError, and BadParameter for a value."""
    if not isinstance(document, Mapping):
        raise JsonError("", "an object")
    for name, value in document.items():
        if not isinstance(value, str):
            raise JsonError(str(name), "a text")
    return {member.name: member.read(document.get(member.name)) for member in members}


KeyAsked: TypeAlias = Annotated[Given, Params(KEY)]
KeyPosted: TypeAlias = Annotated[
    Given, Body("The row", PostedKey, lambda document: posted(KEY, document), BODY_MAX_BYTES)
]
IdAsked: TypeAlias = Annotated[Given, Params((ID,))]
IdPosted: TypeAlias = Annotated[
    Given, Body("The transaction", PostedId, lambda document: posted((ID,), document), BODY_MAX_BYTES)
]
TotalsAsked: TypeAlias = Annotated[Given, Params(COUNTED)]
TotalsPosted: TypeAlias = Annotated[
    Given, Body("What is counted", PostedTotals, lambda document: posted(COUNTED, document), BODY_MAX_BYTES)
]
