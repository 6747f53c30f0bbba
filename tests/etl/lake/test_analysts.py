"""docs/analysts.md: its columns are the lake's, and its ten queries, copied from the page, give in Spark and in DuckDB
what plain Python computes from the oracle ledger's input. `permanode export` writes the same.
"""

import csv
import io
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, StructType
from typer.testing import CliRunner

from cli import main as cli
from etl import runs
from etl.lake.delta import TABLES, Lake
from etl.lake.table_export import export
from etl.lake.views import VIEWS, create_views, run_query, statements
from tests.conftest import ROOT
from tests.etl import test_two_eras
from tests.etl.analytics.test_analytics import facts_of_both, stardust_facts
from tests.etl.conftest import SETTINGS, Loading, Stores
from tests.etl.embedded import stores
from tests.etl.lake.analysts import Ledger, Rows, tokens
from tests.etl.ledger_state import test_earlier_milestones
from tests.etl.ledger_state.test_stardust_ledger import owner
from tests.etl.stardust_archives import NETWORK
from tests.reference_ledger import transaction_of

__all__ = ["stores"]

pytestmark = [pytest.mark.spark, pytest.mark.loads, pytest.mark.usefixtures("spark")]

PAGE = (ROOT / "docs" / "analysts.md").read_text("utf-8")
SECTION = re.compile(r"^### ([^\n]+)\n\n(?:[^\n]+\n\n)?```sql\n(.*?)```", re.MULTILINE | re.DOTALL)
QUERIES: dict[str, str] = dict(SECTION.findall(PAGE))
ADDRESS = "004824e29e8b56513d7919004fbd98abf3950a8789adc1903ace23179bb5977713"


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    """Facts of the Stardust oracle ledger."""
    return Ledger(*stardust_facts(), ADDRESS)


@pytest.fixture(scope="module")
def loading(stores: Stores) -> Loading:
    """The store and the lake of the Stardust oracle ledger, with settings of Spark."""
    loading, report = stores.loaded("stardust from genesis")
    assert (report.exit_code, report.ledger_index) == (0, 50)
    return replace(loading, settings=SETTINGS)


@pytest.fixture(scope="module")
def of_both(stores: Stores, tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Lake:
    """The lake of a network of both eras."""
    loading = stores(eras=test_two_eras.ERAS)
    files = test_two_eras.files(tmp_path_factory.mktemp("both"))
    assert loading.load(*files, genesis=test_two_eras.GENESIS).exit_code == 0
    return Lake(spark.newSession(), runs.lake_path(loading.store, loading.settings))


@pytest.fixture(scope="module")
def lake(loading: Loading, spark: SparkSession) -> Lake:
    """The ledger's lake, with some milestones written twice, so that it contains files that are no
    longer part of it.
    """
    lake = Lake(spark.newSession(), runs.lake_path(loading.store, loading.settings))
    again = [(1, 9)]
    lake.replace_messages(lake.messages(again), again)
    assert len(lake.read("messages").inputFiles()) < len([*Path(lake.path("messages")).rglob("*.parquet")])
    return lake


@pytest.fixture(scope="module")
def in_spark(lake: Lake) -> SparkSession:
    create_views(lake)
    return lake.spark


@pytest.fixture(scope="module")
def in_duckdb(lake: Lake) -> "Iterator[duckdb.DuckDBPyConnection]":
    with duckdb_over(lake) as database:
        yield database


@contextmanager
def duckdb_over(lake: Lake) -> "Iterator[duckdb.DuckDBPyConnection]":
    with duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False}) as database:
        for statement in statements(lake.root, "duckdb"):
            database.execute(statement)
        yield database


def plain(rows: list[Any]) -> Rows:
    """Whole decimals as integers."""
    return [tuple(int(each) if isinstance(each, Decimal) else each for each in row) for row in rows]


def wanted_of(ledger: Ledger, name: str) -> Rows:
    """The result of the query with that name, from the input."""
    method: Callable[[], Rows] = getattr(ledger, name.lower().replace(" ", "_"))
    return method()


