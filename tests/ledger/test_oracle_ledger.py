"""The oracle ledger of other implementations: every message in every form, every milestone's order and root."""

from typing import Any

import pytest

from ledger import ids
from ledger.chrysalis.archive_json import message_from_archive, milestone_from_archive
from ledger.chrysalis.codec import decode_message, encode_message, encode_payload, payload_bytes
from ledger.chrysalis.json import message_json, parse_message_json, parse_milestone_json
from ledger.crypto.merkle import merkle_root
from ledger.white_flag import white_flag_order
from tests.conftest import SAMPLE, needs_shared
from tests.ledger.cases import IOTA, lines

LEDGER = IOTA / "ledger" / "chrysalis"


@pytest.fixture(scope="module")
def milestones() -> list[dict[str, Any]]:
    return lines(LEDGER / "milestones.jsonl")


@needs_shared
def test_messages_agree_in_bytes_id_and_json(milestones: list[dict[str, Any]]) -> None:
    messages = [each for milestone in milestones for each in milestone["messages"]] + lines(LEDGER / "pending.jsonl")
    assert len(messages) > 800
    for stated in messages:
        data = bytes.fromhex(stated["bytes_hex"])
        message = decode_message(data)
        assert encode_message(message) == data
        assert ids.message_id(data).hex() == stated["id"]
        assert message_json(message) == stated["message"]
        assert parse_message_json(stated["message"]) == message
        if "transactionId" in stated:
            assert ids.transaction_id(payload_bytes(data)).hex() == stated["transactionId"]


@needs_shared
def test_milestone_ids_are_those_stated(milestones: list[dict[str, Any]]) -> None:
    assert len(milestones) == 50
    for line in milestones:
        payload = encode_payload(parse_milestone_json(line["milestone"]["payload"]))
        assert ids.milestone_id(payload).hex() == line["milestone"]["milestoneId"]


@needs_shared
def test_white_flag_order_follows_from_the_parents_alone(milestones: list[dict[str, Any]]) -> None:
    for line in milestones:
        own = bytes.fromhex(line["milestone"]["messageId"])
        # Sorted by id, so the order of the lines does not help.
        cone = sorted((bytes.fromhex(each["id"]), each["message"]["parentMessageIds"]) for each in line["messages"])
        order = white_flag_order(own, {key: [bytes.fromhex(parent) for parent in parents] for key, parents in cone})
        stated = {each["whiteFlagIndex"]: each["id"] for each in line["messages"]}
        assert [each.hex() for each in order[:-1]] == [stated[position] for position in range(len(order) - 1)]
        assert order[-1].hex() == stated[None]
        assert len(order) == len(line["messages"])


@needs_shared
def test_the_inclusion_merkle_proof_is_the_root_over_included_messages(milestones: list[dict[str, Any]]) -> None:
    for line in milestones:
        included = [
            bytes.fromhex(each["id"])
            for each in line["messages"]
            if each["metadata"]["ledgerInclusionState"] == "included"
        ]
        assert merkle_root(included).hex() == line["milestone"]["payload"]["inclusionMerkleProof"]


def test_every_archived_message_has_the_id_it_is_filed_under() -> None:
    seen = 0
    for path in sorted(SAMPLE.glob("*to*.log*")) + sorted(SAMPLE.glob("*.part")):
        for line in lines(path):
            milestone = milestone_from_archive(line["milestone"])
            assert milestone.index == line["milestone_index"]
            carriers = 0
            for message_id, (archived, _) in line["messages"].items():
                message = message_from_archive(archived)
                assert ids.message_id(encode_message(message)).hex() == message_id
                carriers += message.payload == milestone
                seen += 1
            assert carriers == 1
    assert seen > 800
