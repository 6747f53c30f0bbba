"""Pages of addresses: displayed balances, histories and outputs are those of the oracle ledgers."""

import csv
import io
import re
from decimal import Decimal
from html import unescape
from itertools import pairwise
from xml.etree import ElementTree

import httpx
import pytest

from ledger.crypto.bech32 import format_address
from tests.api import analytics
from tests.api.networks import GAPS
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.api.web.test_explorer import HOSTILE, text_of

MICRO = 1_000_000
"""Smallest units in a base token."""


def rows_of(html: str) -> list[list[str]]:
    """The cells of the list on a page, as text."""
    body = html.partition('id="rows">')[2].partition("</tbody>")[0]
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in body.split("</tr>")[:-1]]
    return [[unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in row] for row in cells]


def titles_of(html: str, kind: str) -> list[str]:
    """The whole ids of the links to pages of a kind."""
    return re.findall(rf'href="/[^/"]+/{kind}/[^"]*" title="([^"]*)"', html)


def amount(text: str) -> int:
    """An amount as displayed, in the smallest unit."""
    return int(Decimal(text.replace(",", "").replace("−", "-").lstrip("+").split("\N{NO-BREAK SPACE}")[0]) * MICRO)


def figures_of(oracle: Oracle, stardust: StardustLedger) -> list[tuple[str, analytics.Figures]]:
    return [
        (oracle.expected["network"], analytics.of_chrysalis(oracle)),
        (stardust.network, analytics.of_stardust(stardust)),
    ]


@pytest.mark.thorough
async def test_the_balance_and_its_chart_are_those_of_the_ledger(
    pages: httpx.AsyncClient, oracle: Oracle, stardust: StardustLedger
) -> None:
    for network, figures in figures_of(oracle, stardust):
        for address, history in figures.histories.items():
            page = await pages.get(f"/{network}/address/{address}")
            assert page.status_code == 200, address
            labels = r"<dt>(?:Balance|In its unspent outputs)</dt><dd>"
            shown = re.findall(rf'{labels}<data class="amount" value="(\d+)"', page.text)
            drawn = re.search(r'<data class="series" value="([^"]*)" data-name="Balance"', page.text)
            times = re.search(r'data-times="([^"]*)"', page.text)
            assert drawn
            assert times
            # The balance leaves out deposits to return; if they differ, the page has both.
            assert shown[-1] == figures.owners.get(address, "0")
            assert [int(Decimal(each) * MICRO) for each in drawn[1].split(",")] == [
                int(each["balance"]) for each in history
            ]
            assert times[1].split(",") == [str(each["timestamp"]) for each in history]


