"""What schemathesis cannot make up from openapi.yaml: a right checksum, the state of a page before, what two parameters
mean together.

Loaded by schemathesis.toml, into the schemathesis process.
"""

from typing import Any

import httpx
import schemathesis
from hypothesis import strategies as st
from schemathesis.core.parameters import ParameterLocation

from ledger.bech32 import format_address

HASHES = st.binary(min_size=32, max_size=32)

schemathesis.openapi.format("bech32", HASHES.map(lambda each: format_address("atoi", b"\0" + each)))

client = httpx.Client()


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Makes a question right that is meant to be.

    An index that is no text is hex, a time ends after it started, and a state is that of the first page of the listing.
    """
    if not case.query or case.meta.is_negative_at(ParameterLocation.QUERY):
        return
    if "index" in case.query:
        data = str(case.query["index"]).encode()[:64]
        is_text = str(case.query.get("utf8")).lower() in {"true", "1"}
        case.query["index"] = data.decode(errors="ignore") if is_text else data.hex()
    if case.query.keys() >= {"start_timestamp", "end_timestamp"}:
        ends = case.query["start_timestamp"], case.query["end_timestamp"]
        case.query["start_timestamp"], case.query["end_timestamp"] = min(ends), max(ends)
    if "state" not in case.query:
        return
    others = {name: value for name, value in case.query.items() if name != "state"}
    url = case.operation.base_url.rstrip("/") + case.formatted_path
    answer = client.get(url, params=others | {"page_size": 1})
    state = answer.json()["data"]["state"] if answer.status_code == 200 else None
    case.query = others | ({"state": state} if state else {})
