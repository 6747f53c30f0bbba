"""Pages of milestones and messages: displayed values are those of the oracle ledgers."""

import re
from collections.abc import Iterator
from html import unescape

import httpx

from tests.api.networks import GAPS, MISSING, TWO_ERAS
from tests.api.oracle import GENESIS, Json, Oracle
from tests.api.stardust import StardustLedger
from tests.api.web.shown import amounts_of, facts_of, links_of, page_of, section, utc, whole_list
from tests.api.web.test_explorer import text_of
from tests.etl.two_eras import FIRST, stardust_lines

STATES = {"included": "Applied.", "conflicting": "In conflict.", "noTransaction": "Referenced", None: "Pending"}
"""The inclusion state in metadata, and the word for it on the page."""

REASONS = {1: "already spent", 2: "same milestone", 3: "does not exist", 4: "sum", 5: "signature", 6: "dust"}
"""A Chrysalis conflict reason, and what its explanation contains."""

STARDUST_REASONS = REASONS | {
    6: "timelock",
    7: "native tokens",
    8: "storage deposit",
    9: "unlock",
    10: "commitment",
    11: "sender",
    12: "alias, NFT or foundry",
}


def milestones_of(oracle: Oracle, stardust: StardustLedger) -> Iterator[tuple[str, Json, list[Json], str]]:
    """Network, milestone, entries of its messages, name of messages in paths: some of both ledgers."""
    for line in oracle.milestones[::7]:
        yield oracle.expected["network"], line["milestone"], line["messages"], "message"
    for line in stardust.milestones[::7]:
        yield stardust.network, line["milestone"], line["blocks"], "block"


async def test_a_milestone_shows_what_its_line_has(
    pages: httpx.AsyncClient, oracle: Oracle, stardust: StardustLedger
) -> None:
    for network, milestone, entries, kind in milestones_of(oracle, stardust):
        index, payload = milestone["index"], milestone["payload"]
        path = f"/{network}/milestone/{index}"
        html = await page_of(pages, path)
        facts = facts_of(html)
        assert milestone["milestoneId"].removeprefix("0x") in facts["Milestone id"]
        assert facts["Time"].startswith(f'<time datetime="{utc(milestone["timestamp"])}"')
        assert facts["Era"] == ("Stardust" if kind == "block" else "Chrysalis")
        assert f"{len(entries)}: " in facts[f"{kind.capitalize()}s"]
        parents = payload["parents" if kind == "block" else "parentMessageIds"]
        assert links_of(facts["Parents"], kind) == parents
        signed = payload.get("publicKeys") or [each["publicKey"][2:] for each in payload["signatures"]]
        assert re.findall(r"<code>([0-9a-f]{64})</code>", section(html, "signers")) == signed
        steps = re.findall(r'rel="(prev|next)" href="([^"]*)"', html)
        assert ("prev", f"/{network}/milestone/{index - 1}") in steps or index == 1
        assert ("next", f"/{network}/milestone/{index + 1}") in steps or index == 50
        listed = links_of(await whole_list(pages, path, "message-rows", "blocks"), kind)
        assert sorted(listed) == sorted(entry["id"] for entry in entries)


async def test_the_ledger_changes_of_a_milestone(
    pages: httpx.AsyncClient, oracle: Oracle, stardust: StardustLedger
) -> None:
    created: dict[tuple[str, int], dict[str, int]] = {}
    for output_id, each in stardust.outputs.items():
        key = stardust.network, each["metadata"]["milestoneIndexBooked"]
        created.setdefault(key, {})[output_id] = int(each["output"]["amount"])
    network = oracle.expected["network"]
    for output_id, each in oracle.outputs.items():
        if each["messageId"] != GENESIS:
            key = network, oracle.milestone_of[each["messageId"]]
            created.setdefault(key, {})[output_id] = each["output"]["amount"]
    for (network, index), outputs in list(created.items())[::9]:
        if index:
            rows = await whole_list(pages, f"/{network}/milestone/{index}", "change-rows", "changes")
            shown = {
                links_of(row, "output")[0]: amounts_of(row)[0] for row in rows.split("</tr>") if "<td>created" in row
            }
            assert shown == outputs


