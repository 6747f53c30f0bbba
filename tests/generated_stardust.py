"""A small generated Stardust ledger, and the inputs of each of its transactions when a milestone applied it.

Inputs are looked up in the outputs that the lines themselves created and spent, in JSON only.
"""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from bench.generate import generate, tangle_of
from bench.stardust_traffic import StardustSettings

Json = dict[str, Any]

SETTINGS = StardustSettings(
    seed="tests", milestone_size=60, conflicts=0.2, conditions=0.6, chains=0.2, chain_count=8, faults=0.3
)
"""Small, and rich in what is rare."""

SPENT, SPENT_IN_MILESTONE, NOT_FOUND = 1, 2, 3
"""Hornet's reasons for a missing input."""


class Seen(NamedTuple):
    """A transaction when its milestone applied it: the output of each input, or why it is missing."""

    entry: Json
    unix_time: int
    inputs: list[tuple[str, Json] | int]


def made_lines(count: int, settings: StardustSettings = SETTINGS) -> list[Json]:
    """The first milestones, parsed as from a file."""
    return [json.loads(json.dumps(line.form)) for line in islice(generate(settings), count)]


def made_genesis() -> Json:
    found: Json = json.loads(json.dumps(tangle_of(SETTINGS).genesis()))
    return found


def output_id(transaction_id: str, index: int) -> str:
    return transaction_id + index.to_bytes(2, "little").hex()


def replayed(lines: list[Json], genesis: Json) -> Iterator[Seen]:
    """Every transaction, in white-flag order. The ledger advances by the transactions that the lines call included."""
    unspent: dict[str, Json] = {each["outputId"]: each["output"] for each in genesis["outputs"]}
    spent: dict[str, int] = {}
    for line in lines:
        index, unix_time = line["milestone"]["index"], line["milestone"]["timestamp"]
        for entry in line["blocks"]:
            if "transactionId" not in entry:
                continue
            essence = entry["block"]["payload"]["essence"]
            keys = [output_id(each["transactionId"], each["transactionOutputIndex"]) for each in essence["inputs"]]
            found: list[tuple[str, Json] | int] = []
            for key in keys:
                if key in unspent:
                    found.append((key, unspent[key]))
                elif key in spent:
                    found.append(SPENT_IN_MILESTONE if spent[key] == index else SPENT)
                else:
                    found.append(NOT_FOUND)
            yield Seen(entry, unix_time, found)
            if entry["metadata"]["ledgerInclusionState"] == "included":
                for key in keys:
                    del unspent[key]
                    spent[key] = index
                for position, output in enumerate(essence["outputs"]):
                    unspent[output_id(entry["transactionId"], position)] = output
