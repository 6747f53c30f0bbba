"""Values that schemathesis cannot derive from openapi.yaml: checksums, states of earlier pages, related parameters.

schemathesis.toml loads this module into the schemathesis process.
"""

import os
from typing import Any

import httpx
import schemathesis
from hypothesis import strategies as st
from schemathesis.core.parameters import ParameterLocation

from api.poi_v1.routes import APPLIED_BLOCK_ID
from api.wormhole.events.params import (
    COLUMN_FAMILY,
    COLUMN_NAME,
    EMITTER_ADDRESS,
    END_KEY,
    FROM_SEQUENCE,
    ID,
    OF_CHAIN,
    PREFIX,
    START_KEY,
    TO_SEQUENCE,
    VALUE,
)
from api.wormhole.params import EMITTER_HEX
from api.wormhole.responses import VAA_BASE64
from ledger.crypto.bech32 import format_address

HASHES = st.binary(min_size=32, max_size=32)


def addresses(*types: int) -> st.SearchStrategy[str]:
    """Addresses of those types in the served network."""
    hrp = os.environ.get("PERMANODE_TEST_HRP", "atoi")
    return st.builds(lambda kind, each: format_address(hrp, bytes([kind]) + each), st.sampled_from(types), HASHES)


for spelled, types in (("bech32", (0,)), ("bech32-any", (0, 8, 16)), ("bech32-alias", (8,))):
    schemathesis.openapi.format(spelled, addresses(*types))
schemathesis.openapi.format("bech32-list", st.lists(addresses(0, 8, 16), min_size=1, max_size=3).map(",".join))

client = httpx.Client()

SERVED = "mainnet"
"""The network of tests.api.served."""


COLUMN = {each.name: str(each.example) for each in (COLUMN_FAMILY, COLUMN_NAME, VALUE)}
"""A lookup column and a value of it: not every family has every column."""

SPANS = (("start_timestamp", "end_timestamp"), ("startTimestamp", "endTimestamp"), ("startIndex", "endIndex"))
"""Pairs of parameters of which the second must not be lower than the first."""

PERIODS = {"from": "2022-01-01T00:00:00Z", "to": "2023-01-01T00:00:00Z"}
"""A span in which each timespan of activity by period is allowed: from a year on, and for days up to a year."""

WAYS = tuple(
    {each.name: str(each.example) for each in way}
    for way in ((PREFIX,), (START_KEY, END_KEY), (OF_CHAIN, EMITTER_ADDRESS, FROM_SEQUENCE, TO_SEQUENCE))
)
"""The ways to name row keys, of which a request has one, complete."""

OF_OUTPUTS = ("/aliases", "/foundries", "/nft", "/{aliasId}", "/{foundryId}", "/{nftId}")
"""The ends of paths of outputs, which need the key of one listing that the served ledger has."""

