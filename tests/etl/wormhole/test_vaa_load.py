"""VAAs and cells of the event tables, loaded at once, in pieces and again, into both stores;
compared with the records. Both engines give the same tables.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from decimal import Decimal
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from db.connect import open_store
from db.listing.page import Page
from db.queries.wormhole import row_keys
from db.queries.wormhole.daily import each_day, read_days, sum_notional
from db.queries.wormhole.gaps import Gaps, find_gaps, list_missing
from db.queries.wormhole.prices import find_prices
from db.schema.wormhole_tables import OWN
from db.store import Store
from etl.engine.current import SPARK
from etl.wormhole.load import VaaLoad
from ledger.wormhole.allowlist import allowed_tokens
from ledger.wormhole.ids import row_key
from tests.cassandra_keyspace import Keyspaces
from tests.etl.conftest import ON_SAIL, SETTINGS, Loading, Stores
from tests.etl.vaas import (
    DAY_S,
    PRICED,
    cell_line,
    expected_days,
    metas,
    price_on,
    records,
    row_line,
    since,
    vaa_line,
    write_lines,
    write_prices,
)

pytestmark = pytest.mark.loads

NETWORK = "wormhole-mainnet"
OTHERS = ("unknown",)
TRANSACTION = "0x" + "Ab" * 32


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("vaas")
    good, bad = records("mainnet"), records(*OTHERS)
    first = next(each for each in good if each["payload_kind"] == "token_transfer" and each["quorum"])
    lines = [vaa_line(each) for each in good[1:] + bad]
    written = cell_line(ALONE, "MessagePublication", "InitiatingTxID", "0x" + "Cd" * 32)
    lines += [
        cell_line(first["row_key"], "MessagePublication", "InitiatingTxID", TRANSACTION, 1_632_000_000_000),
        cell_line(first["row_key"], "ChainDetails", "SenderAddress", "late", 1_632_000_000_001),
        cell_line(first["row_key"], "ChainDetails", "SenderAddress", "early", "2021-09-18T21:20:00Z"),
        cell_line("2:" + "ab" * 32 + ":7", "TokenTransferPayload", "TargetAdress", "cd" * 32),
        written,
        row_line(
            first["row_key"],
            ("Signatures", "0x" + "11" * 20, b"s" * 65, 5),
            ("VAAState", "Signatures:1", b"\x01\x00" + b"a" * 65, 6),
            ("VAAState", "Signatures", b"\x02\x00" + b"a" * 65 + b"\x01" + b"b" * 65, 7),
        ),
    ]
    (folder / "one.vaa").write_bytes(bytes.fromhex(good[0]["hex"]))
    random.Random(9).shuffle(lines)
    # Names of tokens arrive after their transfers, for every seed.
    described = {vaa_line(each) for each in good if each["payload_kind"] == "asset_meta"}
    lines.sort(key=lambda line: line in described)
    half = len(lines) // 2
    broken = ["{}", '{"vaa": "00"}', cell_line(first["row_key"], "ChainDetails", "Colour", "red")]
    return {
        "raw": folder / "one.vaa",
        "publication": write_lines(folder / "publication.jsonl", [written]),
        "first": write_lines(folder / "first.jsonl", lines[:half]),
        "second": write_lines(folder / "second.jsonl", lines[half:] + broken),
        "prices": write_prices(folder / "prices.csv", good),
    }


Tables = dict[str, list[dict[str, Any]]]


def loaded(stores: Stores, inputs: dict[str, Path]) -> Loading:
    loading = stores(network=NETWORK)
    report = loading.load(inputs["raw"], inputs["first"], inputs["second"], prices=inputs["prices"])
    assert (report.rejects, report.exit_code) == (3, 3)
    return loading


@pytest.fixture(scope="module")
def sqlite(stores: Stores, inputs: dict[str, Path]) -> Loading:
    return loaded(stores, inputs)


@pytest.fixture(scope="module")
def cassandra_too(
    request: pytest.FixtureRequest,
    keyspaces: Keyspaces,
    tmp_path_factory: pytest.TempPathFactory,
    inputs: dict[str, Path],
) -> Iterator[Loading]:
    settings = ON_SAIL
    if request.config.getoption("--engine") == SPARK:
        request.getfixturevalue("spark")
        settings = SETTINGS
    with Stores(tmp_path_factory.mktemp("vaas_cluster"), {}, keyspaces, settings=settings) as stores:
        yield loaded(stores, inputs)


@pytest.fixture(params=["sqlite", pytest.param("cassandra_too", marks=pytest.mark.cassandra)])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    loading: Loading = request.getfixturevalue(request.param)
    with closing(open_store(loading.store)) as opened:
        yield opened


@pytest.fixture(scope="module")
def whole(sqlite: Loading) -> Tables:
    return sqlite.rows()


def test_every_message_is_there_with_the_verdict_that_its_record_states(whole: Tables) -> None:
    rows = {(row["row_key"], row["digest"]): row for row in whole["vaas"]}
    for record in records("mainnet"):
        row = rows[record["row_key"], record["digest"]]
        same = [each for each in records("mainnet") if each["digest"] == record["digest"]]
        assert row["verified"] is any(each["quorum"] for each in same), record["row_key"]
        assert row["signature_count"] == max(
            each["num_signatures"] for each in same if each["quorum"] == row["verified"]
        )
        assert (row["timestamp"], row["nonce"]) == (record["timestamp"], record["nonce"])
        assert row["sequence_key"] == f"{record['sequence']:020d}"
    assert Counter(row["digests"] for row in whole["vaas"] if row["verified"]) == {
        1: sum(1 for row in whole["vaas"] if row["verified"])
    }


def test_what_nobody_known_signed_is_stored_as_unverified_with_the_reason(whole: Tables) -> None:
    rows = {row["digest"]: row for row in whole["vaas"]}
    for record in records(*OTHERS):
        row = rows[record["digest"]]
        assert not row["verified"]
        assert row["fault"] in ("unknown_set", "order", "index", "signer", "repeated", "quorum")
        assert row["reason"]
    assert len(records(*OTHERS)) > 5


def test_sums_of_days_are_those_of_the_records(whole: Tables, inputs: dict[str, Path]) -> None:
    expected = expected_days(records("mainnet"), inputs["prices"])
    names = ("measure", "day", "emitter_chain", "emitter_address", "target_chain", "token_key", "address")
    found = {tuple(row[name] for name in names): row for row in whole["vaa_daily"]}
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        assert found[key]["message_count"] == row["message_count"], key
        for name in ("amount", "notional_usd"):
            reported = found[key][name]
            assert (None if reported is None else Decimal(reported)) == row[name], (key, name)
    assert any(row["notional_usd"] for row in expected.values())


def test_cells_that_were_written_are_in_the_row_without_a_digest(whole: Tables) -> None:
    first = next(each for each in records("mainnet") if each["payload_kind"] == "token_transfer" and each["quorum"])
    (publication,) = [row for row in whole["vaas"] if row["digest"] == "" and row["row_key"] == first["row_key"]]
    assert publication["initiating_tx_id"] == TRANSACTION
    written = {row["row_key"]: row for row in whole["vaa_payloads"] if row["digest"] == ""}
    assert written[first["row_key"]]["chain_sender_address"] == "early"
    assert written["2:" + "ab" * 32 + ":0000000000000007"]["transfer_target_address"] == "cd" * 32
    (alone,) = [row for row in whole["vaa_signatures"] if row["digest"] == ""]
    assert (alone["guardian_address"], alone["observed_at"]) == ("11" * 20, 5)
    states = [(row["guardian_set_index"], row["updated_at"], row["signature_count"]) for row in whole["vaa_states"]]
    assert states == [(-1, 7, 2), (1, 6, 1)]
    names = ("key", "row_key", "digest", "day", "canonical")
    by_transaction = [
        tuple(row[name] for name in names) for row in whole["vaa_lookups"] if row["kind"] == "transaction"
    ]
    assert sorted(by_transaction) == [
        ("ab" * 32, first["row_key"], "", 0, False),
        ("ab" * 32, first["row_key"], first["digest"], first["timestamp"] // DAY_S, True),
        ("cd" * 32, ALONE, "", 0, False),
    ]
    # A search finds each digest and each transaction by the first 8 digits.
    by_id = {(row["key"], row["row_key"], row["digest"]) for row in whole["vaa_lookups"] if row["kind"] == "id"}
    digests = {(row["digest"][:8], row["row_key"], row["digest"]) for row in whole["vaas"] if row["digest"]}
    assert by_id == digests | {("ab" * 4, first["row_key"], ""), ("cd" * 4, ALONE, "")}


def test_a_load_of_cells_alone_is_found_by_its_transaction(
    stores: Stores, inputs: dict[str, Path], whole: Tables
) -> None:
    loading = stores(network=NETWORK)
    loading.load(inputs["publication"])
    rows = loading.rows()
    # The whole load has one more cell of this message, and so one more key.
    of_whole = [row for row in whole["vaa_lookups"] if row["row_key"] == ALONE]
    keys = {row["key"] for row in rows["vaa_lookups"]}
    assert rows["vaa_lookups"] == [row for row in of_whole if row["key"] in keys]
    assert len(of_whole) == 4
    assert {row["key"] for row in rows["vaa_hints"]} == keys
    assert [row["kind"] for row in rows["vaa_lookups"]] == ["id", "transaction", "value"]
    assert "cd" * 32 in keys


def test_what_cannot_be_read_is_rejected_by_file_and_line(whole: Tables) -> None:
    reasons = sorted(row["reason"] for row in whole["rejects"])
    expected = ("ChainDetails:Colour: no such column", "expected a VAA as `vaa`", "vaa: ")
    assert len(reasons) == len(expected)
    assert all(reason.startswith(each) for reason, each in zip(reasons, expected, strict=True)), reasons
    assert {Path(row["file"]).name for row in whole["rejects"]} == {"second.jsonl"}


def test_in_pieces_killed_shuffled_and_twice_the_tables_are_the_same(
    stores: Stores, inputs: dict[str, Path], whole: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading = stores(network=NETWORK)

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(VaaLoad, "_write", die)
        with pytest.raises(KeyboardInterrupt):
            loading.load(inputs["raw"])
    for sources in ([inputs["first"]], [inputs["second"], inputs["raw"]]):
        loading.load(*sources)
    loading.load(prices=inputs["prices"])
    assert_same(loading.rows(), whole)
    loading.rebuild()
    assert_same(loading.rows(), whole)


@pytest.mark.cassandra
def test_a_cluster_holds_the_same(cassandra_too: Loading, whole: Tables) -> None:
    assert_same(cassandra_too.rows(), whole)


def test_spark_gives_the_same(spark: object, tmp_path: Path, inputs: dict[str, Path], whole: Tables) -> None:
    assert_same(loaded(Stores(tmp_path, {}, settings=SETTINGS), inputs).rows(), whole)


def assert_same(found: Tables, whole: Tables) -> None:
    for table in OWN:
        assert found[table.name] == whole[table.name], table.name
    assert [row["reason"] for row in found["rejects"]] == [row["reason"] for row in whole["rejects"]]


ALONE = f"2:{'ab' * 32}:{7:016d}"
"""The inputs contain only cells of this message."""


def messages() -> dict[tuple[int, str], dict[int, list[dict[str, Any]]]]:
    """By emitter and sequence the records of the inputs."""
    found: dict[tuple[int, str], dict[int, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for each in records("mainnet", *OTHERS):
        found[each["emitter_chain"], each["emitter_address"]][each["sequence"]].append(each)
    return found


async def pages(page_of: Callable[[str | None], Awaitable[Any]]) -> list[Any]:
    """All pages, one after the other."""
    found = [await page_of(None)]
    while found[-1].cursor is not None:
        found.append(await page_of(found[-1].cursor))
    return found


@pytest.mark.parametrize(("page_size", "newest"), [(3, False), (3, True), (1_000, False)])
async def test_a_prefix_of_row_keys_gives_each_message_once_in_their_order(
    store: Store, page_size: int, *, newest: bool
) -> None:
    known = {key: dict(of) for key, of in messages().items()} | {(2, "ab" * 32): {7: []}}
    of_chains: dict[int, list[str]] = defaultdict(list)
    for (chain, emitter), of in sorted(known.items()):
        expected = [row_key(chain, bytes.fromhex(emitter), sequence) for sequence in sorted(of, reverse=newest)]
        of_chains[chain] = [*expected, *of_chains[chain]] if newest else [*of_chains[chain], *expected]
        found = await pages(partial(prefixed, store, chain, emitter, newest, page_size))
        rows = [row for page in found for row in page.rows]
        assert [row["row_key"] for row in rows] == expected
        for row in rows:
            digests = {each["digest"] for each in of[int(row["sequence_key"])]}
            assert row["digest"] in digests if digests else row["digest"] == ""
    for chain, expected in of_chains.items():
        found = await pages(partial(prefixed, store, chain, None, newest, page_size))
        assert [row["row_key"] for page in found for row in page.rows] == expected
    assert ALONE in of_chains[2]
    assert len(of_chains) > 3
    assert (await prefixed(store, 9_999, None, newest, page_size, None)).rows == []


async def prefixed(store: Store, chain: int, emitter: str | None, newest: bool, size: int, cursor: str | None) -> Page:
    keys = row_keys.prefixed(chain, emitter)
    return await row_keys.list_rows(store, keys, f"{chain} {emitter}", newest=newest, page_size=size, cursor=cursor)


@pytest.mark.parametrize(("page_size", "with_unverified"), [(1, False), (2, True), (1_000, False)])
async def test_gaps_are_what_lies_between_an_emitters_messages(
    store: Store, page_size: int, *, with_unverified: bool
) -> None:
    counted = 0
    for (chain, emitter), of in messages().items():
        there = sorted(at for at, held in of.items() if with_unverified or any(each["quorum"] for each in held))
        expected = [(low + 1, high - 1) for low, high in pairwise(there) if high - low > 1]
        found = await pages(partial(gaps, store, chain, emitter, with_unverified, page_size))
        is_governance = (chain, emitter) == (1, "00" * 31 + "04")
        assert [gap for page in found for gap in page.missing] == ([] if is_governance else expected)
        assert [page.observed for page in found] == [[]] * len(found)
        seen = [(page.first, page.last) for page in found if page.first is not None]
        assert (seen[0][0], seen[-1][1]) == (there[0], there[-1]) if there else seen == []
        assert len(found) >= len(of) // page_size
        for first, last in [(0, 2**64 - 1), *expected[:1], *([(there[0], there[-1])] if there else [])]:
            inside = [each for each in [*expected, *beyond(there)] if first <= each[1] and each[0] <= last]
            requested = await list_missing(store, chain, emitter, first, last, with_unverified=with_unverified)
            assert requested == [(max(first, low), min(last, high)) for low, high in sorted(inside)]
        counted += len(expected)
    assert counted > 10
    alone = await find_gaps(store, 2, "ab" * 32, page_size=page_size, cursor=None)
    assert alone == Gaps(None, None, [], [(7, 7)], None)
    assert await find_gaps(store, 2, "cd" * 32, page_size=9, cursor=None) == Gaps(None, None, [], [], None)


async def gaps(
    store: Store,
    chain: int,
    emitter: str,
    with_unverified: bool,
    size: int,
    cursor: str | None,
) -> Gaps:
    return await find_gaps(store, chain, emitter, with_unverified=with_unverified, page_size=size, cursor=cursor)


def beyond(there: list[int]) -> list[tuple[int, int]]:
    """Sequences below and above those of an emitter's messages."""
    ends = [(0, there[0] - 1), (there[-1] + 1, 2**64 - 1)] if there else [(0, 2**64 - 1)]
    return [(low, high) for low, high in ends if low <= high]


