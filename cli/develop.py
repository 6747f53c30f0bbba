"""Commands of whoever tries the project or works on it: demo, test, bench, docs."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from cli.options import HOME


class Failure(Exception):
    """A command could not do what it was asked; the message is the whole story."""


def run_demo(
    context: typer.Context,
    port: Annotated[int, typer.Option(help="Port to serve on.")] = 8000,
    store: Annotated[str | None, typer.Option(help="Another store, as cassandra://HOST/KEYSPACE?rf=1.")] = None,
) -> None:
    """Loads the shipped samples into .demo/, serves them and prints fifteen questions to ask.

    With --store they are loaded into that keyspace and one beside it, by way of lakes in .demo/; both are created.

    Example: ./permanode demo
    """
    from cli import demo

    demo.run(port, store=store or context.obj.flags["store.url"][1])


def run_tests(
    arguments: Annotated[list[str] | None, typer.Argument(help="Passed on to pytest, after --.")] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="Only the tests without Spark, Cassandra and foreign clients.")
    ] = False,
    slow: Annotated[bool, typer.Option("--slow", help="Also soaks and other tests of many minutes.")] = False,
) -> None:
    """Runs the linters, then the test suite; fails when any of them fails.

    Example: ./permanode test -- tests/ledger -k milestone
    """
    tools = Path(sys.executable).parent
    checks = [["ruff", "check"], ["ruff", "format", "--check"], ["mypy"], ["lint-imports", "--no-logo"]]
    chosen = ["-m", ""] if slow else ["-m", "not slow and not spark and not cassandra and not clients"] if fast else []
    # Whoever names tests may want to stop in them, which needs one process.
    suite = ["pytest", *chosen, *(arguments or ["--numprocesses=2", "--dist=loadscope", "--no-loadscope-reorder"])]
    failed = [
        command[0]
        for command in [*checks, suite]
        if subprocess.run([tools / command[0], *command[1:]], cwd=HOME, check=False).returncode
    ]
    if failed:
        raise Failure(f"failed: {', '.join(failed)}")


def bench(
    name: Annotated[
        Literal[
            "analytics",
            "cluster-http",
            "cluster-load",
            "codec",
            "flat",
            "hot",
            "http",
            "indexer",
            "load",
            "series",
            "sizes",
            "soak",
            "vaa",
        ],
        typer.Argument(help="What to measure."),
    ],
    arguments: Annotated[list[str] | None, typer.Argument(help="Passed on to it, after --.")] = None,
) -> None:
    """Measures one part on this machine.

    Example: permanode bench codec
    """
    command = [sys.executable, "-m", f"bench.{name.replace('-', '_')}", *(arguments or [])]
    raise typer.Exit(subprocess.run(command, cwd=HOME, check=False).returncode)


def docs(
    context: typer.Context,
    check: Annotated[bool, typer.Option("--check", help="Fail where a page is behind.")] = False,
) -> None:
    """Writes the generated pages of docs/: settings, commands, schema.

    Example: permanode docs --check
    """
    from cli import pages

    behind = pages.write(context.find_root().command, check=check)
    typer.echo("\n".join(f"{'behind' if check else 'wrote'} {page}" for page in behind) or "all pages are up to date")
    raise typer.Exit(1 if check and behind else 0)
