"""Documentation is plain technical English: no idioms in README, docs/, `--help`, the settings' help and openapi.yaml.

An idiom is a pattern, the wording to use instead, and an example that the pattern must find. Extend IDIOMS with each
review. Fenced code, inline code and link targets are exempt, and so are released versions in the CHANGELOG.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import typer.main
import yaml

from cli import pages
from cli.main import app
from cli.settings import PARTS, load_part
from tests.conftest import ROOT


@dataclass(frozen=True, slots=True)
class Idiom:
    """A wording that makes readers stumble. A space in `pattern` also matches a line break inside a paragraph."""

    pattern: str
    instead: str
    example: str

    def finds(self, text: str) -> Iterator[re.Match[str]]:
        """The matches in `text`, ignoring case unless the pattern says (?-i:…)."""
        return _compiled(self.pattern).finditer(text)


SPACE = r"(?:[ \t]+|[ \t]*\n(?!\s*[\n|#*-])[ \t]*)"
"""White space that does not end a paragraph, a list item or a row of a table."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ", SPACE), re.IGNORECASE | re.MULTILINE)


UNIT = "second|minute|day|message|milestone|line|row|file|block|key|table|network|request|generation|thread|statement"

IDIOMS = (
    Idiom(r"\b(tells?|told)\b(?! apart)", "returns, reports, contains, logs, shows", "the report tells which"),
    Idiom(r"\b(tells?|told) apart\b", "distinguish", "roles of a kind are told apart"),
    Idiom(r"\b(stands|stood)\b(?! for\b)", "is stored, the existing row, is written", "what stands there"),
    Idiom(r"\b(lacks|lacked|lacking)\b|\bthat lack\b", "is missing, does not have", "what the store lacks"),
    Idiom(r"\breckon(s|ed|ing)?\b", "compute", "it is reckoned from the ledger"),
    Idiom(r"(?<!open\s)\bquestions?\b", "request, query", "sixteen questions at once"),
    Idiom(r"\b(asks|asked)\b", "requests, requested, queried", "a node is asked"),
    Idiom(r"(?<!connection\s)\brefus(e|es|ed|ing|al|als)\b(?! to\b)", "reject, rejected", "a password is refused"),
    Idiom(r"\bof whom\b|\bto whom\b", "two sentences, or a noun", "a file of whom it is certified by"),
    Idiom(r"\bthat which\b|\bthat of which\b", "what, or the noun", "that which is kept"),
    Idiom(r"(?<!or\s)\b(none|nothing): ", "default: …", "network of mounts; none: the default one"),
    Idiom(r"\bby hand\b", "manually", "kept by hand"),
    Idiom(r"(: |\b)as (far as )?known\b", "the built-in value for the network", "empty: as known"),
    Idiom(r"\bwhat is no\b|\b(that|which|it) is none\b", "invalid …", "what is no URL"),
    Idiom(
        r"(?<!there\s)\bis no (?!more\b|less\b|different\b|\w+er\b)",
        "is not a",
        "an intersection is no union",
    ),
    Idiom(
        r"\b(?-i:Of) (a |the )?((?-i:Stardust|Chrysalis|Wormhole)|network|transaction|message)\b",
        "In Stardust, …; Stardust outputs …",
        "Of Stardust also a row for each",
    ),
    Idiom(
        r"\b(messages|outputs|blocks|transactions|lines|files) of (Stardust|Chrysalis|IOTA|Wormhole)\b(?! \w+s\b)",
        "Stardust outputs, Chrysalis messages",
        "the outputs of Stardust.",
    ),
    Idiom(r"\bours\b", "an extension of this server; not in the original API", "ours: rows by prefix"),
    Idiom(r"\bwhat holds\b|\bfrom weak to strong\b", "later sources override earlier ones", "What holds is the flag"),
    Idiom(r"\b(will|would) do for (one|it|that)\b", "is sufficient, also works", "a snapshot will do for one"),
    Idiom(r"\bat hand\b", "selected, current", "the network at hand"),
    Idiom(r"\bthen only\b|\bonly then\b", "only when …", "it counts then only"),
    Idiom(r"\b(to be|could be|can be|cannot be|not be) had\b", "available, missing", "some could not be had"),
    Idiom(r"\banew\b", "again", "it is written anew"),
    Idiom(r"\bin vain\b", "failed", "tries in vain"),
    Idiom(r"\bmend(s|ed|ing)?\b", "repair, fix", "the same command, mended"),
    Idiom(r"\bbe it that\b|\bif need be\b|\bas it were\b", "even if, if necessary", "made if need be"),
    Idiom(r"\bis said to\b|\bso says\b|\bit is said\b", "the error message is …", "it is said to be whole"),
    Idiom(r"\bwhose \w+ (is|are) (?-i:what|that|whom)\b", "two sentences", "a network whose contracts are that one's"),
    Idiom(
        rf"\b(rows?|lines?|files?|messages|keys?|keyspaces?|tables?|operations?|megabytes|MB|bytes) an? ({UNIT})\b",
        "… per …: one row per message",
        "one row a message",
    ),
    Idiom(
        r"\bheld against\b|\bread off\b", "compared with; read from, computed from", "bodies held against the records"
    ),
    Idiom(r"\b(came|comes?) to be\b", "was created, exists", "outputs that never came to be"),
    Idiom(r"\bthere and back\b", "in both directions", "others there and back"),
    Idiom(r"\bfor ever\b", "forever, without end", "a node is silent for ever"),
    Idiom(r"\bin the (place|stead) of\b", "instead of, replaces", "in the place of those rows"),
    Idiom(r"\bnobody's\b", "no …", "the keys are nobody's"),
    Idiom(r"\b(\w+'s|us) to (say|know|foretell)\b", "… determines", "it is the node's to know"),
    Idiom(r"\bas (\w+ ){1,4}(has|have) it\b", "as in …", "as RFC 9110 has it"),
    Idiom(r"\bof (its|their) own accord\b|\bof itself\b", "by itself, about itself", "says of itself"),
    Idiom(r"\bwherever (it|they) can be\b", "at every possible place", "cut wherever it can be cut"),
    Idiom(r"\b(could|can) tell\b|\bto tell\b", "return, report, distinguish", "nothing to tell"),
    Idiom(r"\bare alike\b|\bthe like\b", "are equal", "the milestones that are alike"),
    Idiom(r"\bso many\b", "that many, a number of", "seen so many times"),
    Idiom(r"\bmeant to be\b|\b(which|what)( \w+)* is meant\b", "intended, selected", "which of both is meant"),
    Idiom(r"\bwhat (\w+ ){1,4}must hold\b|\bholds? of\b", "expected contents, applies to", "what a file must hold"),
    Idiom(r"\bword by word\b", "literally", "the definition word by word"),
    Idiom(r"\bseeds?(/| )00[0-4]\b", "the plan's name in docs/origins.md", "the lookups of seeds/003"),
)

