"""The parameters of the indexer (TIP-26): one table of what outputs are filtered by, and how their lists are paged.

Rules of this file: as in params_v2.py. A filter is a row of FILTERS, which no route knows by name: it names keys that
an output stands under, or tests one column of its rows; what inx-indexer compares, and how, is compared alike.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, TypeAlias

from api.fields.params import ADDRESS as ADDRESS_PARAM
from api.fields.params import INDEX_MAX, PAGE_SIZE, SORT, TAG_MAX_BYTES
from api.fields.stardust_params import prefixed_hex
from api.http.page_sizes import INDEXER_V1, MAXIMUM
from api.http.params import Param, Params, choice, page_size, parse_hex, parse_int
from api.network import NetworkMount
from db.queries.indexer import UNLOCKING, KeyCondition, OutputQuery, Spent
from db.queries.lookups import By
from db.roles import ADDRESS, ALIAS, BASIC, FOUNDRY, LEGACY, NFT, TAG
from db.store import Condition, Relation, Test
from ledger.crypto.bech32 import parse_address

TOKENS_MAX = 64
"""Most distinct native tokens of an output (TIP-18)."""

ADDRESS_TYPES = {0: "Ed25519", 8: "alias", 16: "NFT"}
ALIAS_ADDRESS = 8
BECH32 = str(ADDRESS_PARAM.schema["pattern"])
EXAMPLES = {
    0: "atoi1qruscrv5l22f7daxl3dha90m005sl9tmc6eta5zzlgmquvdem3j927htlge",
    ALIAS_ADDRESS: "atoi1pq6np4v83jfvm4vkru97jw728sp4k6fyg7sjnxwzl6gw9uf5fndsgp56vj8",
}

ALL = "all"
"""The route that lists outputs of every kind."""

KINDS_OF: Mapping[str, tuple[str, ...]] = {
    ALL: (BASIC, ALIAS, FOUNDRY, NFT, LEGACY),
    BASIC: (BASIC, LEGACY),
    ALIAS: (ALIAS,),
    FOUNDRY: (FOUNDRY,),
    NFT: (NFT,),
}
"""Route → kinds. What Chrysalis left unspent are basic outputs to Stardust."""

Given: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OutputFilter:
    """A filter of those routes: outputs that stand under what is given in one of the variants; or, without variants,
    whose rows meet the test that `test` makes of what is given.
    """

    param: Param
    routes: tuple[str, ...]
    variants: tuple[str, ...] = ()
    test: Callable[[Any], Test] = lambda _: ()

    def key_condition(self, key: str) -> KeyCondition:
        """What is given as the condition that names keys."""
        return tuple(By(variant, key) for variant in self.variants)


def address_param(name: str, meaning: str, types: Iterable[int] = ADDRESS_TYPES) -> Param:
    """A bech32 address of one of those types."""
    wanted = {number: ADDRESS_TYPES[number] for number in types}

    def parse(text: str) -> tuple[str, bytes]:
        hrp, serialized = parse_address(text)
        if serialized[0] not in wanted:
            raise ValueError("another type of address")
        return hrp, serialized

    return Param(
        name,
        "query",
        meaning,
        f"a bech32 address: {' or '.join(wanted.values())}",
        {"type": "string", "format": "bech32-any" if len(wanted) > 1 else "bech32-alias", "pattern": BECH32},
        parse,
        EXAMPLES[min(wanted)],
    )


def integer_param(name: str, meaning: str, highest: int, example: int) -> Param:
    """An integer from 0 on."""
    schema = {"type": "integer", "minimum": 0, "maximum": highest}
    parse = lambda text: parse_int(text, 0, highest)  # noqa: E731
    return Param(name, "query", meaning, f"an integer from 0 to {highest}", schema, parse, example)


def time_param(name: str, meaning: str) -> Param:
    """Seconds since 1970."""
    return integer_param(name, f"{meaning}, in seconds since 1970", INDEX_MAX, 1664554000)


def flag_param(name: str, meaning: str) -> Param:
    """True or false; nothing: both."""
    words = choice({"true": True, "false": False, "1": True, "0": False})
    return Param(name, "query", meaning, "true or false", {"type": "boolean"}, words, example=True)


def has(column: str, name: str, what: str, routes: tuple[str, ...]) -> OutputFilter:
    """Whether an output has something at all."""
    param = flag_param(name, f"Only outputs that have {what}, or with false only others")
    return OutputFilter(param, routes, test=lambda wanted: (Condition(column, "not null" if wanted else "null"),))


def before(column: str, name: str, what: str, routes: tuple[str, ...]) -> OutputFilter:
    """Whether a time that an output has is before the one given."""
    param = time_param(name, f"Only outputs that {what} before this time")
    return OutputFilter(param, routes, test=lambda given: (Condition(column, "<", given),))


def after(column: str, name: str, what: str, routes: tuple[str, ...]) -> OutputFilter:
    """Whether a time that an output has is after the one given."""
    param = time_param(name, f"Only outputs that {what} after this time")
    return OutputFilter(param, routes, test=lambda given: (Condition(column, ">", given),))


def tokens(relation: Relation, count: int) -> Test:
    """A test of the number of distinct native tokens; outputs of a time without them have none."""
    test = (Condition("native_tokens", relation, count),)
    meets_none = relation == "<=" or (relation == ">=" and count == 0)
    return (*test, Condition("native_tokens", "null")) if meets_none else test


EVERY = (ALL, BASIC, ALIAS, FOUNDRY, NFT)
OWNED = (BASIC, NFT)
SENT = (BASIC, ALIAS, NFT)

TAG_FILTER = Param(
    "tag",
    "query",
    "Only outputs with this tag feature",
    f"hex of 1 to {TAG_MAX_BYTES} bytes, with or without 0x",
    {"type": "string", "pattern": f"^(0x)?([0-9a-fA-F]{{2}}){{1,{TAG_MAX_BYTES}}}$"},
    lambda text: parse_hex(text.removeprefix("0x"), 1, TAG_MAX_BYTES),
    "0x7065726d616e6f6465",
)

FILTERS = (
    OutputFilter(address_param("address", "Only outputs that this address owns"), OWNED, (ADDRESS,)),
    OutputFilter(
        address_param("aliasAddress", "Only foundries of this alias", (ALIAS_ADDRESS,)), (FOUNDRY,), (ADDRESS,)
    ),
    OutputFilter(
        address_param("unlockableByAddress", "Only outputs that name this address in any of their unlock conditions"),
        (ALL, *SENT),
        UNLOCKING,
    ),
    OutputFilter(
        address_param("storageDepositReturnAddress", "Only outputs whose storage deposit goes back to this address"),
        OWNED,
        ("storage_deposit_return",),
    ),
    OutputFilter(
        address_param("expirationReturnAddress", "Only outputs that are this address's once they expire"),
        OWNED,
        ("expiration_return",),
    ),
    OutputFilter(
        address_param("stateController", "Only aliases whose state this address controls"),
        (ALIAS,),
        ("state_controller",),
    ),
    OutputFilter(address_param("governor", "Only aliases that this address governs"), (ALIAS,), ("governor",)),
    OutputFilter(address_param("issuer", "Only outputs that this address issued"), (ALIAS, NFT), ("issuer",)),
    OutputFilter(address_param("sender", "Only outputs that this address sent"), SENT, ("sender",)),
    OutputFilter(TAG_FILTER, OWNED, (TAG,)),
    has("storage_deposit_return", "hasStorageDepositReturn", "a storage deposit to return", OWNED),
    has("expiration", "hasExpiration", "an expiration", OWNED),
    before("expiration", "expiresBefore", "expire", OWNED),
    after("expiration", "expiresAfter", "expire", OWNED),
    has("timelock", "hasTimelock", "a timelock", OWNED),
    before("timelock", "timelockedBefore", "are locked until a time", OWNED),
    after("timelock", "timelockedAfter", "are locked until a time", OWNED),
    OutputFilter(
        flag_param("hasNativeTokens", "Only outputs that hold native tokens, or with false only others"),
        EVERY,
        test=lambda wanted: tokens(">=", 1) if wanted else tokens("<=", 0),
    ),
    OutputFilter(
        integer_param(
            "minNativeTokenCount", "Only outputs of this many distinct native tokens, or more", TOKENS_MAX, 1
        ),
        EVERY,
        test=lambda given: tokens(">=", given),
    ),
    OutputFilter(
        integer_param(
            "maxNativeTokenCount", "Only outputs of this many distinct native tokens, or less", TOKENS_MAX, 1
        ),
        EVERY,
        test=lambda given: tokens("<=", given),
    ),
)
"""What outputs are filtered by, in the words of TIP-26, but for the time they were created at."""

CREATED_BEFORE = time_param("createdBefore", "Only outputs that were created before this time")
CREATED_AFTER = time_param("createdAfter", "Only outputs that were created after this time")
SPENT = Param(
    "spent",
    "query",
    "Which outputs, ours: unspent ones; those spent by ledgerIndex; or any of all history. What is not `unspent` needs "
    "one parameter that names an address or a tag",
    "unspent, only or any",
    {"type": "string", "enum": [each.value for each in Spent]},
    choice({each.value: each for each in Spent}),
    "unspent",
    default="unspent",
)
OLDEST_FIRST = replace(SORT, example="newest", default="oldest")
INDEXER_PAGE_SIZE = replace(PAGE_SIZE, name="pageSize", **page_size(INDEXER_V1, MAXIMUM), elsewhere={})
CURSOR = Param(
    "cursor",
    "query",
    "`cursor` of the answer before: the next page of the same listing, with the same `pageSize`",
    "the cursor of an answer to the same question",
    {"type": "string", "maxLength": 1024},
    str,
    None,
)
PAGED = (SPENT, OLDEST_FIRST, INDEXER_PAGE_SIZE, CURSOR)
"""What every list takes."""

SEEDS = {
    BASIC: {"address": "address", "requiresDustReturn": "hasStorageDepositReturn", "sender": "sender", "tag": "tag"},
    ALIAS: {
        "stateController": "stateController",
        "governer": "governor",
        "governor": "governor",
        "issuer": "issuer",
        "sender": "sender",
    },
    NFT: {
        "address": "address",
        "requiresDustReturn": "hasStorageDepositReturn",
        "issuer": "issuer",
        "sender": "sender",
        "tag": "tag",
    },
    FOUNDRY: {"address": "aliasAddress"},
}
"""Route → the names that filters have in seeds/003, which is older than TIP-26 → their names there."""


@cache
def filters_of(route: str) -> Mapping[str, OutputFilter]:
    """The filters that a route takes, by their names in TIP-26."""
    return {each.param.name: each for each in FILTERS if route in each.routes}


@cache
def seed_filters_of(route: str) -> Mapping[str, OutputFilter]:
    """The filters that a route of seeds/003 takes, by their names there."""
    named = filters_of(route)
    return {name: replace(named[own], param=replace(named[own].param, name=name)) for name, own in SEEDS[route].items()}


def params_of(filters: Mapping[str, OutputFilter]) -> Params:
    """All parameters of a list with those filters."""
    return Params((*(each.param for each in filters.values()), CREATED_BEFORE, CREATED_AFTER, *PAGED))


def asked_of(network: NetworkMount, route: str, filters: Mapping[str, OutputFilter], given: Given) -> OutputQuery:
    """What those parameters ask for. BadParameter for an address of another network."""
    found = [(each, given[name]) for name, each in filters.items() if given[name] is not None]
    return OutputQuery(
        [kind for kind in KINDS_OF[route] if kind in network.kinds],
        [each.key_condition(key_of(network, each.param.name, value)) for each, value in found if each.variants],
        [each.test(value) for each, value in found if not each.variants],
    )


def key_of(network: NetworkMount, name: str, value: str | tuple[str, bytes]) -> str:
    """The key that a value of a parameter names: a tag, or an address."""
    return value if isinstance(value, str) else network.address(value, name)


Paged: TypeAlias = Annotated[Given, Params(PAGED)]
AllAsked: TypeAlias = Annotated[Given, params_of(filters_of(ALL))]
BasicAsked: TypeAlias = Annotated[Given, params_of(filters_of(BASIC))]
AliasAsked: TypeAlias = Annotated[Given, params_of(filters_of(ALIAS))]
FoundryAsked: TypeAlias = Annotated[Given, params_of(filters_of(FOUNDRY))]
NftAsked: TypeAlias = Annotated[Given, params_of(filters_of(NFT))]
SeedBasicAsked: TypeAlias = Annotated[Given, params_of(seed_filters_of(BASIC))]
SeedAliasAsked: TypeAlias = Annotated[Given, params_of(seed_filters_of(ALIAS))]
SeedFoundryAsked: TypeAlias = Annotated[Given, params_of(seed_filters_of(FOUNDRY))]
SeedNftAsked: TypeAlias = Annotated[Given, params_of(seed_filters_of(NFT))]

AliasId: TypeAlias = Annotated[
    str,
    prefixed_hex("aliasId", "Id of an alias", 32, "0x3530d5878c92cdd5961f0be93bca3c035b692447a12999c2fe90e2f1344cdb04"),
]
NftId: TypeAlias = Annotated[
    str,
    prefixed_hex("nftId", "Id of an NFT", 32, "0xc64d11fafb56d3d9667d1c55fafdd87c6ad7ede0e30f7b3d2aed786478e9e510"),
]
FoundryId: TypeAlias = Annotated[
    str,
    prefixed_hex(
        "foundryId",
        "Id of a foundry: its alias' address, serial number, type of its tokens",
        38,
        "0x083530d5878c92cdd5961f0be93bca3c035b692447a12999c2fe90e2f1344cdb040100000000",
    ),
]
