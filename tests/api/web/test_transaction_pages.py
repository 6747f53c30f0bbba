"""Pages of transactions and outputs: displayed values are those of the oracle ledgers."""

import re
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import httpx

from ledger.crypto.bech32 import format_address
from tests.api.oracle import GENESIS, Json, Oracle
from tests.api.stardust import StardustLedger
from tests.api.web.shown import amounts_of, facts_of, links_of, page_of, section, utc
from tests.api.web.test_explorer import text_of


def transactions_of(oracle: Oracle, stardust: StardustLedger) -> Iterator[tuple[str, str, str, list[Json]]]:
    """Network, name of messages, transaction id and its referenced entries: conflicts and some others."""
    found: dict[tuple[str, str, str], list[Json]] = {}
    for network, kind, entries in (
        (oracle.expected["network"], "message", oracle.entries),
        (stardust.network, "block", stardust.entries),
    ):
        for entry in entries:
            if "transactionId" in entry and "referencedByMilestoneIndex" in entry["metadata"]:
                found.setdefault((network, kind, entry["transactionId"]), []).append(entry)
    for position, (key, attached) in enumerate(found.items()):
        states = {entry["metadata"]["ledgerInclusionState"] for entry in attached}
        if position % 17 == 0 or states != {"included"} or len(attached) > 1:
            yield *key, attached


async def test_a_transaction_shows_inputs_outputs_and_its_messages(
    pages: httpx.AsyncClient, oracle: Oracle, stardust: StardustLedger
) -> None:
    spent_by = {
        (each["transactionId"], each["transactionOutputIndex"]): transaction_id
        for ledger, kind in ((oracle, "message"), (stardust, "block"))
        for transaction_id, entry in ledger.included.items()
        for each in entry[kind]["payload"]["essence"]["inputs"]
    }
    several = 0
    for network, kind, transaction_id, attached in transactions_of(oracle, stardust):
        html = await page_of(pages, f"/{network}/transaction/{transaction_id}")
        states = {entry["id"]: entry["metadata"]["ledgerInclusionState"] for entry in attached}
        is_included = "included" in states.values()
        assert ("Applied" if is_included else "In conflict") in facts_of(html)["State"]
        essence = attached[0][kind]["payload"]["essence"]
        inputs, _, outputs = html.partition('id="inputs"')[2].partition('id="outputs"')
        outputs = outputs.partition("<h2")[0]
        assert links_of(inputs, "output") == [
            f"{each['transactionId']}{each['transactionOutputIndex'].to_bytes(2, 'little').hex()}"
            for each in essence["inputs"]
        ]
        known = [
            int((oracle.outputs if kind == "message" else stardust.outputs)[each]["output"]["amount"])
            for each in links_of(inputs, "output")
            if each in (oracle.outputs if kind == "message" else stardust.outputs)
        ]
        assert amounts_of(inputs) == known
        ids = [f"{transaction_id}{index.to_bytes(2, 'little').hex()}" for index in range(len(essence["outputs"]))]
        assert links_of(outputs, "output") == ids
        items = re.split(r"<li>(?=<strong>)", outputs)[1:]
        for index, (item, output) in enumerate(zip(items, essence["outputs"], strict=True)):
            assert amounts_of(item)[0] == int(output["amount"])
            spender = spent_by.get((transaction_id, index)) if is_included else None
            assert links_of(item, "transaction") == ([spender] if spender else [])
        rows = html.partition('id="attachment-rows">')[2].partition("</tbody>")[0]
        shown = {links_of(row, kind)[0]: row for row in rows.split("</tr>") if kind in row}
        assert set(shown) == set(states)
        included = [message_id for message_id, state in states.items() if state == "included"]
        assert re.findall(rf"/{kind}/(\w+)#proof", html) == included
        for message_id, state in states.items():
            assert ("applied" if state == "included" else "in conflict") in shown[message_id]
        several += len(attached) > 1
    assert several > 5


