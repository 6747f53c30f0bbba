"""Compares every page of every listing of a loaded oracle store with the oracle's lines."""

from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import Any

from db.connect import StoreSettings, open_store
from db.listing.page import Page
from db.queries import messages, milestones, outputs, transactions
from db.store import Store
from tests.api.oracle import Oracle
from tests.reference import ORACLE

PAGE_SIZES = (1, 2, 3, 7, 100)


@cache
def whole_oracle() -> Oracle:
    return Oracle.read(ORACLE)


async def check_listings(settings: StoreSettings, *, with_pending: bool = False, with_genesis: bool = False) -> None:
    """All tags, children, addresses and milestones at every page size in both orders."""
    oracle = whole_oracle() if with_genesis else whole_oracle().without_genesis()
    oracle = oracle if with_pending else Oracle(oracle.milestones, [], oracle.expected)
    store = open_store(settings)
    try:
        for tag, ids in oracle.tagged.items():
            await check(messages.list_tagged, store, tag, "message_id", ids)
        for parent, ids in oracle.children.items():
            await check(messages.list_children, store, parent, "message_id", ids)
        for address in oracle.addresses:
            ids = oracle.address_outputs(address, output_type=None, include_spent=True)
            await check(outputs.list_outputs_by_address, store, f"00{address}", "output_id", ids)
        for address, history in whole_oracle().histories.items():
            if with_genesis:
                ids = [item["messageId"] for item in history]
                await check(partial(list_history, range(1, 51)), store, f"00{address}", "message_id", ids)
            attached = [item["messageId"] for item in history if item["ledgerInclusionState"] != "migrated"]
            await check(list_attached, store, f"00{address}", "message_id", attached)
        for line in oracle.milestones:
            ids = [each["id"] for each in reversed(line["messages"])]
            index = line["milestone"]["index"]
            await check(milestones.list_milestone_messages, store, index, "message_id", ids)
    finally:
        store.close()


def list_history(applied: range, store: Store, address: str, **page: Any) -> Awaitable[Page]:
    return transactions.list_history(store, address, applied, **page)


def list_attached(store: Store, address: str, **page: Any) -> Awaitable[Page]:
    return transactions.list_by_address(store, address, included=(True, False), **page)


async def check(query: Callable[..., Awaitable[Page]], store: Store, key: Any, column: str, newest: list[str]) -> None:
    """Every page but the last is full, and together they are the list, each item once."""
    for page_size in PAGE_SIZES:
        for is_newest in (True, False):
            pages = []
            cursor = None
            while True:
                page = await query(store, key, newest=is_newest, page_size=page_size, cursor=cursor)
                pages.append([row[column] for row in page.rows])
                cursor = page.cursor
                if cursor is None:
                    break
            ordered = newest if is_newest else newest[::-1]
            expected = [ordered[at : at + page_size] for at in range(0, len(ordered), page_size)]
            assert pages == (expected or [[]]), (key, page_size, is_newest)
