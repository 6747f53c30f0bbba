"""The expected publications of an oracle ledger's milestones, computed from its lines in plain Python.

Which outputs a milestone changed is taken from the `utxoChanges` of its line, their contents from the expected bodies
of the REST API, without what happened to them later.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tests import reference, reference_stardust
from tests.reference_lookups import chain_id

Json = dict[str, Any]
Bech32 = Callable[[str], str]


class Published(NamedTuple):
    """A publication; a payload in JSON is the text of its value with sorted keys."""

    topic: str
    payload: str | bytes


def as_json(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


CONDITIONS = {
    0: "address",
    1: "storage-return",
    3: "expiration",
    4: "state-controller",
    5: "governor",
    6: "immutable-alias",
}
CHAINS = {4: "alias", 5: "foundry", 6: "nft"}


def of_stardust(line: Json, outputs: Json, bech32: Bech32) -> Iterator[Published]:
    """The publications of a Stardust milestone. `outputs`: output id → response of the REST API."""
    milestone = line["milestone"]
    info = as_json({name: milestone[name] for name in ("index", "timestamp", "milestoneId")})
    yield Published("milestone-info/latest", info)
    yield Published("milestone-info/confirmed", info)
    yield Published("milestones", reference_stardust.payload_slice(bytes.fromhex(milestone["bytes_hex"])))
    for option in milestone["payload"].get("options", []):
        if option["type"] == 0:
            yield Published("receipts", as_json(option))
    for entry in line["blocks"]:
        data, payload = bytes.fromhex(entry["bytes_hex"]), entry["block"].get("payload") or {}
        yield Published("blocks", data)
        where = ["blocks"]
        if payload.get("type") == 6:
            where = ["blocks", "transaction"]
            yield Published("blocks/transaction", data)
            if entry["metadata"]["ledgerInclusionState"] == "included":
                transaction = reference_stardust.message_fact(entry).transaction
                assert transaction is not None
                yield Published(f"transactions/0x{transaction.transaction_id}/included-block", data)
            payload = payload["essence"].get("payload") or {}
        if payload.get("type") == 5:
            topic = "/".join((*where, "tagged-data"))
            yield Published(topic, data)
            if payload.get("tag"):
                yield Published(f"{topic}/{payload['tag']}", data)
        metadata = as_json(
            {"parentBlockIds" if name == "parents" else name: each for name, each in entry["metadata"].items()}
        )
        yield Published(f"block-metadata/{entry['id']}", metadata)
        yield Published("block-metadata/referenced", metadata)
    for is_spent, name in ((True, "consumedOutputs"), (False, "createdOutputs")):
        for output_id in milestone["utxoChanges"][name]:
            payload = as_json(stardust_output_at(outputs[output_id], milestone["index"], is_spent=is_spent))
            for topic in stardust_topics(output_id, outputs[output_id]["output"], bech32, is_spent=is_spent):
                yield Published(topic, payload)


def stardust_output_at(response: Json, index: int, *, is_spent: bool) -> Json:
    """An output at a ledger index."""
    metadata = {**response["metadata"], "ledgerIndex": index, "isSpent": is_spent}
    if not is_spent:
        for name in ("milestoneIndexSpent", "milestoneTimestampSpent", "transactionIdSpent"):
            metadata.pop(name, None)
    return {"metadata": metadata, "output": response["output"]}


def stardust_topics(output_id: str, output: Json, bech32: Bech32, *, is_spent: bool) -> Iterator[str]:
    """The topics of an output that was created or spent."""
    yield f"outputs/{output_id}"
    if output["type"] in CHAINS and not is_spent:
        fact = reference_stardust.output_fact(output)
        yield f"outputs/{CHAINS[output['type']]}/0x{chain_id(fact.chain, output_id[2:])}"
    named = [
        (CONDITIONS[each["type"]], bech32(reference_stardust.address(each.get("address") or each["returnAddress"])))
        for each in output["unlockConditions"]
        if each["type"] in CONDITIONS
    ]
    for name, address in {*named, *(("+", address) for _, address in named)}:
        yield f"outputs/unlock/{name}/{address}{'/spent' if is_spent else ''}"


def of_chrysalis(line: Json, outputs: Json, bech32: Bech32) -> Iterator[Published]:
    """The publications of a Chrysalis milestone. `outputs`: output id → response of the REST API."""
    milestone = line["milestone"]
    info = as_json({name: milestone[name] for name in ("index", "timestamp")})
    yield Published("milestones/latest", info)
    yield Published("milestones/confirmed", info)
    if milestone["payload"]["receipt"]:
        yield Published("receipts", as_json(milestone["payload"]["receipt"]))
    for entry in line["messages"]:
        data, payload = bytes.fromhex(entry["bytes_hex"]), entry["message"]["payload"] or {}
        yield Published("messages", data)
        if payload.get("type") == 2:
            yield Published(f"messages/indexation/{payload['index']}", data)
        if entry["metadata"]["ledgerInclusionState"] == "included":
            transaction = reference.message_fact(entry).transaction
            assert transaction is not None
            yield Published(f"transactions/{transaction.transaction_id}/included-message", data)
        yield Published(f"messages/{entry['id']}/metadata", as_json(entry["metadata"]))
        yield Published("messages/referenced", as_json(entry["metadata"]))
    for is_spent, name in ((True, "consumedOutputs"), (False, "createdOutputs")):
        for output_id in milestone["utxoChanges"][name]:
            payload = as_json(chrysalis_output_at(outputs[output_id], milestone["index"], is_spent=is_spent))
            address = outputs[output_id]["output"]["address"]["address"]
            yield Published(f"outputs/{output_id}", payload)
            yield Published(f"addresses/{bech32(f'00{address}')}/outputs", payload)
            yield Published(f"addresses/ed25519/{address}/outputs", payload)


def chrysalis_output_at(response: Json, index: int, *, is_spent: bool) -> Json:
    """An output at a ledger index."""
    kept = {name: each for name, each in response.items() if name not in ("milestoneIndexSpent", "transactionIdSpent")}
    return {**kept, "ledgerIndex": index, "isSpent": is_spent}


def initial(at: int, ledger: Sequence[Json], outputs: Json, published: Sequence[Published]) -> list[Published]:
    """What clients get when they subscribe to the topics of these publications after milestone `at`."""
    subscribed = {each.topic for each in published}
    line = ledger[at - 1]["milestone"]
    later = {each for line in ledger[at:] for each in line["milestone"]["utxoChanges"]["createdOutputs"]}
    found = []
    for topic in sorted(subscribed):
        kind, _, key = topic.partition("/")
        if topic.startswith("milestone-info/"):
            value = {name: line[name] for name in ("index", "timestamp", "milestoneId")}
        elif topic in ("milestones/latest", "milestones/confirmed"):
            value = {name: line[name] for name in ("index", "timestamp")}
        elif kind == "outputs" and key in outputs.keys() - later:
            value = output_after(outputs[key], at)
        else:
            continue
        found.append(Published(topic, as_json(value)))
    return found


def output_after(response: Json, at: int) -> Json:
    """An output after a milestone."""
    spent = response.get("metadata", response).get("milestoneIndexSpent")
    output_at = stardust_output_at if "metadata" in response else chrysalis_output_at
    return output_at(response, at, is_spent=spent is not None and spent <= at)
