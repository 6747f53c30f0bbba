"""docs/analysts.md: its columns are the lake's, and its ten queries give, as they stand there, in Spark and in DuckDB,
what plain Python finds in the oracle ledger's input file; `permanode export` writes the same.
"""

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, StructType
from typer.testing import CliRunner

import cli
from etl import jobs
from etl.export import export
from etl.lake import TABLES, Lake
from etl.lake_views import VIEWS, statements
from tests import reference, reference_stardust
from tests.conftest import ROOT
from tests.etl.archives import write
from tests.etl.conftest import Loading, Stores
from tests.etl.stardust_archives import NETWORK, oracle
from tests.reference_facts import Milestone, Output
from tests.reference_ledger import transaction_of
from tests.reference_rows import u16

pytestmark = pytest.mark.spark

PAGE = (ROOT / "docs" / "analysts.md").read_text("utf-8")
SECTION = re.compile(r"^### ([^\n]+)\n\n(?:[^\n]+\n\n)?```sql\n(.*?)```", re.MULTILINE | re.DOTALL)
QUERIES: dict[str, str] = dict(SECTION.findall(PAGE))
ADDRESS = "004824e29e8b56513d7919004fbd98abf3950a8789adc1903ace23179bb5977713"

Rows: TypeAlias = list[tuple[Any, ...]]


@cache
def milestones() -> list[Milestone]:
    return [reference_stardust.milestone_fact(line) for line in oracle()]


def messages() -> Iterator[tuple[Milestone, Any]]:
    return ((milestone, message) for milestone in milestones() for message in milestone.messages)


def created() -> Iterator[tuple[int, str, Output]]:
    """Milestone, id and output, in the order in which they came, genesis first."""
    genesis = reference_stardust.genesis_fact(reference.read_json(reference_stardust.ORACLE / "genesis.json"))
    yield from ((genesis.index, *each) for each in genesis.outputs.items())
    for milestone in milestones():
        for message in milestone.messages:
            if message.state == 1:
                made = transaction_of(message)
                for place, output in enumerate(made.outputs):
                    yield milestone.index, made.transaction_id + u16(place).hex(), output
        for place, output in enumerate(milestone.receipt.funds if milestone.receipt else ()):
            yield milestone.index, milestone.milestone_id + u16(place).hex(), output


def spent() -> dict[str, int]:
    """Output → milestone."""
    return {
        spend.output_id: milestone.index
        for milestone, message in messages()
        if message.state == 1
        for spend in transaction_of(message).spends
    }


def unspent() -> list[Output]:
    gone = spent()
    return [output for _, output_id, output in created() if output_id not in gone]


def day(milestone: Milestone) -> date:
    return datetime.fromtimestamp(milestone.timestamp, UTC).date()


def daily_volume() -> Rows:
    counts, volume = Counter[date](), Counter[date]()
    for milestone, message in messages():
        if message.state == 1:
            counts[day(milestone)] += 1
            volume[day(milestone)] += sum(output.amount for output in transaction_of(message).outputs)
    return [(each, counts[each], volume[each]) for each in sorted(counts)]


def busiest_tags() -> Rows:
    counts = Counter(tag for _, message in messages() for tag in message.tags)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:5]


def address_statement() -> Rows:
    received, sent, gone, rows, balance = Counter[int](), Counter[int](), spent(), [], 0
    for index, output_id, output in created():
        if output.owner == ADDRESS:
            received[index] += output.amount
            if output_id in gone:
                sent[gone[output_id]] += output.amount
    for index in sorted(received | sent):
        balance += received[index] - sent[index]
        rows.append((index, received[index], sent[index], balance))
    return rows


def richest_addresses() -> Rows:
    balances, counts = Counter[str](), Counter[str]()
    for output in unspent():
        balances[output.owner] += output.amount
        counts[output.owner] += 1
    ranked = sorted(balances.items(), key=lambda item: (-item[1], item[0]))
    return [(address, amount, counts[address]) for address, amount in ranked[:10]]


def token_holders() -> Rows:
    held = Counter[tuple[str, str]]()
    for output in unspent():
        for at in range(10, 10 + 70 * output.data[9], 70):
            token, amount = output.data[at : at + 38].hex(), output.data[at + 38 : at + 70]
            held[token, output.owner] += int.from_bytes(amount, "little")
    return sorted(((*key, amount) for key, amount in held.items()), key=lambda row: (row[0], -row[2], row[1]))


