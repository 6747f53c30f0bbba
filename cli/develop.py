"""Commands for trying and developing the project: demo, test, bench, docs."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

import typer

from cli.options import HOME, IS_SOURCE_TREE


class Failure(Exception):
    """A command failed. The message is complete without a traceback."""


def run_demo(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to serve on.")] = 8000,
    store: Annotated[
        str | None, typer.Option(help="Another store, e.g. cassandra://HOST/KEYSPACE?rf=1. Default: .demo/ (SQLite).")
    ] = None,
) -> None:
    """Loads the shipped samples into .demo/, serves them and prints fifteen example requests.

    With --store the samples go into that keyspace and two more, which the demo creates. The lakes stay in .demo/.

    Example: ./permanode demo
    """
    from cli import demo

    demo.run(port, store=store or context.obj.flags["store.url"][1])


TOOLS = Path(sys.executable).parent

DEV = HOME / "deploy" / "requirements" / "dev.txt"
INSTALLED = Path(sys.prefix) / "installed-dev"
"""Contains the checksum of DEV as it was when the tools of development were installed from it."""


def check_source_tree() -> None:
    """Raises Failure if this installation is not a source tree."""
    if not IS_SOURCE_TREE:
        raise Failure("this command needs the source tree of Permanode, which contains tests, benchmarks and docs")


def install_tools() -> None:
    """Installs the linters, test tools and peers of dev.txt into this environment, if they are not installed yet.

    Raises Failure if there is no source tree, or pip fails.
    """
    check_source_tree()
    wanted = sha256(DEV.read_bytes()).hexdigest()
    if INSTALLED.exists() and INSTALLED.read_text() == wanted:
        return
    sys.stderr.write(f"permanode: installing the tools of development into {sys.prefix}\n")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-compile", "--no-build-isolation", "--require-hashes", "--requirement", str(DEV)]
    if subprocess.run(command, check=False).returncode:
        raise Failure("the tools of development are not installed; see the lines above, and run the command again")
    INSTALLED.write_text(wanted)


LINTERS = (["ruff", "check"], ["ruff", "format", "--check"], ["mypy"], ["lint-imports", "--no-logo"])

FAST = [
    "-m",
    "not slow and not thorough and not loads and not spark and not cassandra and not clients and not browser",
    "--hypothesis-profile=fast",
]


PROCESSES = 3
"""For the whole suite on any machine: Spark, Cassandra and loads need its memory and its cores. Two would leave a
quarter of the time of two cores unused, because tests wait for servers.
"""


def environment() -> dict[str, str]:
    """The environment of tests and benchmarks, which start many processes: each keeps the modules that it compiles."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _lint(command: list[str]) -> int:
    """Runs a linter beside the others and pytest, and prints its output as one block."""
    done = subprocess.run([TOOLS / command[0], *command[1:]], cwd=HOME, capture_output=True, text=True, check=False)
    sys.stdout.write(f"\n{' '.join(command)}\n{done.stdout}{done.stderr}")
    sys.stdout.flush()
    return done.returncode


def _download_jars() -> None:
    """Downloads the jars of Cassandra, which takes a minute, mostly waiting. If it fails, the tests that need them try
    again, and report why.
    """
    from etl.writers.cassandra_java import cassandra_jars

    with suppress(OSError, RuntimeError):
        cassandra_jars()


def run_tests(
    arguments: Annotated[list[str] | None, typer.Argument(help="Arguments for pytest, after --.")] = None,
    fast: Annotated[
        bool,
        typer.Option("--fast", help="Only tests that need a second: no engine, Cassandra, foreign clients or browser."),
    ] = False,
    slow: Annotated[bool, typer.Option("--slow", help="Also run tests that take many minutes.")] = False,
    processes: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"Processes that share the suite. Default: {PROCESSES}; with --fast one for each core."
        ),
    ] = None,
) -> None:
    """Runs the linters and the test suite; fails if any of them fails.

    Linters run while the suite starts; if you name tests, before them.

    Example: ./permanode test -- tests/ledger -k milestone
    """
    chosen = ["-m", "", "--engine=spark"] if slow else FAST if fast else []
    processes = processes or (max(PROCESSES, os.cpu_count() or 1) if fast else PROCESSES)
    # A debugger in a named test needs a single process.
    shared = [f"--numprocesses={processes}", "--dist=loadscope", "--no-loadscope-reorder"]
    suite = ["pytest", *chosen, *(arguments or shared)]
    with ThreadPoolExecutor(len(LINTERS) + 1) as pool:
        if not (fast or arguments):
            pool.submit(_download_jars)
        install_tools()
        linters = [pool.submit(_lint, command) for command in LINTERS]
        if arguments:
            wait(linters)
        tests = subprocess.run([TOOLS / suite[0], *suite[1:]], cwd=HOME, env=environment(), check=False)
    ended = [*(linter.result() for linter in linters), tests.returncode]
    failed = [command[0] for command, code in zip([*LINTERS, suite], ended, strict=True) if code]
    if failed:
        raise Failure(f"failed: {', '.join(failed)}")


def bench(
    name: Annotated[
        Literal[
            "analytics",
            "application",
            "attack",
            "cluster-http",
            "cluster-load",
            "codec",
            "deep-check",
            "flat",
            "head",
            "holders",
            "hot",
            "http",
            "indexer",
            "load",
            "proofs",
            "publish",
            "scale",
            "selective",
            "series",
            "sizes",
            "soak",
            "statement",
            "transparency-log",
            "travel",
            "vaa",
            "verify",
            "web",
        ],
        typer.Argument(help="The benchmark to run."),
    ],
    arguments: Annotated[list[str] | None, typer.Argument(help="Arguments for the benchmark, after --.")] = None,
) -> None:
    """Runs a benchmark on this machine.

    Example: permanode bench codec
    """
    install_tools()
    command = [sys.executable, "-m", f"bench.{name.replace('-', '_')}", *(arguments or [])]
    raise typer.Exit(subprocess.run(command, cwd=HOME, env=environment(), check=False).returncode)


def docs(
    context: typer.Context,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail if a page is out of date.")] = False,
) -> None:
    """Writes the generated pages of docs/: settings, commands, man page, schema, limits, sizing.

    Example: permanode docs --check
    """
    check_source_tree()
    from cli import pages

    behind = pages.write(context.find_root().command, check=check)
    verb = "out of date:" if check else "wrote"
    typer.echo("\n".join(f"{verb} {page}" for page in behind) or "all pages are up to date")
    raise typer.Exit(1 if check and behind else 0)