async def test_a_token_is_worth_its_own_price_or_its_symbols(store: Store, inputs: dict[str, Path]) -> None:
    found = records("mainnet")
    lines = [line.split(",") for line in inputs["prices"].read_text().splitlines()[1:]]
    keys = {key for key, *_ in lines if key} | metas(found).keys()
    assert metas(found).keys() - {key for key, *_ in lines}
    for day in (at + beside for at in map(since, PRICED) for beside in (-1, 0, 1)):
        reported = {key: price_on(key, day, found, inputs["prices"]) for key in keys}
        expected = {key: price for key, price in reported.items() if price is not None}
        assert await find_prices(store, [*keys, "2/" + "ee" * 32], day) == expected
        assert expected


async def test_sums_of_value_take_tokens_of_the_list_alone(store: Store, inputs: dict[str, Path]) -> None:
    expected = {
        key: row["notional_usd"]
        for key, row in expected_days(records("mainnet"), inputs["prices"]).items()
        if key[0] == "transfers" and row["notional_usd"] is not None
    }
    summed: dict[tuple[Any, ...], Decimal] = defaultdict(Decimal)
    found: dict[tuple[Any, ...], Decimal] = defaultdict(Decimal)
    for day in {key[1] for key in expected}:
        allowed = allowed_tokens("mainnet", day)
        assert allowed is not None
        (rows,) = (await read_days(each_day(store, "transfers", day, day))).values()
        for way, usd in sum_notional(rows, allowed).items():
            found[way] += usd
        for (_, at, chain, _, to, token, _), usd in expected.items():
            if at == day and token in allowed:
                summed[chain, to, token] += usd
    assert found == summed
    assert summed