@pytest.mark.thorough
async def test_the_balance_at_a_milestone_or_day(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    figures, network = analytics.of_chrysalis(oracle), oracle.expected["network"]
    address, history = max(figures.histories.items(), key=lambda each: len(each[1]))
    for item in history[:: len(history) // 4]:
        page = await pages.get(f"/{network}/address/{address}", params={"at": item["milestoneIndex"]})
        then = re.search(r'<dt>Balance then</dt><dd><data class="amount" value="(\d+)"', page.text)
        assert then is not None
        assert then[1] == item["balance"]
    day = analytics.date_of(history[-1]["timestamp"])
    page = await pages.get(f"/{network}/address/{address}", params={"at": day})
    assert f'value="{history[-1]["balance"]}"' in page.text.partition("Balance then")[2]
    assert (await pages.get(f"/{network}/address/{address}", params={"at": figures.last + 1})).status_code == 404
    assert (await pages.get(f"/{network}/address/{address}", params={"at": "2001-01-01"})).status_code == 404
    for text in ("9" * 5_000, "9" * 20, "²", "x"):
        assert (await pages.get(f"/{network}/address/{address}", params={"at": text})).status_code == 400


async def test_all_pages_of_the_history_and_the_outputs(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    network, hrp = oracle.expected["network"], oracle.expected["bech32Hrp"]
    address = max(oracle.addresses, key=lambda each: len(oracle.all_outputs(each)))
    expected = oracle.all_outputs(address)
    path = f"/{network}/address/{format_address(hrp, bytes.fromhex('00' + address))}"
    for tab in ("history", "outputs"):
        url, seen, rows = f"{path}?tab={tab}", [], []
        while url:
            page = (await pages.get(url)).text
            seen += titles_of(page, "output")
            rows += rows_of(page)
            more = re.search(r'class="more".*?hx-get="([^"]*)"', page, re.DOTALL)
            url = unescape(more[1]) if more else ""
        assert len(rows) == len(seen) > 25
        received = [each for each, row in zip(seen, rows, strict=True) if tab == "outputs" or row[2] == "received"]
        assert sorted(received) == sorted(f"0x{each}" for each in expected)
        if tab == "history":
            # What was received and not spent is the balance.
            total = sum(amount(row[3]) for row in rows)
            unspent = [oracle.outputs[each] for each in expected if not oracle.outputs[each]["isSpent"]]
            assert total == sum(each["output"]["amount"] for each in unspent)


async def test_the_statement_and_the_files_of_an_address(pages: httpx.AsyncClient, stardust: StardustLedger) -> None:
    figures = analytics.of_stardust(stardust)
    address, history = max(figures.histories.items(), key=lambda each: len(each[1]))
    page = await pages.get(f"/{stardust.network}/address/{address}", params={"tab": "statement"})
    rows = rows_of(page.text)
    assert amount(rows[0][6]) == int(history[-1]["balance"])
    for later, earlier in pairwise(rows):
        assert amount(later[6]) - amount(later[5]) == amount(earlier[6])
    balances, statement = [unescape(each) for each in re.findall(r'href="([^"]*)" download', page.text)]
    table = list(csv.DictReader(io.StringIO((await pages.get(balances)).text)))
    assert [each["balance"] for each in table][::-1] == [each["balance"] for each in history]
    table = list(csv.DictReader(io.StringIO((await pages.get(statement)).text)))
    changes = [each["transactionId"] for each in table if each["transactionId"]]
    assert len(changes) > len(rows)
    assert changes[: len(rows)] == titles_of(page.text, "transaction")


async def test_tokens_and_nfts_of_an_address(pages: httpx.AsyncClient, stardust: StardustLedger) -> None:
    hrp = stardust.expected["bech32Hrp"]
    tokens: dict[str, dict[str, int]] = {}
    nfts: dict[str, int] = {}
    for each in stardust.outputs.values():
        conditions = {condition["type"]: condition for condition in each["output"].get("unlockConditions", ())}
        if each["metadata"]["isSpent"] or 0 not in conditions or 3 in conditions:
            continue
        owner = conditions[0]["address"]
        if owner["type"] == 0:
            address = format_address(hrp, bytes.fromhex("00" + owner["pubKeyHash"][2:]))
            nfts[address] = nfts.get(address, 0) + (each["output"]["type"] == 6)
            for token in each["output"].get("nativeTokens", ()):
                held = tokens.setdefault(address, {})
                held[token["id"]] = held.get(token["id"], 0) + int(token["amount"], 16)
    assert tokens
    assert any(nfts.values())
    for address, held in tokens.items():
        page = (await pages.get(f"/{stardust.network}/address/{address}", params={"tab": "tokens"})).text
        shown = zip(titles_of(page, "foundry"), rows_of(page), strict=True)
        assert {token: int(row[1].replace(",", "")) for token, row in shown} == held
    for address, count in nfts.items():
        page = (await pages.get(f"/{stardust.network}/address/{address}", params={"tab": "nfts"})).text
        assert len(titles_of(page, "nft")) >= count


async def test_an_address_in_hex_leads_to_its_page(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    network, hrp = oracle.expected["network"], oracle.expected["bech32Hrp"]
    digits = oracle.addresses[0]
    bech32 = format_address(hrp, bytes.fromhex("00" + digits))
    for text in (digits, f"0x{digits}", f"00{digits}", digits.upper(), bech32.upper()):
        found = await pages.get(f"/{network}/address/{text}")
        assert found.status_code == 302
        assert found.headers["location"] == f"/{network}/address/{format_address(hrp, bytes.fromhex('00' + digits))}"


async def test_the_address_of_an_alias_leads_to_it(pages: httpx.AsyncClient, stardust: StardustLedger) -> None:
    hrp = stardust.expected["bech32Hrp"]
    for first, kind in (("08", "alias"), ("10", "nft")):
        address = format_address(hrp, bytes.fromhex(first + "ab" * 32))
        page = await pages.get(f"/{stardust.network}/address/{address}")
        assert f'href="/{stardust.network}/{kind}/0x{"ab" * 32}"' in page.text


async def test_an_address_without_history(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    network, hrp = oracle.expected["network"], oracle.expected["bech32Hrp"]
    path = f"/{network}/address/{format_address(hrp, bytes.fromhex('00' + '11' * 32))}"
    assert "This address never received an output" in text_of((await pages.get(path)).text)
    for tab, words in (("outputs", "No output"), ("statement", "No transaction"), ("nfts", "owns no NFTs")):
        page = await pages.get(path, params={"tab": tab})
        assert page.status_code == 200
        assert words in text_of(page.text)


async def test_without_a_ledger_state_an_address_has_outputs_only(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    address = max(oracle.addresses, key=lambda each: len(oracle.all_outputs(each)))
    path = f"/{GAPS}/address/{format_address('atoi', bytes.fromhex('00' + address))}"
    assert (await pages.get(path)).headers["location"] == f"{path}?tab=outputs"
    for tab in ("history", "statement", "tokens", "nfts", "outputs"):
        page = await pages.get(path, params={"tab": tab})
        assert page.status_code == 200
        assert "does not follow the ledger state" in text_of(page.text)
    assert set(titles_of(page.text, "output")) <= {f"0x{each}" for each in oracle.all_outputs(address)}
    assert rows_of(page.text)


async def test_the_qr_code_is_an_image(pages: httpx.AsyncClient, oracle: Oracle) -> None:
    network = oracle.expected["network"]
    address = format_address(oracle.expected["bech32Hrp"], bytes.fromhex("00" + oracle.addresses[0]))
    page = await pages.get(f"/{network}/address/{address}")
    link = re.search(r'<img src="([^"]*)"', page.text)
    assert link is not None
    image = await pages.get(link[1])
    assert image.headers["content-type"] == "image/svg+xml"
    root = ElementTree.fromstring(image.content)  # noqa: S314 - made by this server
    size = int(root.attrib["viewBox"].split()[2])
    modules = set(re.findall(r"M(\d+) (\d+)h1", root[1].attrib["d"]))
    # Corners of the three finder patterns, inside the margin of 4 modules.
    for corner in (("4", "4"), (str(size - 5), "4"), ("4", str(size - 5))):
        assert corner in modules


@pytest.mark.parametrize("path", ["{}", "{}/qr.svg"])
async def test_other_texts_are_not_addresses(pages: httpx.AsyncClient, oracle: Oracle, path: str) -> None:
    network = oracle.expected["network"]
    url = httpx.URL("http://archive").copy_with(path=f"/{network}/address/{path.format(HOSTILE)}")
    page = await pages.get(url, follow_redirects=True)
    assert page.status_code in {400, 404}
    assert "<script>alert" not in page.text
    foreign = format_address("xyz", bytes.fromhex("00" + oracle.addresses[0]))
    assert (await pages.get(f"/{network}/address/{foreign}")).status_code == 400
