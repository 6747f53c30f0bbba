"""Topics and payloads of Stardust: TIP-28, as inx-mqtt 1.0 publishes them.

`outputs/unlock/+/{address}` is a topic of its own for any unlock condition, in which `+` is not a wildcard: inx-mqtt
publishes each output once under this name. Blocks, milestones and included blocks are bytes, all others JSON.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial

import orjson

from api import era_routing as eras
from api.core_v2.routes import block_metadata_json, included_block_raw, output_bytes, output_metadata_json, output_row
from api.era_routing import Era
from api.http.responses import Json
from api.mqtt.topics import Dialect, Need, Publication, Wanted, compiled, need_in, of_created, of_transaction
from api.network import NetworkMount
from db.queries import milestones
from db.queries.transactions import INCLUDED
from db.store import Row
from ledger import ids
from ledger.stardust import codec
from ledger.stardust.json import option_json, output_json
from ledger.stardust.outputs import chain_id
from ledger.stardust.values import (
    AddressCondition,
    AliasOutput,
    Expiration,
    FoundryOutput,
    Governor,
    ImmutableAlias,
    Milestone,
    NftOutput,
    Output,
    ReceiptOption,
    StateController,
    StorageDepositReturn,
    TaggedData,
    Transaction,
)

LATEST, CONFIRMED = "milestone-info/latest", "milestone-info/confirmed"
CONDITIONS: Mapping[type, str] = {
    AddressCondition: "address",
    StorageDepositReturn: "storage-return",
    Expiration: "expiration",
    StateController: "state-controller",
    Governor: "governor",
    ImmutableAlias: "immutable-alias",
}
CHAINS: Mapping[type, str] = {NftOutput: "nft", AliasOutput: "alias", FoundryOutput: "foundry"}

INCLUDED_TOPIC = "transactions/0x{}/included-block"
HEX_ID = "0x[0-9a-f]{64}"
PATTERNS = compiled(
    {
        Need.MILESTONE: f"{LATEST}|{CONFIRMED}|milestones|receipts",
        Need.MESSAGES: "blocks|block-metadata/referenced",
        Need.TAGGED: "blocks/transaction|blocks/(transaction/)?tagged-data(/0x([0-9a-f]{2}){1,64})?",
        Need.METADATA: f"block-metadata/{HEX_ID}",
        Need.INCLUDED: f"transactions/{HEX_ID}/included-block",
        Need.OUTPUTS: (
            f"outputs/(0x[0-9a-f]{{68}}|(nft|alias)/{HEX_ID}|foundry/0x[0-9a-f]{{76}}"
            rf"|unlock/(\+|{'|'.join(CONDITIONS.values())})/[a-z]{{1,20}}1[0-9a-z]{{6,80}}(/spent)?)"
        ),
    }
)


async def of_milestone(network: NetworkMount, row: Row, wanted: Wanted) -> AsyncIterator[Publication]:
    """Yields the publications of a milestone itself, and of the outputs that its receipt created."""
    for topic in (LATEST, CONFIRMED):
        if topic in wanted:
            yield topic, orjson.dumps(milestone_info(row))
    if "milestones" in wanted:
        yield "milestones", row["payload"]
    if "receipts" not in wanted and not wanted.needs(Need.OUTPUTS):
        return
    value = codec.decode_payload(row["payload"])
    assert isinstance(value, Milestone), "milestones have the payload of one"
    for receipt in value.options:
        if isinstance(receipt, ReceiptOption):
            if "receipts" in wanted:
                yield "receipts", orjson.dumps(option_json(receipt))
            created = [
                ids.output_id(bytes.fromhex(row["milestone_id"]), number).hex() for number in range(len(receipt.funds))
            ]
            async for each in of_created(network, created, row["milestone_index"], wanted, of_output):
                yield each


async def of_message(network: NetworkMount, row: Row, wanted: Wanted) -> AsyncIterator[Publication]:
    """Yields the publications of a block: its bytes, its metadata, and the outputs that its transaction changed."""
    data, payload = row["message"], codec.decode_block(row["message"]).payload
    for topic in block_topics(payload):
        if topic in wanted:
            yield topic, data
    of_metadata = [each for each in (metadata_topic(row["message_id"]), "block-metadata/referenced") if each in wanted]
    if of_metadata:
        metadata = orjson.dumps(await block_metadata(network, row))
        for topic in of_metadata:
            yield topic, metadata
    if not isinstance(payload, Transaction) or row["inclusion_state"] != INCLUDED:
        return
    async for each in of_transaction(network, row, codec, payload, INCLUDED_TOPIC, wanted, of_output):
        yield each


def block_topics(payload: object) -> Iterator[str]:
    """Yields the topics of a block's bytes."""
    yield "blocks"
    if isinstance(payload, Transaction):
        yield "blocks/transaction"
    prefix = "blocks/transaction" if isinstance(payload, Transaction) else "blocks"
    tagged = payload.essence.payload if isinstance(payload, Transaction) else payload
    if isinstance(tagged, TaggedData):
        yield f"{prefix}/tagged-data"
        yield f"{prefix}/tagged-data/0x{tagged.tag.hex()}"


