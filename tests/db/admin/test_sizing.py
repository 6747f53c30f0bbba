"""`permanode plan`: arithmetic with given numbers, and the measured ledger compared with the oracle's own counts."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli import main as cli
from db import schema
from db.admin.sizing import (
    PROOFS,
    SIZES,
    Demand,
    Ledger,
    Measured,
    Plan,
    Sizes,
    TablePlan,
    format_size,
    load_sizes,
    parse_size,
    plan,
)
from ledger.completeness.intervals import Interval
from tests.reference import ORACLE, read_lines

LEDGER = Ledger(
    messages=100,
    milestones=10,
    tables={
        "messages": Measured(rows=100, partitions=100, largest=1, sqlite_bytes=50_000, cassandra_bytes=30_000),
        "messages_by_milestone": Measured(100, 10, 12, 9_000, 7_000),
        "tags": Measured(60, 7, 30, 6_000, 4_800),
        "tag_hints": Measured(7, 7, 1, 350, 280),
        "parents": Measured(200, 90, 25, 20_000, 18_000),
        "sync": Measured(10, 1, 10, 500, 400),
        "splits": Measured(3, 2, 2, 120, 90),
    },
)
OF_PROOFS = Ledger(
    messages=2_000,
    milestones=400,
    tables={
        "milestone_roots": Measured(400, 1, 400, sqlite_bytes=40_000, cassandra_bytes=32_000),
        "interval_roots": Measured(5, 1, 5, 500, 400),
        "listing_tiles": Measured(100, 1, 100, 300_000, 200_000),
        "listing_parts": Measured(2, 2, 1, 400, 300),
        "log_tiles": Measured(5, 5, 1, 60_000, 40_000),
        "log_heads": Measured(1, 1, 1, 200, 250),
        "message_proofs": Measured(1_600, 1_600, 1, 560_000, 400_000),
    },
)
NO_PROOFS = Ledger(2_000, 400, {})
DEMAND = Demand(
    rate=5, days=2, interval=20, rf=3, chunk_size=3_000, partition_size=1_000, node_disk=60_000_000, headroom=0.5
)


def test_the_arithmetic_is_as_calculated_manually() -> None:
    """2 days are 172 800 s: 864 000 messages (8 640 times the ledger's) and 8 640 milestones (864 times), 100 messages
    in each; 3 ranges, of which a full one has 300 000 messages.
    """
    tables = [
        TablePlan("messages", 864_000, 864_000, 432_000_000, 259_200_000, 1, 300),
        # a partition is a milestone: 100 messages of 70 bytes
        TablePlan("messages_by_milestone", 864_000, 8_640, 77_760_000, 60_480_000, 100, 7_000),
        # where only the protocol sets a limit, the measured values stay
        TablePlan("parents", 1_728_000, 777_600, 172_800_000, 155_520_000, 25, 2_250),
        # 1 000 rows and the 60 of one milestone, of 80 bytes
        TablePlan("tags", 518_400, 60_480, 51_840_000, 41_472_000, 1_060, 84_800),
        # one hint per range and one per split, of 20 bytes; of a range's 180 000 rows each 500 may begin a partition
        TablePlan("tag_hints", 60_480, 60_480, 3_024_000, 2_419_200, 3 * (1 + 360), 21_660),
        TablePlan("sync", 8_640, 3, 432_000, 345_600, 3_000, 120_000),
        # a few rows per range: as measured
        TablePlan("splits", 3, 2, 120, 90, 2, 60),
    ]
    assert plan(DEMAND, Sizes(LEDGER, 40_000, NO_PROOFS)) == Plan(
        messages=864_000,
        milestones=8_640,
        tables=tables,
        proofs=[],
        message_proof=(0, 0),
        sqlite_bytes=737_856_120,
        cassandra_bytes=519_436_890,
        cluster_bytes=1_558_310_670,
        lake_bytes=345_600_000,
        nodes=52,
    )


def test_proofs_grow_with_messages_and_milestones_and_are_part_of_the_sums() -> None:
    """432 times the messages and 21.6 times the milestones of the measured ledger."""
    whole, without = (plan(DEMAND, Sizes(LEDGER, 40_000, each)) for each in (OF_PROOFS, NO_PROOFS))
    assert whole.tables == without.tables
    assert whole.proofs == [
        TablePlan("milestone_roots", 8_640, 3, 864_000, 691_200, 3_000, 240_000),
        # a range of 3 000 milestones has 30 intervals of 100, 7.5 of 400, …: at most 40
        TablePlan("interval_roots", 108, 3, 10_800, 8_640, 40, 3_200),
        # a partition has 4 096 tiles of 2 000 bytes
        TablePlan("listing_tiles", 43_200, 432, 129_600_000, 86_400_000, 4_096, 8_192_000),
        # of 8 640 milestones, 21.6 intervals of 400, …: at most 29
        TablePlan("listing_parts", 864, 864, 172_800, 129_600, 29, 4_350),
        TablePlan("log_tiles", 108, 108, 1_296_000, 864_000, 1, 8_000),
        TablePlan("log_heads", 1, 1, 200, 250, 1, 250),
    ]
    assert whole.message_proof == (350, 250)
    assert whole.sqlite_bytes - without.sqlite_bytes == 131_943_800
    assert whole.cassandra_bytes - without.cassandra_bytes == 88_093_690
    assert whole.cluster_bytes == 3 * whole.cassandra_bytes


def test_a_day_is_a_partition_of_what_it_counts() -> None:
    """2 days of 4 320 milestones each, 100 messages in each: 4 320 times the ledger's per day."""
    days = {"metrics_cache": Measured(50, 1, 50, sqlite_bytes=3_000, cassandra_bytes=2_000)}
    (found,) = plan(DEMAND, Sizes(Ledger(100, 10, days), 40_000, NO_PROOFS)).tables
    assert found == TablePlan("metrics_cache", 432_000, 2, 25_920_000, 17_280_000, 216_000, 8_640_000)


def test_a_partition_is_no_larger_than_its_range_and_nodes_are_no_fewer_than_copies() -> None:
    small = Demand(
        rate=5, days=0.01, interval=20, rf=3, chunk_size=3_000, partition_size=10_000, node_disk=10**15, headroom=0
    )
    found = plan(small, Sizes(LEDGER, 40_000, NO_PROOFS))
    by_name = {each.table: each for each in found.tables}
    # 864 s: 4 320 messages in 44 milestones, the last of which is not full
    assert (found.messages, found.milestones, found.nodes) == (4_320, 44, 3)
    assert by_name["tags"].largest_rows == by_name["tags"].rows == 2_592
    assert by_name["sync"].largest_rows == by_name["sync"].rows == 44


def test_a_partition_beyond_what_is_advised_is_reported() -> None:
    large = Demand(
        rate=100_000, days=30, interval=10, rf=1, chunk_size=100_000, partition_size=100_000, node_disk=1, headroom=0
    )
    tables = {each.table: each for each in plan(large, Sizes(LEDGER, 40_000, NO_PROOFS)).tables}
    assert tables["messages_by_milestone"].largest_bytes == 70_000_000
    assert tables["messages_by_milestone"].fits
    # 100 000 rows and the 600 000 of one milestone, of 80 bytes
    assert tables["tags"].largest_bytes == 56_000_000
    assert not TablePlan("tags", 1, 1, 1, 1, 1, 100_000_001).fits


@pytest.mark.parametrize(
    ("text", "count"), [("1B", 1), ("500GB", 500 * 10**9), ("2TB", 2 * 10**12), ("1.5 kB", 1_500), ("3PB", 3 * 10**15)]
)
def test_sizes_are_decimal(text: str, count: int) -> None:
    assert parse_size(text) == count


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (21_400_000, "21 MB"), (1_500_000_000_000, "1.5 TB")],
)
def test_sizes_are_shown_in_the_unit_that_fits(count: int, text: str) -> None:
    assert format_size(count) == text


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--rate", "0"], "rate"),
        (["--rate", "inf"], "rate"),
        (["--days", "-1"], "days"),
        (["--days", "nan"], "days"),
        (["--interval", "0"], "interval"),
        (["--rf", "0"], "rf"),
        (["--chunk-size", "0"], "chunk_size"),
        (["--partition-size", "-5"], "partition_size"),
        (["--node-disk", "2 TiB"], "node_disk"),
        (["--node-disk", "0B"], "node_disk"),
        (["--headroom", "1"], "headroom"),
        (["--rate", "many"], "--rate"),
    ],
)
def test_bad_input_is_named(arguments: list[str], named: str) -> None:
    result = CliRunner().invoke(cli.app, ["plan", *arguments])
    assert result.exit_code == 2
    assert named in result.output