def nft_transfers() -> Rows:
    owners, rows = dict[str, str](), []
    for index, output_id, output in created():
        if output.kind == "nft":
            nft = output.keys(output_id)["chain"]
            if owners.get(nft) != output.owner:
                rows.append((index, nft, owners.get(nft), output.owner))
            owners[nft] = output.owner
    return [(nft, index, *rest) for index, nft, *rest in sorted(rows, key=lambda row: row[:2])]


def conflict_rate() -> Rows:
    counts: dict[date, Counter[int]] = defaultdict(Counter)
    for milestone, message in messages():
        counts[day(milestone)][message.state] += 1
    return [
        (each, states[1] + states[2], states[2], states[2] / (states[1] + states[2]))
        for each, states in sorted(counts.items())
    ]


def conflict_reasons() -> Rows:
    counts = Counter(message.conflict_reason for _, message in messages() if message.state == 2)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def what_messages_carry() -> Rows:
    counts, sizes = Counter[int | None](), Counter[int | None]()
    for _, message in messages():
        counts[message.payload_kind] += 1
        sizes[message.payload_kind] += len(message.data)
    return sorted(((kind, counts[kind], sizes[kind]) for kind in counts), key=lambda row: (-row[1], -row[2]))


def busiest_milestones() -> Rows:
    rows, pairs = [], zip(milestones(), milestones()[1:], strict=False)
    for before, milestone in pairs:
        rows.append((milestone.index, len(milestone.messages), milestone.timestamp - before.timestamp))
    return sorted(rows, key=lambda row: (-row[1], row[0]))[:10]


EXPECTED: dict[str, Callable[[], Rows]] = {
    "Daily volume": daily_volume,
    "Busiest tags": busiest_tags,
    "Address statement": address_statement,
    "Richest addresses": richest_addresses,
    "Token holders": token_holders,
    "NFT transfers": nft_transfers,
    "Conflict rate": conflict_rate,
    "Conflict reasons": conflict_reasons,
    "What messages carry": what_messages_carry,
    "Busiest milestones": busiest_milestones,
}


@pytest.fixture(scope="module")
def loading(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Loading:
    loading = stores(network=NETWORK)
    lines = write(tmp_path_factory.mktemp("lines") / "all.jsonl", oracle())
    report = loading.load(lines, genesis=reference_stardust.ORACLE / "genesis.json")
    assert (report.exit_code, report.ledger_index) == (0, 50)
    return loading


@pytest.fixture(scope="module")
def lake(loading: Loading, spark: SparkSession) -> Lake:
    """The ledger's, some of it written twice, so that it has files that count no more."""
    lake = Lake(spark.newSession(), jobs.lake_path(loading.store, loading.settings))
    again = [(1, 9)]
    lake.replace_messages(lake.messages(again), again)
    assert len(lake.read("messages").inputFiles()) < len([*Path(lake.path("messages")).rglob("*.parquet")])
    return lake


@pytest.fixture(scope="module")
def in_spark(lake: Lake) -> SparkSession:
    for statement in statements(lake, "spark"):
        lake.spark.sql(statement)
    return lake.spark


@pytest.fixture(scope="module")
def in_duckdb(lake: Lake) -> "Iterator[duckdb.DuckDBPyConnection]":
    with duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False}) as database:
        for statement in statements(lake, "duckdb"):
            database.execute(statement)
        yield database


def plain(rows: list[Any]) -> Rows:
    """Whole decimals as integers."""
    return [tuple(int(each) if isinstance(each, Decimal) else each for each in row) for row in rows]


def test_the_page_has_ten_queries() -> None:
    assert [*QUERIES] == [*EXPECTED]


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_gives_what_the_input_file_says_in_both_engines(
    name: str, in_spark: SparkSession, in_duckdb: "duckdb.DuckDBPyConnection"
) -> None:
    wanted = EXPECTED[name]()
    assert wanted
    assert plain(in_spark.sql(QUERIES[name]).collect()) == wanted
    assert plain(in_duckdb.execute(QUERIES[name]).fetchall()) == wanted


def test_days_are_utcs_whatever_zone_the_session_has(lake: Lake) -> None:
    session = lake.spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Pacific/Kiritimati")
    for statement in statements(lake, "spark"):
        session.sql(statement)
    assert plain(session.sql(QUERIES["Daily volume"]).collect()) == EXPECTED["Daily volume"]()


