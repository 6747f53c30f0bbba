"""Pages of pending objects, and of messages whose content attacks the page."""

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import create_app
from api.network import NetworkMount
from api.settings import ApiSettings
from db.connect import StoreSettings
from ledger import ids
from ledger.chrysalis import codec
from ledger.chrysalis.json import parse_message_json
from tests.api.conftest import filled_with
from tests.api.oracle import Json, Oracle
from tests.api.web.conftest import BROWSER
from tests.api.web.shown import amounts_of, facts_of, links_of, page_of
from tests.api.web.test_explorer import HOSTILE, text_of
from tests.reference import reference_rows

NETWORK = "attacked"

LOADED, UP_TO = 10, 13
"""Milestones that are loaded; the messages of the others up to there are pending."""

OVERRIDE = "abc\u202egnp.exe"
"""Text with a character that reverses what follows."""

DATA = {
    "tag": HOSTILE[:64],
    "json": json.dumps({"name": HOSTILE, "uri": "javascript:alert(1)", "image": "https://elsewhere.example/a.png"}),
    "reversed": OVERRIDE,
    "deep": "[" * 9_000 + "]" * 9_000,
    "wide": json.dumps([0] * 10_000),
    "rounded": '{"amount": 12345678901234567890.1234567890123}',
    "twice": '{"symbol": "A", "symbol": "B"}',
    "infinite": "[1e400]",
    "not a number": "[NaN]",
    "exponent": "[1e-99999999999999999999]",
    "number": '{"amount": 123456789012345678901234567890}',
}


def hostile(oracle: Oracle, text: str) -> Json:
    """A pending message with this text as its index and data."""
    message = {
        "networkId": oracle.entries[0]["message"]["networkId"],
        "parentMessageIds": [oracle.milestones[0]["messages"][0]["id"]],
        "payload": {"type": 2, "index": text.encode()[:64].hex(), "data": text.encode().hex()},
        "nonce": "0",
    }
    data = codec.encode_message(parse_message_json(message))
    return {"id": ids.message_id(data).hex(), "message": message, "bytes_hex": data.hex(), "metadata": {}}


@pytest.fixture(scope="module")
def attacks(oracle: Oracle) -> dict[str, Json]:
    return {name: hostile(oracle, text) for name, text in DATA.items()}


@pytest.fixture(scope="module")
def waiting(oracle: Oracle) -> list[Json]:
    """Entries of pending messages with transactions."""
    return [entry for line in oracle.milestones[LOADED:UP_TO] for entry in line["messages"] if "transactionId" in entry]


@pytest.fixture(scope="module")
def app(
    tmp_path_factory: pytest.TempPathFactory, oracle: Oracle, attacks: dict[str, Json], waiting: list[Json]
) -> Iterator[Any]:
    folder: Path = tmp_path_factory.mktemp(NETWORK)
    settings = StoreSettings(f"sqlite:///{folder}", NETWORK)
    pending = [*attacks.values(), *waiting]
    store = filled_with(settings, reference_rows(oracle.milestones[:LOADED], pending, 100_000, 100_000, NETWORK))
    yield create_app({NETWORK: NetworkMount(store, NETWORK, "atoi")}, NETWORK, ApiSettings())
    store.close()


@pytest.fixture
def attacked(app: Any) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=app)
    return httpx.AsyncClient(transport=transport, base_url="http://archive", headers=BROWSER)


@pytest.mark.parametrize("name", DATA)
async def test_hostile_data_stay_text(attacked: httpx.AsyncClient, attacks: dict[str, Json], name: str) -> None:
    html = await page_of(attacked, f"/{NETWORK}/message/{attacks[name]['id']}")
    assert not re.search(r"<script(?![^>]* src=)|<img|<iframe|\son[a-z]+=|javascript:[^<]*\"", html)
    assert not re.search(r'(?:src|href)="(?!/|#|\?)', html)
    assert "\u202e" not in html
    assert len(html) < 200_000
    shown = [unescape(each) for each in re.findall(r'aria-label="As text">(.*?)</pre>', html, re.DOTALL)]
    assert (DATA[name] in shown) == (name != "reversed")


async def test_numbers_in_json_keep_all_digits(attacked: httpx.AsyncClient, attacks: dict[str, Json]) -> None:
    html = await page_of(attacked, f"/{NETWORK}/message/{attacks['number']['id']}")
    _, shown = re.findall(r'aria-label="As JSON">(.*?)</pre>', html, re.DOTALL)
    assert unescape(shown) == '{\n  "amount": 123456789012345678901234567890\n}'


@pytest.mark.parametrize("name", ["rounded", "twice", "infinite", "not a number", "exponent"])
async def test_json_that_a_page_would_show_with_other_values_is_shown_as_text_only(
    attacked: httpx.AsyncClient, attacks: dict[str, Json], name: str
) -> None:
    html = await page_of(attacked, f"/{NETWORK}/message/{attacks[name]['id']}")
    assert 'aria-label="As JSON"' not in html
    assert DATA[name] in map(unescape, re.findall(r'aria-label="As text">(.*?)</pre>', html, re.DOTALL))


async def test_pending_transactions_and_their_outputs(
    attacked: httpx.AsyncClient, oracle: Oracle, waiting: list[Json]
) -> None:
    loaded = {entry.get("transactionId") for line in oracle.milestones[:LOADED] for entry in line["messages"]}
    for entry in waiting:
        if entry["transactionId"] in loaded:
            continue
        transaction_id, essence = entry["transactionId"], entry["message"]["payload"]["essence"]
        html = await page_of(attacked, f"/{NETWORK}/transaction/{transaction_id}")
        assert "Pending" in facts_of(html)["State"]
        assert entry["id"] in links_of(html.partition('id="attachment-rows">')[2], "message")
        ids_ = [f"{transaction_id}{index.to_bytes(2, 'little').hex()}" for index in range(len(essence["outputs"]))]
        assert links_of(html.partition('id="outputs"')[2], "output") == ids_
        for output_id, output in zip(ids_, essence["outputs"], strict=True):
            page = await page_of(attacked, f"/{NETWORK}/output/{output_id}")
            assert "does not exist in the ledger" in text_of(page)
            assert amounts_of(facts_of(page)["Amount"]) == [output["amount"]]
        beyond = f"{transaction_id}{len(ids_).to_bytes(2, 'little').hex()}"
        assert (await attacked.get(f"/{NETWORK}/output/{beyond}")).status_code == 404


async def test_a_pending_message_of_an_applied_transaction(
    attacked: httpx.AsyncClient, oracle: Oracle, waiting: list[Json]
) -> None:
    loaded = {entry.get("transactionId"): entry for line in oracle.milestones[:LOADED] for entry in line["messages"]}
    again = [entry for entry in waiting if entry["transactionId"] in loaded]
    assert again
    for entry in again:
        html = await page_of(attacked, f"/{NETWORK}/transaction/{entry['transactionId']}")
        assert "Applied" in facts_of(html)["State"]
        rows = html.partition('id="attachment-rows">')[2].partition("</tbody>")[0]
        assert links_of(rows, "message") == [loaded[entry["transactionId"]]["id"], entry["id"]]
        assert rows.count("<td>pending</td>") == 1


async def test_a_pending_message_says_so(attacked: httpx.AsyncClient, waiting: list[Json]) -> None:
    for entry in waiting[::5]:
        html = await page_of(attacked, f"/{NETWORK}/message/{entry['id']}")
        assert "No milestone in this archive references this message yet" in text_of(html)
        assert "No milestone references this one yet" in text_of(html)
