"""Topics and payloads of Chrysalis, as Hornet 1.x publishes them.

Messages and included messages are bytes, all others JSON. Ids have no prefix.
"""

from collections.abc import AsyncIterator
from functools import partial

import orjson

from api import era_routing as eras
from api.era_routing import Era
from api.http.responses import Json
from api.mqtt.topics import Dialect, Need, Publication, Wanted, compiled, need_in, of_created, of_transaction
from api.network import NetworkMount
from api.node_v1.routes import included_message_raw, message_metadata_json
from db.queries import milestones, outputs
from db.queries.transactions import INCLUDED
from db.store import NotFound, Row
from ledger import ids
from ledger.chrysalis import codec
from ledger.chrysalis.json import output_json, payload_json
from ledger.chrysalis.values import Indexation, Milestone, Transaction, TreasuryOutput

LATEST, CONFIRMED = "milestones/latest", "milestones/confirmed"

INCLUDED_TOPIC = "transactions/{}/included-message"
HEX_ID = "[0-9a-f]{64}"
PATTERNS = compiled(
    {
        Need.MILESTONE: f"{LATEST}|{CONFIRMED}|receipts",
        Need.MESSAGES: "messages|messages/referenced",
        Need.TAGGED: "messages/indexation/([0-9a-f]{2}){1,64}",
        Need.METADATA: f"messages/{HEX_ID}/metadata",
        Need.INCLUDED: f"transactions/{HEX_ID}/included-message",
        Need.OUTPUTS: (f"outputs/[0-9a-f]{{68}}|addresses/([a-z]{{1,20}}1[0-9a-z]{{6,80}}|ed25519/{HEX_ID})/outputs"),
    }
)


async def of_milestone(network: NetworkMount, row: Row, wanted: Wanted) -> AsyncIterator[Publication]:
    """Yields the publications of a milestone itself, and of the outputs that its receipt created."""
    for topic in (LATEST, CONFIRMED):
        if topic in wanted:
            yield topic, orjson.dumps(milestone_info(row))
    if "receipts" not in wanted and not wanted.needs(Need.OUTPUTS):
        return
    value = codec.decode_payload(row["payload"])
    assert isinstance(value, Milestone), "milestones have the payload of one"
    if value.receipt is not None:
        if "receipts" in wanted:
            yield "receipts", orjson.dumps(payload_json(value.receipt))
        source = bytes.fromhex(row["milestone_id"])
        created = [ids.output_id(source, number).hex() for number in range(len(value.receipt.funds))]
        async for each in of_created(network, created, row["milestone_index"], wanted, of_output):
            yield each


async def of_message(network: NetworkMount, row: Row, wanted: Wanted) -> AsyncIterator[Publication]:
    """Yields the publications of a message: its bytes, its metadata, and the outputs that its transaction changed."""
    data, payload = row["message"], codec.decode_message(row["message"]).payload
    if "messages" in wanted:
        yield "messages", data
    if isinstance(payload, Indexation) and (topic := f"messages/indexation/{payload.index.hex()}") in wanted:
        yield topic, data
    of_metadata = [each for each in (metadata_topic(row["message_id"]), "messages/referenced") if each in wanted]
    if of_metadata:
        metadata = orjson.dumps(await message_metadata_json(network, row))
        for topic in of_metadata:
            yield topic, metadata
    if not isinstance(payload, Transaction) or row["inclusion_state"] != INCLUDED:
        return
    async for each in of_transaction(network, row, codec, payload, INCLUDED_TOPIC, wanted, of_output):
        yield each


async def of_output(network: NetworkMount, row: Row, index: int, wanted: Wanted) -> AsyncIterator[Publication]:
    """Yields the publications of a row of `outputs` as of the milestone `index`, which created or spent it."""
    value = codec.decode_output(row["data"])
    assert not isinstance(value, TreasuryOutput), "the treasury has no output id"
    address = value.address
    topics = (
        f"outputs/{row['output_id']}",
        f"addresses/{network.bech32(address.hex())}/outputs",
        f"addresses/ed25519/{address[1:].hex()}/outputs",
    )
    found = [each for each in topics if each in wanted]
    payload = orjson.dumps(output_payload(row, index)) if found else b""
    for topic in found:
        yield topic, payload


async def current(network: NetworkMount, topic: str, newest: int) -> AsyncIterator[Publication]:
    """Yields what a client gets when it subscribes. Raises NotFound or OtherEra if there is nothing."""
    need = need_in(PATTERNS, topic)
    key = topic.split("/")[1] if "/" in topic else ""
    if topic in (LATEST, CONFIRMED):
        row = await milestones.get_milestone(network.store, newest)
        eras.expect(Era.CHRYSALIS, eras.of_milestone(row), f"milestone {newest}")
        yield topic, orjson.dumps(milestone_info(row))
    elif need is Need.METADATA:
        row = await eras.get_message(network, key, Era.CHRYSALIS)
        yield topic, orjson.dumps(await message_metadata_json(network, row))
    elif need is Need.INCLUDED:
        yield topic, await included_message_raw(network, key)
    elif topic.startswith("outputs/"):
        row = await outputs.get_output(network.store, key, newest)
        if eras.of_output(row) is not Era.CHRYSALIS:
            raise NotFound(f"output {key} of Chrysalis")
        yield topic, orjson.dumps(output_payload(row, newest))


def metadata_topic(message_id: str) -> str:
    """Returns the topic of a message's metadata."""
    return f"messages/{message_id}/metadata"


def milestone_info(row: Row) -> Json:
    """Returns a row of `milestones` as Hornet writes it."""
    return {"index": row["milestone_index"], "timestamp": row["timestamp"]}


def output_payload(row: Row, index: int) -> Json:
    """Returns a row of `outputs` at a ledger index as Hornet writes it."""
    return {
        "messageId": row["created_message_id"],
        "transactionId": row["output_id"][:64],
        "outputIndex": int.from_bytes(bytes.fromhex(row["output_id"][64:]), "little"),
        "isSpent": row["spent_milestone_index"] is not None,
        "ledgerIndex": index,
        "output": output_json(codec.decode_output(row["data"])),
    }


CHRYSALIS = Dialect(
    era=Era.CHRYSALIS,
    need_of=partial(need_in, PATTERNS),
    metadata_topic=metadata_topic,
    tagged_kinds=frozenset({Indexation.KIND}),
    of_milestone=of_milestone,
    of_message=of_message,
    current=current,
)
