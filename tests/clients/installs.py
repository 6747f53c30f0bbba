"""Where the foreign programs come from: Python packages in environments of their own, Node and npm packages.

Rules of this file: what is installed is pinned beside it (requirements/*.txt, package-lock.json) and comes through pip
and npm as this machine has them set up; it goes into pytest's cache, below a name that changes with its recipe; the
file `installed` is written last, so that what was interrupted is done again. What fails here fails the tests.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).parent

NODE_MAJOR = 18
"""The oldest Node that has `fetch`, which openapi-fetch uses."""

TIMEOUT_S = 170
"""For one install or generator; what hangs longer will not end."""


@dataclass(frozen=True)
class Node:
    """Node's folder of programs, which holds `node` and `npm`, and the installed npm packages."""

    programs: Path
    modules: Path

    @property
    def node(self) -> str:
        return str(self.programs / "node")

    def run_tool(self, name: str, *arguments: str, folder: Path) -> str:
        """What a program of the npm packages prints."""
        return run([self.node, str(self.modules / ".bin" / name), *arguments], folder)


def run(command: list[str], folder: Path | None = None, **variables: str) -> str:
    """What a command prints; AssertionError with all it said when it fails."""
    done = subprocess.run(
        command, cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def kept(cache: Path, name: str, recipe: str, install: Callable[[Path], None]) -> Path:
    """The folder that `install` fills, filled already when the recipe is the same as before."""
    folder = cache / f"{name}-{sha256(recipe.encode()).hexdigest()[:12]}"
    if not (folder / "installed").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        install(folder)
        (folder / "installed").touch()
    return folder


def python_programs(cache: Path, name: str, interpreter: str = sys.executable) -> Path:
    """The programs of a virtual environment with what requirements/`name`.txt pins."""
    requirements = HERE / "requirements" / f"{name}.txt"

    def install(folder: Path) -> None:
        run([interpreter, "-m", "venv", str(folder)])
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, "--only-binary", ":all:", "--requirement", str(requirements)])

    return kept(cache, name, f"{interpreter} {requirements.read_text('utf-8')}", install) / "bin"


def node_programs(cache: Path, path: str | None = None) -> Path:
    """The folder of `node` and `npm`: the machine's (on `path`, else on PATH) when new enough, else the wheel's."""
    node, npm = (shutil.which(program, path=path) for program in ("node", "npm"))
    if node and npm and Path(node).parent == Path(npm).parent:
        found = re.match(r"v(\d+)\.", run([node, "--version"]))
        if found and int(found[1]) >= NODE_MAJOR:
            return Path(node).parent
    return python_programs(cache, "node")


def install_node(cache: Path) -> Node:
    """Node with the packages of package-lock.json."""
    programs = node_programs(cache)
    files = [HERE / "package.json", HERE / "package-lock.json"]

    def install(folder: Path) -> None:
        for file in files:
            shutil.copy(file, folder)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        run([str(programs / "npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder, PATH=path)

    recipe = "".join(file.read_text("utf-8") for file in files)
    return Node(programs, kept(cache, "npm", recipe, install) / "node_modules")


ABI3_WHEELS = {("Linux", "x86_64", "glibc"), ("Darwin", "x86_64", ""), ("Windows", "AMD64", "")}
"""Where iota-client-python 0.2.0a26 has wheels, all for CPython 3.8 or newer: (system, machine, C library)."""

WHAT_IT_IS = """
import json, platform, sys
implementation, libc = platform.python_implementation(), platform.libc_ver()[0]
print(json.dumps([implementation, sys.version_info[:2], platform.system(), platform.machine(), libc]))
"""


def has_iota_client_wheel(interpreter: str) -> bool:
    """Whether a wheel of iota-client-python fits that interpreter; not one that does not start."""
    asked = subprocess.run([interpreter, "-c", WHAT_IT_IS], capture_output=True, text=True, check=False)
    if asked.returncode:
        return False
    implementation, version, system, machine, libc = json.loads(asked.stdout)
    return implementation == "CPython" and version >= [3, 8] and (system, machine, libc) in ABI3_WHEELS


def interpreters() -> Iterator[str]:
    """This interpreter, then the others on PATH, newest first."""
    yield sys.executable
    for minor in range(13, 7, -1):
        if found := shutil.which(f"python3.{minor}"):
            yield found
