"""Documents of pages of listings, from both clients of a static archive."""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from etl.static_archive.listings.history import ArchivedListings
from etl.static_client import open_archive
from ledger.completeness.trees import family_of
from tests.conftest import ROOT
from tests.ledger.completeness.javascript import node

CLIENT = ROOT / "api/web/static/static_archive.js"


class ProvedPage(NamedTuple):
    """Up to `count` rows of a place from `index` on."""

    place: bytes
    index: int
    count: int


def in_python(archive: str, pages: Iterable[ProvedPage]) -> list[str]:
    listings = ArchivedListings(open_archive(archive))
    found = []
    for each in pages:
        family = family_of(each.place)
        assert family is not None
        found.append(listings.prove(family, each.place[1:], each.index, each.count))
    return found


def in_javascript(archive: str, pages: Iterable[ProvedPage], folder: Path, smallest: int = 100) -> list[str]:
    """`smallest`: milestones of the smallest interval."""
    source = CLIENT.read_text("utf-8")
    assert "SMALLEST = 100," in source
    client = folder / "static_archive.mjs"
    client.write_text(source.replace("SMALLEST = 100,", f"SMALLEST = {smallest},"), "utf-8")
    lines = []
    for each in pages:
        family = family_of(each.place)
        assert family is not None
        lines.append(f"{family.name} {each.place[1:].hex()} {each.index} {each.count}")
    command = [node(), str(Path(__file__).with_name("history.mjs")), str(client), archive]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
