"""Each shipped vector is a copy of the line of the full data set that it names."""

import json
from typing import Any

import pytest

from tests.conftest import needs_shared
from tests.ledger.cases import ERAS, IOTA, Case, cases, load


def line_of(source: str) -> str:
    name, number = source.split(":")
    return (IOTA / name).read_text().splitlines()[int(number) - 1]


def squeezed(text: str) -> str:
    return text.replace(" ", "")


@needs_shared
@pytest.mark.parametrize("case", cases(*ERAS))
def test_a_vector_is_in_the_line_that_it_names(case: Case) -> None:
    line = line_of(case.vector["source"])
    assert case.vector["bytes_hex"] in line
    assert case.vector.get("id", "") in line
    assert squeezed(json.dumps(case.vector["json"])) in squeezed(line)
    if "archive" in case.vector:
        assert json.dumps(case.vector["archive"], separators=(",", ":")) in line_of(case.vector["archive_source"])


@needs_shared
@pytest.mark.parametrize(
    "entry", load("refused", "stardust") + load("addresses", "stardust"), ids=lambda entry: entry["source"]
)
def test_a_stardust_entry_is_in_the_line_that_it_names(entry: dict[str, Any]) -> None:
    line = line_of(entry["source"])
    assert squeezed(json.dumps(entry["json"])) in squeezed(line)
    assert entry.get("bytes_hex", "") in line
    assert entry.get("bech32", "") in line


@needs_shared
@pytest.mark.parametrize("cone", load("cones", "stardust"), ids=lambda cone: cone["source"])
def test_a_cone_is_that_of_the_line_that_it_names(cone: dict[str, Any]) -> None:
    line = json.loads(line_of(cone["source"]))
    assert cone["payload"] == line["milestone"]["payload"]
    assert cone["milestone_id"] == line["milestone"]["milestoneId"]
    included = [each["metadata"]["ledgerInclusionState"] == "included" for each in line["blocks"]]
    assert [(each["id"], each["included"]) for each in cone["blocks"]] == list(
        zip([each["id"] for each in line["blocks"]], included, strict=True)
    )


@needs_shared
@pytest.mark.parametrize("vector", load("conflicts", "stardust"), ids=lambda vector: vector["source"])
def test_a_judged_transaction_is_that_of_the_line_that_it_names(vector: dict[str, Any]) -> None:
    line = json.loads(line_of(vector["source"]))
    assert (vector["payload"], vector["time"]) == (line["payload"], line["time"])
    assert vector["inputs"] == [each["output"] for each in line["inputs"]]
    assert vector["expected_conflict"] == line["expectedConflict"]
