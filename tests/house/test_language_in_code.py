"""Code is plain technical English: no idioms in names, docstrings and comments of product code, and in names of tests.

The idioms are those of test_language.py.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
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

STORED_NAMES = {"write_patience_s"}
"""Names that contain such words: a setting."""

IN_COMMENTS = tuple(idiom for idiom in IDIOMS if idiom.example != "network of mounts; none: the default one")
"""In docstrings, `None: …` says what the value None stands for."""

PACKAGES = ("api", "bench", "cli", "db", "etl", "ledger")


def definitions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The names of a module's functions and classes, and their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno


def names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """All names that a module defines (functions, classes, parameters, variables, attributes), and their lines."""
    yield from definitions(tree)
    for node in ast.walk(tree):
        match node:
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


def name_report(source: str, found: Iterable[tuple[str, int]], idioms: tuple[Idiom, ...] = IN_NAMES) -> list[str]:
    """One line for each of these names and lines of a module that contains an idiom."""
    lines = [(line, name, idiom_in(name, idioms)) for name, line in found]
    return [f"{source}:{line}: {name!r}; write: {idiom.instead}" for line, name, idiom in lines if idiom is not None]


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


def modules(package: str) -> dict[str, str]:
    """Path → text of all modules of a package."""
    paths = sorted((ROOT / package).rglob("*.py"))
    assert paths
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths}


@pytest.mark.thorough
@pytest.mark.parametrize("package", PACKAGES)
def test_names_and_comments_in_code_are_plain_english(package: str) -> None:
    found = []
    for path, text in modules(package).items():
        found += name_report(path, names(ast.parse(text))) + comment_report(path, text)
    check(found)


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


@pytest.mark.thorough
def test_names_of_tests_are_plain_english() -> None:
    for_tests = modules("tests").items()
    check([line for path, text in for_tests for line in name_report(path, definitions(ast.parse(text)), IDIOMS)])


@pytest.mark.parametrize(
    "text",
    [
        "def refuse_links(): ...",
        "class Told: ...",
        "class LeaseRefusedError: ...",
        "def find(_, *, asked): ...",
        "by_hand = 1",
        "lacking = 1",
        "async def standing(): ...",
        "self._patience_s = 1",
        "for question in (): ...",
    ],
)
def test_an_idiom_in_a_name_is_found(text: str) -> None:
    (found,) = name_report("module.py", names(ast.parse(text)))
    assert found.startswith("module.py:1: ")


def test_stored_names_and_other_words_pass() -> None:
    text = "write_patience_s = refused_at_all.holder = task = outstanding = 1"
    assert name_report("module.py", names(ast.parse(text))) == []
