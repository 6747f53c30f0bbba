"""Queries of VAAs and of days; known defects of the event database each have a test. The rows are made here."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import product
from pathlib import Path

import pytest

from db.admin.migrate import migrate
from db.admin.status import get_status
from db.admin.wormhole_status import EmitterGaps
from db.connect import StoreSettings, open_store
from db.listing.page import Listing, list_page
from db.model import Table
from db.queries.wormhole import daily as wormhole_daily
from db.queries.wormhole import vaas as wormhole
from db.schema import wormhole_tables as tables
from db.store import NotFound, Row, StoreMismatch, WritableStore
from ledger.wormhole.ids import row_key, sequence_key

NETWORK = "wormhole-testnet"
EMITTER, OTHER = b"\x0e" * 32, b"\x0f" * 32
SEQUENCES = [0, 7, 9_999, 10_000, 10**16, 2**63 + 5, 2**64 - 1]
DIGEST = b"\xdd" * 32


@pytest.fixture
def settings(tmp_path: Path) -> StoreSettings:
    settings = StoreSettings(f"sqlite:///{tmp_path / 'store'}", NETWORK)
    assert migrate(settings) == ["0008_wormhole", "0011_token_list", "0018_days"]
    return settings


@pytest.fixture
def store(settings: StoreSettings) -> Iterator[WritableStore]:
    opened = open_store(settings, writable=True)
    yield opened
    opened.close()


def put(store: WritableStore, table: Table, *rows: dict) -> None:
    with store.batch() as batch:
        for row in rows:
            batch.upsert(table, tuple(row), [tuple(row.values())])


def place(sequence: int, emitter: bytes = EMITTER, **more: object) -> dict:
    key = sequence_key(sequence)
    return {
        "emitter_chain": 2,
        "emitter_address": emitter,
        "seq_range": key[:16],
        "sequence_key": key,
        "digest": DIGEST,
        "row_key": row_key(2, emitter, sequence),
    } | more


async def all_pages(page_of, page_size: int) -> list[dict]:
    rows, cursor = [], None
    while True:
        page = await page_of(page_size=page_size, cursor=cursor)
        rows += page.rows
        if page.cursor is None:
            return rows
        cursor = page.cursor


@pytest.mark.parametrize(("page_size", "newest"), list(product((1, 2, 3, 100), (True, False))))
async def test_old_bug_sequences_beyond_16_digits_were_out_of_order_and_beyond_64_bits_lost(store, page_size, newest):
    put(store, tables.vaas, *(place(each) for each in SEQUENCES), place(3, OTHER))
    hints = {each[:16]: None for each in map(sequence_key, SEQUENCES)}
    for each in hints:
        hint = {"emitter_chain": 2, "emitter_address": EMITTER, "seq_range": each}
        put(store, tables.sequence_hints, hint)

    async def page_of(**paging):
        listing = Listing(tables.vaas, [wormhole.emitted_source(2, EMITTER.hex())], "emitted")
        return await list_page(store, listing, newest=newest, **paging)

    rows = await all_pages(page_of, page_size)
    assert [int(row["sequence_key"]) for row in rows] == sorted(SEQUENCES, reverse=newest)


async def test_of_several_bodies_the_canonical_one_is_meant_and_what_was_written_comes_last(store):
    put(
        store,
        tables.vaas,
        place(7, canonical=False, verified=True, digests=2),
        place(7, digest=b"\xaa" * 32, canonical=True, verified=True, digests=2),
        place(7, digest=b"", initiating_tx_id="0x1"),
        place(8, digest=b"", initiating_tx_id="0x2"),
    )
    bodies = await wormhole.find_bodies(store, 2, EMITTER.hex(), 7)
    assert [row["digest"] for row in bodies] == ["aa" * 32, "dd" * 32, ""]
    row, written = await wormhole.get_vaa(store, 2, EMITTER.hex(), 7)
    assert (row["digest"], written["initiating_tx_id"]) == ("aa" * 32, "0x1")
    with pytest.raises(NotFound, match=f"VAA 2:{EMITTER.hex()}:0000000000000008"):
        await wormhole.get_vaa(store, 2, EMITTER.hex(), 8)


async def test_a_payload_is_what_the_bytes_say_and_details_are_what_was_written_with_the_prices_of_its_time(store):
    reported = {"transfer_amount": "10", "details_notional_usd": "1", "details_amount": "5"}
    written = {"transfer_amount": "99", "details_notional_usd": "2", "chain_sender_address": "me"}
    put(
        store,
        tables.vaa_payloads,
        {"row_key": "k", "digest": DIGEST} | reported,
        {"row_key": "k", "digest": b""} | written,
    )
    row = await wormhole.find_payload(store, "k", DIGEST.hex())
    assert {name: row[name] for name in (*reported, "chain_sender_address", "digest")} == {
        "transfer_amount": "10",
        "details_notional_usd": "2",
        "details_amount": "5",
        "chain_sender_address": "me",
        "digest": DIGEST.hex(),
    }
    assert await wormhole.find_payload(store, "other", DIGEST.hex()) is None


@pytest.mark.parametrize(("page_size", "newest"), list(product((1, 2, 50), (True, False))))
async def test_listings_go_by_time_over_ranges_and_leave_out_what_nobody_signed(store, page_size, newest):
    days = [0, 18_900, 18_901, 18_999, 19_000, 19_450]
    for number, day in enumerate(days):
        partition = {"kind": "recent", "key": "", "day_range": day // 100, "partition_id": 18_999 * (day == 18_999)}
        at = {"day": day, "timestamp": day * 86_400, "canonical": True, "verified": number != 2}
        row = {name: value for name, value in place(number).items() if name != "seq_range"}
        put(store, tables.vaa_lookups, partition | at | row)
        put(store, tables.vaa_hints, partition)

    async def page_of(**paging):
        return await wormhole.list_vaas(store, [("recent", "")], newest=newest, **paging)

    rows = await all_pages(page_of, page_size)
    assert [row["day"] for row in rows] == sorted(set(days) - {18_901}, reverse=newest)
    with_all = await wormhole.list_vaas(
        store, [("recent", "")], with_unverified=True, newest=newest, page_size=9, cursor=None
    )
    assert len(with_all.rows) == len(days)


def daily(measure: str, chain: int, **more: object) -> dict:
    keys = {"emitter_address": EMITTER, "target_chain": 0, "token_key": "", "address": ""}
    return {"measure": measure, "day": 5, "emitter_chain": chain} | keys | {"message_count": 1} | more


async def test_old_bug_a_filter_by_chain_1_also_counted_chains_10_to_19(store):
    put(store, tables.vaa_daily, *(daily("totals", chain) for chain in (1, 10, 13, 2)), daily("totals", 1, day=6))
    found = await wormhole_daily.read_days(wormhole_daily.each_day(store, "totals", 5, 6, chain=1))
    assert {day: wormhole_daily.count_by_chain(rows) for day, rows in found.items()} == {5: {1: 1}, 6: {1: 1}}
    found = await wormhole_daily.read_days(wormhole_daily.each_day(store, "totals", 5, 5))
    assert wormhole_daily.count_by_chain(found[5]) == {1: 1, 2: 1, 10: 1, 13: 1}
    found = await wormhole_daily.read_days(wormhole_daily.each_day(store, "totals", 5, 5, chain=2, emitter=OTHER.hex()))
    assert found == {5: []}


async def test_days_before_the_network_began_and_after_today_are_read_if_they_have_rows(store, monkeypatch):
    monkeypatch.setattr(wormhole_daily, "DAYS_OF_PART", 2)
    monkeypatch.setattr(wormhole_daily, "this_day", lambda: 18_812)
    days = [0, 1, 3, 4, 7, 18_808, 18_809, 18_811, 18_813, 30_000, wormhole_daily.LAST_DAY]
    put(store, tables.vaa_daily, *(daily("totals", 2, day=day) for day in days), daily("nfts", 2, day=5))
    # A store of an earlier version has no list of days; days since the network began are read without one.
    assert await filled(wormhole_daily.each_day_of_all(store, "totals")) == [0, 18_809, 18_811]
    put(store, tables.vaa_days, *({"measure": "totals", "day": day} for day in days), {"measure": "nfts", "day": 5})
    assert await filled(wormhole_daily.each_day_of_all(store, "totals")) == days
    assert await filled(wormhole_daily.each_day_of_all(store, "nfts")) == [5]
    for last in (1, 7, 18_808, 18_811, 18_812, 18_813, 40_000):
        until = [day for day in days if day <= last]
        assert await filled(wormhole_daily.each_day_of_all(store, "totals", last)) == until
        for first in (2, 4, 18_809, 18_812, 18_814):
            between = wormhole_daily.each_day_between(store, "totals", first, last)
            assert await filled(between) == [day for day in until if day >= first]


async def filled(days: AsyncIterator[tuple[int, list[Row]]]) -> list[int]:
    """The days with rows, in the order in which they come."""
    return [day async for day, rows in days if rows]


async def test_no_more_rows_of_days_are_read_than_are_wanted(store):
    put(store, tables.vaa_daily, *(daily("totals", chain) for chain in (1, 10, 13, 2)), daily("totals", 1, day=6))
    assert len(await wormhole_daily.read_days(wormhole_daily.each_day(store, "totals", 5, 6), most=5)) == 2
    with pytest.raises(wormhole_daily.TooManyRows):
        await wormhole_daily.read_days(wormhole_daily.each_day(store, "totals", 5, 6), most=4)


def transfer(chain: int, to: int, token: str, amount: str | None, usd: str | None) -> dict:
    return {
        "emitter_chain": chain,
        "target_chain": to,
        "token_key": token,
        "address": "aa",
        "message_count": 1,
        "amount": amount,
        "notional_usd": usd,
    }


def test_old_bug_the_change_of_what_is_locked_left_out_what_flowed_back():
    rows = [transfer(2, 1, "2/aa", "10", None), transfer(1, 2, "2/aa", "12.5", None), transfer(1, 4, "2/aa", "9", None)]
    assert wormhole_daily.sum_locked(rows) == {"2/aa": Decimal("-2.5")}


def test_a_token_that_never_left_its_home_locks_nothing_and_one_without_decimals_is_unknown():
    rows = [transfer(2, 2, "2/aa", "10", "10"), transfer(2, 1, "2/bb", None, None)]
    assert wormhole_daily.sum_locked(rows) == {"2/aa": Decimal(0)}
    assert wormhole_daily.sum_locked(rows, allowed={"2/bb"}) == {}


def test_old_bug_the_chains_did_not_sum_up_to_the_total_that_is_locked():
    locked = {"2/aa": Decimal(10), "2/bb": Decimal(1), "1/cc": Decimal(-1), "4/dd": Decimal(5)}
    prices = {"2/aa": Decimal("1.5"), "2/bb": Decimal(2), "1/cc": Decimal(3)}
    by_chain = wormhole_daily.value_locked(locked, prices)
    assert by_chain == {2: Decimal(17), 1: Decimal(-3)}
    assert sum(by_chain.values()) == sum(locked[each] * prices[each] for each in prices)


def test_notional_values_are_summed_by_way_and_token_and_addresses_by_chain():
    rows = [transfer(2, 1, "2/aa", "1", "0.1"), transfer(2, 1, "2/aa", "1", "0.2"), transfer(2, 4, "2/bb", "1", None)]
    assert wormhole_daily.sum_notional(rows) == {(2, 1, "2/aa"): Decimal("0.3")}
    assert wormhole_daily.sum_notional(rows, allowed=set()) == {}
    assert wormhole_daily.sum_by_address(rows) == {(1, "aa"): (2, Decimal("0.3")), (4, "aa"): (1, Decimal(0))}


def test_a_store_of_one_protocol_is_rejected_as_one_of_another(settings):
    with pytest.raises(StoreMismatch, match="was created with network wormhole-testnet, but the settings have mine"):
        migrate(replace(settings, network="mine"))
    with pytest.raises(ValueError, match="wormhole must be mainnet, testnet, devnet or empty, not 'main'"):
        migrate(replace(settings, network="mine", wormhole="main"))
    assert replace(settings, network="mine", wormhole="devnet").protocol == "wormhole"
    assert replace(settings, network="mine").protocol == "iota"


async def test_the_status_of_a_network_without_milestones_reports_its_tables(store):
    two = {"canonical": True, "verified": True, "digests": 2}
    put(store, tables.vaas, place(7, **two), place(7, digest=b"\xee" * 32, **(two | {"canonical": False})))
    put(store, tables.vaas, place(9, digest=b""), place(12, **(two | {"digests": 1})), place(12, digest=b""))
    put(store, tables.emitters, {"emitter_chain": 2, "emitter_address": EMITTER})
    put(store, tables.sequence_hints, {name: place(7)[name] for name in tables.sequence_hints.names})
    status = await get_status(store, NETWORK)
    assert (status.complete, status.missing, status.proved, status.migrations) == (
        [],
        [],
        {},
        ["0008_wormhole", "0011_token_list", "0018_days"],
    )
    assert {size.table: size.rows for size in status.tables}["vaas"] == 5
    assert (status.vaas.verdicts, status.vaas.written_alone, status.vaas.duplicates) == ({"verified": 2}, 1, 1)
    assert status.vaas.gaps == [EmitterGaps(2, EMITTER.hex(), 7, 12, missing=4, gaps=1)]
