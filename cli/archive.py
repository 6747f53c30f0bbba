"""The `permanode archive` commands: validate, merge, export."""

import dataclasses
import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn, TypeAlias

import typer

from cli.bars import shown
from cli.options import Into, Json, MaxSize, Range, parse_range
from cli.progress import fault_line, written_lines
from etl.archive import MAX_FILE_BYTES
from etl.report import WITH_REJECTS

if TYPE_CHECKING:
    from etl.archive.written import Written
    from etl.sources.limits import Limits

archive = typer.Typer(
    help="Validates and merges archive files, and exports a store as archive files.\n\n"
    "Example: permanode archive validate archive/",
    no_args_is_help=True,
)

Archives: TypeAlias = Annotated[list[Path], typer.Argument(help="Archive files, node JSON lines, or folders.")]


@archive.command("validate")
def validate_archive(
    context: typer.Context,
    sources: Archives,
    level: Annotated[
        Literal["basic", "light", "full"],
        typer.Option(
            help="basic: file names and sizes; light: also every line; full: also ids, cones and proofs.",
        ),
    ] = "full",
    milestones: Range = None,
    max_size: MaxSize = MAX_FILE_BYTES,
    as_json: Json = False,
) -> None:
    """Validates archive files, and lists the milestones that are missing between them.

    Reads only the files: it changes nothing and opens no store. `full` needs --network. Exit code 3: faults were
    found.

    Example: permanode --network mainnet archive validate archive/ --range 1:100001
    """
    first, last = parse_range(milestones)
    if milestones is not None and (first is None or last is None):
        raise typer.BadParameter("both ends are required: FIRST:LAST", param_hint="--range")
    from etl.archive.checks import Checks
    from etl.archive.validate import Level, validate
    from etl.sources.file_eras import codec_of
    from etl.sources.files import archive_files

    files, check = archive_files(sources), None
    if level == "full":
        codec = codec_of(map(str, files), _limits(context))
        check = Checks.of(context.obj.settings().network_alone(), codec).rejects_of
    found = validate(
        files,
        Level[level.upper()],
        check,
        max_bytes=max_size,
        first=first,
        last=last,
        limits=_limits(context),
        notify=lambda fault: None if as_json else typer.echo(fault_line(fault)),
    )
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(found), indent=2))
    else:
        typer.echo(f"{found.files:,} files, {found.milestones:,} milestones, {len(found.faults):,} faults")
    raise typer.Exit(WITH_REJECTS if found.faults else 0)


@archive.command("merge")
def merge_archive(
    context: typer.Context,
    sources: Archives,
    into: Into,
    level: Annotated[
        Literal["basic", "light", "full", "just-in-time"],
        typer.Option(
            help="Validation of all files before anything is written; just-in-time: validate each line when it is "
            "merged.",
        ),
    ] = "just-in-time",
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Merge the complete milestones even if files fail validation.")
    ] = False,
    milestones: Range = None,
    max_size: MaxSize = MAX_FILE_BYTES,
    as_json: Json = False,
) -> None:
    """Merges archive files of any format into files of one format that contain each milestone once.

    Lists and omits milestones of which no file has a complete copy: those of the range, by default from the first to
    the last one in the files. Does not change the input files. Exit code 3: there are such milestones or faults.

    Example: permanode --network mainnet archive merge old/ more/ --into archive/
    """
    first, last = parse_range(milestones)
    from etl.archive.merge import merge
    from etl.archive.validate import Level
    from etl.sources.files import archive_files

    before = None if level == "just-in-time" else Level[level.upper()]
    network = context.obj.settings().network_alone()
    with shown() as notify:
        done = merge(
            network,
            archive_files(sources),
            into,
            first=first,
            last=last,
            level=before,
            keep_going=keep_going,
            max_bytes=max_size,
            limits=_limits(context),
            notify=notify,
        )
    _finish_files(done, as_json=as_json)


@archive.command("export")
def export_archive(
    context: typer.Context,
    into: Into,
    milestones: Range = None,
    mark: Annotated[
        bool,
        typer.Option("--mark/--no-mark", help="Record the archived milestones in the store (column sync.logged_by)."),
    ] = True,
    max_size: MaxSize = MAX_FILE_BYTES,
    as_json: Json = False,
) -> None:
    """Writes the complete milestones of the store into archive files, which `permanode load` can read.

    Skips milestones that files in the folder already contain. Exit code 3: some milestones could not be written
    completely; the report lists them.

    Example: permanode archive export --into archive/ --range 1:100001
    """
    first, last = parse_range(milestones)
    from db.connect import open_store
    from etl.archive.export import export

    settings = context.obj.settings().store()
    with closing(open_store(settings, writable=mark)) as store, shown() as notify:
        done = export(settings, store, into, first=first, last=last, max_bytes=max_size, mark=mark, notify=notify)
    _finish_files(done, as_json=as_json)


def _finish_files(done: "Written", *, as_json: bool) -> NoReturn:
    typer.echo(json.dumps(dataclasses.asdict(done), indent=2) if as_json else "\n".join(written_lines(done)))
    raise typer.Exit(WITH_REJECTS if done.faults or done.missing else 0)


def _limits(context: typer.Context) -> "Limits":
    from etl.engine.settings import EtlSettings
    from etl.sources.limits import Limits

    return Limits.of(context.obj.settings().build("etl", EtlSettings))
