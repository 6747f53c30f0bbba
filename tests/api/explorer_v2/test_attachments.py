"""The blocks that contain a transaction: each of both ledgers, with its state, on pages of every size."""

from typing import Any

import pytest

from api.app import ApiSettings, create_app
from api.explorer_v2.responses import AttachmentList
from api.network import NetworkMount
from tests.api.asgi import ask
from tests.api.conftest import Some
from tests.api.oracle import Json, Oracle
from tests.api.stardust import StardustLedger

BASE = "/api/testing/explorer/v2/transactions"
PAGE_SIZES = [1, 100]


def attachments(lines: list[Json], messages: str) -> dict[str, list[Json]]:
    """Transaction id → its referenced attachments, the included one first."""
    found: dict[str, list[Json]] = {}
    for entry in [entry for line in lines for entry in line[messages] if "transactionId" in entry]:
        state = entry["metadata"]["ledgerInclusionState"]
        found.setdefault(f"0x{entry['transactionId'].removeprefix('0x')}", []).append(
            {
                "blockId": f"0x{entry['id'].removeprefix('0x')}",
                "milestoneIndex": entry["metadata"]["referencedByMilestoneIndex"],
                "ledgerInclusionState": state,
            }
        )
    for items in found.values():
        items.sort(key=lambda item: (item["ledgerInclusionState"] != "included", item["blockId"]))
    return found


async def check(app: Any, transactions: dict[str, list[Json]], some: Some[str], page_size: int) -> None:
    """Compares the blocks of all transactions. At least one transaction has several."""
    assert max(map(len, transactions.values())) > 1
    for transaction_id in some(transactions):
        found: list[Json] = []
        query: Json = {"pageSize": page_size}
        while True:
            status, body = await ask(app, f"{BASE}/{transaction_id}/blocks", query)
            assert status == 200, body
            AttachmentList.model_validate(body, strict=True, extra="forbid")
            found += body["items"]
            if body["cursor"] is None:
                break
            query["cursor"] = body["cursor"]
        assert found == transactions[transaction_id]


@pytest.mark.thorough
@pytest.mark.parametrize("page_size", PAGE_SIZES)
async def test_every_chrysalis_transaction_has_its_messages(
    mount: NetworkMount, oracle: Oracle, some: Some[str], page_size: int
) -> None:
    app = create_app({"testing": mount}, "testing", ApiSettings())
    await check(app, attachments(list(oracle.milestones), "messages"), some, page_size)


@pytest.mark.parametrize("page_size", PAGE_SIZES)
async def test_every_stardust_transaction_has_its_blocks(
    stardust: StardustLedger, stardust_store: Any, some: Some[str], page_size: int
) -> None:
    app = create_app({"testing": stardust.mount(stardust_store)}, "testing", ApiSettings())
    await check(app, attachments(list(stardust.milestones), "blocks"), some, page_size)


async def test_an_unknown_transaction_has_none(mount: NetworkMount) -> None:
    unknown = "0x" + "ab" * 32
    app = create_app({"testing": mount}, "testing", ApiSettings())
    assert await ask(app, f"{BASE}/{unknown}/blocks") == (200, {"transactionId": unknown, "items": [], "cursor": None})
