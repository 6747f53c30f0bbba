"""Search in one network or several: what a text names, with the path of the JSON of each object.

The web explorer calls `search_networks` as the routes do. A result of a network names an operation of this server that
returns the object.
"""

from collections.abc import Mapping
from urllib.parse import quote

from api import era_routing as eras
from api.http.responses import Json
from api.network import NetworkMount
from db.coverage import describe_part
from db.listing.statement import LISTED
from db.queries import search as iota
from db.queries.transactions import INCLUDED
from db.queries.wormhole import search as wormhole
from db.schema.protocols import WORMHOLE
from db.together import together
from ledger.crypto.bech32 import AddressError, parse_address

QUERY_MAX = 200
"""Characters of a search text. The longest id, that of a VAA, has 91, a tag in hex 130."""

TAG_PATHS = {
    "message": "messages?index={}",
    "basic": "indexer/v1/outputs/basic?tag=0x{}",
    "nft": "indexer/v1/outputs/nft?tag=0x{}",
}
"""Lookup of a tag → a listing of what has the tag."""


async def search_networks(networks: Mapping[str, NetworkMount], text: str) -> Json:
    """Returns what a text names in these networks, by their names in paths."""
    parts = [await describe_part(network.store, f"search in {name}") for name, network in sorted(networks.items())]
    if described := ", ".join(part for part in parts if part is not None):
        LISTED.set(described)
    found = await together(*(search_network(network, name, text.strip()) for name, network in sorted(networks.items())))
    return {
        "results": [result for results, _ in found for result in results],
        "more": any(more for _, more in found),
    }


async def search_network(network: NetworkMount, mounted: str, text: str) -> tuple[list[Json], bool]:
    """Returns what a text names in a network, by kind and id, and whether more ids have this beginning."""
    if network.protocol == WORMHOLE:
        signed = await wormhole.search(network.store, text)
        described = [(each.kind, *_of_wormhole(each)) for each in signed.found]
        more = signed.more
    else:
        hits = await iota.search(network.store, text, _address_of(network, text))
        described = [_of_iota(network, each) for each in hits.found]
        more = hits.more
    return [
        {"kind": kind, "network": mounted, "id": id_, "url": f"/api/{mounted}/{path}"}
        for kind, id_, path in sorted(described)
    ], more


def _address_of(network: NetworkMount, text: str) -> str | None:
    """The serialized address in hex, if a text is a Bech32 address of the network."""
    try:
        hrp, serialized = parse_address(text)
    except AddressError:
        return None
    return serialized.hex() if hrp == network.bech32_hrp else None


def _of_iota(network: NetworkMount, hit: iota.Hit) -> tuple[str, str, str]:
    """Kind, id and path of an object, as its era spells them."""
    match hit.kind:
        case "milestone":
            is_new = hit.row is not None and eras.of_milestone(hit.row) is eras.Era.STARDUST
            return hit.kind, hit.id, f"{'core/v2/milestones/by-index' if is_new else 'milestones'}/{hit.id}"
        case "day":
            return hit.kind, hit.id, f"explorer/v2/milestones/by-date/{hit.id}"
        case "message" | "transaction" | "output":
            return _of_era(hit)
        case "address":
            address = network.bech32(hit.id)
            return hit.kind, address, f"addresses/{address}/outputs"
        case "tag":
            return hit.kind, hit.id, TAG_PATHS[hit.table_kind].format(hit.id)
    folder = {"alias": "aliases", "foundry": "foundries", "nft": "nft"}[hit.kind]
    return hit.kind, f"0x{hit.id}", f"{folder}/0x{hit.id}?spent=any"


def _of_era(hit: iota.Hit) -> tuple[str, str, str]:
    """Kind, id and path of a message, a transaction or an output."""
    assert hit.row is not None, "the row determines the era"
    is_output = hit.kind == "output"
    is_new = (eras.of_output(hit.row) if is_output else eras.of_message(hit.row)) is eras.Era.STARDUST
    id_ = f"0x{hit.id}" if is_new else hit.id
    prefix = "core/v2/" if is_new else ""
    if is_output:
        return "output", id_, f"{prefix}outputs/{id_}"
    message = "block" if is_new else "message"
    if hit.kind == "message":
        return message, id_, f"{prefix}{message}s/{id_}"
    if hit.row.get("inclusion_state") == INCLUDED:
        return hit.kind, id_, f"{prefix}transactions/{id_}/included-{message}"
    # No operation has a transaction that is not included by its id.
    message_id = f"0x{hit.row['message_id']}" if is_new else hit.row["message_id"]
    return hit.kind, id_, f"{prefix}{message}s/{message_id}"


def _of_wormhole(hit: wormhole.Hit) -> tuple[str, str]:
    """Id and path of an object."""
    match hit.kind:
        case "vaa":
            path = f"vaas/{hit.id}" if hit.is_verified else f"vaas/{hit.id}/verification"
        case "emitter":
            path = f"vaas/{hit.id}"
        case "transaction":
            path = f"vaas?txHash={quote(hit.id, safe='')}"
        case "day":
            path = f"operations?from={hit.id}T00:00:00Z&to={hit.id}T23:59:59Z"
        case _:
            path = f"address/{quote(hit.id, safe='')}"
    return hit.id, f"wormhole/v1/{path}"
