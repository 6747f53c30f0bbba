"""The parameters of Wormhole's families.

Rules of this file: as in params.py. A chain is Wormhole's number of it; addresses are hex of 32 bytes, and where
wormholescan takes more, with 0x, without leading zeros, or as their chain writes them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Annotated, TypeAlias

from api.http.errors import BadParameter
from api.http.page_sizes import MAXIMUM, WORMHOLESCAN
from api.http.params import Param, choice, flag, hex_param, one_of, page_size, parse_hex, parse_int
from ledger.wormhole.addresses import NativeAddressError, parse_address

CHAIN_MAX = 2**16 - 1
SEQUENCE_MAX = 2**64 - 1

DEFAULT_PAGE_SIZE = 50

TEXT_MAX = 128
"""Characters of an address or transaction id at most; Solana's have 88."""

SKIPPED_MAX = 10_000
"""Results that a page by number may lie behind: those before it are read to be counted."""

CHAIN = Param(
    "chain",
    "path",
    "Wormhole's number of the chain that emitted the message",
    f"an integer from 0 to {CHAIN_MAX}",
    {"type": "integer", "minimum": 0, "maximum": CHAIN_MAX},
    lambda text: parse_int(text, 0, CHAIN_MAX),
    1,
    required=True,
)
EMITTER_HEX = hex_param(
    "emitter",
    "The contract that emitted the message",
    32,
    f"{4:064d}",
)
SEQUENCE = Param(
    "sequence",
    "path",
    "The emitter's number of the message",
    f"an integer from 0 to {SEQUENCE_MAX}",
    {"type": "integer", "minimum": 0, "maximum": SEQUENCE_MAX},
    lambda text: parse_int(text, 0, SEQUENCE_MAX),
    1337,
    required=True,
)

Chain: TypeAlias = Annotated[int, CHAIN]
EmitterHex: TypeAlias = Annotated[str, EMITTER_HEX]
SequenceNumber: TypeAlias = Annotated[int, SEQUENCE]


def parse_text(text: str) -> str:
    """An address or id in a form that the chain decides; ValueError for what is of none."""
    if not 1 <= len(text) <= TEXT_MAX or not (text.isascii() and text.isalnum()):
        raise ValueError("length or alphabet")
    return text


def parse_day(text: str) -> int:
    """Days since 1970 of a date as 2021-09-21; ValueError otherwise."""
    if len(text) != len("2021-09-21") or not text >= "1970-01-01":
        raise ValueError("not in bounds")
    return (date.fromisoformat(text) - date(1970, 1, 1)).days


INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SENT_BEFORE_S = 2**32
"""Seconds since 1970 that are later than any message can say."""


def parse_instant(text: str) -> int:
    """Microseconds since 1970 of a time as RFC 3339 writes it, or the nearest that has all messages on the same side
    of it; ValueError otherwise.
    """
    if not INSTANT.fullmatch(text):
        raise ValueError("of another form")
    time_us = (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)
    return min(max(time_us, -1), 1_000_000 * SENT_BEFORE_S)


def emitter_of(chain: int, text: str) -> str:
    """An emitter's address as hex of 32 bytes; BadParameter for what its chain cannot have."""
    try:
        return parse_address(chain, text).hex()
    except NativeAddressError as error:
        raise BadParameter(EMITTER.name, EMITTER.expected, text) from error


