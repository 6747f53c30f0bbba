"""Outputs of conflicting transactions in the listing of an address, at a ledger index before later attachments."""

from typing import Any

import pytest

from db import schema
from db.queries import outputs
from db.queries.transactions import ATTACHMENTS_MAX
from db.store import WritableStore
from tests.db.listing.test_paging import bind, pages

ADDRESS = b"\0" + b"\xaa" * 32
X, Y = b"\x11" * 32, b"\x22" * 32


def attach(store: WritableStore, transaction_id: bytes, number: int, milestone: int, *, included: bool = False) -> None:
    """Writes an attachment of a transaction with one output: a message with this number."""
    message_id, output_id = number.to_bytes(32, "big"), transaction_id + b"\0\0"
    row = (ADDRESS, "legacy", "address", included, 0, 0, milestone, output_id, message_id)
    with store.batch() as batch:
        batch.upsert(schema.outputs_by_address, schema.outputs_by_address.key, [row])
        batch.upsert(schema.addresses_hints, schema.addresses_hints.names, [row[:6]])
        columns = ("transaction_id", "inclusion_state", "message_id", "milestone_index")
        batch.upsert(
            schema.transactions_by_state, columns, [(transaction_id, 1 if included else 2, message_id, milestone)]
        )
        if included:
            columns = ("output_id", "created_milestone_index", "created_message_id")
            batch.upsert(schema.outputs, columns, [(output_id, milestone, message_id)])


def attach_first(store: WritableStore) -> None:
    attach(store, X, 1, 10)
    attach(store, X, 2, 11)
    attach(store, Y, 3, 12)


def attach_again(store: WritableStore) -> None:
    attach(store, X, 9, 20)
    attach(store, Y, 8, 21, included=True)


AT_15 = [(Y, 12, 3), (X, 11, 2)]


def shown(found: list[Any]) -> list[tuple[bytes, int, int]]:
    return [
        (bytes.fromhex(row["output_id"])[:32], row["milestone_index"], int(row["message_id"], 16))
        for page in found
        for row in page.rows
    ]


@pytest.mark.parametrize("page_size", [1, 2, 9])
async def test_a_later_attachment_changes_no_listing_at_an_earlier_ledger_index(
    store: WritableStore, page_size: int
) -> None:
    attach_first(store)
    ask = bind(outputs.list_outputs_by_address, store, ADDRESS.hex(), included=False, as_of=15, is_fixed=True)
    assert shown(await pages(ask, page_size, newest=True)) == AT_15
    attach_again(store)
    assert shown(await pages(ask, page_size, newest=True)) == AT_15
    assert shown(await pages(ask, page_size, newest=False)) == AT_15[::-1]
    for as_of in (None, 21):
        ask = bind(outputs.list_outputs_by_address, store, ADDRESS.hex(), included=False, as_of=as_of)
        assert shown(await pages(ask, page_size, newest=True)) == [(Y, 21, 8), (X, 20, 9)]


async def test_a_later_attachment_changes_no_later_page_of_a_listing(store: WritableStore) -> None:
    attach_first(store)
    as_of = 15

    async def ask(**page: Any) -> Any:
        return await outputs.list_outputs_by_address(store, ADDRESS.hex(), included=False, as_of=as_of, **page)

    def between(_: int) -> None:
        nonlocal as_of
        attach_again(store)
        as_of = 25

    found = await pages(ask, 1, newest=True, between=between)
    assert shown(found) == AT_15
    assert {page.as_of for page in found} == {15}


async def test_a_transaction_may_have_many_later_attachments(store: WritableStore) -> None:
    attach(store, X, 1, 10)
    for number in range(2, 2 + ATTACHMENTS_MAX):
        attach(store, X, number, 20)
    ask = bind(outputs.list_outputs_by_address, store, ADDRESS.hex(), included=False, as_of=15)
    assert shown(await pages(ask, 9, newest=True)) == [(X, 10, 1)]
