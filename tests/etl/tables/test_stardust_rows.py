"""Stardust rows of the lake equal the oracle's JSON: outputs with all their fields, unlocks, milestones."""

from decimal import Decimal
from typing import Any

from etl.lake.message_rows import MessageRows
from etl.sources import read_cone
from etl.verification.cone_verification import Copy, check_milestone
from tests.etl.archives import Json, blake, dump
from tests.etl.stardust_archives import eras, milestone_bytes, oracle
from tests.reference import ed25519_address
from tests.reference_rows import u16
from tests.reference_stardust import address, bare, output_bytes, raw, receipt_bytes

NAMES = {"sender": 0, "issuer": 1, "state_controller": 4, "governor": 5}
NOTHING: Json = dict.fromkeys(
    (
        *NAMES,
        *("chain_id", "storage_deposit_return", "storage_deposit_return_amount", "timelock", "expiration"),
        *("expiration_return", "tag"),
    )
)


def rows_of(line: Json) -> list[Json]:
    data = dump(line)
    rows = MessageRows()
    index = line["milestone"]["index"]
    rows.add(check_milestone(index, [Copy("x", 1, lambda: read_cone(data))], eras()))
    batch = rows.batch()
    batch.validate(full=True)
    return batch.to_pylist()


def address_of(value: Json) -> bytes:
    return bytes.fromhex(address(value))


def chain_of(output: Json, output_id: bytes) -> bytes | None:
    """Alias and NFT ids are hashes of the first output's id; a foundry's id consists of alias, serial number and
    scheme.
    """
    if output["type"] == 5:
        (condition,) = output["unlockConditions"]
        return address_of(condition["address"]) + output["serialNumber"].to_bytes(4, "little") + b"\0"
    own = output.get("aliasId") or output.get("nftId")
    if own is None:
        return None
    return raw(own) if raw(own) != bytes(32) else bytes.fromhex(blake(output_id))


def named(output: Json, output_id: bytes) -> Json:
    """The stardust struct, keyed by the types of conditions and features."""
    conditions = {each["type"]: each for each in output["unlockConditions"]}
    features = {each["type"]: each for each in output.get("features", ())}
    immutable = {each["type"]: each for each in output.get("immutableFeatures", ())}
    found = NOTHING | {"chain_id": chain_of(output, output_id), "native_tokens": len(output.get("nativeTokens", ()))}
    for name, kind in NAMES.items():
        place = conditions if kind > 1 else immutable if kind == 1 else features
        if kind in place:
            found[name] = address_of(place[kind]["address"])
    if 1 in conditions:
        found["storage_deposit_return"] = address_of(conditions[1]["returnAddress"])
        found["storage_deposit_return_amount"] = Decimal(conditions[1]["amount"])
    if 2 in conditions:
        found["timelock"] = conditions[2]["unixTime"]
    if 3 in conditions:
        found["expiration"] = conditions[3]["unixTime"]
        found["expiration_return"] = address_of(conditions[3]["returnAddress"])
    if 3 in features:
        found["tag"] = raw(features[3]["tag"])
    return found


def output_row(output: Json, output_id: bytes) -> Json:
    owner = next(each["address"] for each in output["unlockConditions"] if each["type"] in (0, 4, 6))
    return {
        "kind": output["type"],
        "address": address_of(owner),
        "amount": Decimal(output["amount"]),
        "output_id": output_id,
        "data": output_bytes(output),
        "stardust": named(output, output_id),
    }


def unlock_row(unlock: Json) -> Json:
    if unlock["type"] != 0:
        nothing = dict.fromkeys(("public_key", "signature", "address"))
        return nothing | {"kind": unlock["type"], "reference": unlock["reference"]}
    signature = unlock["signature"]
    key = raw(signature["publicKey"])
    return {
        "kind": 0,
        "public_key": key,
        "signature": raw(signature["signature"]),
        "reference": None,
        "address": bytes.fromhex(ed25519_address(key.hex())),
    }