def test_an_amount_of_a_token_may_pass_64_bits(in_spark: SparkSession, in_duckdb: "duckdb.DuckDBPyConnection") -> None:
    """The hex of an amount is all of it, as in the outputs' bytes."""
    wanted = sorted(
        output.data[at + 38 : at + 70].hex()
        for _, _, output in created()
        for at in range(10, 10 + 70 * output.data[9] if output.kind != "legacy" else 0, 70)
    )
    query = "SELECT amount_hex FROM native_tokens ORDER BY amount_hex"
    assert [row[0] for row in in_spark.sql(query).collect()] == wanted != []
    assert [row[0] for row in in_duckdb.execute(query).fetchall()] == wanted


def paths(kind: DataType, at: str) -> Iterator[str]:
    """A column's parts; what has the fields of outputs, or is `stardust`, is told once."""
    inner = kind.elementType if isinstance(kind, ArrayType) else kind
    if not isinstance(inner, StructType) or at.rpartition(".")[2] in ("outputs", "funds", "stardust"):
        yield at
        return
    for field in inner:
        yield from paths(field.dataType, f"{at}.{field.name}")


def documented(name: str) -> list[str]:
    section = PAGE.partition(f"\n### {name}\n")[2].partition("\n#")[0]
    return re.findall(r"^\| ([\w.]+) \|", section, re.MULTILINE)[1:]


def test_the_page_has_every_column_of_the_lake(in_spark: SparkSession) -> None:
    for name in [*VIEWS, *sorted(TABLES.keys() - {"pending", "prices", "vaas"})]:
        frame = in_spark.table(name) if name in VIEWS else in_spark.createDataFrame([], TABLES[name][0])
        assert documented(name) == [path for each in frame.schema for path in paths(each.dataType, each.name)], name
    assert TABLES["pending"][0] == TABLES["messages"][0]
    stardust = in_spark.table("outputs").schema["stardust"].dataType
    assert isinstance(stardust, StructType)
    assert [name for name in stardust.names if f"`{name}`" not in PAGE] == []


def run(loading: Loading, *arguments: str) -> str:
    """`permanode …`, in our session."""
    command = ["--store", loading.store.url, "--network", NETWORK, *arguments]
    result = CliRunner().invoke(cli.app, command, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_the_statements_are_printed(loading: Loading, lake: Lake) -> None:
    for engine, options in (("duckdb", []), ("spark", ["--engine", "spark"])):
        assert run(loading, "lake", "views", *options) == ";\n".join([*statements(lake, engine), ""])


def test_a_view_is_exported_as_parquet_and_a_query_as_csv(loading: Loading, tmp_path: Path) -> None:
    rows, folder = run(loading, "export", "outputs", "--into", str(tmp_path / "all")), tmp_path / "all"
    wanted = {output_id: (output.owner, output.amount) for _, output_id, output in created()}
    found = [row for path in folder.glob("*.parquet") for row in pq.ParquetFile(path).read().to_pylist()]
    assert {row["output_id"].hex(): (row["address"].hex(), int(row["amount"])) for row in found} == wanted
    assert len(found) == len(wanted)
    assert rows == f"{len(wanted):,} rows in {folder}\n"
    query, folder = "SELECT output_id, amount FROM outputs WHERE amount > 1000000", tmp_path / "rich"
    rows = run(loading, "export", query, "--into", str(folder), "--format", "csv")
    lines = [line for path in sorted(folder.glob("*.csv")) for line in csv.DictReader(path.read_text().splitlines())]
    rich = sorted((output_id, str(amount)) for output_id, (_, amount) in wanted.items() if amount > 1_000_000)
    assert sorted((line["output_id"], line["amount"]) for line in lines) == rich != []
    assert rows == f"{len(rich):,} rows in {folder}\n"


@pytest.mark.parametrize(
    ("what", "message"),
    [("outputs", "stardust has parts, which CSV cannot hold"), ("SELECT nothing FROM outputs", "`nothing` cannot be")],
)
def test_what_cannot_be_exported_is_refused(
    what: str, message: str, loading: Loading, lake: Lake, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        export(loading.settings, lake=lake.root, what=what, into=str(tmp_path / "new"), form="csv")
    assert not (tmp_path / "new").exists()
