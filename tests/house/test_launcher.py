"""The launcher under dash, on simulated machines with fake programs: `PATH` alone decides what is installed."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from tests.conftest import ROOT

SHELL = shutil.which("dash") or "/bin/sh"
LOCKS = ("build", "serve", "load")
TOOLS = ("sh", "cat", "cksum", "dirname", "readlink", "sed", "mkdir", "chmod")

FAKE_PYTHON = """#!/bin/sh
case "$*" in
    *platform*) echo {version} ;;
    *sys.exit*) exit {unusable} ;;
    *ensurepip*) exit {no_venv} ;;
    "-m venv"*) mkdir -p "$4/bin"; cp "$0" "$4/bin/python"; cp "$0" "$4/bin/permanode"; echo made >>"$4/../log" ;;
    *"pip install"*) echo "installed $DIST_EXTRA_CONFIG $*" >>"${{0%/.venv/*}}/log"; exit {pip} ;;
    *) echo "ran $*"; pwd ;;
esac
"""


@pytest.fixture
def machine(tmp_path: Path) -> "Machine":
    return Machine(tmp_path)


class Machine:
    """A copy of the launcher in a folder with a space, and a PATH with basic tools only."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.home = folder / "a house"
        self.bin.mkdir()
        self.home.mkdir()
        for name in ("permanode", "pyproject.toml"):
            shutil.copy(ROOT / name, self.home / name)
        shutil.copytree(ROOT / "deploy" / "requirements", self.home / "deploy" / "requirements")
        for tool in (*TOOLS, "cp"):
            (self.bin / tool).symlink_to(shutil.which(tool) or tool)

    def add(self, name: str, script: str) -> None:
        (self.bin / name).write_text(script)
        (self.bin / name).chmod(0o755)

    def add_python(
        self, name: str, version: str = "3.12.1", *, unusable: int = 0, no_venv: int = 0, pip: int = 0
    ) -> None:
        self.add(name, FAKE_PYTHON.format(version=version, unusable=unusable, no_venv=no_venv, pip=pip))

    def start(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        command = [SHELL, str(self.home / "permanode"), *arguments]
        clean = {"PATH": str(self.bin), **environment}
        return subprocess.run(command, env=clean, cwd=self.bin, capture_output=True, text=True, check=False)

    @property
    def log(self) -> list[str]:
        file = self.home / "log"
        return file.read_text().splitlines() if file.exists() else []


def test_no_python_is_named_with_what_to_install(machine: Machine) -> None:
    done = machine.start("demo")
    assert done.returncode == 1
    assert "Python 3.11, 3.12 or 3.13 is required. Install python3.13" in done.stderr


@pytest.mark.parametrize("version", ["3.9.18", "3.14.0"])
def test_another_python_is_named_with_its_version(machine: Machine, version: str) -> None:
    machine.add_python("python3", version, unusable=1)
    done = machine.start("demo")
    assert done.returncode == 1
    assert f"Python 3.11, 3.12 or 3.13 is required; found python3 {version}." in done.stderr


@pytest.mark.parametrize(
    ("version", "is_usable"),
    [((3, 10, 14), False), ((3, 11, 0), True), ((3, 13, 9), True), ((3, 14, 0), False), ((4, 0, 0), False)],
)
def test_the_launcher_and_the_package_accept_the_same_versions(version: tuple[int, int, int], is_usable: bool) -> None:
    """The launcher's check, in an interpreter that claims to be another one, and the metadata of the wheel."""
    check = re.search(r"sys\.exit\(.*\)", (ROOT / "permanode").read_text("utf-8"))
    assert check is not None
    program = f"import sys; sys.version_info = {version}; {check[0]}"
    assert (subprocess.run([sys.executable, "-c", program], check=False).returncode == 0) is is_usable
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert SpecifierSet(project["requires-python"]).contains(".".join(map(str, version))) is is_usable


def test_a_python_that_does_not_start_is_passed_over(machine: Machine) -> None:
    machine.add("python3.13", "#!/bin/sh\nexit 127\n")
    machine.add_python("python3.11", "3.11.7")
    done = machine.start("demo")
    assert done.returncode == 0, done.stderr
    assert "with python3.11;" in done.stderr


def test_a_python_without_venv_is_named(machine: Machine) -> None:
    machine.add_python("python3.12", no_venv=1)
    done = machine.start("demo")
    assert done.returncode == 1
    assert "python3.12-venv" in done.stderr


@pytest.mark.parametrize("command", ["demo", "load archive", "status", "test"])
def test_the_launcher_itself_needs_no_java(command: str, machine: Machine) -> None:
    """The command checks Java when Spark starts (tests/etl/engine/test_choice.py)."""
    machine.add_python("python3.12")
    done = machine.start(*command.split())
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == f"ran {command}"


def test_a_second_start_installs_nothing(machine: Machine) -> None:
    machine.add_python("python3.12")
    machine.start("status")
    once = machine.log
    assert [line.split()[0] for line in once] == ["made", *["installed"] * 3]
    locks = machine.home / "deploy" / "requirements"
    assert all(line.startswith(f"installed {locks}/wheels.cfg ") for line in once[1:])
    assert (locks / "wheels.cfg").is_file()
    build, packages, own = (line.partition("--no-build-isolation ")[2] for line in once[1:])
    assert build == f"--require-hashes --requirement {locks}/build.txt"
    assert packages == f"--require-hashes --requirement {locks}/serve.txt --requirement {locks}/load.txt"
    assert own == f"--no-deps --editable {machine.home}"
    again = machine.start("status", "--json")
    assert again.stderr == ""
    assert again.stdout.splitlines()[0] == "ran status --json"
    assert machine.log == once


@pytest.mark.parametrize("name", ["pyproject.toml", *(f"deploy/requirements/{name}.txt" for name in LOCKS)])
def test_a_changed_requirement_installs_again(machine: Machine, name: str) -> None:
    machine.add_python("python3.12")
    machine.start("status")
    (machine.home / name).write_text((machine.home / name).read_text() + "\n# changed\n")
    machine.start("status")
    assert len(machine.log) == 8


def test_an_install_that_failed_is_reported_and_tried_again(machine: Machine) -> None:
    machine.add_python("python3.12", pip=1)
    assert machine.start("status").returncode == 1
    assert "the installation failed" in machine.start("status").stderr
    assert len(machine.log) == 4, "an environment and the first installation, twice"


def test_arguments_reach_the_command_as_they_are_from_any_directory(machine: Machine) -> None:
    machine.add_python("python3.12")
    machine.start("status")
    done = machine.start("--store", "sqlite:///with a space", "status")
    assert done.stdout.splitlines() == ["ran --store sqlite:///with a space status", str(machine.bin)]


def test_it_works_through_a_link(machine: Machine, tmp_path: Path) -> None:
    machine.add_python("python3.12")
    link = tmp_path / "link"
    link.symlink_to(machine.home / "permanode")
    done = subprocess.run(
        [SHELL, str(link), "status"], env={"PATH": str(machine.bin)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (machine.home / ".venv").is_dir()


def test_it_is_executable_and_names_no_other_shell() -> None:
    launcher = ROOT / "permanode"
    assert os.access(launcher, os.X_OK)
    assert launcher.read_text().startswith("#!/bin/sh\n")
