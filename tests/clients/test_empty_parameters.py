"""`parameter=` without a value, for every documented query parameter: the response is that of the original API.

| original | rule | source |
|---|---|---|
| Hornet 1.2.8, inx-api-core-v1, inx-indexer | missing | echo returns "" for both, and they test for "" |
| Hornet 2.0.1 | missing | no operation reads query parameters |
| Chronicle v1 | missing, except `state` | what Rocket cannot parse is None; `state` is decoded |
| inx-chronicle | 400 | axum's `Query` parses "" as a number, a sort order or a cursor |
| wormholescan | missing | `Query` of fiber returns the default for "" |
| event database | missing | the functions test for "" |

Extensions of this server follow the API at whose paths they are served. /events has no original: only an empty `cursor`
counts as missing, so that the first page needs no other query. /log and /proofs have none either: an empty value is a
400. A required parameter that is missing is a 400.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

import httpx
import pytest

from tests.api.contract import described
from tests.api.oracle import Json
from tests.api.paths import OF_WORMHOLE
from tests.api.wormhole_network import World
from tests.clients.api_requests_wormhole import wormhole_walks
from tests.clients.walks import Walk

pytestmark = pytest.mark.clients

OF_EVENTS = re.compile("/api/[^/]+/events")
OF_PROOFS = re.compile("/api/[^/]+/(log|proofs)/.*")


class Empty(NamedTuple):
    """A request with and without an empty parameter."""

    path: str
    query: Json
    parameter: Json


ALIASES_APART = 4
"""An alias has the parameters of its operation, so that one alias in so many is requested."""


@pytest.fixture(scope="module")
def empties(server: str, of_iota: list[Walk], world: World) -> list[Empty]:
    """Each parameter of each GET route, and of some aliases, beside the parameters of the first walk of that route."""
    first: dict[str, Walk] = {}
    for walk in (*of_iota, *wormhole_walks(world, server)):
        if walk.method == "get" and walk.status == 200:
            first.setdefault(walk.path, walk)
    aliases = [path for path, walk in first.items() if walk.is_alias]
    left_out = {*aliases} - {*aliases[::ALIASES_APART]}
    return [*empties_of({path: walk for path, walk in first.items() if path not in left_out})]


def empties_of(first: dict[str, Walk]) -> Iterator[Empty]:
    routes = {each.path: each.operation for each in described() if each.method == "get"}
    for path, walk in first.items():
        given = {name: str(each).lower() if isinstance(each, bool) else each for name, each in walk.given.items()}
        filled = path.format(**{name: quote(str(each)) for name, each in given.items()})
        for parameter in routes[path].get("parameters", ()):
            if parameter["in"] == "query":
                query = {name: each for name, each in given.items() if f"{{{name}}}" not in path}
                query.pop(parameter["name"], None)
                yield Empty(filled, query, parameter)


def counts_as_missing(path: str, name: str) -> bool:
    """The rule of the original at that path, from the table above."""
    if OF_WORMHOLE.search(path) or path.startswith(("/api/v1/", "/api/core/")):
        return True
    if "/explorer/v2/" in path or "/analytics/v2/" in path:
        return False
    if OF_EVENTS.fullmatch(path):
        return name == "cursor"
    if OF_PROOFS.fullmatch(path):
        return False
    of_chronicle = not any(each in path for each in ("/core/v2/", "/indexer/v1/"))
    return not (of_chronicle and name == "state")


def test_an_empty_parameter_is_what_it_is_to_the_original(server: str, empties: list[Empty]) -> None:
    counts = {"missing": 0, "required": 0, "rejected": 0}
    without: dict[str, httpx.Response] = {}
    with httpx.Client(base_url=server) as client:
        for path, query, parameter in empties:
            name = parameter["name"]
            answer = client.get(path, params={**query, name: ""})
            missing = counts_as_missing(path, name)
            if missing and not parameter["required"]:
                key = str(httpx.URL(path, params=query))
                if key not in without:
                    without[key] = client.get(path, params=query)
                expected = without[key]
                assert (answer.status_code, answer.content) == (expected.status_code, expected.content), (path, name)
                counts["missing"] += answer.status_code == 200 and answer.content != b"[]"
            else:
                body = answer.json()
                message = body.get("error", body)["message"]
                assert answer.status_code == 400, (path, name, message)
                assert message.startswith(f"parameter {name}: "), (path, message)
                counts["required" if parameter["required"] else "rejected"] += 1
    assert counts["missing"] > 600
    assert counts["rejected"] > 100
    assert counts["required"] > 20


def test_the_contract_says_which_parameters_may_be_empty() -> None:
    found = {
        (each.path, parameter["name"], parameter.get("allowEmptyValue", False))
        for each in described()
        for parameter in each.operation.get("parameters", ())
        if each.method == "get" and not each.is_alias and parameter["in"] == "query" and not parameter["required"]
    }
    assert found == {(path, name, counts_as_missing(path, name)) for path, name, _ in found}
    assert len(found) > 200
