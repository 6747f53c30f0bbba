"""The functions of installs.py; no test here contacts a registry."""

import json
import re
from pathlib import Path

import pytest

from tests.clients import installs
from tests.clients.installs import (
    HERE,
    IOTA_CLIENT_WHEELS,
    IOTA_SDK_WHEELS,
    find_go,
    find_interpreter,
    has_wheel,
    kept,
    node_programs,
)


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
        (["CPython", [3, 13], "Linux", "x86_64", "glibc", [2, 17]], (True, False)),
        (["CPython", [3, 8], "Darwin", "x86_64", "", [0, 0]], (True, False)),
        (["CPython", [3, 7], "Linux", "x86_64", "glibc", [2, 36]], (False, False)),
        (["PyPy", [3, 11], "Linux", "x86_64", "glibc", [2, 36]], (False, False)),
        (["CPython", [3, 11], "Linux", "aarch64", "glibc", [2, 36]], (False, False)),
        (["CPython", [3, 11], "Linux", "x86_64", "", [0, 0]], (False, False)),
        (["CPython", [3, 11], "Linux", "x86_64", "glibc", [2, 31]], (True, True)),
        (["CPython", [3, 12], "Linux", "x86_64", "glibc", [2, 31]], (True, False)),
        (["CPython", [3, 12], "Linux", "x86_64", "glibc", [2, 36]], (True, True)),
        (["CPython", [3, 12], "Darwin", "arm64", "", [0, 0]], (False, True)),
    ],
)
def test_wheels_of_the_rust_clients_fit_some_interpreters(
    tmp_path: Path, what: list[object], fits: tuple[bool, bool]
) -> None:
    program(tmp_path / "bin" / "python", f"'{json.dumps(what)}'")
    interpreter = str(tmp_path / "bin" / "python")
    assert tuple(has_wheel(interpreter, wheels) for wheels in (IOTA_CLIENT_WHEELS, IOTA_SDK_WHEELS)) == fits


def test_an_interpreter_that_does_not_start_has_no_wheel() -> None:
    assert not has_wheel("/bin/false", IOTA_CLIENT_WHEELS)


def test_a_test_is_passed_by_only_where_no_interpreter_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "old" / "python", f"'{json.dumps(['CPython', [3, 7], 'Linux', 'x86_64', 'glibc', [2, 36]])}'")
    program(tmp_path / "new" / "python", f"'{json.dumps(['CPython', [3, 12], 'Linux', 'x86_64', 'glibc', [2, 36]])}'")
    old, new = (str(tmp_path / name / "python") for name in ("old", "new"))
    monkeypatch.setattr(installs, "interpreters", lambda: iter([old, new]))
    assert find_interpreter("iota-sdk", IOTA_SDK_WHEELS) == new
    monkeypatch.setattr(installs, "interpreters", lambda: iter([old]))
    with pytest.raises(pytest.skip.Exception, match=re.escape(f"Linux x86_64 glibc 2.35; tried {old}")):
        find_interpreter("iota-sdk", IOTA_SDK_WHEELS[:2])


@pytest.mark.parametrize("found", ["", "go1.20.3"])
def test_go_is_passed_by_only_where_it_is_missing_or_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: str
) -> None:
    (tmp_path / "go.mod").write_text("module m\n\ngo 1.25.0\n", "utf-8")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(installs.shutil, "which", lambda name: str(tmp_path / "bin" / "go") if found else None)
    program(tmp_path / "bin" / "go", found)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="NOTHING IS TESTED WITH GO"):
        find_go(tmp_path)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=r"go on PATH|expected Go 1.25"):
        find_go(tmp_path)
    monkeypatch.setattr(installs.shutil, "which", lambda name: str(tmp_path / "bin" / "go"))
    program(tmp_path / "bin" / "go", "go1.25.0")
    assert find_go(tmp_path) == str(tmp_path / "bin" / "go")


def test_everything_installed_is_pinned() -> None:
    package = json.loads((HERE / "package.json").read_text("utf-8"))
    versions = [*package["dependencies"].values(), *package["devDependencies"].values()]
    assert versions
    assert all(re.fullmatch(r"(npm:@iota/iota\.js@)?\d+\.\d+\.\d+(-rc\.\d+)?", version) for version in versions)
    locked = json.loads((HERE / "package-lock.json").read_text("utf-8"))["packages"]
    assert locked[""]["dependencies"] == package["dependencies"]
    assert all(each["integrity"] for name, each in locked.items() if name)
    for file in (HERE / "requirements").iterdir():
        assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in file.read_text("utf-8").splitlines()), file.name
