"""Search over all networks, and in one: an extension of this server."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict

from api.handlers.search import QUERY_MAX, search_networks
from api.http.operations import Family, Operation
from api.http.params import Param, text
from api.http.responses import Json
from api.network import NetworkMount

Text = Annotated[
    str,
    Param(
        "q",
        text(f"1 to {QUERY_MAX} characters", min_length=1, max_length=QUERY_MAX),
        "A milestone index, a date, an id or its beginning (8 hex digits or more, with or without 0x), an address in "
        "Bech32, hex or the form of its chain, a tag as text or hex, the id of a VAA (chain/emitter/sequence), or a "
        "transaction id of another chain",
        "1",
        required=True,
    ),
]


class SearchResult(BaseModel):
    """An object that the text names. `url` is the path of an operation of this server that returns it."""

    kind: Literal[
        "address",
        "alias",
        "block",
        "day",
        "emitter",
        "foundry",
        "message",
        "milestone",
        "nft",
        "output",
        "tag",
        "transaction",
        "vaa",
    ]
    network: str
    id: str
    url: str


class SearchResults(BaseModel):
    """Results by network, kind and id. `more`: a network has more ids with this beginning; give more digits."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "results": [
                        {
                            "kind": "milestone",
                            "network": "permatest-1",
                            "id": "1",
                            "url": "/api/permatest-1/milestones/1",
                        }
                    ],
                    "more": False,
                }
            ]
        }
    )
    results: list[SearchResult]
    more: bool


async def search(networks: Mapping[str, NetworkMount], q: Text) -> Json:
    """Returns what a text names in all networks of this server.

    An unknown text has no results. For each network there are at most 20 ids with the same beginning.
    """
    return await search_networks(networks, q)


async def search_in_network(networks: Mapping[str, NetworkMount], q: Text) -> Json:
    """Returns what a text names in a network, of either protocol.

    An unknown text has no results. There are at most 20 ids with the same beginning.
    """
    return await search_networks(networks, q)


SEARCH = Family("search", (Operation("/search", search, SearchResults),), wrap=lambda value: value, is_strict=True)
SEARCH_IN_NETWORK = Family(
    "search", (Operation("/search", search_in_network, SearchResults),), wrap=lambda value: value, is_strict=True
)
