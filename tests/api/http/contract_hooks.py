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
from api.wormhole.events.params import COLUMN_FAMILY, COLUMN_NAME, ID, VALUE
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

client = httpx.Client()

SERVED = "mainnet"
"""The network of tests.api.served."""


COLUMN = {each.name: str(each.example) for each in (COLUMN_FAMILY, COLUMN_NAME, VALUE)}
"""A lookup column and a value of it: not every family has every column."""

SPANS = (("start_timestamp", "end_timestamp"), ("startTimestamp", "endTimestamp"), ("startIndex", "endIndex"))
"""Pairs of parameters of which the second must not be lower than the first."""

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

    The network is a served one, an index or tag that is not text is hex, a span ends after its start, and a state or
    cursor comes from the first page of the listing. Proofs are created by the server, because no schema states that
    parents are sorted. VAAs and applied blocks are real ones. Examples of a parameter are tried wherever its name
    occurs.
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
    if "forAddress" in case.query and not case.query.get("forChain"):
        del case.query["forAddress"]
    if COLUMN.keys() <= case.query.keys():
        case.query |= COLUMN
    if case.query.keys() >= {"from", "to"}:
        case.query["to"] = case.query["from"]
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
    for name, size in (("state", "page_size"), ("cursor", "pageSize")):
        if name not in case.query:
            continue
        others = {other: value for other, value in case.query.items() if other != name}
        url = case.operation.base_url.rstrip("/") + case.formatted_path
        body = client.get(url, params=others | {size: 1}).json()
        if isinstance(body, list):
            body = {"cursor": body[0]["id"]} if body else {}
        state = body["pagination"]["next"] if "pagination" in body else body.get("data", body).get(name)
        case.query = others | ({name: state} if state else {})