def test_the_command_prints_a_table_and_json() -> None:
    arguments = ["plan", "--rate", "10000", "--days", "30", "--node-disk", "4TB"]
    found = json.loads(CliRunner().invoke(cli.app, [*arguments, "--json"]).stdout)
    assert found["messages"] == 25_920_000_000
    assert found["milestones"] == 259_200
    assert found["demand"]["node_disk"] == 4 * 10**12
    assert {each["table"] for each in found["tables"]} == set(load_sizes().sample.tables)
    assert [each["table"] for each in found["proofs"]] == [table.name for table in PROOFS]
    text = CliRunner().invoke(cli.app, arguments).stdout
    assert "10,000 messages/s for 30 days: 25,920,000,000 messages, 259,200 milestones" in text
    assert f"{found['nodes']:,} nodes of 4.0 TB" in text
    tables, _, proofs = text.partition("table of proofs")
    assert "listing_tiles" in proofs
    assert "listing_tiles" not in tables
    assert all(len(line) <= 120 for line in text.splitlines())


def test_what_was_measured_is_the_shipped_ledger() -> None:
    lines = read_lines(ORACLE / "milestones.jsonl")
    messages = [each for line in lines for each in line["messages"]]
    ledger = load_sizes().sample
    assert (ledger.messages, ledger.milestones) == (len(messages), len(lines))
    tables = ledger.tables
    assert tables["messages"].rows == tables["messages_by_milestone"].rows == len(messages)
    assert tables["messages_by_milestone"].largest == max(len(line["messages"]) for line in lines)
    assert tables["milestones"].rows == tables["sync"].rows == len(lines)
    parents = {(parent, each["id"]) for each in messages for parent in each["message"]["parentMessageIds"]}
    assert tables["parents"].rows == len(parents)
    assert tables["parents"].partitions == len({parent for parent, _ in parents})


def test_every_table_of_the_measured_layout_was_measured() -> None:
    layout = json.loads(Path(SIZES).read_text("utf-8"))["layout"]
    stays = [table for table in schema.TABLES if table.layout <= layout and table.ttl_s is None]
    of_proofs = {table.name for table in (*PROOFS, schema.message_proofs)}
    sizes = load_sizes()
    assert sizes.sample.tables.keys() == {table.name for table in stays} - {schema.lease.name} - of_proofs
    assert sizes.proofs.tables.keys() == of_proofs
    for name, row in (sizes.sample.tables | sizes.proofs.tables).items():
        assert (row.rows > 0) == (row.cassandra_bytes > 0), name
        assert row.largest <= row.rows, name


def test_the_ledger_of_the_proofs_has_whole_intervals_without_the_smaller_ones() -> None:
    proofs = load_sizes().proofs
    tables = proofs.tables
    assert proofs.milestones == tables["milestone_roots"].rows == Interval(1, 0).end
    assert tables["interval_roots"].rows == 5
    assert tables["listing_tiles"].partitions == 1
    assert all(row.rows for row in tables.values())
    assert tables["message_proofs"].rows == proofs.messages - proofs.milestones