POSTED = {
    "findvalues": COLUMN,
    "findrows": COLUMN,
    "readrow": {"emitterChain": "1", "emitterAddress": EMITTER_HEX.example, "sequence": "1337"},
    "transaction": {"id": ID.example},
}
"""The bodies of functions of the event database; other functions take none."""


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Repairs a request that schemathesis means to be valid.

    The network is a served one, a page size has one name, an index or tag that is not text is hex, a span ends after
    its start, rows are named in one way, and a state or cursor comes from the first page of the listing as JSON. No
    request asks for a stream that does not end, not even an invalid one. Proofs are created by the server, because no
    schema states that parents are sorted. VAAs and applied blocks are real ones. Examples of a parameter are tried
    wherever its name occurs.
    """
    if "network" in (case.path_parameters or {}) and not case.meta.is_negative_at(ParameterLocation.PATH):
        case.path_parameters["network"] = SERVED
    creates = case.operation.path.endswith("/applied-block/create/{blockId}")
    if creates and case.path_parameters and not case.meta.is_negative_at(ParameterLocation.PATH):
        case.path_parameters["blockId"] = APPLIED_BLOCK_ID.example
    if case.operation.path.endswith("/validate") and not case.meta.is_negative_at(ParameterLocation.BODY):
        url = case.operation.base_url.rstrip("/") + f"/api/poi/v1/applied-block/create/{APPLIED_BLOCK_ID.example}"
        case.body = client.get(url).json()
    if case.operation.path.endswith("/vaas/parse") and not case.meta.is_negative_at(ParameterLocation.BODY):
        case.body = {"vaa": VAA_BASE64}
    if "/wormhole/events/" in case.operation.path and not case.meta.is_negative_at(ParameterLocation.BODY):
        case.body = POSTED.get(case.operation.path.rpartition("/")[2], {})
    if case.operation.path.endswith("/{network}/events"):
        end_stream(case)
        name_events(case)
    if not case.query or case.meta.is_negative_at(ParameterLocation.QUERY):
        return
    if "index" in case.query:
        data = str(case.query["index"]).encode()[:64]
        is_text = str(case.query.get("utf8")).lower() in {"true", "1"}
        case.query["index"] = data.decode(errors="ignore") if is_text else data.hex()
    for start, end in SPANS:
        if case.query.keys() >= {start, end}:
            ends = sorted((case.query[start], case.query[end]), key=lambda each: (len(str(each)), str(each)))
            case.query[start], case.query[end] = ends
    if "tag" in case.query:
        data = str(case.query["tag"]).encode()[:64] or b"tag"
        is_text = str(case.query.get("utf8")).lower() in {"true", "1"}
        case.query["tag"] = (data.decode(errors="ignore") or "tag") if is_text else f"0x{data.hex()}"
    if "proof" in case.query:
        make_whole(case)
    if "forAddress" in case.query and not case.query.get("forChain"):
        del case.query["forAddress"]
    if COLUMN.keys() <= case.query.keys():
        case.query |= COLUMN
    if case.query.keys() >= {"from", "to"}:
        if "timespan" in case.query:
            case.query |= PERIODS
        else:
            case.query["to"] = case.query["from"]
    if case.operation.path.endswith("/address/{address}"):
        # Of an address without messages in the span, these routes know nothing.
        case.query = {name: value for name, value in case.query.items() if name not in PERIODS}
    if case.operation.path.endswith("/readrows"):
        name_rows_in_one_way(case.query)
    if case.query.get("until", "1970") < "1970":
        del case.query["until"]
    if case.query.keys() >= {"timeSpan", "sampleRate"}:
        del case.query["sampleRate"]
    elif "sampleRate" in case.query:
        case.query["sampleRate"] = "1h"
    if case.query.keys() >= {"txHash", "address"}:
        del case.query["txHash"]
    if case.query.keys() >= {"start", "end"} and "/analytics/v2/" in case.operation.path:
        case.query["end"] = case.query["start"]
    if "page" in case.query:
        case.query["page"] = 0
    if case.query.keys() >= {"ledgerIndex", "ledger_index"}:
        del case.query["ledger_index"]
    if case.query.keys() >= {"ledgerIndex", "date"}:
        del case.query["date"]
    if case.query.keys() >= {"page_size", "pageSize"}:
        del case.query["pageSize"]
    for name, size in (("state", "page_size"), ("cursor", "pageSize")):
        if name not in case.query:
            continue
        others = {other: value for other, value in case.query.items() if other != name}
        url = case.operation.base_url.rstrip("/") + case.formatted_path
        paged = {other: value for other, value in others.items() if other not in {"format", "pageSize"}}
        body = client.get(url, params=paged | {size: 1}).json()
        if isinstance(body, list):
            body = {"cursor": body[0]["id"]} if body else {}
        state = body["pagination"]["next"] if "pagination" in body else body.get("data", body).get(name)
        case.query = others | ({name: state} if state else {})


def make_whole(case: Any) -> None:
    """Removes what shortens a listing that is to be proved, or the parameter where the listing needs a certain key."""
    path = case.operation.path
    for name in ("type", "toChain", "startMilestoneIndex", "format"):
        case.query.pop(name, None)
    for name in [each for each in case.headers or {} if each.lower() == "accept"]:
        del case.headers[name]
    if path.endswith("/outputs/by-address/{address}"):
        case.query.setdefault("role", "sender")
    if "ledger_included" in case.query:
        case.query["ledger_included"] = "true"
    if path.endswith("/{address}/outputs"):
        case.query |= {"include-spent": "true", "included": "true"}
    elif "/outputs" in path or path.endswith(OF_OUTPUTS):
        del case.query["proof"]


def end_stream(case: Any) -> None:
    """Removes what requests events as a stream; without it they are a page."""
    if case.query and "sse" in str(case.query.get("format")):
        del case.query["format"]
    for name in [each for each in case.headers or {} if each.lower() == "accept"]:
        del case.headers[name]


def name_events(case: Any) -> None:
    """Has valid parameters name an address of the served network, and a milestone whose index has 32 bits."""
    if "address" in (case.query or {}) and not case.meta.is_negative_at(ParameterLocation.QUERY):
        case.query["address"] = format_address(os.environ.get("PERMANODE_TEST_HRP", "atoi"), bytes(33))
    if "Last-Event-ID" in (case.headers or {}) and not case.meta.is_negative_at(ParameterLocation.HEADER):
        case.headers["Last-Event-ID"] = "10"


def name_rows_in_one_way(query: dict[str, Any]) -> None:
    """Keeps the first way that the query has, and completes it."""
    given = next((way for way in WAYS if way.keys() & query.keys()), {})
    for name in set().union(*WAYS) - given.keys():
        query.pop(name, None)
    for name, value in given.items():
        query.setdefault(name, value)
