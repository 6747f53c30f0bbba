"""The docs are complete and correct: they contain every table, endpoint, setting and command, and no others."""

import dataclasses
import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
import typer.main

from cli import demo, pages
from cli.develop import bench
from cli.main import app
from cli.settings import PARTS, load_part
from db.schema.protocols import TABLES
from ledger.selection import FORMS
from tests.api.contract import described
from tests.api.paths import OF_WORMHOLE
from tests.conftest import ROOT

DOCS = ROOT / "docs"
READABLE = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md")), ROOT / "sample/README.md"]


RENDERED = pages.render_pages(typer.main.get_command(app))


@pytest.mark.parametrize("name", RENDERED)
def test_generated_pages_equal_what_the_code_says(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == RENDERED[name], "run: permanode docs"


def test_a_page_that_is_behind_is_named_and_written_only_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "DOCS", tmp_path)
    (tmp_path / "cli.md").write_text("old", "utf-8")
    behind = pages.write(typer.main.get_command(app), check=True)
    assert "docs/cli.md" in behind
    assert (tmp_path / "cli.md").read_text("utf-8") == "old"
    assert pages.write(typer.main.get_command(app), check=False) == behind
    assert pages.write(typer.main.get_command(app), check=True) == []


@pytest.mark.parametrize("part", PARTS)
def test_every_setting_has_a_default_or_is_needed_and_says_what_it_is_for(part: str) -> None:
    for field in dataclasses.fields(load_part(part)):
        assert len(field.metadata.get("help", "")) > 3, f"{part}.{field.name}"


HELP = pages.help_texts(typer.main.get_command(app))


@pytest.mark.parametrize("command", HELP)
def test_every_command_has_an_example(command: str) -> None:
    text = HELP[command]
    assert re.search(r"^ *Example: .*permanode ", text, re.MULTILINE), text


def test_every_table_is_documented() -> None:
    text = (DOCS / "schema.md").read_text("utf-8")
    for table in TABLES:
        assert table.name in text
        for column in table.columns:
            assert column.name in text, f"{table.name}.{column.name}"


MOUNTS = (
    r"^/api(/v1|/core/v1|/\{network\}"
    r"|(?=/(analytics/v2|core/v2|explorer/v2|(indexer|participation|poi|supply)/v1|wormhole/(v1|events))))(?=/)"
)
OWN_PREFIX = re.compile(r"^/api/(\{network\}/api/)?v1(?=/)")
"""wormholescan's own prefix, which is documented as `/wormhole/v1`."""


def test_every_endpoint_is_listed_with_its_state_and_nothing_else_is() -> None:
    """An operation without a successful response has the state 501."""

    def shape(method: str, path: str) -> str:
        return f"{method.upper()} {re.sub(r'{[^}]*}', '{}', re.sub(MOUNTS, '', path))}"

    states = set()
    for each in described():
        path = OWN_PREFIX.sub("/wormhole/v1", each.path) if OF_WORMHOLE.search(each.path) else each.path
        states.add((shape(each.method, path), "served" if "200" in each.operation["responses"] else "501"))
    text = (DOCS / "supported.md").read_text("utf-8")
    rows = re.findall(r"^\| (GET|POST) (\S+?)(?:\?\S*)? \| ([^|]*) \|", text, re.MULTILINE)
    assert {(shape(method, path), state) for method, path, state in rows} == states


@pytest.mark.parametrize("page", READABLE, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8")):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), target


def test_the_readme_requests_what_the_demo_requests() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    for meaning, path in (*demo.chrysalis_requests(), *demo.stardust_requests()):
        assert f"# {meaning}\ncurl -s 'http://127.0.0.1:8000{path}'" in readme


def test_every_command_that_the_docs_mention_exists() -> None:
    known = {str(info.name or info.callback.__name__) for info in app.registered_commands if info.callback}
    known |= {str(group.name) for group in app.registered_groups}
    for page in READABLE:
        for command in re.findall(r"\./?permanode ([a-z]+)\b|`permanode ([a-z]+)\b", page.read_text("utf-8")):
            assert "".join(command) in known, f"{page.name}: {command}"


def test_every_benchmark_that_the_docs_mention_is_accepted_and_exists() -> None:
    accepted = set(get_args(get_args(get_type_hints(bench, include_extras=True)["name"])[0]))
    texts = [page.read_text("utf-8") for page in (ROOT / "README.md", *DOCS.rglob("*.md"))]
    mentioned = {name for text in texts for name in re.findall(r"permanode bench ([a-z-]+)", text)}
    assert mentioned - accepted == set()
    assert len(mentioned) > 20
    for name in accepted:
        assert (ROOT / "bench" / f"{name.replace('-', '_')}.py").is_file(), name


def test_every_filter_of_selective_permanodes_is_in_the_table() -> None:
    text = (DOCS / "operations.md").read_text("utf-8")
    table = text[text.index("| filter | keeps |") :].partition("\n\n")[0]
    in_table = [form for row in table.splitlines()[2:] for form in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert in_table == re.findall(r"[a-z]+:[^ ,;]+", FORMS)


def test_decisions_are_numbered_without_gaps_and_short() -> None:
    found = sorted((DOCS / "decisions").glob("*.md"))
    assert [int(path.name[:4]) for path in found] == list(range(1, len(found) + 1))
    for path in found:
        text = path.read_text("utf-8")
        assert len(text.splitlines()) <= 60, path.name
        for heading in ("**Context.**", "**Choice", "**Cost.**"):
            assert heading in text or path.name.startswith("0004"), f"{path.name}: {heading}"