async def test_receipts_of_a_milestone(pages: httpx.AsyncClient, oracle: Oracle, stardust: StardustLedger) -> None:
    for network, receipts in (
        (oracle.expected["network"], oracle.expected["receipts"]),
        (stardust.network, stardust.expected["receipts"]),
    ):
        assert receipts
        for each in receipts:
            html = section(await page_of(pages, f"/{network}/milestone/{each['milestoneIndex']}"), "receipts")
            funds = [int(fund["deposit"]) for fund in each["receipt"]["funds"]]
            treasury = int(each["receipt"]["transaction"]["output"]["amount"])
            assert amounts_of(html) == [*funds, treasury]


async def test_an_id_or_another_spelling_leads_to_the_milestone(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    network = oracle.expected["network"]
    for each in oracle.expected["milestoneIds"][::11]:
        for text in (each["milestoneId"], each["milestoneId"].removeprefix("0x"), f"00{each['index']}"):
            answer = await pages.get(f"/{network}/milestone/{text}")
            assert (answer.status_code, answer.headers["location"]) == (302, f"/{network}/milestone/{each['index']}")


async def test_a_missing_milestone_names_the_gap_and_the_nearest_ones(pages: httpx.AsyncClient) -> None:
    first, last = MISSING[0], MISSING[-1]
    answer = await pages.get(f"/{GAPS}/milestone/{first + 3}")
    assert answer.status_code == 404
    assert f"has a gap here: it has no milestone from {first} to {last}" in text_of(answer.text)
    assert f'rel="prev" href="/{GAPS}/milestone/{first - 1}"' in answer.text
    assert f'rel="next" href="/{GAPS}/milestone/{last + 1}"' in answer.text
    assert f'href="/{GAPS}/coverage"' in answer.text
    beyond = await pages.get(f"/{GAPS}/milestone/1000")
    assert beyond.status_code == 404
    assert "newer than the newest milestone" in text_of(beyond.text)
    beside = await page_of(pages, f"/{GAPS}/milestone/{first - 1}")
    assert f"does not have {first} to {last}" in text_of(beside)
    assert "does not follow the ledger" in text_of(beside)
    for unknown in ("nothing", "ab" * 32):
        assert (await pages.get(f"/{GAPS}/milestone/{unknown}")).status_code == 404


def entries_of(oracle: Oracle, stardust: StardustLedger) -> Iterator[tuple[str, str, Json, Json]]:
    """Network, name in paths, entry and message: every conflict, pending message and some others of both ledgers."""
    for network, kind, entries in (
        (oracle.expected["network"], "message", oracle.entries),
        (stardust.network, "block", stardust.entries),
    ):
        for position, entry in enumerate(entries):
            state = entry["metadata"].get("ledgerInclusionState")
            if position % 23 == 0 or state in {None, "conflicting"}:
                yield network, kind, entry, entry[kind]


async def test_a_message_shows_its_state_its_payload_and_its_neighbours(
    pages: httpx.AsyncClient, oracle: Oracle, stardust: StardustLedger
) -> None:
    reasons = set()
    for network, kind, entry, value in entries_of(oracle, stardust):
        html = await page_of(pages, f"/{network}/{kind}/{entry['id']}")
        facts, metadata = facts_of(html), entry["metadata"]
        assert f'data-copy="{entry["id"]}"' in facts[f"{kind.capitalize()} id"]
        state, reason = metadata.get("ledgerInclusionState"), metadata.get("conflictReason")
        assert STATES[state] in facts["Inclusion"]
        if state is not None:
            assert links_of(facts["Inclusion"], "milestone") == [str(metadata["referencedByMilestoneIndex"])]
        if reason is not None:
            assert (STARDUST_REASONS if kind == "block" else REASONS)[reason] in facts["Inclusion"]
            reasons.add((kind, reason))
        assert links_of(facts["Parents"], kind) == value["parents" if kind == "block" else "parentMessageIds"]
        children = (stardust.expected if kind == "block" else oracle.expected)["children"].get(entry["id"], [])
        assert sorted(links_of(facts["Children"], kind)) == sorted(children)
        if "transactionId" in entry:
            assert links_of(facts["Payload"], "transaction") == [entry["transactionId"]]
        raw = await pages.get(f"/{network}/{kind}/{entry['id']}/raw")
        assert raw.content.hex() == entry["bytes_hex"]
        assert raw.headers["content-disposition"] == f'attachment; filename="{entry["id"]}.bin"'
    assert len(reasons) > 15


async def test_a_message_offers_a_proof_exactly_if_one_exists(
    pages: httpx.AsyncClient, oracle: Oracle, stardust: StardustLedger
) -> None:
    found = set()
    for network, kind, entry, _ in entries_of(oracle, stardust):
        html = await page_of(pages, f"/{network}/{kind}/{entry['id']}")
        link = re.search(rf'href="(/api/{network}/poi/v1/[^"]*)" download', html)
        state = entry["metadata"].get("ledgerInclusionState")
        can_be_proved = state == "included" or (kind == "block" and state is not None)
        assert (link is not None) == can_be_proved
        assert ("/verify.js" in html) == can_be_proved
        if link:
            assert (await pages.get(link[1])).json()["milestone"]["index"] == entry["metadata"][
                "referencedByMilestoneIndex"
            ]
        found.add((kind, state))
    assert len(found) == 8


async def test_the_text_json_and_bytes_of_tagged_data(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    network, found = oracle.expected["network"], 0
    for entry in oracle.entries[::5]:
        payload = entry["message"]["payload"]
        if payload is None or payload["type"] != 2:
            continue
        tag, data = bytes.fromhex(payload["index"]), bytes.fromhex(payload["data"])
        html = await page_of(pages, f"/{network}/message/{entry['id']}")
        assert links_of(html, "tag") == [payload["index"]]
        shown = [unescape(each) for each in re.findall(r'aria-label="As text">(.*?)</pre>', html, re.DOTALL)]
        for part in (tag, data):
            try:
                text = part.decode()
            except UnicodeDecodeError:
                continue
            assert not text.isprintable() or not text or text in shown
        dumps = re.findall(r'aria-label="As hex">(.*?)</pre>', html, re.DOTALL)
        dumped = ["".join(line[8:55].replace(" ", "") for line in unescape(each).splitlines()) for each in dumps]
        assert dumped == [part.hex()[: 2 * 4096] for part in (tag, data) if part]
        found += 1
    assert found > 20


async def assert_leads(pages: httpx.AsyncClient, path: str, target: str) -> None:
    answer = await pages.get(path)
    assert (path, answer.status_code, answer.headers.get("location")) == (path, 302, target)


async def test_every_spelling_and_the_other_era_lead_to_the_page(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    old = oracle.milestones[3]["messages"][0]["id"]
    block = stardust_lines()[0]["blocks"][0]
    new = block["id"]
    for path, target in (
        (f"message/0x{old}", f"message/{old}"),
        (f"block/{old}", f"message/{old}"),
        (f"block/0x{old.upper()}", f"message/{old}"),
        (f"message/{new}", f"block/{new}"),
        (f"block/{new[2:]}", f"block/{new}"),
    ):
        await assert_leads(pages, f"/{TWO_ERAS}/{path}", f"/{TWO_ERAS}/{target}")
    for index, era in ((FIRST - 1, "Chrysalis"), (FIRST, "Stardust")):
        assert facts_of(await page_of(pages, f"/{TWO_ERAS}/milestone/{index}"))["Era"] == era


async def test_the_id_of_another_object_leads_to_its_page(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    network = oracle.expected["network"]
    transaction_id, entry = next(iter(oracle.included.items()))
    for path, target in (
        (f"message/{transaction_id}", f"transaction/{transaction_id}"),
        (f"block/{transaction_id}", f"transaction/{transaction_id}"),
        (f"transaction/{entry['id']}", f"message/{entry['id']}"),
        (f"transaction/0x{transaction_id}", f"transaction/{transaction_id}"),
        (f"output/0x{transaction_id}0000", f"output/{transaction_id}0000"),
    ):
        await assert_leads(pages, f"/{network}/{path}", f"/{network}/{target}")
    for kind in ("message", "block", "transaction"):
        assert (await pages.get(f"/{network}/{kind}/{'ab' * 32}")).status_code == 404
    assert (await pages.get(f"/{network}/output/{'ab' * 34}")).status_code == 404
    assert (await pages.get(f"/{network}/output/xyz")).status_code == 400
