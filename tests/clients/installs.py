"""Installs the external programs: Python packages in environments of their own, Node and npm packages, Go programs.

- Versions are pinned next to this module (requirements/*.txt, package-lock.json, go.sum of a driver).
- Packages come through pip, npm and go with this machine's configuration.
- They go into pytest's cache, below a name that changes with the recipe.
- The file `installed` is written last, so an interrupted installation is repeated.
- A failed installation fails the tests.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

HERE = Path(__file__).parent

NODE_MAJOR = 18
"""The oldest Node that has `fetch`, which openapi-fetch uses."""

TIMEOUT_S = 170
"""For one install or generator; a process that takes longer hangs."""


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
    """What a command prints; AssertionError with its whole output if it fails."""
    done = subprocess.run(
        command, cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def kept(cache: Path, name: str, recipe: str, install: Callable[[Path], None]) -> Path:
    """The folder that `install` fills; already filled if the recipe is unchanged. One process fills it, others wait."""
    folder = cache / f"{name}-{sha256(recipe.encode()).hexdigest()[:12]}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            install(folder)
            (folder / "installed").touch()
    return folder


def python_programs(cache: Path, name: str, interpreter: str = sys.executable) -> Path:
    """The programs of a virtual environment with the pinned packages of requirements/`name`.txt.

    The pip of this environment installs them: a pip of its own takes 3 s of CPU time.
    """
    requirements = HERE / "requirements" / f"{name}.txt"

    def install(folder: Path) -> None:
        run([interpreter, "-m", "venv", "--without-pip", str(folder)])
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"]
        options = ["--disable-pip-version-check", "--no-compile", "--only-binary", ":all:"]
        run([*pip, *options, "--requirement", str(requirements)])

    return kept(cache, name, f"{interpreter} {requirements.read_text('utf-8')}", install) / "bin"


def find_go(folder: Path) -> str:
    """Go, if it is as new as go.mod in the folder requires. CI requires it; other machines without it skip the test."""
    least = re.search(r"^go (\d+)\.(\d+)", (folder / "go.mod").read_text("utf-8"), re.MULTILINE)
    assert least
    found = shutil.which("go")
    if found is None:
        without_go("there is no go on PATH")
    version = re.match(r"go(\d+)\.(\d+)", run([found, "env", "GOVERSION"]))
    if version is None or tuple(map(int, version.groups())) < tuple(map(int, least.groups())):
        without_go(f"expected Go {'.'.join(least.groups())} or newer")
    return found


def without_go(reason: str) -> NoReturn:
    """Fails the test in CI, and skips it elsewhere."""
    if "CI" in os.environ:
        pytest.fail(reason)
    pytest.skip(f"NOTHING IS TESTED WITH GO: {reason}")


def go_program(cache: Path, name: str) -> Path:
    """The program of the Go module drivers/`name`, built from the modules that its go.sum names."""
    source = HERE / "drivers" / name
    go = find_go(source)
    files = sorted(source.iterdir())

    def install(folder: Path) -> None:
        # Without optimizations it takes two thirds of the time, most of which goes into Go's own packages.
        flags = ["-mod=readonly", "-trimpath", "-gcflags=all=-N -l"]
        run([go, "build", *flags, "-o", str(folder / name), "."], source, CGO_ENABLED="0")

    recipe = run([go, "env", "GOVERSION"]) + "".join(file.read_text("utf-8") for file in files)
    return kept(cache, name, recipe, install) / name


def node_programs(cache: Path, path: str | None = None) -> Path:
    """The folder of `node` and `npm`: the machine's (on `path`, else on PATH) if recent enough, else the wheel's."""
    node, npm = (shutil.which(program, path=path) for program in ("node", "npm"))
    if node and npm and Path(node).parent == Path(npm).parent:
        found = re.match(r"v(\d+)\.", run([node, "--version"]))
        if found and int(found[1]) >= NODE_MAJOR:
            return Path(node).parent
    return python_programs(cache, "node")


def install_node(cache: Path, name: str = "npm", locked: Path = HERE) -> Node:
    """Node with the packages of package-lock.json in the folder `locked`. `name`: of the folder in the cache."""
    programs = node_programs(cache)
    files = [locked / "package.json", locked / "package-lock.json"]

    def install(folder: Path) -> None:
        for file in files:
            shutil.copy(file, folder)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        run([str(programs / "npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder, PATH=path)

    recipe = "".join(file.read_text("utf-8") for file in files)
    return Node(programs, kept(cache, name, recipe, install) / "node_modules")


class Wheel(NamedTuple):
    """A kind of wheel: for CPython from `first` to `last`, on that system and machine; `libc`: name, least version."""

    first: tuple[int, int]
    last: tuple[int, int]
    system: str
    machine: str
    libc: tuple[str, tuple[int, int]] = ("", (0, 0))

    def fits(self, version: tuple[int, int], system: str, machine: str, libc: tuple[str, tuple[int, int]]) -> bool:
        """Whether an interpreter that describes itself with those words can install it."""
        known = self.first <= version <= self.last and (system, machine) == (self.system, self.machine)
        return known and libc[0] == self.libc[0] and libc[1] >= self.libc[1]


ANY_LATER = (3, 99)

GLIBC = "glibc"

IOTA_CLIENT_WHEELS = (
    Wheel((3, 8), ANY_LATER, "Linux", "x86_64", (GLIBC, (2, 0))),
    Wheel((3, 8), ANY_LATER, "Darwin", "x86_64"),
    Wheel((3, 8), ANY_LATER, "Windows", "AMD64"),
)
"""The wheels of iota-client-python 0.2.0a26."""

IOTA_SDK_WHEELS = (
    Wheel((3, 11), (3, 11), "Linux", "x86_64", (GLIBC, (2, 31))),
    Wheel((3, 12), (3, 12), "Linux", "x86_64", (GLIBC, (2, 35))),
    Wheel((3, 11), (3, 12), "Darwin", "arm64"),
    Wheel((3, 11), (3, 12), "Windows", "AMD64"),
)
"""The wheels of iota-sdk 1.1.4, for the Python versions that the drivers support."""

IOTA_CLIENT_STARDUST_WHEELS = (Wheel((3, 10), (3, 11), "Linux", "x86_64", (GLIBC, (2, 34))),)
"""The wheels of iota-client 1.0.0rc2 that were tried."""

WHAT_IT_IS = """
import json, platform, sys
libc, version = platform.libc_ver()
numbers = [int(part) for part in version.split(".")[:2]] or [0, 0]
implementation = platform.python_implementation()
print(json.dumps([implementation, sys.version_info[:2], platform.system(), platform.machine(), libc, numbers]))
"""


def has_wheel(interpreter: str, wheels: Iterable[Wheel]) -> bool:
    """Whether one of those wheels fits that interpreter; none fits one that does not start."""
    answer = subprocess.run([interpreter, "-c", WHAT_IT_IS], capture_output=True, text=True, check=False)
    if answer.returncode:
        return False
    implementation, version, system, machine, libc, numbers = json.loads(answer.stdout)
    own = tuple(version), system, machine, (libc, tuple(numbers))
    return implementation == "CPython" and any(wheel.fits(*own) for wheel in wheels)


def find_interpreter(package: str, wheels: Sequence[Wheel]) -> str:
    """A Python that a wheel of the package fits: this one, else the newest on PATH. Skips the test if there is none."""
    tried = list(interpreters())
    for interpreter in tried:
        if has_wheel(interpreter, wheels):
            return interpreter
    kinds = "; ".join(
        f"CPython {'.'.join(map(str, wheel.first))} to {'.'.join(map(str, wheel.last))}, {wheel.system} "
        f"{wheel.machine} {wheel.libc[0]} {'.'.join(map(str, wheel.libc[1])) if wheel.libc[0] else ''}".strip()
        for wheel in wheels
    )
    pytest.skip(f"no Python here can have {package}; its wheels: {kinds}; tried {', '.join(tried)}")


def interpreters() -> Iterator[str]:
    """This interpreter, then the others on PATH, newest first."""
    yield sys.executable
    for minor in range(13, 7, -1):
        if found := shutil.which(f"python3.{minor}"):
            yield found