EMITTER = Param(
    "emitter",
    "path",
    "The contract that emitted the message, as hex or as its chain writes it",
    "up to 64 hex digits, with or without 0x, or an address as that chain has them",
    {"type": "string", "pattern": "^(0x)?[0-9a-fA-F]{1,64}$"},
    parse_text,
    EMITTER_HEX.example,
    required=True,
)
PAGE_SIZE = Param(
    "pageSize",
    "query",
    "Most results in one answer",
    f"an integer from 1 to {MAXIMUM}",
    example=50,
    **page_size(WORMHOLESCAN, DEFAULT_PAGE_SIZE),
)
PAGE = Param(
    "page",
    "query",
    f"Number of the page, from 0; behind {SKIPPED_MAX} results only a cursor leads",
    "an integer from 0",
    {"type": "integer", "minimum": 0, "maximum": SKIPPED_MAX},
    lambda text: parse_int(text, 0, SKIPPED_MAX),
    0,
    default="0",
)
CURSOR = Param(
    "cursor",
    "query",
    "Ours: `pagination.next` of the answer before, the next page of the same listing, whatever `page` says",
    "what an answer to the same question gave",
    {"type": "string", "maxLength": 1024},
    str,
    None,
)
SORT_ORDER = one_of(
    "sortOrder",
    "Which end of the listing comes first: DESC is the newest",
    {"ASC": False, "DESC": True},
    "ASC",
    default="DESC",
)
TX_HASH = Param(
    "txHash",
    "query",
    "Only what was sent in this transaction, in the form of its chain",
    f"1 to {TEXT_MAX} letters and digits",
    {"type": "string", "minLength": 1, "maxLength": TEXT_MAX, "pattern": "^[0-9A-Za-z]+$"},
    parse_text,
    "0x" + "5a" * 32,
)
TO_CHAIN = Param(
    "toChain",
    "query",
    "Only transfers to this chain",
    CHAIN.expected,
    CHAIN.schema,
    CHAIN.parse,
    2,
)
PARSED_PAYLOAD = flag("parsedPayload", "With `payload`: what the message says, where it is understood", default="false")
PORTAL = "PORTAL_TOKEN_BRIDGE"
APPS = {
    PORTAL: ("token_transfer", "token_transfer_with_payload", "asset_meta"),
    "PORTAL_NFT_BRIDGE": ("nft_transfer",),
    "GENERIC_RELAYER": ("relayer_delivery", "relayer_redelivery"),
    "NATIVE_TOKEN_TRANSFER": ("ntt_transfer", "ntt_info"),
}
"""Applications by wormholescan's names → kinds of payloads."""

APP_ID = one_of("appId", "Only what this application sent", {name: name for name in APPS}, PORTAL)
SIGNER = Param(
    "signer",
    "path",
    "Address of a guardian",
    "40 hex digits, with or without 0x",
    {"type": "string", "pattern": "^(0x)?[0-9a-fA-F]{40}$"},
    lambda text: parse_hex(text.removeprefix("0x"), 20, 20),
    "0x58CC3AE5C097b213cE3c81979e1B9f9570746AA5",
    required=True,
)
DIGEST = hex_param(
    "hash", "Digest of the message", 32, "ed3a5600d44b9dcc889daf0178dd69ab1e9356308194ba3628a7b720ae48a8d5"
)

ADDRESS = Param(
    "address",
    "path",
    "Who sent or receives, as its chain writes it or as hex",
    f"1 to {TEXT_MAX} letters and digits",
    {"type": "string", "minLength": 1, "maxLength": TEXT_MAX, "pattern": "^[0-9A-Za-z]+$"},
    parse_text,
    "0xce96a707a4e0b0fe34d28d3c4e580c48634519e5",
    required=True,
)
ADDRESS_ASKED = replace(ADDRESS, where="query", required=False)
OPERATIONS_MAX = 100
OPERATIONS_PAGE_SIZE = replace(
    PAGE_SIZE,
    expected=f"an integer from 1 to {OPERATIONS_MAX}",
    schema={"type": "integer", "minimum": 1, "maximum": OPERATIONS_MAX},
    parse=lambda text: parse_int(text, 1, OPERATIONS_MAX),
)


@dataclass(frozen=True, slots=True)
class Observed:
    """An observation by its id: a guardian's, as hex, of a body."""

    chain: int
    emitter: str
    sequence: int
    guardian: str
    digest: str


OBSERVATION_ID = re.compile(r"([0-9]{1,5})/([0-9a-f]{64})/([0-9]{1,20})/0x([0-9a-fA-F]{40})/([0-9a-f]{64})", re.ASCII)


def parse_observed(text: str) -> Observed:
    """An observation's id; ValueError for what is none."""
    found = OBSERVATION_ID.fullmatch(text)
    if found is None:
        raise ValueError("no id")
    chain, emitter, sequence, guardian, digest = found.groups()
    numbers = parse_int(chain, 0, CHAIN_MAX), parse_int(sequence, 0, SEQUENCE_MAX)
    return Observed(numbers[0], emitter, numbers[1], guardian.lower(), digest)


OBSERVED = replace(
    CURSOR,
    meaning="Ours: `id` of the last observation of the answer before: those behind it, whatever `page` says",
    expected="the id of an observation of this archive",
    schema={"type": "string", "pattern": f"^{OBSERVATION_ID.pattern}$"},
    parse=parse_observed,
)


def listed_words(text: str, parse: Callable[[str], object], most: int | None = None) -> tuple[object, ...]:
    """Words behind commas, each read so; ValueError for one that is none, and for more than `most`."""
    words = text.split(",")
    if most is not None and len(words) > most:
        raise ValueError("too many")
    return tuple(parse(each) for each in words)


CHAINS_MAX = 10
"""Chains whose messages one listing merges."""

