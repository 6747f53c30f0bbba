"""docs/testing.md lists every API test that runs on Cassandra with `--slow` only."""

import re

from tests.api.conftest import LATER_ON_CASSANDRA
from tests.conftest import ROOT


def test_the_page_lists_what_is_slow_on_cassandra() -> None:
    page = (ROOT / "docs" / "testing.md").read_text("utf-8")
    section = page.partition("on Cassandra\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([\w/]+\.py)` \|", section, re.MULTILINE)) == LATER_ON_CASSANDRA.keys()
    assert all((ROOT / "tests" / "api" / name).is_file() for name in LATER_ON_CASSANDRA)