def test_the_page_has_ten_queries() -> None:
    assert len(QUERIES) == 10


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_gives_what_the_input_file_says_in_both_engines(
    name: str, ledger: Ledger, lake: Lake, in_duckdb: "duckdb.DuckDBPyConnection"
) -> None:
    wanted = wanted_of(ledger, name)
    assert wanted
    assert plain(run_query(lake, QUERIES[name]).collect()) == wanted
    assert plain(in_duckdb.execute(QUERIES[name]).fetchall()) == wanted


@pytest.mark.parametrize("of_spark", [1, pytest.param(len(QUERIES), marks=pytest.mark.slow)])
def test_the_queries_give_what_the_input_files_say_of_a_network_of_both_eras(of_both: Lake, of_spark: int) -> None:
    """Without token holders: the few Stardust blocks contain no tokens. Spark runs the first of the queries."""
    facts, genesis = facts_of_both()
    owners = Counter(output.owner for output in genesis.outputs.values())
    ledger = Ledger(facts, genesis, owners.most_common(1)[0][0])
    create_views(of_both)
    with duckdb_over(of_both) as database:
        for number, (name, query) in enumerate(QUERIES.items()):
            requested, wanted = query.replace(ADDRESS, ledger.address), wanted_of(ledger, name)
            assert wanted or name == "Token holders"
            if number < of_spark:
                assert plain(of_both.spark.sql(requested).collect()) == wanted, name
            assert plain(database.execute(requested).fetchall()) == wanted, name


def test_an_output_of_the_genesis_and_of_an_earlier_milestone_is_one_row_of_the_milestone(
    stores: Stores, tmp_path: Path, spark: SparkSession
) -> None:
    loading = stores(network=NETWORK)
    test_earlier_milestones.load(loading, tmp_path, test_earlier_milestones.ORDERS["earlier ones between"])
    lake = Lake(spark.newSession(), runs.lake_path(loading.store, loading.settings))
    known = test_earlier_milestones.known()
    booked = {output_id: output["metadata"]["milestoneIndexBooked"] for output_id, output in known.items()}
    of_genesis = (test_earlier_milestones.GENESIS, True)
    created = [
        (output_id, *((index, False) if index >= test_earlier_milestones.FIRST else of_genesis))
        for output_id, index in sorted(booked.items())
    ]
    assert 0 < sum(row[1:] == of_genesis for row in created) < sum(row[1] <= of_genesis[0] for row in created)
    unspent = [output["output"] for output in known.values() if not output["metadata"]["isSpent"]]
    balances, counts = Counter[str](), Counter(map(owner, unspent))
    for output in unspent:
        balances[owner(output)] += int(output["amount"])
    richest = sorted(balances.items(), key=lambda item: (-item[1], item[0]))[:10]
    columns = "SELECT lower(hex(output_id)) AS id, milestone_index, timestamp IS NULL FROM outputs ORDER BY id"
    tokens_once = "SELECT count(*), count(DISTINCT hex(output_id) || token_id) FROM native_tokens"
    with duckdb_over(lake) as database:
        for engine in (
            lambda query: run_query(lake, query).collect(),
            lambda query: database.execute(query).fetchall(),
        ):
            assert plain(engine(columns)) == created
            assert plain(engine(QUERIES["Richest addresses"])) == [(*each, counts[each[0]]) for each in richest]
            ((rows, different),) = plain(engine(tokens_once))
            assert rows == different > 0


def test_days_are_utcs_whatever_zone_the_session_has(lake: Lake, ledger: Ledger) -> None:
    session = lake.spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Pacific/Kiritimati")
    create_views(Lake(session, lake.root))
    assert plain(session.sql(QUERIES["Daily volume"]).collect()) == ledger.daily_volume()


def test_an_amount_of_a_token_may_pass_64_bits(
    ledger: Ledger, in_spark: SparkSession, in_duckdb: "duckdb.DuckDBPyConnection"
) -> None:
    """The hex of an amount has all bytes of the output, including leading zeros."""
    wanted = sorted(amount.hex() for _, _, output in ledger.created() for _, amount in tokens(output))
    query = "SELECT amount_hex FROM native_tokens ORDER BY amount_hex"
    assert [row[0] for row in in_spark.sql(query).collect()] == wanted != []
    assert [row[0] for row in in_duckdb.execute(query).fetchall()] == wanted


