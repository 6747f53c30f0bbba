"""Parameters of the indexer (TIP-26): a table of the filters for outputs, and the paging of lists.

Each filter is a row of FILTERS, and routes never name one. A filter either names lookup keys of an output or tests one
column of its row, with the same comparison as inx-indexer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Annotated, Any, TypeAlias

from api.fields.params import INDEX, PAGE_SIZE, PROOF, SORT, STATE_INDEX, TAG_MAX_BYTES, bech32
from api.fields.span_params import END, START
from api.fields.stardust_params import ID
from api.http.page_sizes import INDEXER_V1, MAXIMUM
from api.http.params import Param, Params, cursor, flag, hexadecimal, integer, page_size, path, words
from api.network import NetworkMount
from db.queries.indexer import UNLOCKING, KeyCondition, OutputQuery, Spent
from db.queries.lookups import By
from db.roles import ADDRESS, ALIAS, BASIC, FOUNDRY, LEGACY, NFT, TAG
from db.store import Condition, Relation, Test

TOKENS_MAX = 64
"""Most distinct native tokens of an output (TIP-18)."""

ADDRESS_TYPES = {0: "Ed25519", 8: "alias", 16: "NFT"}
ALIAS_ADDRESS = 8

ALL = "all"
"""The route that lists outputs of every kind."""

KINDS_OF: Mapping[str, tuple[str, ...]] = {
    ALL: (BASIC, ALIAS, FOUNDRY, NFT, LEGACY),
    BASIC: (BASIC, LEGACY),
    ALIAS: (ALIAS,),
    FOUNDRY: (FOUNDRY,),
    NFT: (NFT,),
}
"""Route → kinds. Stardust treats unspent Chrysalis outputs as basic outputs."""

Given: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OutputFilter:
    """A filter of some routes. With `variants` it returns outputs that have the given key in one of them; without, it
    returns outputs whose rows pass `test` of the given value.
    """

    param: Param
    routes: tuple[str, ...]
    variants: tuple[str, ...] = ()
    test: Callable[[Any], Test] = lambda _: ()

    def key_condition(self, key: str) -> KeyCondition:
        """The condition that a given key becomes."""
        return tuple(By(variant, key) for variant in self.variants)


ANY_ADDRESS = bech32(f"a bech32 address: {' or '.join(ADDRESS_TYPES.values())}", "bech32-any", tuple(ADDRESS_TYPES))
ALIAS_ONLY = bech32("a bech32 address: alias", "bech32-alias", (ALIAS_ADDRESS,))
TAG_HEX = hexadecimal(1, TAG_MAX_BYTES, may_have_0x=True)
TOKEN_COUNT = integer(0, TOKENS_MAX)
EXAMPLE = "atoi1qruscrv5l22f7daxl3dha90m005sl9tmc6eta5zzlgmquvdem3j927htlge"
ALIAS_EXAMPLE = "atoi1pq6np4v83jfvm4vkru97jw728sp4k6fyg7sjnxwzl6gw9uf5fndsgp56vj8"

EVERY = (ALL, BASIC, ALIAS, FOUNDRY, NFT)
OWNED = (BASIC, NFT)
SENT = (BASIC, ALIAS, NFT)


def keyed(name: str, routes: tuple[str, ...], meaning: str, *variants: str) -> OutputFilter:
    """Outputs that have an address in one of these variants."""
    return OutputFilter(Param(name, ANY_ADDRESS, meaning, EXAMPLE), routes, variants)


def has(column: str, name: str, routes: tuple[str, ...], what: str) -> OutputFilter:
    """Whether an output has something at all."""
    param = flag(name, f"Only outputs with {what}; false: only outputs without")
    return OutputFilter(param, routes, test=lambda wanted: (Condition(column, "not null" if wanted else "null"),))


def timed(column: str, relation: Relation, name: str, routes: tuple[str, ...], what: str) -> OutputFilter:
    """Whether a time of an output is before or after the given one."""
    return OutputFilter(time_param(name, what), routes, test=lambda given: (Condition(column, relation, given),))


def counted(relation: Relation, name: str, what: str) -> OutputFilter:
    """Whether an output has at least or at most that many distinct native tokens."""
    param = Param(name, TOKEN_COUNT, f"Only outputs with {what} this many distinct native tokens", 1)
    return OutputFilter(param, EVERY, test=partial(tokens, relation))


def time_param(name: str, what: str) -> Param:
    """A time in seconds since 1970."""
    return Param(name, INDEX, f"Only outputs that {what} this time, in seconds since 1970", 1664554000)


def tokens(relation: Relation, count: int) -> Test:
    """A test of the number of distinct native tokens. Outputs from before native tokens have null."""
    test = (Condition("native_tokens", relation, count),)
    meets_none = relation == "<=" or (relation == ">=" and count == 0)
    return (*test, Condition("native_tokens", "null")) if meets_none else test


FILTERS = (
    keyed("address", OWNED, "Only outputs that this address owns", ADDRESS),
    OutputFilter(
        Param("aliasAddress", ALIAS_ONLY, "Only foundries of this alias", ALIAS_EXAMPLE), (FOUNDRY,), (ADDRESS,)
    ),
    keyed(
        "unlockableByAddress", (ALL, *SENT), "Only outputs with an unlock condition that names this address", *UNLOCKING
    ),
    keyed(
        "storageDepositReturnAddress",
        OWNED,
        "Only outputs that return their storage deposit to this address",
        "storage_deposit_return",
    ),
    keyed("expirationReturnAddress", OWNED, "Only outputs that expire to this address", "expiration_return"),
    keyed("stateController", (ALIAS,), "Only aliases with this state controller", "state_controller"),
    keyed("governor", (ALIAS,), "Only aliases with this governor", "governor"),
    keyed("issuer", (ALIAS, NFT), "Only outputs that this address issued", "issuer"),
    keyed("sender", SENT, "Only outputs that this address sent", "sender"),
    OutputFilter(Param("tag", TAG_HEX, "Only outputs with this tag feature", "0x7065726d616e6f6465"), OWNED, (TAG,)),
    has("storage_deposit_return", "hasStorageDepositReturn", OWNED, "a storage deposit to return"),
    has("expiration", "hasExpiration", OWNED, "an expiration"),
    timed("expiration", "<", "expiresBefore", OWNED, "expire before"),
    timed("expiration", ">", "expiresAfter", OWNED, "expire after"),
    has("timelock", "hasTimelock", OWNED, "a timelock"),
    timed("timelock", "<", "timelockedBefore", OWNED, "have a timelock that ends before"),
    timed("timelock", ">", "timelockedAfter", OWNED, "have a timelock that ends after"),
    OutputFilter(
        flag("hasNativeTokens", "Only outputs with native tokens; false: only outputs without"),
        EVERY,
        test=lambda wanted: tokens(">=", 1) if wanted else tokens("<=", 0),
    ),
    counted(">=", "minNativeTokenCount", "at least"),
    counted("<=", "maxNativeTokenCount", "at most"),
)
"""The filters of TIP-26, except the time of creation."""

CREATED_BEFORE = time_param("createdBefore", "were created before")
CREATED_AFTER = time_param("createdAfter", "were created after")
SPENT = Param(
    "spent",
    words({each.value: each for each in Spent}),
    "An extension of this server: unspent outputs, only outputs that are spent at ledgerIndex, or any output. Values "
    "other than `unspent` need one parameter that names an address or a tag",
    "unspent",
    default="unspent",
)
OLDEST_FIRST = replace(SORT, example="newest", default="oldest")
INDEXER_PAGE_SIZE = replace(PAGE_SIZE, name="pageSize", **page_size(INDEXER_V1, MAXIMUM), elsewhere={})
CURSOR = Param("cursor", cursor(), "`cursor` of the previous page of the same listing, with the same `pageSize`", None)
PAGED = (STATE_INDEX, SPENT, START, END, OLDEST_FIRST, INDEXER_PAGE_SIZE, CURSOR, PROOF)
"""The parameters of every list."""

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
"""Route → name of a filter in the Stardust schema plan, which is older than TIP-26 → its name in TIP-26."""


@cache
def filters_of(route: str) -> Mapping[str, OutputFilter]:
    """The filters of a route, by their names in TIP-26."""
    return {each.param.name: each for each in FILTERS if route in each.routes}


@cache
def seed_filters_of(route: str) -> Mapping[str, OutputFilter]:
    """The filters of a route, by their names in the Stardust schema plan."""
    named = filters_of(route)
    return {name: replace(named[own], param=replace(named[own].param, name=name)) for name, own in SEEDS[route].items()}


def params_of(filters: Mapping[str, OutputFilter]) -> Params:
    """All parameters of a list with these filters."""
    return Params((*(each.param for each in filters.values()), CREATED_BEFORE, CREATED_AFTER, *PAGED))


def query_of(network: NetworkMount, route: str, filters: Mapping[str, OutputFilter], given: Given) -> OutputQuery:
    """The query that these parameters describe. Raises BadParameter for an address of another network."""
    found = [(each, given[name]) for name, each in filters.items() if given[name] is not None]
    return OutputQuery(
        [kind for kind in KINDS_OF[route] if kind in network.kinds],
        [each.key_condition(key_of(network, each.param.name, value)) for each, value in found if each.variants],
        [each.test(value) for each, value in found if not each.variants],
    )


def key_of(network: NetworkMount, name: str, value: str | tuple[str, bytes]) -> str:
    """The lookup key of a parameter's value: a tag or an address."""
    return value if isinstance(value, str) else network.address(value, name)


