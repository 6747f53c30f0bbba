"""The command line: which commands there are, the flags before them, and what becomes of a failure.

Rules of this file and of commands/: parts are imported inside commands, so that help is quick and a missing extra is
answered with its install line; no command holds logic that a part could own. Exit codes: 0 good, 3 loaded with rejects
or not proved so far, 4 counted short, 1 failed.
"""

import logging
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from cli import archive, develop, fetch, lake, proof, serve
from cli import load as build
from cli.options import Given
from cli.settings import FILE

EXTRAS = {
    "pyspark": "spark",
    "pandas": "spark",
    "pyarrow": "spark",
    "zstandard": "spark",
    "cryptography": "spark",
    "httpx": "spark",
    "pytest": "dev",
    "datasette": "bench",
}
"""Package → the extra that brings it."""

log = logging.getLogger("permanode")

app = typer.Typer(
    name="permanode",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"terminal_width": 100, "max_content_width": 100},
)


@app.callback()
def options(
    context: typer.Context,
    store: Annotated[str | None, typer.Option(help="Store, as sqlite:///FOLDER [PERMANODE_STORE].")] = None,
    network: Annotated[str | None, typer.Option(help="Network at hand [PERMANODE_NETWORK].")] = None,
    master: Annotated[str | None, typer.Option(help="Spark master [PERMANODE_ETL_MASTER].")] = None,
    lake: Annotated[str | None, typer.Option(help="Directory of the lake [PERMANODE_ETL_LAKE].")] = None,
    config: Annotated[
        Path | None, typer.Option(help=f"Settings file [PERMANODE_CONFIG]; else {FILE}, where it is.", exists=True)
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
) -> None:
    """Keeps the whole history of a ledger and answers for it over HTTP.

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


for name, group in {"lake": lake.lake, "archive": archive.archive, "proof": proof.proof}.items():
    app.add_typer(group, name=name)

COMMANDS: Mapping[str, Callable[..., None]] = {
    "migrate": serve.migrate,
    "load": build.load,
    "rebuild": build.rebuild,
    "analytics": build.analyse,
    "job": build.job,
    "verify": build.verify,
    "compact": build.compact,
    "export": lake.export_rows,
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
"""In the order in which `--help` lists them."""

for name, command in COMMANDS.items():
    app.command(name)(command)


def main() -> None:
    """Runs the command line; a failure is one line on stderr, with --debug also where it came from."""
    try:
        app()
    except Exception as error:
        log.debug("where it failed", exc_info=True)
        sys.stderr.write(f"permanode: {describe_error(error)}\n")
        sys.exit(1)


def describe_error(error: Exception) -> str:
    """One line that says what went wrong, and for a missing extra what to install."""
    if isinstance(error, ModuleNotFoundError) and error.name and (extra := EXTRAS.get(error.name.partition(".")[0])):
        return f"{error.name} is not installed; run: pip install -c constraints.txt -e '.[{extra}]'"
    first, *rest = str(error).strip().splitlines() or [type(error).__name__]
    return first + (" … (--debug shows all)" if rest else "")
