"""Aliases, foundries with their native tokens, and NFTs: what each is now, and its states from the newest one back."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from api.network import NetworkMount
from api.web import chains
from api.web.formats import bech32, plain
from api.web.listing_proofs import proof_of
from api.web.page import Answer, Page, Redirect, View
from api.web.payloads import data_of
from api.web.visit import Visit, segment
from db.schema.protocols import IOTA
from db.together import together

ROWS = 20
"""States, holders or transfers before `More`."""

SHOWN_FOUNDRIES = 50
"""Foundries of an alias that its page lists."""

ALIAS, NFT = "08", "10"
"""First byte of an address, in hex."""

TOKEN_TABS = ("supply", "holders", "transfers")
NFT_TABS = ("states", "issued")

Json: TypeAlias = Mapping[str, Any]


async def outputs_of(visit: Visit, ids: Sequence[str]) -> list[Json]:
    """Outputs with their metadata."""
    return list(await together(*(visit.json(f"core/v2/outputs/{each}") for each in ids)))


def other_spelling(visit: Visit, kind: str) -> Redirect | None:
    """Where an id leads that is not 0x and hex in lower case; None if it is."""
    id_ = f"0x{visit.params['id'].lower().removeprefix('0x')}"
    if id_ == visit.params["id"]:
        return None
    return Redirect(visit.elsewhere(f"/{visit.network}/{kind}/{segment(id_)}"))


def next_of(visit: Visit, found: Json | None) -> str | None:
    """The URL of the next rows of this page."""
    cursor = found.get("cursor") if found else None
    return visit.here(cursor=cursor) if cursor else None


def address_of(network: NetworkMount, first_byte: str, id_: str) -> str:
    """The address of an alias or NFT."""
    return network.bech32(first_byte + id_.removeprefix("0x"))


async def alias(visit: Visit) -> Answer:
    """An alias: who controls it, its state, and the states before."""
    other = other_spelling(visit, "alias")
    if other is not None:
        return other
    id_ = visit.params["id"]
    path = f"indexer/v1/outputs/alias/{segment(id_)}"
    cursor = visit.query.get("cursor")
    query = {"spent": "any", "sort": "newest", "pageSize": ROWS, "cursor": cursor}
    page, newest, oldest = await together(
        visit.json(path, **query),
        visit.json(path, spent="any", sort="newest", pageSize=1),
        visit.json(path, spent="any", sort="oldest", pageSize=1),
    )
    families, is_last = ["alias_outputs_by_chain"], not page.get("cursor")
    proof = await proof_of(visit, families, id_.removeprefix("0x"), path, is_last=is_last, **query)
    mount = visit.mount
    owned = address_of(mount, ALIAS, id_)
    foundries, (now, first, *states) = await together(
        visit.json("indexer/v1/outputs/foundry", aliasAddress=owned, sort="oldest", pageSize=SHOWN_FOUNDRIES),
        outputs_of(visit, [*newest["items"], *oldest["items"], *page["items"]]),
    )
    metadata = chains.feature(now["output"], chains.METADATA, immutable=True)
    values = {
        "id": id_,
        "address": owned,
        "now": alias_state(mount, now),
        "first": first["metadata"],
        "issuer": issuer_of(mount, now["output"]),
        "fields": chains.fields_of(metadata["data"] if metadata else None),
        "metadata": data_of(metadata["data"]) if metadata else None,
        "foundries": await foundry_ids(visit, foundries["items"]),
        "more_foundries": foundries.get("cursor") is not None,
        "states": [alias_state(mount, each) for each in states],
        "next": next_of(visit, page),
        "listing_proof": proof,
    }
    return Page("alias", "Alias", values, proves_listing=bool(proof))


def alias_state(network: NetworkMount, found: Json) -> Json:
    """A state of an alias: its output, and who could change it."""
    output = found["output"]
    metadata = chains.feature(output, chains.METADATA)
    controller, governor = (chains.condition(output, each) for each in (chains.CONTROLLER, chains.GOVERNOR))
    return {
        **found["metadata"],
        "outputId": output_id_of(found["metadata"]),
        "output": output,
        "controller": bech32(controller["address"], network) if controller else None,
        "governor": bech32(governor["address"], network) if governor else None,
        "state": data_of(output["stateMetadata"]) if output.get("stateMetadata") else None,
        "metadata": data_of(metadata["data"]) if metadata else None,
    }


def output_id_of(metadata: Json) -> str:
    """The id of an output, from its metadata."""
    return f"{metadata['transactionId']}{metadata['outputIndex'].to_bytes(2, 'little').hex()}"


def issuer_of(network: NetworkMount, output: Json) -> str | None:
    """The issuer in an output's immutable features."""
    found = chains.feature(output, chains.ISSUER, immutable=True)
    return bech32(found["address"], network) if found else None


async def foundry_ids(visit: Visit, output_ids: Sequence[str]) -> list[str]:
    """The ids of foundries: the address of the alias, the serial number, the type of the tokens."""
    outputs = [each["output"] for each in await outputs_of(visit, output_ids)]
    return [
        f"0x{ALIAS}{each['unlockConditions'][0]['address']['aliasId'][2:]}"
        f"{each['serialNumber'].to_bytes(4, 'little').hex()}{each['tokenScheme']['type']:02x}"
        for each in outputs
    ]


