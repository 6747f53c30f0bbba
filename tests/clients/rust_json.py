"""The node's JSON in the form of iota-client-python 0.2.0a26, which decodes every answer and serializes it again.

It reproduces what that client prints, oddities included: bytes are lists of numbers, a payload has a key for every
kind, and a milestone's parents are one string.
"""

from tests.api.oracle import Json, Oracle

KINDS = ("transaction", "milestone", "indexation", "receipt", "treasury_transaction")

OUTPUT_KINDS = ("signature_locked_single", "signature_locked_dust_allowance")


def octets(text: str) -> list[int]:
    return list(bytes.fromhex(text))


def bech32(oracle: Oracle, address: Json) -> str:
    (found,) = (each["bech32"] for each in oracle.expected["addresses"] if each["address"] == address["address"])
    return str(found)


def message(oracle: Oracle, entry: Json) -> Json:
    """A message; the client computes its id from what it received."""
    node = entry["message"]
    return {
        "message_id": entry["id"],
        "network_id": int(node["networkId"]),
        "parents": node["parentMessageIds"],
        "payload": payload(oracle, node["payload"]),
        "nonce": int(node["nonce"]),
    }


def payload(oracle: Oracle, node: Json | None) -> Json | None:
    if node is None:
        return None
    render = {0: transaction, 1: milestone, 2: indexation}[node["type"]]
    return dict.fromkeys(KINDS) | {KINDS[node["type"]]: [render(oracle, node)]}


def indexation(_: Oracle, node: Json) -> Json:
    return {"index": node["index"], "data": octets(node["data"])}


def milestone(_: Oracle, node: Json) -> Json:
    essence = {
        "index": node["index"],
        "timestamp": node["timestamp"],
        "parents": ["".join(node["parentMessageIds"])],
        "merkle_proof": octets(node["inclusionMerkleProof"]),
        "next_pow_score": node["nextPoWScore"],
        "next_pow_score_milestone_index": node["nextPoWScoreMilestoneIndex"],
        "public_keys": [octets(each) for each in node["publicKeys"]],
    }
    return {"essence": essence, "signatures": [octets(each) for each in node["signatures"]]}


def transaction(oracle: Oracle, node: Json) -> Json:
    inputs = [
        {"transaction_id": each["transactionId"], "index": each["transactionOutputIndex"]}
        for each in node["essence"]["inputs"]
    ]
    outputs = [
        by_kind(each["type"], {"address": bech32(oracle, each["address"]), "amount": each["amount"]})
        for each in node["essence"]["outputs"]
    ]
    essence = {"inputs": inputs, "outputs": outputs, "payload": payload(oracle, node["essence"]["payload"])}
    return {"essence": essence, "unlock_blocks": [unlock(each) for each in node["unlockBlocks"]]}


def by_kind(kind: int, value: Json) -> Json:
    return dict.fromkeys(OUTPUT_KINDS) | {OUTPUT_KINDS[kind]: value}


def unlock(node: Json) -> Json:
    if node["type"] == 1:
        return {"signature": None, "reference": node["reference"]}
    signature = {
        "public_key": octets(node["signature"]["publicKey"]),
        "signature": octets(node["signature"]["signature"]),
    }
    return {"signature": signature, "reference": None}


def metadata(node: Json) -> Json:
    state = node.get("ledgerInclusionState")
    return {
        "message_id": node["messageId"],
        "parent_message_ids": node["parentMessageIds"],
        "is_solid": node["isSolid"],
        "referenced_by_milestone_index": node.get("referencedByMilestoneIndex"),
        "milestone_index": node.get("milestoneIndex"),
        "ledger_inclusion_state": {"state": state[0].upper() + state[1:]} if state else None,
        "conflict_reason": node.get("conflictReason"),
        "should_promote": None,
        "should_reattach": None,
    }


def output(oracle: Oracle, node: Json) -> Json:
    kind, address = node["output"]["type"], {"kind": 0, "address": bech32(oracle, node["output"]["address"])}
    value = {"kind": kind, "address": {"ed25519": address}, "amount": node["output"]["amount"]}
    return {
        "message_id": node["messageId"],
        "transaction_id": node["transactionId"],
        "output_index": node["outputIndex"],
        "is_spent": node["isSpent"],
        "output": {"treasury": None, **by_kind(kind, value)},
        "ledger_index": node["ledgerIndex"],
    }


def output_id(text: str) -> Json:
    return {"transaction_id": octets(text[:64]), "index": int.from_bytes(bytes.fromhex(text[64:]), "little")}


def balance(account: Json) -> Json:
    own = {"address": account["bech32"], "balance": account["balance"], "dust_allowed": account["dustAllowed"]}
    return {"address_type": 0, **own}


def receipt(node: Json) -> Json:
    """A receipt with the milestone that contains it; only here are addresses hex."""
    own = node["receipt"]
    funds = [
        {
            "tail_transaction_hash": each["tailTransactionHash"],
            "output": {
                "kind": 0,
                "address": {"ed25519": {"kind": 0, "address": each["address"]["address"]}},
                "amount": each["deposit"],
            },
        }
        for each in own["funds"]
    ]
    treasury = {"kind": 1, "message_id": own["transaction"]["input"]["milestoneId"]}
    rest = {"kind": 2, "amount": own["transaction"]["output"]["amount"]}
    moved = {
        "kind": 4,
        "input": {"utxo": None, "treasury": treasury},
        "output": {"treasury": rest, **dict.fromkeys(OUTPUT_KINDS)},
    }
    return {
        "receipt": {
            "kind": 3,
            "index": own["migratedAt"],
            "last": own["final"],
            "funds": funds,
            "transaction": dict.fromkeys(KINDS) | {"treasury_transaction": [moved]},
        },
        "milestone_index": node["milestoneIndex"],
    }


def info(node: Json, url: str) -> Json:
    names = {
        "name": "name",
        "version": "version",
        "isHealthy": "is_healthy",
        "networkId": "network_id",
        "bech32HRP": "bech32_hrp",
        "minPoWScore": "min_pow_score",
        "messagesPerSecond": "messages_per_second",
        "referencedMessagesPerSecond": "referenced_messages_per_second",
        "referencedRate": "referenced_rate",
        "latestMilestoneTimestamp": "latest_milestone_timestamp",
        "latestMilestoneIndex": "latest_milestone_index",
        "confirmedMilestoneIndex": "confirmed_milestone_index",
        "pruningIndex": "pruning_index",
        "features": "features",
    }
    return {"nodeinfo": {own: node[theirs] for theirs, own in names.items()}, "url": url}
