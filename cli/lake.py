"""Commands for the lake: lake compact, lake views, export."""

import json
from typing import Annotated, Literal

import typer

from cli.bars import shown
from cli.options import Json, etl_settings

lake = typer.Typer(help="Maintains and queries the lake.\n\nExample: permanode lake compact", no_args_is_help=True)


@lake.command("compact")
def compact_lake(context: typer.Context, as_json: Json = False) -> None:
    """Merges the small files of the lake and deletes files that are no longer used.

    Files of earlier versions get a checksum.

    Example: permanode lake compact
    """
    from etl import runs

    store, etl = etl_settings(context)
    with shown() as notify:
        files = runs.compact_lake(runs.lake_path(store, etl), notify=notify)
    typer.echo(json.dumps(files) if as_json else "\n".join(f"{table}: {count} files" for table, count in files.items()))


@lake.command("views")
def lake_views(
    context: typer.Context,
    engine: Annotated[
        Literal["duckdb", "spark"],
        typer.Option(help="SQL dialect. The statements for Spark need a session with Delta Lake."),
    ] = "duckdb",
) -> None:
    """Prints SQL statements that create the tables of the lake's current version and the views of docs/analysts.md.

    Needs neither Spark nor Java.

    Example: permanode lake views > lake.sql && duckdb -init lake.sql
    """
    from etl import runs
    from etl.lake.views import statements

    for statement in statements(runs.lake_path(*etl_settings(context)), engine):
        typer.echo(f"{statement};")


def export_rows(
    context: typer.Context,
    what: Annotated[
        str, typer.Argument(metavar="TABLE|QUERY", help="A table or view of the lake, or a query in Spark SQL.")
    ],
    into: Annotated[str, typer.Option("--into", metavar="FOLDER", help="Output folder; it must not exist.")],
    form: Annotated[
        Literal["parquet", "csv"],
        typer.Option("--format", help="File format. CSV contains bytes as hex and lists as JSON."),
    ] = "parquet",
) -> None:
    """Exports rows of the lake to files for other programs. docs/analysts.md describes the columns.

    Needs Spark, so Java 17 or 21, with either engine setting.

    Example: permanode export "SELECT * FROM outputs WHERE amount > 1000000" --into rich/ --format parquet
    """
    from etl import runs
    from etl.lake import table_export as export

    store, etl = etl_settings(context)
    rows = export.export(etl, lake=runs.lake_path(store, etl), what=what, into=into, form=form)
    typer.echo(f"{rows:,} rows in {into}")
