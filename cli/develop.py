"""Commands of whoever tries the project or works on it: demo, test, bench, docs."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
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


TOOLS = Path(sys.executable).parent

LINTERS = (["ruff", "check"], ["ruff", "format", "--check"], ["mypy"], ["lint-imports", "--no-logo"])

FAST = [
    "-m",
    "not slow and not thorough and not spark and not cassandra and not clients",
    "--hypothesis-profile=fast",
]


def _lint(command: list[str]) -> int:
    """Runs a linter beside the others and pytest, and prints its output as one block."""
    done = subprocess.run([TOOLS / command[0], *command[1:]], cwd=HOME, capture_output=True, text=True, check=False)
    sys.stdout.write(f"\n{' '.join(command)}\n{done.stdout}{done.stderr}")
    sys.stdout.flush()
    return done.returncode


def run_tests(
    arguments: Annotated[list[str] | None, typer.Argument(help="Passed on to pytest, after --.")] = None,
    fast: Annotated[
        bool,
        typer.Option("--fast", help="Skip Spark, Cassandra, foreign clients and thorough tests."),
    ] = False,
    slow: Annotated[bool, typer.Option("--slow", help="Also soaks and other tests of many minutes.")] = False,
) -> None:
    """Runs the linters and the test suite; fails if any of them fails.

    Linters run while the suite starts; if you name tests, before them.

    Example: ./permanode test -- tests/ledger -k milestone
    """
    chosen = ["-m", ""] if slow else FAST if fast else []
    # A debugger in a named test needs a single process.
    suite = ["pytest", *chosen, *(arguments or ["--numprocesses=2", "--dist=loadscope", "--no-loadscope-reorder"])]
    with ThreadPoolExecutor(len(LINTERS)) as pool:
        linters = [pool.submit(_lint, command) for command in LINTERS]
        if arguments:
            wait(linters)
        tests = subprocess.run([TOOLS / suite[0], *suite[1:]], cwd=HOME, check=False)
    ended = [*(linter.result() for linter in linters), tests.returncode]
    failed = [command[0] for command, code in zip([*LINTERS, suite], ended, strict=True) if code]
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
