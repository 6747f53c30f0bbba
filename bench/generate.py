"""Generates archive files of a ledger that is valid except for proof of work: Chrysalis as Chronicle's line format A,
Stardust as node JSON lines.

    python -m bench.generate OUT_DIR --protocol stardust --messages 200000 --seed S --network permabench-1

writes `{from}to{to}.log` (`to` exclusive; `.jsonl` for Stardust) of consecutive milestones, genesis.json (initial
outputs, coordinator keys, protocol parameters) and expected.json (counts of what was generated). Memory holds one line
at a time.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import orjson

from bench.chrysalis_tangle import ChrysalisTangle
from bench.stardust_tangle import StardustTangle
from bench.stardust_traffic import StardustSettings
from bench.tangle import GeneratorSettings, MilestoneLine, Tangle
from bench.traffic import HOT_TAG

SETTINGS: dict[str, type[GeneratorSettings]] = {"chrysalis": GeneratorSettings, "stardust": StardustSettings}
"""Protocol → settings of its ledgers."""

_INDENT = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


def until(lines: Iterator[MilestoneLine], messages: int) -> Iterator[MilestoneLine]:
    """The next milestones, until they contain that many messages."""
    for line in lines:
        yield line
        messages -= len(line.raw)
        if messages <= 0:
            return


def tangle_of(settings: GeneratorSettings) -> Tangle:
    """The ledger before its first milestone."""
    return StardustTangle(settings) if isinstance(settings, StardustSettings) else ChrysalisTangle(settings)


def generate(settings: GeneratorSettings) -> Iterator[MilestoneLine]:
    """The milestones of the ledger, without end."""
    return tangle_of(settings).milestones()


def write_file(lines: Iterable[MilestoneLine], directory: Path, suffix: str) -> tuple[Path, Counter[str]]:
    """Writes consecutive milestones, at least one, to one file. Returns its path and the sum of their counts."""
    directory.mkdir(parents=True, exist_ok=True)
    growing = directory / "unfinished"
    counts: Counter[str] = Counter()
    indices = []
    with growing.open("wb") as file:
        for line in lines:
            file.write(orjson.dumps(line.form, option=orjson.OPT_APPEND_NEWLINE))
            counts += line.counts
            indices.append(line.index)
    return growing.rename(directory / f"{indices[0]}to{indices[-1] + 1}{suffix}"), counts


def write_archive(tangle: Tangle, directory: Path, messages: int, files: int = 4) -> dict[str, Any]:
    """Writes an archive of at least `messages` messages in about `files` files. Returns the content of expected.json,
    which is written last.

    The tangle can continue: `tangle.milestones()` yields the next milestones.
    """
    lines = tangle.milestones()
    counts: Counter[str] = Counter()
    names = []
    while counts["messages"] < messages:
        share = min(-(-messages // files), messages - counts["messages"])
        path, more = write_file(until(lines, share), directory, tangle.suffix)
        names.append(path.name)
        counts += more
    (directory / "genesis.json").write_bytes(orjson.dumps(tangle.genesis(), option=_INDENT))
    expected = _expected(tangle.settings, counts, names)
    (directory / "expected.json").write_bytes(orjson.dumps(expected, option=_INDENT))
    return expected


def _expected(settings: GeneratorSettings, counts: Counter[str], files: list[str]) -> dict[str, Any]:
    states = {state: counts[state] for state in ("included", "conflicting")}
    return {
        "network": settings.network,
        "seed": settings.seed,
        "files": files,
        "firstMilestone": settings.first_milestone,
        "lastMilestone": settings.first_milestone + counts["milestones"] - 1,
        "milestones": counts["milestones"],
        "messages": counts["messages"],
        "messagesByKind": {kind: counts[kind] for kind in ("transaction", "milestone", "indexation", "no payload")},
        "messagesByState": {"noTransaction": counts["messages"] - sum(states.values()), **states},
        "hotTag": {
            "index": HOT_TAG.hex(),
            "messages": counts["hot"],
            "inTransactions": counts["hot_in_transactions"],
        },
    }


def main() -> None:
    """Generates an archive according to the command line, and prints its counts."""
    parser = argparse.ArgumentParser(prog="python -m bench.generate", description=__doc__.split("\n")[0])
    parser.add_argument("directory", type=Path, metavar="OUT_DIR")
    parser.add_argument(
        "--messages", type=int, default=200_000, help="least number of messages, including those of milestones"
    )
    parser.add_argument("--files", type=int, default=4, help="number of files")
    parser.add_argument("--protocol", choices=SETTINGS, default="chrysalis", help="protocol of the ledger")
    for setting in fields(StardustSettings):
        name, kind = "--" + setting.name.replace("_", "-"), type(setting.default)
        action: dict[str, Any] = {"action": argparse.BooleanOptionalAction} if kind is bool else {"type": kind}
        parser.add_argument(name, default=setting.default, help=setting.metadata["help"], **action)
    given = vars(parser.parse_args())
    directory, messages, files = given.pop("directory"), given.pop("messages"), given.pop("files")
    made_of = SETTINGS[given.pop("protocol")]
    settings = made_of(**{each.name: given[each.name] for each in fields(made_of)})
    expected = write_archive(tangle_of(settings), directory, messages, files)
    print(orjson.dumps(expected, option=_INDENT).decode(), end="")


if __name__ == "__main__":
    main()
