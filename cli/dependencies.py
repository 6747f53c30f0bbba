"""Commands for the programs that Permanode consists of beside its own code: lock, sbom, audit. They need a source tree.

constraints.txt pins the version of every Python package. `lock` adds the hashes of its files and sorts the packages by
what they are for; each package is in one file of deploy/requirements/.
"""

import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from cli.develop import install_tools
from cli.options import HOME

dependencies = typer.Typer(
    no_args_is_help=True,
    help="Pins, lists and audits packages, jars and images, in a source tree.\n\nExample: permanode dependencies lock",
)

REQUIREMENTS = HOME / "deploy" / "requirements"
TOOLS = Path(sys.executable).parent

GROUPS: Mapping[str, Sequence[str]] = {
    "serve": ("cassandra", "acsylla", "granian"),
    "load": ("spark", "sail", "deep"),
    "dev": ("dev",),
}
"""Name of a file → the extras that it installs in addition to those of the files before it."""

Lock: TypeAlias = dict[str, str]
"""Name of a package → its lines in a requirements file: version, marker, hashes."""


@dependencies.command()
def lock() -> None:
    """Writes deploy/requirements/: the packages of constraints.txt with the hashes of their files.

    Example: permanode dependencies lock
    """
    install_tools()
    written: Lock = {}
    extras: list[str] = []
    project = tomllib.loads((HOME / "pyproject.toml").read_text("utf-8"))
    # The pip that comes with an old Python takes half as long again for the other files.
    _write("build", _compile([*project["build-system"]["requires"], "pip"]))
    for name, added in GROUPS.items():
        extras += added
        found = _compile(_requirements(project["project"], extras))
        _write(name, {package: lines for package, lines in found.items() if package not in written})
        written |= found


def _requirements(project: Mapping[str, object], extras: Sequence[str]) -> list[str]:
    """Returns the requirements of the project with these extras."""
    optional = project["optional-dependencies"]
    assert isinstance(optional, dict)
    assert isinstance(project["dependencies"], list)
    return [*project["dependencies"], *(each for extra in extras for each in optional[extra])]


def _compile(requirements: Sequence[str]) -> Lock:
    """Resolves requirements for all platforms and Python versions with the pinned versions. Raises RuntimeError."""
    command: list[str | Path] = [TOOLS / "uv", "pip", "compile", "--universal", "--generate-hashes", "--no-header"]
    command += ["--no-annotate", "--quiet", "--no-emit-index-url", "--python-version", "3.11"]
    command += ["--constraint", HOME / "constraints.txt", "-"]
    done = subprocess.run(command, input="\n".join(requirements), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"uv cannot resolve the requirements: {done.stderr.strip()}")
    return parse_lock(done.stdout)


def parse_lock(text: str) -> Lock:
    """Returns the packages of a requirements file with hashes."""
    found: Lock = {}
    name = ""
    for line in text.splitlines(keepends=True):
        if line[0].isspace():
            found[name] += line
        elif not line.startswith("#"):
            name = line.partition("==")[0]
            found[name] = line
    return found


def _write(name: str, lock: Lock) -> None:
    head = f"# Written by `permanode dependencies lock` from constraints.txt: packages of {name}, with hashes.\n"
    target = REQUIREMENTS / f"{name}.txt"
    target.write_text(head + "".join(lock.values()), "utf-8")
    typer.echo(f"{target.relative_to(HOME)}: {len(lock)} packages")


@dependencies.command()
def sbom(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The JSON file to write.")],
) -> None:
    """Writes the software bill of materials (CycloneDX 1.6, JSON): Python packages, jars and images, with hashes.

    Example: permanode dependencies sbom permanode.cdx.json
    """
    install_tools()
    from cli import bill

    count = bill.write(target)
    typer.echo(f"{target}: {count} components")


@dependencies.command()
def audit(
    url: Annotated[str, typer.Option("--url", metavar="URL", help="An OSV server.")] = "https://api.osv.dev",
) -> None:
    """Looks up the packages and jars in the OSV database. Exit code 1 if it knows vulnerabilities of any.

    Example: permanode dependencies audit
    """
    install_tools()
    from cli import bill

    found = bill.audit(url)
    for purl, ids in found.items():
        typer.echo(f"{purl}  {', '.join(ids)}")
    typer.echo(f"{len(found)} components with known vulnerabilities")
    raise typer.Exit(1 if found else 0)