def test_a_table_that_is_not_there_yet_has_columns_and_no_rows(
    lake: Lake, in_duckdb: "duckdb.DuckDBPyConnection", tmp_path: Path
) -> None:
    """Nor has a table whose rows were deleted; the views return the contents of the others."""
    few = Lake(lake.spark.newSession(), str(tmp_path))
    for name in ("messages", "milestones", "sources"):
        shutil.copytree(lake.path(name), few.path(name))
    few.replace("sources", few.read("sources").where("false"))
    assert not any(few.has(name) for name in ("rejects", "pending", "genesis", "vaas"))
    create_views(few)
    with duckdb_over(few) as database:
        for name in TABLES.keys() - {"messages", "milestones"}:
            found = few.spark.table(name)
            assert found.schema == few.spark.createDataFrame([], TABLES[name].ddl).schema
            assert found.count() == len(database.table(name).fetchall()) == 0
            if lake.has(name):
                assert database.table(name).types == in_duckdb.table(name).types, name
        # A folder's name contains the range of milestones, and is not a column.
        shared = "SELECT * EXCLUDE lake_range FROM"
        assert database.sql(f"{shared} pending").types == in_duckdb.sql(f"{shared} messages").types
        wanted = in_duckdb.execute("SELECT count(*) FROM outputs WHERE timestamp IS NOT NULL").fetchone()
        assert database.execute("SELECT count(*) FROM outputs").fetchone() == wanted
        assert wanted == (few.spark.table("outputs").count(),) != (0,)
        assert database.table("outputs").types == in_duckdb.table("outputs").types


def test_where_no_lake_is_nothing_is_reported_about_one(lake: Lake, tmp_path: Path) -> None:
    """A wrong path is not treated as a lake without rows."""
    assert len(statements(str(tmp_path), "duckdb")) == 1


def paths(kind: DataType, at: str) -> Iterator[str]:
    """The nested fields of a column; a column with the fields of outputs, or named `stardust`, is described once."""
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
    for name in [*VIEWS, *sorted(TABLES.keys() - {"pending", "prices", "token_list", "vaas"})]:
        frame = in_spark.table(name) if name in VIEWS else in_spark.createDataFrame([], TABLES[name].ddl)
        assert documented(name) == [path for each in frame.schema for path in paths(each.dataType, each.name)], name
    assert TABLES["pending"].ddl == TABLES["messages"].ddl
    stardust = in_spark.table("outputs").schema["stardust"].dataType
    assert isinstance(stardust, StructType)
    assert [name for name in stardust.names if f"`{name}`" not in PAGE] == []