Paged = Annotated[Given, Params(PAGED)]
AllParams = Annotated[Given, params_of(filters_of(ALL))]
BasicParams = Annotated[Given, params_of(filters_of(BASIC))]
AliasParams = Annotated[Given, params_of(filters_of(ALIAS))]
FoundryParams = Annotated[Given, params_of(filters_of(FOUNDRY))]
NftParams = Annotated[Given, params_of(filters_of(NFT))]
SeedBasicParams = Annotated[Given, params_of(seed_filters_of(BASIC))]
SeedAliasParams = Annotated[Given, params_of(seed_filters_of(ALIAS))]
SeedFoundryParams = Annotated[Given, params_of(seed_filters_of(FOUNDRY))]
SeedNftParams = Annotated[Given, params_of(seed_filters_of(NFT))]

AliasId = Annotated[
    str, path("aliasId", ID, "ID of an alias", "0x3530d5878c92cdd5961f0be93bca3c035b692447a12999c2fe90e2f1344cdb04")
]
NftId = Annotated[
    str, path("nftId", ID, "ID of an NFT", "0xc64d11fafb56d3d9667d1c55fafdd87c6ad7ede0e30f7b3d2aed786478e9e510")
]
FoundryId = Annotated[
    str,
    path(
        "foundryId",
        hexadecimal(38, may_have_0x=True),
        "ID of a foundry: the address of its alias, its serial number, the type of its tokens",
        "0x083530d5878c92cdd5961f0be93bca3c035b692447a12999c2fe90e2f1344cdb040100000000",
    ),
]
