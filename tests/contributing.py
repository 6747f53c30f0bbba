"""The worked examples of docs/contributing.md, applied to copies of the repository.

`python -m tests.contributing ACTION ARGUMENTS` runs inside a copy: it loads and reads stores with the copy's code.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from db.connect import StoreSettings, open_store
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "contributing.md"
TREES = ("api", "cli", "db", "docs", "etl", "ledger", "migrations", "sample", "tests")
GENERATED = re.compile(r"migrations/|tests/db/schema/golden/|docs/|openapi\.yaml$")


@dataclass(frozen=True)
class Hunk:
    """Lines of a file before and after; `path` is None for a new file."""

    path: str
    is_new: bool
    before: list[str]
    after: list[str]

    @property
    def changed(self) -> tuple[int, int]:
        """Lines removed and added."""
        kept = len([line for line in self.before if line in self.after])
        return len(self.before) - kept, len(self.after) - kept


def examples(heading: str) -> list[list[Hunk]]:
    """The patches below the heading of the page that contains that text."""
    (section,) = [each for each in PAGE.read_text("utf-8").split("\n## ") if heading in each.partition("\n")[0]]
    return [_hunks(block) for block in re.findall(r"^```diff\n(.*?)^```", section, re.DOTALL | re.MULTILINE)]


def _hunks(diff: str) -> list[Hunk]:
    found: list[Hunk] = []
    path, is_new = "", False
    for line in diff.splitlines():
        if line.startswith("--- "):
            is_new = line == "--- /dev/null"
        elif line.startswith("+++ b/"):
            path = line.removeprefix("+++ b/")
        elif line.startswith("@@"):
            found.append(Hunk(path, is_new, [], []))
        else:
            assert line[0] in " +-", line
            if line[0] != "+":
                found[-1].before.append(line[1:])
            if line[0] != "-":
                found[-1].after.append(line[1:])
    return found


def copy_tree(folder: Path) -> Path:
    """A copy of the repository without its history, with compiled modules."""
    folder.mkdir()
    for name in TREES:
        # Another process may write a compiled module at the moment, under a temporary name.
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    for name in ("pyproject.toml", "openapi.yaml", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def apply(tree: Path, hunks: Iterable[Hunk], *, reverse: bool = False) -> None:
    """Applies a patch or reverts it."""
    for hunk in hunks:
        file = tree / hunk.path
        before, after = (hunk.after, hunk.before) if reverse else (hunk.before, hunk.after)
        if hunk.is_new:
            assert not file.exists(), file
            file.write_text("\n".join([*after, ""]), "utf-8")
            continue
        text, old = file.read_text("utf-8"), "\n".join([*before, ""])
        assert text.count(f"\n{old}") == 1, f"{hunk.path} does not have these lines once:\n{old}"
        file.write_text(text.replace(f"\n{old}", "\n".join(["", *after, ""])), "utf-8")


def changed_files(tree: Path) -> set[str]:
    """Files that differ from the repository, except those that a command generates."""
    found = set()
    for name in TREES:
        for file in (tree / name).rglob("*"):
            path = str(file.relative_to(tree))
            if file.is_file() and "__pycache__" not in path and not GENERATED.match(path):
                own = ROOT / path
                if not own.is_file() or own.read_bytes() != file.read_bytes():
                    found.add(path)
    return found


def run(tree: Path, *command: str | Path, **environment: str) -> str:
    """The standard output of a Python command inside a copy."""
    ran = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"{command}\n{ran.stdout[-4000:]}\n{ran.stderr[-4000:]}"
    return ran.stdout


def generate(tree: Path) -> None:
    """The commands of docs/contributing.md that write generated files."""
    run(tree, "-m", "db.schema.migration_files", "--write")
    golden = ("tests/db/schema/test_schema.py", "-q", "-p", "no:cacheprovider", "-k", "golden")
    run(tree, "-m", "pytest", *golden, PERMANODE_WRITE_GOLDEN="1")
    run(tree, "-c", "from cli.main import main; main()", "docs")
    (tree / "openapi.yaml").write_text(run(tree, "-m", "api.http.openapi"), "utf-8")


def load(sources: dict[str, str], network: str, genesis: str) -> None:
    """Migrates stores and loads a file into each, in one session of the embedded engine."""
    from db.admin.migrate import migrate
    from etl import runs
    from etl.engine.session import engine_session
    from tests.etl.conftest import ON_SAIL

    with engine_session(ON_SAIL):
        for url, file in sources.items():
            settings = StoreSettings(url, network, 7, 3)
            migrate(settings)
            report = runs.load(settings, ON_SAIL, [Path(file)], genesis=Path(genesis))
            assert report.exit_code == 0, report


async def responses(url: str, *requests: list[Any]) -> list[Any]:
    """What the API of a store returns for each path and query."""
    from api.app import ApiSettings, create_app
    from tests.api.asgi import ask
    from tests.api.stardust import StardustLedger

    ledger = StardustLedger.read()
    store = open_store(StoreSettings(url, ledger.network, 7, 3))
    try:
        app = create_app({ledger.network: ledger.mount(store)}, ledger.network, ApiSettings())
        return [await ask(app, path, query) for path, query in requests]
    finally:
        store.close()


def load_inside(tree: Path, *arguments: Any) -> None:
    """`load` with the code of a copy."""
    run(tree, "-m", "tests.contributing", "load", json.dumps(arguments))


def responses_inside(tree: Path, *arguments: Any) -> Any:
    """`responses` with the code of a copy."""
    return json.loads(run(tree, "-m", "tests.contributing", "responses", json.dumps(arguments)))


if __name__ == "__main__":
    action, text = sys.argv[1:]
    if action == "load":
        load(*json.loads(text))
    else:
        sys.stdout.write(f"{json.dumps(asyncio.run(responses(*json.loads(text))))}\n")