async def test_an_output_shows_its_life_and_its_owner(
    pages: httpx.AsyncClient, oracle: Oracle, stardust: StardustLedger
) -> None:
    for output_id, each in list(oracle.outputs.items())[::29]:
        html = await page_of(pages, f"/{oracle.expected['network']}/output/{output_id}")
        assert amounts_of(facts_of(html)["Amount"]) == [each["output"]["amount"]]
        life = section(html, "life")
        assert ("Spent" in life) == each["isSpent"]
        if each["messageId"] != GENESIS:
            assert links_of(life, "message") == [each["messageId"]]
            assert links_of(life, "milestone")[0] == str(oracle.milestone_of[each["messageId"]])
        owner = bytes.fromhex(f"00{each['output']['address']['address']}")
        assert links_of(section(html, "unlocking"), "address") == [format_address("atoi", owner)]
    for output_id, each in list(stardust.outputs.items())[::29]:
        html = await page_of(pages, f"/{stardust.network}/output/{output_id}")
        metadata, life = each["metadata"], section(html, "life")
        assert amounts_of(facts_of(html)["Amount"]) == [int(each["output"]["amount"])]
        milestones = [metadata[name] for name in ("milestoneIndexBooked", "milestoneIndexSpent") if metadata.get(name)]
        assert links_of(life, "milestone")[: len(milestones)] == list(map(str, milestones))
        assert ("Spent" in life) == metadata["isSpent"]
        if metadata["isSpent"]:
            assert links_of(life, "transaction")[-1] == metadata["transactionIdSpent"]


def chain_of(output: Json, output_id: str) -> str:
    """The id of an alias, NFT or foundry (TIP-18)."""
    if output["type"] == 5:
        alias = output["unlockConditions"][0]["address"]["aliasId"][2:]
        return f"0x08{alias}{output['serialNumber'].to_bytes(4, 'little').hex()}00"
    stated: str = output["aliasId" if output["type"] == 4 else "nftId"]
    created = blake2b(bytes.fromhex(output_id[2:]), digest_size=32).hexdigest()
    return stated if int(stated, 16) else f"0x{created}"


async def test_unlock_conditions_features_and_chains_of_an_output(
    pages: httpx.AsyncClient, stardust: StardustLedger
) -> None:
    seen: set[int] = set()
    deposits = stardust.expected["storageDeposits"]
    for output_id, each in stardust.outputs.items():
        output = each["output"]
        conditions: dict[int, Any] = {condition["type"]: condition for condition in output["unlockConditions"]}
        if set(conditions) == {0} and not output.get("immutableFeatures"):
            continue
        html = await page_of(pages, f"/{stardust.network}/output/{output_id}")
        words = section(html, "unlocking")
        times = re.findall(r'<time datetime="([^"]*)"', words)
        expected = [utc(conditions[kind]["unixTime"]) for kind in (2, 3) if kind in conditions]
        assert times == expected
        assert amounts_of(words) == ([int(conditions[1]["amount"])] if 1 in conditions else [])
        assert ("governs it" in words) == (5 in conditions)
        seen |= set(conditions)
        if output["type"] != 3:
            kind = {4: "alias", 5: "foundry", 6: "nft"}[output["type"]]
            assert links_of(facts_of(html)["Kind"], kind) == [chain_of(output, output_id)]
        if output_id in deposits:
            assert amounts_of(facts_of(html)["Storage deposit"]) == [int(deposits[output_id])]
    assert seen == set(range(7))


async def test_outputs_of_transactions_in_conflict_never_existed(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    assert oracle.conflicting_outputs
    for output_id, each in oracle.conflicting_outputs.items():
        html = await page_of(pages, f"/{oracle.expected['network']}/output/{output_id}")
        assert "Never created." in text_of(html)
        assert amounts_of(facts_of(html)["Amount"]) == [each["output"]["amount"]]
