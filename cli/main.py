"""The typer application: commands, global options and error reporting.

Invariants of the package:
1. Commands import the other packages when they run, so that `--help` is fast and a missing extra gives an error with
   its name.
2. Commands contain no logic that belongs to another package.
3. Exit codes: 0 success; 1 error; 2 invalid command line; 3 loaded with rejects, or below the required proof level;
   4 milestones with missing rows; 130 interrupted by Ctrl-C. A server that stops on a signal ends with 0.
"""

import gc
import logging
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from api.version import VERSION
from cli import (
    archive,
    dependencies,
    develop,
    fetch,
    fsck,
    lake,
    proof,
    publish,
    rejects,
    serve,
    statement,
    transparency_log,
)
from cli import load as build
from cli.options import Given
from cli.settings import FILE
from db.store import NotFound, NotKeptHere

GC_THRESHOLD = (20_000, 10, 10)
"""Modules, functions and classes stay, so the cyclic garbage collector finds nothing while they are imported.

Gain: it used 0.4 s of a load of 50 milestones with the embedded engine (4.3 s), and uses 0.15 s.
"""

ENGINES = "[sail], or with Java [spark]"

EXTRAS = {
    "duckdb": "[deep]",
    "pyspark": ENGINES,
    "pandas": ENGINES,
    "pyarrow": ENGINES,
    "zstandard": ENGINES,
    "httpx": ENGINES,
    "pysail": "[sail]",
    "deltalake": ENGINES,
    "grpc": "[sail]",
    "numpy": ENGINES,
    "sqlglot": ENGINES,
    "cassandra": "[cassandra]",
    "acsylla": "[acsylla]",
    "granian": "[granian]",
    "pytest": "[dev]",
}
"""The extra that installs each package; several, if one of them is enough."""

log = logging.getLogger("permanode")

WRITING = frozenset(
    {"migrate", "load", "rebuild", "analytics", "job", "verify", "compact", "publish", "fetch", "purge", "demo"}
)
"""Commands that complete what an interrupted run left if you run them again."""


class Program(TyperGroup):
    """The commands. Ctrl-C becomes one line on stderr, and typer ends the program with exit code 130."""

    def invoke(self, ctx: Any) -> Any:
        """Runs the command that was named."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            advice = "; to complete it, run it again" if ctx.invoked_subcommand in WRITING else ""
            sys.stderr.write(f"permanode: interrupted{advice}\n")
            raise


app = typer.Typer(
    name="permanode",
    cls=Program,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"terminal_width": 100, "max_content_width": 100, "help_option_names": ["-h", "--help"]},
)


def print_version(wanted: bool) -> None:
    """Prints name and version, and ends the program."""
    if wanted:
        typer.echo(f"permanode {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    store: Annotated[str | None, typer.Option(help="Store URL, e.g. sqlite:///FOLDER [PERMANODE_STORE].")] = None,
    network: Annotated[str | None, typer.Option(help="Network to work on [PERMANODE_NETWORK].")] = None,
    master: Annotated[str | None, typer.Option(help="Spark master [PERMANODE_ETL_MASTER].")] = None,
    lake: Annotated[str | None, typer.Option(help="Directory of the lake [PERMANODE_ETL_LAKE].")] = None,
    config: Annotated[
        Path | None,
        typer.Option(help=f"Settings file [PERMANODE_CONFIG]. Default: {FILE}, if it exists.", exists=True),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001 (its callback ends the program)
        bool, typer.Option("--version", is_eager=True, callback=print_version, help="Print the version.")
    ] = False,
) -> None:
    """Stores the whole history of a ledger and serves it over HTTP.

    Example: permanode --store sqlite:///data --network permatest-1 load sample/chrysalis
    """
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    log.setLevel(logging.DEBUG if debug else logging.INFO)
    named = config or (Path(os.environ["PERMANODE_CONFIG"]) if "PERMANODE_CONFIG" in os.environ else None)
    context.obj = Given(
        named or (FILE if FILE.exists() else None),
        {
            "store.url": ("--store", store),
            "network": ("--network", network),
            "etl.master": ("--master", master),
            "etl.lake": ("--lake", lake),
        },
    )


for name, group in {
    "lake": lake.lake,
    "archive": archive.archive,
    "rejects": rejects.rejects,
    "proof": proof.proof,
    "log": transparency_log.log,
    "dependencies": dependencies.dependencies,
}.items():
    app.add_typer(group, name=name)

archive.archive.command("get")(publish.get_from_archive)
archive.archive.command("history")(publish.prove_from_archive)

COMMANDS: Mapping[str, Callable[..., None]] = {
    "migrate": serve.migrate,
    "load": build.load,
    "rebuild": build.rebuild,
    "analytics": build.analyse,
    "job": build.job,
    "verify": build.verify,
    "fsck": fsck.fsck,
    "audit": transparency_log.audit,
    "compact": build.compact,
    "export": lake.export_rows,
    "publish": publish.publish,
    "statement": statement.statement,
    "fetch": fetch.fetch_archive,
    "serve": serve.serve,
    "status": serve.status,
    "plan": serve.plan_room,
    "purge": serve.purge,
    "config": serve.config,
    "demo": develop.run_demo,
    "test": develop.run_tests,
    "bench": develop.bench,
    "docs": develop.docs,
}
"""The commands in the order of `--help`."""

for name, command in COMMANDS.items():
    app.command(name)(command)


def main() -> None:
    """Runs the command line. An error becomes one line on stderr; --debug prints its traceback."""
    gc.set_threshold(*GC_THRESHOLD)
    try:
        app(prog_name="permanode")
    except Exception as error:
        log.debug("the command failed", exc_info=True)
        sys.stderr.write(f"permanode: {describe_error(error)}\n")
        sys.exit(1)


def describe_error(error: Exception) -> str:
    """Describes an error in one line. For a missing extra it names the extra."""
    if isinstance(error, ModuleNotFoundError) and error.name and (extra := EXTRAS.get(error.name.partition(".")[0])):
        return f"{error.name} is not installed; install Permanode with the extra {extra}"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.strerror[:1].lower()}{error.strerror[1:]}: {error.filename}"
    if isinstance(error, NotFound) and not isinstance(error, NotKeptHere):
        return f"{error} is not in this store"
    first, *rest = str(error).strip().splitlines() or [type(error).__name__]
    return first + (" … (--debug prints all lines)" if rest else "")


if __name__ == "__main__":
    main()