def transaction_row(payload: Json, transaction_id: bytes) -> Json:
    essence = payload["essence"]
    spent = [raw(each["transactionId"]) + u16(each["transactionOutputIndex"]) for each in essence["inputs"]]
    outputs = [output_row(each, transaction_id + u16(at)) for at, each in enumerate(essence["outputs"])]
    return {
        "transaction_id": transaction_id,
        "inputs": [{"kind": 0, "output_id": each} for each in spent],
        "outputs": outputs,
        "unlocks": [unlock_row(each) for each in payload["unlocks"]],
        "tagged_data": tagged_row(essence.get("payload")),
    }


def tagged_row(payload: Json | None) -> Json | None:
    return payload and {"tag": raw(payload.get("tag") or "0x"), "data": raw(payload.get("data") or "0x")}


def test_every_block_of_the_oracle_reads_back() -> None:
    kinds: dict[Any, int] = {}
    for line in oracle():
        *rows, _ = rows_of(line)
        assert len(rows) == len(line["blocks"])
        for position, (row, each) in enumerate(zip(rows, line["blocks"], strict=True)):
            block, payload = each["block"], each["block"].get("payload")
            kind = None if payload is None else payload["type"]
            kinds[kind] = kinds.get(kind, 0) + 1
            assert (row["message_id"], row["message"]) == (raw(each["id"]), bytes.fromhex(each["bytes_hex"]))
            assert (row["version"], row["network_id"], row["white_flag_index"]) == (2, None, position)
            assert (row["nonce"], row["parents"]) == (int(block["nonce"]), [raw(parent) for parent in block["parents"]])
            assert (row["payload_kind"], row["reject"], row["verified"]) == (kind, None, "merkle")
            assert row["tagged_data"] == (tagged_row(payload) if kind == 5 else None)
            transaction = transaction_row(payload, raw(each["transactionId"])) if kind == 6 else None
            assert row["transaction"] == transaction
            if kind != 7:
                assert row["milestone"] is None
                continue
            own = row["milestone"]
            assert (own["milestone_index"], own["timestamp"]) == (payload["index"], payload["timestamp"])
            assert (own["block_id"], own["receipt"], own["parameters"]) == (None, None, None)
    assert kinds.keys() == {None, 5, 6, 7}
    assert sum(kinds.values()) == 836


def test_each_milestone_has_a_row_of_its_own() -> None:
    with_receipt = with_parameters = 0
    for line in oracle():
        row = rows_of(line)[-1]
        milestone, payload = line["milestone"], line["milestone"]["payload"]
        assert (row["message_id"], row["message"], row["parents"], row["transaction"]) == (None, None, [], None)
        assert (row["version"], row["white_flag_index"]) == (2, len(line["blocks"]))
        assert row["timestamp"].timestamp() == milestone["timestamp"]
        own = row["milestone"]
        assert (own["milestone_id"], own["block_id"]) == (raw(milestone["milestoneId"]), raw(milestone["blockId"]))
        assert (own["milestone_index"], own["payload"]) == (milestone["index"], milestone_bytes(line))
        options = {each["type"]: each for each in payload.get("options", ())}
        receipt, parameters = options.get(0), options.get(1)
        if parameters is None:
            assert own["parameters"] is None
        else:
            with_parameters += 1
            assert own["parameters"] == {
                "target_milestone_index": parameters["targetMilestoneIndex"],
                "protocol_version": parameters["protocolVersion"],
                "params": raw(parameters["params"]),
            }
        if receipt is None:
            assert own["receipt"] is None
            continue
        with_receipt += 1
        funds = [
            {"type": 3, "amount": each["deposit"], "unlockConditions": [{"type": 0, "address": each["address"]}]}
            for each in receipt["funds"]
        ]
        assert own["receipt"] == {
            "migrated_at": receipt["migratedAt"],
            "treasury_input": raw(receipt["transaction"]["input"]["milestoneId"]),
            "treasury_amount": Decimal(receipt["transaction"]["output"]["amount"]),
            "payload": receipt_bytes(receipt),
            "funds": [
                output_row(fund, bytes.fromhex(bare(milestone["milestoneId"])) + u16(at))
                for at, fund in enumerate(funds)
            ],
        }
    assert (with_receipt, with_parameters) == (3, 1)
