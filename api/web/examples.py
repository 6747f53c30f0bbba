"""Real ids of a network as values of parameters, for example requests."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from api.web import coverage, operations
from api.web.formats import day
from api.web.visit import Visit
from db.schema.protocols import IOTA
from db.together import together

Values: TypeAlias = Mapping[str, Sequence[str]]
"""Name of a parameter → values in different forms. An operation uses the first one that fits its pattern."""

HOME_CHAIN = "chain of token_address"
"""The chain in a path with a token."""

DAY_S = 86_400

LOOKED_AT = 12
"""Messages of a milestone, or outputs of an address, among which an example is searched."""

NOTHING = "0" * 64
"""The message of outputs that existed before the first milestone, and the id of a chain in its first state."""

OF_PROTOCOL: Values = {
    "outputIndex": ["0"],
    "timeSpan": ["7d"],
    "timespan": ["1d"],
    "columnFamily": ["TokenTransferPayload"],
    "columnName": ["TargetChain"],
}
"""Values that do not depend on a network's data."""


async def of_network(visit: Visit) -> tuple[Values, Values]:
    """Returns the values for Chrysalis and for all other operations. Without milestones of an era its values are
    empty; a Wormhole network has only the second.
    """
    if visit.mount.protocol != IOTA:
        return {}, await of_wormhole(visit)
    found = coverage.ranges(await visit.json("sync"))
    if not found:
        return {}, {}
    # In a network of both eras Chrysalis is the first one, Stardust the last one.
    oldest, newest = found[-1][1], found[0][0]
    chrysalis, stardust = await together(of_chrysalis(visit, [oldest, newest]), of_stardust(visit, oldest))
    return chrysalis, stardust


async def of_chrysalis(visit: Visit, indices: Iterable[int]) -> Values:
    """Returns ids of the first of these milestones that belongs to Chrysalis."""
    for index in indices:
        milestone = await visit.find(f"milestones/{index}")
        if milestone is not None:
            break
    else:
        return {}
    listed = await visit.json(f"milestones/{index}/messages", page_size=LOOKED_AT)
    ids = listed["data"]["messageIds"]
    messages, facts = await together(
        together(*(visit.json(f"messages/{each}") for each in ids)),
        together(*(visit.json(f"messages/{each}/metadata") for each in ids)),
    )
    applied = [each["data"]["messageId"] for each in facts if each["data"]["ledgerInclusionState"] == "included"]
    tags = [payload["index"] for each in messages for payload in payloads(each["data"]) if "index" in payload]
    addresses = await richest(visit)
    newest = await visit.json("explorer/v2/milestones", pageSize=1)
    values = {
        "index": [*tags[:1], str(index)],
        "tag": tags[:1],
        "q": [str(index)],
        "messageId": (applied or ids)[:1],
        "blockId": applied[:1],
        "milestoneId": [each["milestoneId"] for each in newest["items"]],
        "addresses": addresses,
        "date": [day(milestone["data"]["timestamp"])[:10]],
    }
    outputs = await outputs_of_richest(visit, "outputs/{}")
    # In a network of both eras the operation has Stardust outputs too.
    of_era = [each["data"] for each in outputs if "address" in each["data"]["output"]]
    made = next((each for each in of_era if each["messageId"] != NOTHING), None)
    if made is not None:
        address = made["output"]["address"]["address"]
        values["messageId"] = values["blockId"] = [made["messageId"]]
        values["transactionId"] = [made["transactionId"]]
        values["outputIndex"] = [str(made["outputIndex"])]
        values["outputId"] = [f"{made['transactionId']}{made['outputIndex'].to_bytes(2, 'little').hex()}"]
        values["address"] = [address, *addresses]
    receipts = await visit.json("receipts")
    values["migratedAt"] = [str(each["receipt"]["migratedAt"]) for each in receipts["data"]["receipts"][:1]]
    return values


