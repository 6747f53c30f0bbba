"""Installs by themselves: nothing here asks a registry."""

import json
import re
from pathlib import Path

import pytest

from tests.clients import installs
from tests.clients.installs import HERE, has_iota_client_wheel, kept, node_programs


def test_what_is_installed_is_kept_until_its_recipe_changes(tmp_path: Path) -> None:
    made: list[Path] = []
    first = kept(tmp_path, "thing", "recipe", made.append)
    assert kept(tmp_path, "thing", "recipe", made.append) == first
    assert made == [first]
    assert kept(tmp_path, "thing", "another recipe", made.append) != first
    assert len(made) == 2


def test_an_interrupted_install_is_done_again_from_nothing(tmp_path: Path) -> None:
    def interrupted(folder: Path) -> None:
        (folder / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept(tmp_path, "thing", "recipe", interrupted)
    folder = kept(tmp_path, "thing", "recipe", lambda folder: (folder / "whole").touch())
    assert sorted(path.name for path in folder.iterdir()) == ["installed", "whole"]


def program(path: Path, prints: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {prints}\n", "utf-8")
    path.chmod(0o755)


@pytest.mark.parametrize(("version", "is_taken"), [("v18.20.8", True), ("v24.1.0", True), ("v16.20.2", False)])
def test_the_machine_s_node_is_taken_when_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, is_taken: bool
) -> None:
    monkeypatch.setattr(installs, "python_programs", lambda cache, name: cache / name)
    for name in ("node", "npm"):
        program(tmp_path / "bin" / name, version)
    found = node_programs(tmp_path, path=str(tmp_path / "bin"))
    assert found == tmp_path / ("bin" if is_taken else "node")


def test_a_node_without_npm_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installs, "python_programs", lambda cache, name: cache / name)
    program(tmp_path / "bin" / "node", "v20.0.0")
    assert node_programs(tmp_path, path=str(tmp_path / "bin")) == tmp_path / "node"
    assert node_programs(tmp_path, path="") == tmp_path / "node"


def test_an_install_that_fails_says_why() -> None:
    with pytest.raises(AssertionError, match="no such registry"):
        installs.run(["sh", "-c", "echo no such registry >&2; exit 1"])


@pytest.mark.parametrize(
    ("what", "fits"),
    [
        (["CPython", [3, 11], "Linux", "x86_64", "glibc"], True),
        (["CPython", [3, 8], "Darwin", "x86_64", ""], True),
        (["CPython", [3, 7], "Linux", "x86_64", "glibc"], False),
        (["PyPy", [3, 11], "Linux", "x86_64", "glibc"], False),
        (["CPython", [3, 11], "Linux", "aarch64", "glibc"], False),
        (["CPython", [3, 11], "Linux", "x86_64", ""], False),
    ],
)
def test_wheels_of_the_rust_client_fit_some_interpreters(tmp_path: Path, what: list[object], fits: bool) -> None:
    program(tmp_path / "bin" / "python", f"'{json.dumps(what)}'")
    assert has_iota_client_wheel(str(tmp_path / "bin" / "python")) is fits


def test_an_interpreter_that_does_not_start_has_no_wheel() -> None:
    assert not has_iota_client_wheel("/bin/false")


def test_everything_installed_is_pinned() -> None:
    package = json.loads((HERE / "package.json").read_text("utf-8"))
    versions = [*package["dependencies"].values(), *package["devDependencies"].values()]
    assert versions
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions)
    locked = json.loads((HERE / "package-lock.json").read_text("utf-8"))["packages"]
    assert locked[""]["dependencies"] == package["dependencies"]
    assert all(each["integrity"] for name, each in locked.items() if name)
    for file in (HERE / "requirements").iterdir():
        assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in file.read_text("utf-8").splitlines()), file.name
