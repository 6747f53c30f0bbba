"""Code is plain technical English: no idioms in names, docstrings and comments of product code, and in names of tests.

The idioms are those of test_language.py.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache

import pytest

from tests.conftest import ROOT
from tests.house.test_language import IDIOMS, Idiom, check, prose, report

IN_NAMES = (
    *IDIOMS,
    Idiom(r"\b(ask|asking)\b", "query, request", "ask"),
    Idiom(r"\bsaid\b", "output, answer, or the noun", "what it said"),
    Idiom(r"\bstanding\b", "existing, stored", "standing rows"),
    Idiom(r"\bpatience\b", "retry", "patience s"),
    Idiom(r"\breprove[sd]?\b", "audit", "reprove"),
)
"""Words that also do not occur in names. Some are fine in prose."""

STORED_NAMES = {"lacking", "write_patience_s"}
"""Names that contain such words: a key of the JSON reports of `fetch`, `merge` and `export`, and a setting."""

IN_COMMENTS = tuple(idiom for idiom in IDIOMS if idiom.example != "network of mounts; none: the default one")
"""In docstrings, `None: …` says what the value None stands for."""

PACKAGES = ("api", "bench", "cli", "db", "etl", "ledger")


def names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The names that a module defines (functions, classes, parameters, variables, attributes) and their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno


def words(name: str) -> str:
    """The words of a name in snake case or camel case."""
    return re.sub(r"_+|(?<=[a-z0-9])(?=[A-Z])", " ", name).strip()


@cache
def idiom_in(name: str, idioms: tuple[Idiom, ...]) -> Idiom | None:
    """The first idiom in a name."""
    text = words(name)
    return next((each for each in idioms if name not in STORED_NAMES and any(each.finds(text))), None)


def name_report(source: str, text: str, idioms: tuple[Idiom, ...] = IN_NAMES) -> list[str]:
    """One line for each name of a module that contains an idiom."""
    found = [(line, name, idiom_in(name, idioms)) for name, line in names(ast.parse(text))]
    return [f"{source}:{line}: {name!r}; write: {idiom.instead}" for line, name, idiom in found if idiom is not None]


def comment_report(source: str, text: str) -> list[str]:
    """One line for each idiom in the docstrings and comments of a module. Consecutive comments are one text."""
    kept = [""] * (text.count("\n") + 1)
    starts_line = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and starts_line):
            kept[token.start[0] - 1 : token.end[0]] = token.string.lstrip("#").split("\n")
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            starts_line = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return report(source, prose("\n".join(kept)), idioms=IN_COMMENTS)


@pytest.mark.parametrize("package", PACKAGES)
def test_names_and_comments_in_code_are_plain_english(package: str) -> None:
    modules = {str(each.relative_to(ROOT)): each.read_text("utf-8") for each in sorted((ROOT / package).rglob("*.py"))}
    assert modules
    check([line for each, text in modules.items() for line in name_report(each, text) + comment_report(each, text)])


@pytest.mark.parametrize(
    "text",
    [
        '"""A store.\n\nWhat it told."""',
        'X = 1\n"""The rows that\nare refused."""',
        "def f():\n    # kept by\n    # hand\n    return 1",
        "f()  # noqa: S102  ours",
        'class A:\n    """One row a message."""',
    ],
)
def test_an_idiom_in_a_comment_is_found(text: str) -> None:
    assert len(comment_report("module.py", text)) == 1


def test_other_strings_may_contain_idioms() -> None:
    assert comment_report("module.py", 'X = "told"\nf(\n    "refused",\n)\n"""None: `lacking`."""') == []


def test_names_in_tests_are_plain_english() -> None:
    modules = sorted((ROOT / "tests").rglob("*.py"))
    found = [
        line for each in modules for line in name_report(str(each.relative_to(ROOT)), each.read_text("utf-8"), IDIOMS)
    ]
    check(found)


@pytest.mark.parametrize(
    "text",
    [
        "def refuse_links(): ...",
        "class Told: ...",
        "class LeaseRefusedError: ...",
        "def find(_, *, asked): ...",
        "by_hand = 1",
        "async def standing(): ...",
        "self._patience_s = 1",
        "for question in (): ...",
    ],
)
def test_an_idiom_in_a_name_is_found(text: str) -> None:
    (found,) = name_report("module.py", text)
    assert found.startswith("module.py:1: ")


def test_stored_names_and_other_words_pass() -> None:
    assert name_report("module.py", "lacking = write_patience_s = refused_at_all.holder = task = outstanding = 1") == []
