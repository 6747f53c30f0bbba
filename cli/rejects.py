"""The `permanode rejects` commands: list, export, clear. They need no engine."""

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from cli.options import Json, Range, etl_settings, parse_range
from cli.progress import printable

if TYPE_CHECKING:
    from etl.lake.rejects import Wanted

rejects = typer.Typer(
    help="Lists, exports and clears rejects: input files, lines and messages that a load did not accept.\n\n"
    "Example: permanode rejects list",
    no_args_is_help=True,
)

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What formulas of spreadsheets begin with."""

LISTED = 100
"""The most rejects that are listed without --limit."""

File: TypeAlias = Annotated[
    str | None, typer.Option("--file", help="Only rejects of this input file, with the path as it was loaded.")
]


@rejects.command("list")
def list_rejects(
    context: typer.Context,
    milestones: Range = None,
    file: File = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="Maximum of listed rejects; 0: all.")] = LISTED,
    as_json: Json = False,
) -> None:
    """Lists rejects by milestone and file: file, line, message and reason.

    A reject of a line that names no milestone has the milestone -1; a reject of a whole file has the line 0. With
    --range only rejects of these milestones are listed.

    Example: permanode rejects list --file archive/1to21.log
    """
    found = _found(context, milestones, file)
    listed = found[:limit] if limit else found
    if as_json:
        typer.echo(json.dumps({"count": len(found), "rejects": listed}, indent=2))
        return
    for each in listed:
        typer.echo(reject_line(each))
    if len(listed) < len(found):
        typer.echo(f"{len(found) - len(listed):,} more; --limit 0 lists all")
    elif not found:
        typer.echo("no rejects")


@rejects.command("export")
def export_rejects(
    context: typer.Context,
    into: Annotated[
        Path | None, typer.Option("--into", metavar="FILE", help="Output file. Default: standard output.")
    ] = None,
    form: Annotated[Literal["csv", "ndjson"], typer.Option("--format", help="File format.")] = "ndjson",
    milestones: Range = None,
    file: File = None,
) -> None:
    """Writes rejects as CSV or as JSON lines, all of them or those of milestones or of a file.

    In CSV, text that spreadsheets would run as a formula gets an apostrophe. JSON lines are exact.

    Example: permanode rejects export --into rejects.csv --format csv
    """
    found = _found(context, milestones, file)
    if into is None:
        write(found, form, sys.stdout)
        return
    try:
        with into.open("w", encoding="utf-8", newline="") as out:
            write(found, form, out)
    except OSError as error:
        # A failed write names no file.
        error.filename = str(into)
        raise
    typer.echo(f"{len(found):,} rejects in {into}")


@rejects.command("clear")
def clear_rejects(
    context: typer.Context,
    milestones: Range = None,
    file: File = None,
    whole: Annotated[bool, typer.Option("--all", help="All rejects.")] = False,
    as_json: Json = False,
) -> None:
    """Deletes rejects from store and lake, for example of a file that you do not want to load again.

    Incomplete milestones stay incomplete. A load of the same file rejects the same lines again.

    Example: permanode rejects clear --file README.md
    """
    if (milestones is None and file is None) is not whole:
        raise typer.BadParameter("pass either --range or --file, or --all", param_hint="--all")
    from etl import runs

    store, etl = etl_settings(context)
    count = runs.clear_rejects(store, etl, _wanted(milestones, file))
    typer.echo(json.dumps({"cleared": count}) if as_json else f"{count:,} rejects cleared")


def reject_line(reject: "dict[str, Any]") -> str:
    """A reject as a line: file, line, message and reason."""
    place = f"{reject['file']}:{reject['line']}" if reject["line"] else str(reject["file"])
    return printable(": ".join(part for part in (place, reject["item"], reject["reason"]) if part))


def _found(context: typer.Context, milestones: str | None, file: str | None) -> "list[dict[str, Any]]":
    from etl import runs
    from etl.lake.rejects import list_rejects as rejects_of

    store, etl = etl_settings(context)
    return rejects_of(runs.lake_path(store, etl), _wanted(milestones, file))


def _wanted(milestones: str | None, file: str | None) -> "Wanted":
    from etl.lake.rejects import Wanted
    from etl.sources.fields import MAX_MILESTONE_INDEX

    if milestones is None:
        return Wanted(None, file)
    first, last = parse_range(milestones)
    return Wanted([(first or 0, MAX_MILESTONE_INDEX if last is None else last - 1)], file)


def cell_text(value: Any) -> Any:
    """The value of a cell as spreadsheets show it: text of others that begins like a formula gets an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def write(found: "list[dict[str, Any]]", form: str, out: Any) -> None:
    """Writes rejects as CSV for spreadsheets, or exactly as JSON lines."""
    from etl.lake.rejects import COLUMNS

    if form == "csv":
        rows = csv.DictWriter(out, COLUMNS, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        rows.writeheader()
        rows.writerows({name: cell_text(value) for name, value in each.items()} for each in found)
    else:
        out.writelines(json.dumps(each) + "\n" for each in found)
