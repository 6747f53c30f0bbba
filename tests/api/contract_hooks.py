"""What schemathesis cannot make up from openapi.yaml: addresses with a right checksum, and the state of a page before.

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
    """Gives a question that is meant to be right a state that is: that of the first page of the same listing."""
    if "state" not in (case.query or {}) or case.meta.is_negative_at(ParameterLocation.QUERY):
        return
    others = {name: value for name, value in case.query.items() if name != "state"}
    url = case.operation.base_url.rstrip("/") + case.formatted_path
    answer = client.get(url, params=others | {"page_size": 1})
    state = answer.json()["data"]["state"] if answer.status_code == 200 else None
    case.query = others | ({"state": state} if state else {})