def run(loading: Loading, *arguments: str) -> str:
    """Runs `permanode …` in the tests' session."""
    command = ["--store", loading.store.url, "--network", NETWORK, *arguments]
    result = CliRunner().invoke(cli.app, command, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_the_statements_are_printed(loading: Loading, lake: Lake) -> None:
    for engine, options in (("duckdb", []), ("spark", ["--engine", "spark"])):
        assert run(loading, "lake", "views", *options) == ";\n".join([*statements(lake.root, engine), ""])


def lines_of(folder: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, read by Python."""
    texts = (path.read_bytes().decode() for path in sorted(folder.glob("*.csv")))
    return [line for text in texts for line in csv.DictReader(io.StringIO(text, newline=""))]


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """The rows of a Parquet file, read by Arrow."""
    return [row for path in sorted(folder.glob("*.parquet")) for row in pq.ParquetFile(path).read().to_pylist()]


def test_a_view_and_a_query_are_exported_as_parquet_and_as_csv(
    ledger: Ledger, loading: Loading, tmp_path: Path
) -> None:
    wanted = {output_id: (each.owner, each.amount, each.data.hex()) for _, output_id, each in ledger.created()}
    rich = {output_id: amount for output_id, (_, amount, _) in wanted.items() if amount > 1_000_000}
    query = "SELECT output_id, amount, ' a\n\"b\" ' AS text FROM outputs WHERE amount > 1000000"
    assert 0 < len(rich) < len(wanted)
    for form in ("parquet", "csv"):
        view, some = tmp_path / form, tmp_path / f"some-{form}"
        reported = run(loading, "export", "outputs", "--into", str(view), "--format", form)
        assert reported == f"{len(wanted):,} rows in {view}\n"
        reported = run(loading, "export", query, "--into", str(some), "--format", form)
        assert reported == f"{len(rich):,} rows in {some}\n"
    for rows in (rows_of(tmp_path / "parquet"), lines_of(tmp_path / "csv")):
        found = [tuple(hexed(row[name]) for name in ("output_id", "address", "amount", "data")) for row in rows]
        assert {output_id: (owner, int(amount), data) for output_id, owner, amount, data in found} == wanted
        assert len(rows) == len(wanted)
    for rows in (rows_of(tmp_path / "some-parquet"), lines_of(tmp_path / "some-csv")):
        assert {hexed(row["output_id"]): int(row["amount"]) for row in rows} == rich
        assert {row["text"] for row in rows} == {' a\n"b" '}
    chains = {key: each.keys(key).get("chain", "") for _, key, each in ledger.created()}
    shown_chains = {line["output_id"]: line["stardust.chain_id"] for line in lines_of(tmp_path / "csv")}
    assert shown_chains == chains
    assert any(chains.values())


def hexed(value: Any) -> str:
    """The value of a Parquet file in the form of CSV."""
    return value.hex() if isinstance(value, bytes) else str(value)


def test_a_table_with_parts_and_lists_is_exported_whole(ledger: Ledger, loading: Loading, tmp_path: Path) -> None:
    """Nested lists are JSON in CSV."""
    for form in ("parquet", "csv"):
        run(loading, "export", "messages", "--into", str(tmp_path / form), "--format", form)
    wanted = {each.message_id: each for _, each in ledger.messages()}
    spends = {
        key: [spend.output_id for spend in transaction_of(each).spends]
        for key, each in wanted.items()
        if each.payload_kind == 6
    }
    lines = [line for line in lines_of(tmp_path / "csv") if line["message_id"]]
    assert {line["message_id"]: line["message"] for line in lines} == {k: each.data.hex() for k, each in wanted.items()}
    assert {line["message_id"]: json.loads(line["parents"]) for line in lines} == {
        key: list(each.parents) for key, each in wanted.items()
    }
    reported = {
        line["message_id"]: [each["output_id"] for each in json.loads(line["transaction.inputs"])]
        for line in lines
        if line["transaction.inputs"]
    }
    assert reported == spends != {}
    rows = [row for row in rows_of(tmp_path / "parquet") if row["message_id"]]
    assert {row["message_id"].hex(): row["message"] for row in rows} == {k: each.data for k, each in wanted.items()}
    inputs = {
        row["message_id"].hex(): [each["output_id"].hex() for each in row["transaction"]["inputs"]]
        for row in rows
        if row["transaction"]
    }
    assert inputs == spends


WRITES = (
    "DELETE FROM {0} WHERE milestone_index = 3",
    "INSERT INTO {0} SELECT * FROM {0}",
    "FROM {0} INSERT INTO {0} SELECT *",
    "WITH all AS (SELECT * FROM {0}) FROM all INSERT INTO {0} SELECT *;",
    "UPDATE {0} SET verified = NULL",
    "DROP TABLE {0}",
    "SET spark.sql.ansi.enabled = false",
)


@pytest.mark.parametrize("text", WRITES, ids=lambda text: text.split()[0])
def test_an_invalid_query_is_rejected_and_not_run(text: str, loading: Loading, lake: Lake, tmp_path: Path) -> None:
    before = lake.read("milestones").orderBy("milestone_index").collect()
    assert any(row["milestone_index"] == 3 for row in before)
    statement = text.format(f"delta.`{lake.path('milestones')}`")
    rejected(loading, lake, statement, tmp_path / "new", "^only a table, a view or a query .* is exported")
    assert lake.read("milestones").orderBy("milestone_index").collect() == before


def rejected(loading: Loading, lake: Lake, what: str, into: Path, why: str, form: str = "parquet") -> None:
    """The export fails with an error that matches `why`, and leaves no folder."""
    with pytest.raises(ValueError, match=why):
        export(loading.settings, lake=lake.root, what=what, into=str(into), form=form)
    assert not into.exists()


def test_any_query_is_one(loading: Loading, tmp_path: Path) -> None:
    """In the order that the query requests."""
    descending = "SELECT milestone_index FROM milestones WHERE milestone_index < 5 ORDER BY milestone_index DESC"
    for place, (query, wanted) in enumerate(
        {
            f"{descending} -- (the newest first; all": [4, 3, 2, 1],
            f"/* as above */ WITH few AS ({descending}) SELECT * FROM few LIMIT 2;\n": [4, 3],
            "VALUES (2), (1)": [2, 1],
            "(SELECT 2) UNION ALL (SELECT 1)": [2, 1],
        }.items()
    ):
        run(loading, "export", query, "--into", str(tmp_path / str(place)))
        assert [value for row in rows_of(tmp_path / str(place)) for value in row.values()] == wanted


def test_a_query_reads_neither_the_environment_nor_files(loading: Loading, lake: Lake, tmp_path: Path) -> None:
    query = "SELECT '${env:HOME}' AS a, '${spark.master}' AS b"
    assert [tuple(row) for row in run_query(lake, query).collect()] == [("${env:HOME}", "${spark.master}")]
    secret = tmp_path / "secret.csv"
    secret.write_text("secret\n")
    rejected(loading, lake, f"SELECT * FROM csv.`{secret}`", tmp_path / "new", "is not a table of the lake")
    started = tmp_path / "started"
    program = f"SELECT TRANSFORM(milestone_index) USING 'touch {started}' AS a FROM milestones"
    rejected(loading, lake, program, tmp_path / "new", "is not allowed in a query")
    assert not started.exists()


def test_a_query_that_cannot_be_run_is_rejected(loading: Loading, lake: Lake, tmp_path: Path) -> None:
    rejected(loading, lake, "SELECT nothing FROM outputs", tmp_path / "new", "`nothing` cannot be", "csv")
    rejected(loading, lake, "SELEC 1", tmp_path / "new", "^the query is not valid: line 1, column 7 near '1'")
    rejected(
        loading, lake, "nope", tmp_path / "new", "^nope is not a table or view of the lake; expected one of genesis,"
    )


def test_a_table_is_found_in_upper_case_and_between_spaces(lake: Lake) -> None:
    assert run_query(lake, " Milestones ").count() == run_query(lake, "milestones").count() > 0


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT 1 AS a, 2 AS b, 3 AS A, 4 AS c, 5 AS C", "a, c"),
        ("SELECT m.*, n.message_id FROM milestones m JOIN milestones n USING (milestone_index)", "message_id"),
    ],
)
def test_a_column_named_twice_is_rejected_by_name(
    query: str, names: str, form: str, loading: Loading, lake: Lake, tmp_path: Path
) -> None:
    rejected(loading, lake, query, tmp_path / "new", f"^columns named more than once: {names}$", form)


def test_a_path_of_csv_that_is_a_columns_name_is_rejected(loading: Loading, lake: Lake, tmp_path: Path) -> None:
    query = "SELECT struct(1 AS b) AS a, 2 AS `A.b`"
    rejected(loading, lake, query, tmp_path / "new", "^columns named more than once: a.b$", "csv")


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("wrong", "why"),
    [("CAST(raise_error('no more') AS INT)", "no more"), ("1 / (milestone_index - 3)", "DIVIDE_BY_ZERO")],
)
def test_a_query_that_fails_as_it_runs_leaves_nothing(
    wrong: str, why: str, form: str, loading: Loading, lake: Lake, tmp_path: Path
) -> None:
    """The corrected command succeeds in the same place."""
    query = "SELECT milestone_index, {} AS told FROM milestones"
    rejected(loading, lake, query.format(wrong), tmp_path / "new", why, form)
    run(loading, "export", query.format("1"), "--into", str(tmp_path / "new"), "--format", form)


def test_a_folder_that_is_there_stays_as_it_is(loading: Loading, lake: Lake, tmp_path: Path) -> None:
    """Whether or not the query is valid."""
    (tmp_path / "mine").write_text("mine")
    for query in ("SELECT 1 AS a", "SELECT raise_error('no more') AS a"):
        with pytest.raises(ValueError, match=f"^{re.escape(str(tmp_path))} exists; --into must be a new folder"):
            export(loading.settings, lake=lake.root, what=query, into=str(tmp_path), form="csv")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
