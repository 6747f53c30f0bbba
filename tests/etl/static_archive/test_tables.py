"""The Parquet tables have the rows of the store. DuckDB reads them with the line of docs/static-archive.md."""

from typing import Any

import duckdb
import pyarrow.parquet as pq

from etl.static_archive.names import read_manifest
from etl.static_archive.tables import TABLES
from tests.conftest import ROOT
from tests.etl.static_archive.conftest import Case, on_both

INCLUDED = 1


def documented(case: Case, address: str) -> list[Any]:
    page = (ROOT / "docs/static-archive.md").read_text("utf-8")
    line = page.partition('duckdb -c "')[2].partition('"\n')[0]
    query = line.replace("https://archive.example.org/mainnet/", f"{case.archive}/").replace("00…", address)
    assert query.count(address) == 1
    *settings, select = query.rstrip(";").split("; ")
    with duckdb.connect() as connection:
        for each in settings:
            connection.execute(each)
        return connection.sql(select).to_arrow_table().to_pylist()


def test_the_documented_line_finds_the_outputs_of_an_address(case: Case) -> None:
    known = {row["message_id"] for row in case.loading.rows()["messages"]}
    rows = [row for row in case.loading.rows()["outputs"] if row["created_message_id"] in known]
    found = documented(case, "00")
    assert found == []
    table = case.archive / _files(case, "outputs")[0]
    address = pq.read_table(table)["address"].to_pylist()[0].hex()
    found = documented(case, address)
    own = {row["output_id"]: row for row in rows}
    assert found
    assert all(each["address"].hex() == address for each in found)
    assert {each["output_id"].hex(): int(each["amount"]) for each in found}.items() <= {
        name: row["amount"] for name, row in own.items()
    }.items()


@on_both
def test_tables_have_the_rows_of_the_store(case: Case) -> None:
    rows = case.loading.rows()
    known = {row["message_id"] for row in rows["messages"]}
    messages = pq.read_table(case.archive / _files(case, "messages")[0]).to_pylist()
    names = ("milestone_index", "white_flag_index", "inclusion_state", "conflict_reason")
    found = {each["message_id"].hex(): tuple(each[name] for name in names) for each in messages}
    assert found == {row["message_id"]: tuple(row[name] for name in names) for row in rows["messages"]}
    outputs = pq.read_table(case.archive / _files(case, "outputs")[0])["output_id"].to_pylist()
    created = {row["output_id"] for row in rows["outputs"] if row["created_message_id"] in known}
    assert created <= {each.hex() for each in outputs}
    spends = pq.read_table(case.archive / _files(case, "spends")[0])["output_id"].to_pylist()
    assert {each.hex() for each in spends} == {
        row["output_id"] for row in rows["outputs"] if row["spent_milestone_index"] is not None
    }


def test_files_have_statistics_and_bloom_filters(case: Case) -> None:
    for name, table in TABLES.items():
        file = pq.ParquetFile(case.archive / _files(case, name)[0])
        group = file.metadata.row_group(0)
        columns = {group.column(at).path_in_schema: group.column(at) for at in range(group.num_columns)}
        assert all(column.statistics.has_min_max for column in columns.values() if column.statistics.num_values)
        with duckdb.connect() as connection:
            query = "SELECT path_in_schema FROM parquet_metadata(?) WHERE bloom_filter_offset IS NOT NULL"
            filtered = connection.execute(query, [str(case.archive / _files(case, name)[0])]).fetchall()
        assert {each for (each,) in filtered} == {*table.filtered}


def _files(case: Case, table: str) -> list[str]:
    manifest = read_manifest(case.archive)
    assert manifest is not None
    return [each["name"] for each in manifest["tables"][table]]
