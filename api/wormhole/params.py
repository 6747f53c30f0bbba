"""Parameters that the Wormhole families share.

A chain is Wormhole's chain ID. Addresses are hex of 32 bytes, also with 0x, without leading zeros, or as their chain
writes them, except in the event database.
"""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from api.fields.params import PROOF
from api.http.errors import BadParameter
from api.http.page_sizes import WORMHOLESCAN
from api.http.params import (
    DAY,
    Param,
    Spelled,
    comma_separated,
    converted,
    cursor,
    flag,
    hexadecimal,
    integer,
    page_size,
    path,
    reader,
    text,
    word_list,
    words,
)
from api.network import NetworkMount
from ledger.wormhole.addresses import NativeAddressError, parse_emitter

CHAIN_MAX = 2**16 - 1
SEQUENCE_MAX = 2**64 - 1

DEFAULT_PAGE_SIZE = 50

TEXT_MAX = 128
"""Characters of an address or transaction ID at most; Solana's have 88."""

SKIPPED_MAX = 10_000
"""Results that `page` can skip: the server reads and counts them."""

CHAINS_MAX = 10
"""Chains whose messages one listing merges."""

OPERATIONS_MAX = 100

SENT_BEFORE_S = 2**32
"""Seconds since 1970, later than the time of any message."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

CHAIN_NUMBER = integer(0, CHAIN_MAX)
CHAIN_PATTERN = "([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
_CHAINS = f"at most {CHAINS_MAX} chain IDs, separated by commas"
CHAIN_LIST = comma_separated(CHAIN_NUMBER, _CHAINS, CHAIN_PATTERN, CHAINS_MAX)
SEQUENCE_NUMBER = integer(0, SEQUENCE_MAX)
NATIVE_TEXT = text(f"1 to {TEXT_MAX} letters and digits", pattern="^[0-9A-Za-z]+$", min_length=1, max_length=TEXT_MAX)
"""An address or ID in a form that depends on its chain."""
CONTRACT_TEXT = text(
    f"1 to {TEXT_MAX} letters, digits, dots, dashes and underscores",
    pattern="^[0-9A-Za-z._-]+$",
    min_length=1,
    max_length=TEXT_MAX,
)
"""The same, of a contract or token: some are named like hosts."""


def days(day: date) -> int:
    """Days since 1970. Raises ValueError for earlier dates."""
    since = (day - EPOCH.date()).days
    if since < 0:
        raise ValueError("before 1970")
    return since


def microseconds(time: datetime) -> int:
    """Microseconds since 1970, or the nearest value that is still before or after all messages."""
    return min(max((time - EPOCH) // timedelta(microseconds=1), -1), 1_000_000 * SENT_BEFORE_S)


_RFC_3339 = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$"
UTC_DAY = Annotated[DAY, AfterValidator(days), Field(description="a date such as 2021-09-21")]
INSTANT = Annotated[
    datetime,
    Spelled(Annotated[str, Field(pattern=_RFC_3339)]),
    AfterValidator(microseconds),
    Field(description="a time such as 2021-09-21T01:52:26Z"),
]


@dataclass(frozen=True, slots=True)
class Observed:
    """The ID of an observation: a guardian's address, as hex, and the digest of a message."""

    chain: int
    emitter: str
    sequence: int
    guardian: str
    digest: str


_chain_number = reader(CHAIN_NUMBER)
_sequence_number = reader(SEQUENCE_NUMBER)


def parse_observed(given: str) -> Observed:
    """Reads the ID of an observation, whose form is already checked. Raises ValueError."""
    chain, emitter, sequence, guardian, digest = given.split("/")
    return Observed(
        _chain_number(chain), emitter, _sequence_number(sequence), guardian.removeprefix("0x").lower(), digest
    )


_OBSERVATION_ID = "^([0-9]{1,5})/([0-9a-f]{64})/([0-9]{1,20})/0x([0-9a-fA-F]{40})/([0-9a-f]{64})$"
OBSERVATION_ID = converted(text("the ID of an observation in this archive", pattern=_OBSERVATION_ID), parse_observed)

PORTAL = "PORTAL_TOKEN_BRIDGE"
APPS = {
    PORTAL: ("token_transfer", "token_transfer_with_payload", "asset_meta"),
    "PORTAL_NFT_BRIDGE": ("nft_transfer",),
    "GENERIC_RELAYER": ("relayer_delivery", "relayer_redelivery"),
    "NATIVE_TOKEN_TRANSFER": ("ntt_transfer", "ntt_info"),
}
"""Application, by wormholescan's name → kinds of payloads."""

PAYLOAD_TYPES = {"1": ("token_transfer", "nft_transfer"), "2": ("asset_meta",), "3": ("token_transfer_with_payload",)}
"""`payloadType` of the bridges' payloads → their kinds. No other payload has one."""

