"""The shipped vectors are copies: each stands in the line of the full data set that it names."""

import json

import pytest

from tests.conftest import needs_shared
from tests.ledger.cases import IOTA, Case, cases


def line_of(source: str) -> str:
    name, number = source.split(":")
    return (IOTA / name).read_text().splitlines()[int(number) - 1]


@needs_shared
@pytest.mark.parametrize("case", cases())
def test_a_vector_stands_in_the_line_that_it_names(case: Case) -> None:
    line = line_of(case.vector["source"])
    assert case.vector["bytes_hex"] in line
    assert case.vector.get("id", "") in line
    assert json.dumps(case.vector["json"]).replace(" ", "") in line.replace(" ", "")
    if "archive" in case.vector:
        assert json.dumps(case.vector["archive"], separators=(",", ":")) in line_of(case.vector["archive_source"])