CHAIN_PATTERN = "([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
CHAINS_SCHEMA = {"type": "string", "pattern": f"^{CHAIN_PATTERN}(,{CHAIN_PATTERN}){{0,{CHAINS_MAX - 1}}}$"}
SOURCE_CHAINS = Param(
    "sourceChain",
    "query",
    "Only messages that one of these chains emitted",
    f"at most {CHAINS_MAX} numbers of chains with commas between them",
    CHAINS_SCHEMA,
    partial(listed_words, parse=CHAIN.parse, most=CHAINS_MAX),
    "1,2",
)
TARGET_CHAINS = replace(SOURCE_CHAINS, name="targetChain", meaning="Only transfers to one of these chains")
APP_IDS = replace(
    APP_ID,
    meaning="Only what one of these applications sent",
    expected=f"of {', '.join(APPS)}, with commas between them",
    schema={"type": "string", "pattern": f"^({'|'.join(APPS)})(,({'|'.join(APPS)}))*$"},
    parse=partial(listed_words, parse=APP_ID.parse),
)


PAYLOAD_TYPES = {
    "1": ("token_transfer", "nft_transfer"),
    "2": ("asset_meta",),
    "3": ("token_transfer_with_payload",),
}
"""`payloadType` of the bridges' payloads → their kinds; no other payload has one."""

PAYLOAD_TYPE = Param(
    "payloadType",
    "query",
    "Only messages whose payload has one of these as its `payloadType`, whatever bridge sent it",
    f"of {', '.join(PAYLOAD_TYPES)}, with commas between them",
    {"type": "string", "pattern": f"^[{''.join(PAYLOAD_TYPES)}](,[{''.join(PAYLOAD_TYPES)}])*$"},
    partial(listed_words, parse=choice(dict(PAYLOAD_TYPES))),
    "1,3",
)
EXCLUSIVE_APP_ID = flag(
    "exclusiveAppId",
    "Only what appId sent alone: here that is all, as `appIds` of a message never names more than one",
    default="false",
)
FROM = Param(
    "from",
    "query",
    "Only messages of this time or later, by their bodies",
    "a time as 2021-09-21T01:52:26Z",
    {"type": "string", "format": "date-time"},
    parse_instant,
    "2021-09-21T00:00:00Z",
)
TO = replace(FROM, name="to", meaning="Only messages of this time or earlier", example="2021-10-11T23:59:59Z")


UNTIL = Param(
    "until",
    "query",
    "Ours: the last day, of UTC, that it tells of; no later than today; nothing: yesterday, the last whole one",
    "a date as 2021-09-21",
    {"type": "string", "format": "date"},
    parse_day,
    "2021-10-11",
)
Until: TypeAlias = Annotated[int | None, UNTIL]

Address: TypeAlias = Annotated[str, ADDRESS]
AddressAsked: TypeAlias = Annotated[str | None, ADDRESS_ASKED]
OperationsPageSize: TypeAlias = Annotated[int, OPERATIONS_PAGE_SIZE]
SourceChains: TypeAlias = Annotated[tuple[int, ...] | None, SOURCE_CHAINS]
TargetChains: TypeAlias = Annotated[tuple[int, ...] | None, TARGET_CHAINS]
AppIds: TypeAlias = Annotated[tuple[str, ...] | None, APP_IDS]
ExclusiveAppId: TypeAlias = Annotated[bool, EXCLUSIVE_APP_ID]
PayloadTypes: TypeAlias = Annotated[tuple[tuple[str, ...], ...] | None, PAYLOAD_TYPE]
"""Kinds of each type."""

From: TypeAlias = Annotated[int | None, FROM]
To: TypeAlias = Annotated[int | None, TO]
Emitter: TypeAlias = Annotated[str, EMITTER]
PageSize: TypeAlias = Annotated[int, PAGE_SIZE]
PageNumber: TypeAlias = Annotated[int, PAGE]
Cursor: TypeAlias = Annotated[str | None, CURSOR]
NewestFirst: TypeAlias = Annotated[bool, SORT_ORDER]
TxHash: TypeAlias = Annotated[str | None, TX_HASH]
ToChain: TypeAlias = Annotated[int | None, TO_CHAIN]
ParsedPayload: TypeAlias = Annotated[bool, PARSED_PAYLOAD]
AppId: TypeAlias = Annotated[str | None, APP_ID]
Signer: TypeAlias = Annotated[str, SIGNER]
Digest: TypeAlias = Annotated[str, DIGEST]
ObservedLast: TypeAlias = Annotated[Observed | None, OBSERVED]
