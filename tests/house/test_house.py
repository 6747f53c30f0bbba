"""Rules of the whole repository: tracked files, forbidden words, imports."""

import ast
import importlib
import re
import subprocess
import sys
import tempfile
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.conftest import ROOT, some_of
from tests.etl.commands import Process

MB = 1 << 20
SOURCES = sorted(
    path
    for path in [
        *(path for part in ("api", "cli", "db", "etl", "ledger") for path in (ROOT / part).rglob("*.py")),
    ]
    if "__pycache__" not in path.parts
)
MODULES = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in SOURCES]

FOREIGN = {
    "ledger/crypto/ed25519.py": {"nacl"},
    "ledger/crypto/hashes.py": {"Crypto"},
    "ledger/crypto/secp256k1.py": {"coincurve"},
    "ledger/wormhole/addresses.py": {"base58"},
}
"""External imports of the ledger → the only file that may use each: hashes, a curve and a base that the standard
library does not have.
"""

IO_MODULES = {"asyncio", "logging", "multiprocessing", "os", "pathlib", "random", "shutil", "socket", "sqlite3"} | {
    "subprocess", "tempfile", "threading", "time", "urllib", "http", "io",
}  # fmt: skip


def tracked() -> list[Path]:
    """Files that are tracked or that `git add .` would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return [path for name in listed.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


def texts() -> list[tuple[str, str]]:
    found = []
    for path in tracked():
        try:
            found.append((str(path.relative_to(ROOT)), path.read_text("utf-8")))
        except UnicodeDecodeError:
            continue
    return found


def test_every_module_imports() -> None:
    for module in some_of(MODULES):
        importlib.import_module(module)


GENERATED = {ROOT / "api" / "wormhole" / "guardian" / "publicrpc_pb.py"}
"""Modules that a generator writes from a file beside them, which says what they are."""


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@pytest.mark.thorough
def test_every_module_says_what_it_is() -> None:
    explained = [path for path in SOURCES if path.name != "__init__.py" and path not in GENERATED]
    assert len(explained) > 600
    assert [str(path) for path in explained if not ast.get_docstring(parsed(path))] == []


def test_the_ledger_imports_the_standard_library_and_what_is_named_here_and_no_input_or_output() -> None:
    foreign, with_io = {}, []
    for path in SOURCES:
        if path.is_relative_to(ROOT / "ledger"):
            nodes = list(ast.walk(parsed(path)))
            names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
            names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
            imported = {name.partition(".")[0] for name in names} - {"ledger"}
            if imported - sys.stdlib_module_names:
                foreign[str(path.relative_to(ROOT))] = imported - sys.stdlib_module_names
            if imported & IO_MODULES:
                with_io.append(str(path))
    assert foreign == FOREIGN
    assert with_io == []


@pytest.mark.parametrize(
    ("driver", "adapter"),
    [("apsw", "db/sqlite"), ("cassandra", "db/cassandra"), ("acsylla", "db/cassandra/reader")],
)
def test_a_driver_is_imported_by_its_adapter_alone(driver: str, adapter: str) -> None:
    importing = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if re.search(rf"^\s*(import|from) {driver}\b", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert importing
    assert all(name.startswith(adapter) for name in importing), importing


def test_work_of_a_request_runs_at_the_same_time_by_one_function_which_leaves_none_behind() -> None:
    """asyncio.gather leaves the others working when one of them raises."""
    of_requests = [path for path in SOURCES if path.is_relative_to(ROOT / "api") or path.is_relative_to(ROOT / "db")]
    calls = {
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in of_requests
        if path != ROOT / "db/together.py"
        for line in path.read_text("utf-8").splitlines()
        if re.search(r"\bgather\(", line) and "return_exceptions=True" not in line
    }
    assert not calls


def test_no_source_file_is_longer_than_350_lines_without_a_reason_in_its_header() -> None:
    for path in SOURCES:
        text = path.read_text("utf-8")
        if len(text.splitlines()) > 350:
            assert "lines" in (ast.get_docstring(ast.parse(text)) or ""), path


def test_no_tracked_file_is_larger_than_5_mb_and_the_shipped_data_fits_into_it_too() -> None:
    assert [str(path) for path in tracked() if path.stat().st_size > 5 * MB] == []
    shipped = [
        path
        for path in tracked()
        if path.is_relative_to(ROOT / "sample") or path.is_relative_to(ROOT / "tests/vectors")
    ]
    assert 0 < sum(path.stat().st_size for path in shipped) <= 5 * MB


REGISTRY = re.compile(
    r"https?://[^ \"]*(?:/simp"
    r"le|/mav"
    r"en2|regis"
    r"try[.]|/packages/[0-9a-f]{2}/)|--(?:extra-)?index"
    r"-url|\"resol"
    r"ved\":"
)


def test_no_file_names_a_registry_host() -> None:
    assert [name for name, text in texts() if REGISTRY.search(text)] == []


def test_no_file_carries_a_path_of_this_machine() -> None:
    here = {f"{ROOT.parent}/", f"{Path.home()}/"} - {"/", "/tmp/"}  # noqa: S108  a clone there has no telling parent
    assert [name for name, text in texts() if any(path in text for path in here)] == []


def test_the_license_is_apache_2_and_declared() -> None:
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["license"] == "Apache-2.0"


def test_the_wheel_has_exactly_these_top_level_packages() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    patterns = tools["setuptools"]["packages"]["find"]["include"]
    folders = [path.name for path in ROOT.iterdir() if path.is_dir()]
    packages = {name for name in folders for pattern in patterns if fnmatch(name, pattern)}
    assert packages == {"api", "cli", "db", "etl", "ledger", "migrations", "sample"}  # decision 0016


LOCKS = {name: ROOT / "deploy" / "requirements" / f"{name}.txt" for name in ("build", "serve", "load", "dev")}


def plain(name: str) -> str:
    return re.split(r"[<>=!~ ;]", name)[0].lower().replace("_", "-").replace(".", "-")


def test_every_requirement_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    lines = [line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    pinned = {plain(line) for line in lines}
    assert {plain(name) for name in needed} <= pinned


def test_what_is_installed_has_the_pinned_versions_and_hashes() -> None:
    constraints = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    versions = {plain(line): line.partition("==")[2] for line in constraints if not line.startswith("#")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = {"serve": ("cassandra", "acsylla", "granian"), "load": ("spark", "sail", "deep"), "dev": ("dev",)}
    needed = set(project["project"]["dependencies"])
    locked: set[str] = set()
    for name, file in LOCKS.items():
        entries = re.findall(
            r"^(\S+)==(\S+)([^\\]*)((?: \\\n    --hash=sha256:[0-9a-f]{64})+|)$", text(file), re.MULTILINE
        )
        assert len(entries) == text(file).count("==") - text(file).count(" == '"), name
        for package, version, marker, hashes in entries:
            assert hashes, f"{package} has no hash"
            assert versions.get(plain(package)) == version or "win32" in marker or name == "build", package
        found = {plain(package) for package, _, _, _ in entries}
        assert not found & locked, "a package is in one file"
        locked |= found
        needed |= {one for extra in extras.get(name, ()) for one in project["project"]["optional-dependencies"][extra]}
        if name in extras:
            assert {plain(one) for one in needed} <= locked
    of_build = [f"pip=={versions['pip']}", *project["build-system"]["requires"]]
    assert [f"{one} " for one in of_build] == re.findall(r"^\S+ ", text(LOCKS["build"]), re.MULTILINE)
    assert "//" not in "".join(map(text, LOCKS.values())), "no host is named"


def text(file: Path) -> str:
    return "".join(line for line in file.read_text("utf-8").splitlines(keepends=True) if not line.startswith("#"))


def test_ci_calls_the_documented_test_command() -> None:
    assert "./permanode test" in (ROOT / ".ci/run").read_text("utf-8")


def test_the_hooks_fetch_nothing() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    assert re.findall(r"repo: *(\S+)", hooks) == ["local"]


PER_ROW = {
    "udf", "pandas_udf", "arrow_udf", "udtf", "mapInArrow", "mapInPandas", "applyInArrow", "applyInPandas", "foreach",
    "foreachPartition", "rdd", "collect", "toArrow", "toPandas", "toLocalIterator",
}  # fmt: skip
"""PySpark functions that run Python on rows or bring rows to the driver."""


@pytest.mark.parametrize("path", sorted((ROOT / "etl" / "analytics").rglob("*.py")), ids=lambda path: path.stem)
def test_measures_are_spark_s_own_columns(path: Path) -> None:
    nodes = [*ast.walk(ast.parse(path.read_text()))]
    named = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    named |= {each.name for node in nodes if isinstance(node, ast.ImportFrom) for each in node.names}
    assert not named & PER_ROW


def test_temporary_files_of_tests_and_their_processes_are_in_the_folder_of_the_session(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    code = "import tempfile; print(tempfile.gettempdir())"
    process = Process([sys.executable, "-c", code], cwd=tmp_path, environment={})
    assert process.finish() == 0, process.printed()
    (folder,) = process.out
    for each in (folder, tempfile.gettempdir()):
        assert Path(each).is_relative_to(tmp_path_factory.getbasetemp())