def payloads(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields the payload of a message, and the one within a transaction."""
    payload = message["payload"]
    if payload and "essence" in payload:
        payload = payload["essence"].get("payload")
    if payload:
        yield payload


async def of_stardust(visit: Visit, index: int) -> Values:
    """Returns ids of a milestone and of the ledger; empty if the milestone does not belong to Stardust."""
    milestone = await visit.find(f"core/v2/milestones/by-index/{index}")
    if milestone is None:
        return {}
    newest = await visit.json("explorer/v2/milestones", pageSize=1)
    milestone_id = newest["items"][0]["milestoneId"]
    listed = await visit.json(f"explorer/v2/milestones/{milestone_id}/blocks", pageSize=LOOKED_AT)
    ids = [each["blockId"] for each in listed["blocks"]]
    blocks = await together(*(visit.json(f"core/v2/blocks/{each}") for each in ids))
    tags = [payload["tag"] for each in blocks for payload in payloads(each) if payload.get("tag", "0x") != "0x"]
    addresses = await richest(visit)
    values = {
        "index": [str(index)],
        "q": [str(index)],
        "milestoneId": [milestone_id],
        "blockId": ids[:1],
        "tag": tags[:1],
        "date": [day(milestone["timestamp"])[:10]],
        "address": addresses,
        "addresses": addresses,
    }
    outputs = await outputs_of_richest(visit, "core/v2/outputs/{}")
    made = next((each["metadata"] for each in outputs if NOTHING not in each["metadata"]["blockId"]), None)
    if made is not None:
        values["blockId"] = [made["blockId"]]
        values["transactionId"] = [made["transactionId"]]
        values["outputId"] = [f"{made['transactionId']}{made['outputIndex'].to_bytes(2, 'little').hex()}"]
    receipts = await visit.json("core/v2/receipts")
    values["migratedAt"] = [str(each["receipt"]["migratedAt"]) for each in receipts["receipts"][:1]]
    return {**values, **await of_chains(visit)}


async def of_chains(visit: Visit) -> Values:
    """Returns ids of an alias, a foundry, an NFT and a native token."""
    foundry, nfts, holders = await together(
        outputs_of(visit, "foundry"), outputs_of(visit, "nft"), outputs_of(visit, "basic", hasNativeTokens="true")
    )
    aliases = [each["unlockConditions"][0]["address"]["aliasId"] for each in foundry]
    tokens = [token["id"] for each in holders for token in each["nativeTokens"]]
    named = [each["nftId"] for each in nfts if NOTHING not in each["nftId"]]
    return {
        "aliasId": aliases[:1],
        "chainId": aliases[:1],
        "foundryId": tokens[:1],
        "tokenId": tokens[:1],
        "nftId": named[:1],
    }


async def outputs_of(visit: Visit, kind: str, **filters: str) -> list[Any]:
    """Returns some unspent outputs of a kind."""
    listed = await visit.kept(f"indexer/v1/outputs/{kind}", pageSize=LOOKED_AT, **filters)
    if listed is None:
        return []
    found = await together(*(visit.json(f"core/v2/outputs/{each}") for each in listed["items"]))
    return [each["output"] for each in found]


async def richest(visit: Visit) -> list[str]:
    """Returns the richest address; nothing if the archive has no ledger state."""
    found = await visit.kept("explorer/v2/ledger/richest-addresses", top=1)
    return [each["address"] for each in found["top"]] if found else []


async def outputs_of_richest(visit: Visit, path: str) -> list[Any]:
    """Returns some outputs of the richest address, as the operation with this path has them."""
    for address in await richest(visit):
        listed = await visit.json(f"addresses/{address}/outputs", page_size=LOOKED_AT)
        found = await together(*(visit.find(path.format(each)) for each in listed["data"]["outputIds"]))
        return [each for each in found if each is not None]
    return []


async def of_wormhole(visit: Visit) -> Values:
    """Returns the ids of the newest transfer, and of the newest transaction of another chain among some messages."""
    listed = await visit.json("wormhole/v1/vaas", pageSize=1, appId="PORTAL_TOKEN_BRIDGE")
    if not listed["data"]:
        return {}
    newest = listed["data"][0]
    payload = newest["payload"]
    chain, emitter, sequence = newest["id"].split("/")
    signatures = await visit.json(f"wormhole/v1/vaas/{newest['id']}/signatures")
    day_s = operations.seconds(newest["timestamp"]) // DAY_S * DAY_S
    return {
        "q": [newest["id"]],
        "chain": [chain],
        "emitterChain": [chain],
        "emitter": [emitter],
        "emitterAddress": [emitter],
        "sequence": [sequence],
        "address": [payload["toAddress"]] if "toAddress" in payload else [],
        "token_address": [payload["tokenAddress"]],
        HOME_CHAIN: [str(payload["tokenChain"])],
        "signer": [each["address"] for each in signatures["signatures"][:1]],
        "hash": [signatures["digest"]],
        "from": [f"{day(day_s)}T00:00:00Z"],
        "to": [f"{day(day_s + DAY_S)}T00:00:00Z"],
        "value": [str(payload["toChain"])] if "toChain" in payload else [],
    }
