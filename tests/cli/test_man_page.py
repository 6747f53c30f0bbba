"""docs/permanode.1, the man page: every command with its help text, and nothing that a renderer changes."""

import re
import subprocess

import pytest
import typer.main

from api.version import VERSION
from cli.main import app
from cli.man_page import escaped
from cli.pages import help_texts
from tests.conftest import ROOT, installed

PAGE = ROOT / "docs" / "permanode.1"
TEXTS = help_texts(typer.main.get_command(app))


def test_each_command_has_a_section_and_the_page_has_the_version() -> None:
    page = PAGE.read_text("ascii")
    sections = [name.replace("\\-", "-") for name in re.findall(r"^\.SS (.*)$", page, re.MULTILINE)]
    assert sections == [name for name in TEXTS if name != "permanode"]
    assert {"permanode load", "permanode rejects list", "permanode proof check"} <= set(sections)
    assert re.search(rf'^\.TH PERMANODE 1 "" "permanode {re.escape(VERSION)}"', page.replace("\\-", "-"), re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--a b-c", "\\-\\-a b\\-c"),
        (".TH x\n'br\n.", "\\&.TH x\n\\&'br\n\\&."),
        ("a\\fB", "a\\efB"),
        ("KEY[:FIRST],…", "KEY[:FIRST],\\[u2026]"),
    ],
)
def test_roff_interprets_nothing_in_a_text(text: str, expected: str) -> None:
    assert escaped(text) == expected


def test_a_renderer_prints_every_help_text_unchanged_and_warns_of_nothing() -> None:
    command = [installed("groff"), "-man", "-ww", "-Tutf8", "-P-c", "-rLL=200n", str(PAGE)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    shown = re.sub(r".\x08", "", done.stdout)
    lines = [line.strip() for line in shown.splitlines()]
    for name, text in TEXTS.items():
        wanted = [line.strip() for line in text.splitlines()]
        starts = [at for at, line in enumerate(lines) if line == wanted[0]]
        assert any(lines[at : at + len(wanted)] == wanted for at in starts), name