DOCS = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "sample/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "tests").rglob("README.md")),
]

CODE = re.compile(
    r"^ *(```|~~~).*?^ *\1|`[^`\n]*(?:\n(?!\n)[^`\n]*)?`|\]\([^)]*\)|<!--.*?-->", re.MULTILINE | re.DOTALL
)
"""Fenced code, inline code, link targets and comments."""


def prose(text: str) -> str:
    """The text with exempt parts replaced by blanks, so that offsets and line numbers stay the same."""
    return CODE.sub(lambda found: re.sub(r"\S", " ", found[0]), text)


def report(source: str, text: str, first_line: int = 1, idioms: Iterable[Idiom] = IDIOMS) -> list[str]:
    """One line for each idiom in a text: its place, the words found, and what to write instead."""
    found = [(match.start(), match[0], idiom.instead) for idiom in idioms for match in idiom.finds(text)]
    return [
        f"{source}:{first_line + text.count(chr(10), 0, start)}: {' '.join(words.split())!r}; write: {instead}"
        for start, words, instead in sorted(found)
    ]


def check(found: list[str]) -> None:
    """Fails with the list of all idioms found."""
    if found:
        pytest.fail(f"{len(found)} idioms\n" + "\n".join(found), pytrace=False)


def unreleased(text: str) -> str:
    """The text up to the end of the section Unreleased."""
    start = text.index("## Unreleased")
    end = text.find("\n## ", start)
    return text if end < 0 else text[:end]


@pytest.mark.thorough
@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_plain_english(page: Path) -> None:
    text = page.read_text("utf-8")
    check(report(str(page.relative_to(ROOT)), prose(unreleased(text) if page.name == "CHANGELOG.md" else text)))


HELP = pages.help_texts(typer.main.get_command(app))


@pytest.mark.parametrize("command", HELP)
def test_the_help_of_a_command_is_plain_english(command: str) -> None:
    check(report(f"{command} --help", prose(HELP[command])))


@pytest.mark.parametrize("part", PARTS)
def test_the_help_of_settings_is_plain_english(part: str) -> None:
    fields = dataclasses.fields(load_part(part))
    check([line for each in fields for line in report(f"{part}.{each.name}", prose(each.metadata.get("help", "")))])


def descriptions(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """Titles, summaries and descriptions of a document, in order. A property may have one of these names; its value is
    not a text.
    """
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from descriptions(item)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value in ("title", "summary", "description") and isinstance(value, yaml.ScalarNode):
                yield value
            else:
                yield from descriptions(value)


def test_openapi_is_plain_english() -> None:
    """A text that several operations share is reported once, where it first appears."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    document = yaml.compose((ROOT / "openapi.yaml").read_text("utf-8"), loader)
    assert document is not None
    texts: dict[str, int] = {}
    for text in descriptions(document):
        texts.setdefault(text.value, text.start_mark.line + 1)
    assert len(texts) > 500
    check([found for text, line in texts.items() for found in report("openapi.yaml", prose(text), line)])


@pytest.mark.parametrize("idiom", IDIOMS, ids=lambda idiom: idiom.example)
def test_an_idiom_is_found_with_its_line_and_what_to_write(idiom: Idiom) -> None:
    (first, *_) = report("page.md", prose(f"# Page\n\nThe load {idiom.example} here.\n"))
    assert first.startswith("page.md:3: ")
    assert first.endswith(idiom.instead)


@pytest.mark.parametrize("idiom", IDIOMS, ids=lambda idiom: idiom.example)
def test_code_and_links_are_exempt(idiom: Idiom) -> None:
    text = f"See `{idiom.example}`, [x](a.md#{idiom.example}).\n\n```\n{idiom.example}\n```\n"
    assert report("page.md", prose(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "Ed25519 stands for a signature scheme.",
        "A line\nof text without idioms.",
        "connection refused; a client refuses to start",
        "There is no such network, and it is no longer served; the first is no later than the second.",
        "The REST API v1 of Chrysalis nodes; open questions.",
    ],
)
def test_plain_english_passes(text: str) -> None:
    assert report("page.md", prose(text)) == []


def test_an_idiom_may_span_lines_of_a_paragraph_but_not_paragraphs() -> None:
    assert report("page.md", prose("kept by\n  hand")) == ["page.md:1: 'by hand'; write: manually"]
    assert report("page.md", prose("kept by\n\nhand\n| by |\n| hand |\n")) == []