CHAIN = path("chain", CHAIN_NUMBER, "Wormhole's ID of the chain that emitted the message", 1)
EMITTER_HEX = path("emitter", hexadecimal(32), "Contract that emitted the message", f"{4:064d}")
SEQUENCE = path("sequence", SEQUENCE_NUMBER, "The emitter's number of the message", 1337)
_EMITTER = {
    "type": "string",
    "pattern": "^(0x)?[0-9a-fA-F]{1,64}$",
    "description": "up to 64 hex digits, with or without 0x, or an address as that chain writes it",
}
EMITTER = path(
    "emitter",
    Annotated[CONTRACT_TEXT, WithJsonSchema(_EMITTER)],
    "Contract that emitted the message, as hex or as its chain writes it",
    EMITTER_HEX.example,
)
PAGE_SIZE = Param(
    "pageSize",
    **page_size(WORMHOLESCAN, DEFAULT_PAGE_SIZE),
    meaning="Maximum number of results in one page",
    example=50,
)
_PAGE = f"Number of the page, from 0. Use `cursor` to read more than {SKIPPED_MAX} results"
PAGE = Param("page", integer(0, SKIPPED_MAX), _PAGE, 0, default="0")
_CURSOR = "An extension of this server: `pagination.next` of the previous page of the same listing. `page` is ignored"
CURSOR = Param("cursor", cursor("pagination.next"), _CURSOR, None)
TX_HASH = Param("txHash", NATIVE_TEXT, "Only messages of this transaction, as its chain writes it", "0x" + "5a" * 32)
_PARTY = "Sender or recipient, as its chain writes it or as hex"
ADDRESS = path("address", NATIVE_TEXT, _PARTY, "0xce96a707a4e0b0fe34d28d3c4e580c48634519e5")
_LAST = "An extension of this server: `id` of the last observation of the previous page. `page` is ignored"
OBSERVED = replace(CURSOR, type=OBSERVATION_ID, meaning=_LAST)
FROM = Param("from", INSTANT, "Only messages whose body has this time or a later one", "2021-09-21T00:00:00Z")
TO = Param("to", INSTANT, "Only messages whose body has this time or an earlier one", "2021-10-11T23:59:59Z")
_UNTIL = "An extension of this server: the last day (UTC), at the latest today. Default: yesterday, which is complete"
UNTIL = Param("until", UTC_DAY, _UNTIL, "2021-10-11")
SORT_ORDER = converted(Annotated[Literal["ASC", "DESC"], BeforeValidator(str.upper)], lambda word: word == "DESC")
_ORDER = "Which end comes first; DESC: the newest. Case does not matter"
SIGNER = path(
    "signer", hexadecimal(20, may_have_0x=True), "Address of a guardian", "0x58CC3AE5C097b213cE3c81979e1B9f9570746AA5"
)
_DIGEST = "ed3a5600d44b9dcc889daf0178dd69ab1e9356308194ba3628a7b720ae48a8d5"
_OWN = "An extension of this server: "
_ONLY_APP = "Only messages of appId alone. No effect here: `appIds` never names more than one"
_PAYLOAD_TYPE = "Only messages whose payload has one of these values of `payloadType`, of any bridge"

Chain = Annotated[int, CHAIN]
SequenceNumber = Annotated[int, SEQUENCE]
Emitter = Annotated[str, EMITTER]
Contiguity = Annotated[
    str | None,
    replace(
        PROOF,
        meaning="An extension of this server: `complete` adds `sequences`, which states whether the emitter's "
        "sequences up to the highest one on the page follow each other, so that no message is missing",
    ),
]
PageSize = Annotated[int, PAGE_SIZE]
PageNumber = Annotated[int, PAGE]
Cursor = Annotated[str | None, CURSOR]
NewestFirst = Annotated[bool, Param("sortOrder", SORT_ORDER, _ORDER, "ASC", default="DESC")]
TxHash = Annotated[str | None, TX_HASH]
ToChain = Annotated[int | None, Param("toChain", CHAIN_NUMBER, "Only transfers to this chain", 2)]
ParsedPayload = Annotated[bool, flag("parsedPayload", "Also return `payload`, the decoded payload, if known", "false")]
AppId = Annotated[
    str | None, Param("appId", words(APPS.keys()), "Only messages of this application, with their `payload`", PORTAL)
]
Signer = Annotated[str, SIGNER]
Digest = Annotated[str, path("hash", hexadecimal(32), "Digest of the message", _DIGEST)]
Address = Annotated[str, ADDRESS]
AddressParam = Annotated[str | None, replace(ADDRESS, where="query", required=False)]
OperationsPageSize = Annotated[int, replace(PAGE_SIZE, type=integer(1, OPERATIONS_MAX))]
SourceChains = Annotated[
    tuple[int, ...] | None, Param("sourceChain", CHAIN_LIST, "Only messages that one of these chains emitted", "1,2")
]
TargetChains = Annotated[
    tuple[int, ...] | None, Param("targetChain", CHAIN_LIST, "Only transfers to one of these chains", "1,2")
]
AppIds = Annotated[
    tuple[str, ...] | None, Param("appId", word_list(tuple(APPS)), "Only messages of these applications", PORTAL)
]
ExclusiveAppId = Annotated[bool, flag("exclusiveAppId", _ONLY_APP, "false")]
PayloadTypes = Annotated[
    tuple[tuple[str, ...], ...] | None, Param("payloadType", word_list(PAYLOAD_TYPES), _PAYLOAD_TYPE, "1,3")
]
"""The kinds of each type."""

From = Annotated[int | None, FROM]
To = Annotated[int | None, TO]
SentFrom = Annotated[int | None, replace(FROM, meaning=f"{_OWN}{FROM.meaning[0].lower()}{FROM.meaning[1:]}")]
SentTo = Annotated[int | None, replace(TO, meaning=f"{_OWN}{TO.meaning[0].lower()}{TO.meaning[1:]}")]
Until = Annotated[int | None, UNTIL]
ObservedLast = Annotated[Observed | None, OBSERVED]


def emitter_of(network: NetworkMount, chain: int, emitter: str) -> str:
    """An emitter's address as hex of 32 bytes. Raises BadParameter if its chain has no such address."""
    try:
        return parse_emitter(network.wormhole or "", chain, emitter).hex()
    except NativeAddressError as error:
        raise BadParameter(EMITTER.name, EMITTER.expected, emitter) from error