async def of_output(network: NetworkMount, row: Row, index: int, wanted: Wanted) -> AsyncIterator[Publication]:
    """Yields the publications of a row of `outputs` as of the milestone `index`, which created or spent it."""
    value = codec.decode_output(output_bytes(row))
    topics = [each for each in output_topics(network, row, value) if each in wanted]
    if topics:
        payload = orjson.dumps(await output_with_metadata(network, row, value, index))
        for topic in topics:
            yield topic, payload


def output_topics(network: NetworkMount, row: Row, value: Output) -> Iterator[str]:
    """Yields the topics of an output that was created, or spent if its row names a spender."""
    is_spent = row["spent_milestone_index"] is not None
    yield f"outputs/0x{row['output_id']}"
    chain = chain_id(value, bytes.fromhex(row["output_id"]))
    if chain is not None and not is_spent:
        yield f"outputs/{CHAINS[type(value)]}/0x{chain.hex()}"
    addresses = []
    for condition in getattr(value, "unlock_conditions", ()):
        if type(condition) in CONDITIONS:
            held = getattr(condition, "return_address", None) or condition.address
            addresses.append((CONDITIONS[type(condition)], network.bech32(held.hex())))
    end = "/spent" if is_spent else ""
    for name, address in (*addresses, *(("+", each) for each in dict.fromkeys(each for _, each in addresses))):
        yield f"outputs/unlock/{name}/{address}{end}"


async def current(network: NetworkMount, topic: str, newest: int) -> AsyncIterator[Publication]:
    """Yields what a client gets when it subscribes. Raises NotFound or OtherEra if there is nothing."""
    _, _, key = topic.partition("/0x")
    if topic in (LATEST, CONFIRMED):
        row = await milestones.get_milestone(network.store, newest)
        eras.expect(Era.STARDUST, eras.of_milestone(row), f"milestone {newest}")
        yield topic, orjson.dumps(milestone_info(row))
    elif need_in(PATTERNS, topic) is Need.METADATA:
        yield topic, orjson.dumps(await block_metadata(network, await eras.get_message(network, key, Era.STARDUST)))
    elif need_in(PATTERNS, topic) is Need.INCLUDED:
        yield topic, await included_block_raw(network, key.partition("/")[0])
    elif topic.startswith("outputs/0x"):
        row = await output_row(network, key, newest)
        value = codec.decode_output(output_bytes(row))
        yield topic, orjson.dumps(await output_with_metadata(network, row, value, newest))


def metadata_topic(message_id: str) -> str:
    """Returns the topic of a block's metadata."""
    return f"block-metadata/0x{message_id}"


def milestone_info(row: Row) -> Json:
    """Returns a row of `milestones` as inx-mqtt writes it."""
    return {
        "index": row["milestone_index"],
        "timestamp": row["timestamp"],
        "milestoneId": f"0x{row['milestone_id']}",
    }


async def block_metadata(network: NetworkMount, row: Row) -> Json:
    """Returns the metadata of a block as inx-mqtt writes it: parents have another name than in core API v2."""
    found = await block_metadata_json(network, row)
    return {"parentBlockIds" if name == "parents" else name: value for name, value in found.items()}


async def output_with_metadata(network: NetworkMount, row: Row, value: Output, index: int) -> Json:
    """Returns an output and its metadata at a ledger index."""
    return {"metadata": await output_metadata_json(network, row, index), "output": output_json(value)}


STARDUST = Dialect(
    era=Era.STARDUST,
    need_of=partial(need_in, PATTERNS),
    metadata_topic=metadata_topic,
    tagged_kinds=frozenset({TaggedData.KIND, Transaction.KIND}),
    of_milestone=of_milestone,
    of_message=of_message,
    current=current,
)