def tab_of(visit: Visit, tabs: Sequence[str]) -> str:
    """The tab that the query names; the first one if it names none of them."""
    named = visit.query.get("tab", "")
    return named if named in tabs else tabs[0]


async def foundry(visit: Visit) -> Answer:
    """A foundry: its native token, and the supply, the holders or the transfers of the token."""
    other = other_spelling(visit, "foundry")
    if other is not None:
        return other
    path = f"explorer/v2/native-tokens/{segment(visit.params['id'])}"
    tab = tab_of(visit, TOKEN_TABS)
    cursor = visit.query.get("cursor")
    token, holders, rows = await together(
        visit.json(path),
        visit.kept(f"{path}/holders", pageSize=1),
        visit.kept(f"{path}/{tab}", pageSize=ROWS, cursor=cursor),
    )
    unit = chains.token_unit(token["metadata"])
    proof = None
    if tab == "supply" and rows and rows["items"]:
        key = token["tokenId"].removeprefix("0x")
        families, is_last = ["foundry_outputs_by_chain"], not rows["cursor"]
        proof = await proof_of(visit, families, key, f"{path}/supply", is_last=is_last, pageSize=ROWS, cursor=cursor)
    values = {
        "token_of": token,
        "unit": unit,
        "fields": chains.fields_of(token["metadata"]),
        "metadata": data_of(token["metadata"]) if token["metadata"] else None,
        "holders": holders,
        "alias_address": address_of(visit.mount, ALIAS, token["aliasId"]),
        "tab": tab,
        "rows": rows["items"] if rows else None,
        "next": next_of(visit, rows),
        "chart": supply_chart(rows["items"], unit) if tab == "supply" and rows and not cursor else None,
        "csv": visit.api(f"{path}/{tab}", format="csv") if tab != "holders" else None,
        "listing_proof": proof,
    }
    return Page("foundry", "Foundry", values, charts=values["chart"] is not None, proves_listing=bool(proof))


def supply_chart(states: Sequence[Json], unit: tuple[int, str] | None) -> Json | None:
    """The circulating supply after each state, in the token's unit; None for a single state."""
    known = [each for each in states if each["milestoneTimestamp"]][::-1]
    if len(known) < 2:
        return None
    supplies = [plain(int(each["circulatingSupply"], 16), unit[0] if unit else 0) for each in known]
    return {"times": [each["milestoneTimestamp"] for each in known], "series": {"Circulating supply": supplies}}


async def nft(visit: Visit) -> Answer:
    """An NFT: its owner, its metadata, its states, and the NFTs that it issued."""
    other = other_spelling(visit, "nft")
    if other is not None:
        return other
    path = f"explorer/v2/nfts/{segment(visit.params['id'])}"
    tab = tab_of(visit, NFT_TABS)
    cursor = visit.query.get("cursor")
    found = await visit.json(path)
    own = address_of(visit.mount, NFT, found["nftId"])
    current, rows = await together(
        visit.json(f"core/v2/outputs/{found['state']['outputId']}"),
        visit.json(f"{path}/transfers", pageSize=ROWS, cursor=cursor)
        if tab == "states"
        else visit.json("indexer/v1/outputs/nft", issuer=own, sort="newest", pageSize=ROWS, cursor=cursor),
    )
    proof = None
    if tab == "states" and rows["items"]:
        key = found["nftId"].removeprefix("0x")
        families, is_last = ["nft_outputs_by_chain"], not rows["cursor"]
        proof = await proof_of(visit, families, key, f"{path}/transfers", is_last=is_last, pageSize=ROWS, cursor=cursor)
    mutable = chains.feature(current["output"], chains.METADATA)
    tag = chains.feature(current["output"], chains.TAG)
    values = {
        "nft": found,
        "address": own,
        "output": current["output"],
        "fields": chains.fields_of(found["metadata"]),
        "metadata": data_of(found["metadata"]) if found["metadata"] else None,
        "mutable": data_of(mutable["data"]) if mutable else None,
        "tag": tag["tag"].removeprefix("0x") if tag else None,
        "tab": tab,
        "rows": rows["items"] if tab == "states" else await issued(visit, rows["items"]),
        "next": next_of(visit, rows),
        "listing_proof": proof,
    }
    return Page("nft", "NFT", values, proves_listing=bool(proof))


async def issued(visit: Visit, output_ids: Sequence[str]) -> list[Json]:
    """NFTs in these outputs: id, name by IRC-27, output."""
    rows: list[Json] = []
    for output_id, each in zip(output_ids, await outputs_of(visit, output_ids), strict=True):
        metadata = chains.feature(each["output"], chains.METADATA, immutable=True)
        name = chains.json_object(metadata["data"] if metadata else None).get("name", "")
        rows.append(
            {
                "nftId": chains.chain_id_of(output_id, each["output"]["nftId"]),
                "name": chains.shortened(chains.text_of(name)),
                "outputId": output_id,
                "milestoneIndex": each["metadata"]["milestoneIndexBooked"],
            }
        )
    return rows


VIEWS = (
    View("/{network}/alias/{id}", alias, IOTA),
    View("/{network}/foundry/{id}", foundry, IOTA),
    View("/{network}/nft/{id}", nft, IOTA),
)
