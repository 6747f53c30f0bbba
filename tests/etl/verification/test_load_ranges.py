"""A load of a range names the milestones of it that are neither in the files nor in the store."""

import json

import pytest
from typer.testing import CliRunner

from cli import main as cli
from db.intervals import Intervals
from tests.conftest import SAMPLE
from tests.etl.archives import ARCHIVE
from tests.etl.conftest import Stores

pytestmark = pytest.mark.loads

TO_20, TO_40 = (SAMPLE / name for name in ARCHIVE[:2])
"""Files of the milestones 1 to 20 and 21 to 40."""


def test_missing_milestones_of_a_range_are_named(stores: Stores) -> None:
    loading = stores()

    def load(first: int | None, last: int | None, *, file: int) -> tuple[int, int, Intervals]:
        done = loading.load((TO_20, TO_40)[file], first=first, last=last)
        return done.exit_code, done.complete, done.missing

    assert load(15, 25, file=0) == (3, 6, [(21, 24)])
    assert load(21, 25, file=1) == (0, 4, [])
    assert load(10, 25, file=1) == (3, 0, [(10, 14)]), "those of the store are not missing"
    assert load(30, None, file=1) == (0, 11, []), "ends with the last milestone of the store"
    assert load(20, None, file=0) == (3, 0, [(25, 29)])
    assert load(None, 12, file=0) == (0, 11, []), "begins with the first milestone of the store"
    assert load(100, 200, file=0) == (3, 0, [(100, 199)])
    assert load(None, None, file=0) == (0, 3, []), "not without a range"


def test_the_command_ends_with_3_and_stores_what_there_is(stores: Stores) -> None:
    loading = stores()
    arguments = ["--store", loading.store.url, "--network", loading.store.network, "load", str(TO_20), "--range"]
    result = CliRunner().invoke(
        cli.app, [*arguments, "18:23", "--no-analytics", "--json"], env={"PERMANODE_ETL_ENGINE": "sail"}
    )
    report = json.loads(result.stdout.splitlines()[-1])
    assert (result.exit_code, report["exit_code"], report["complete"]) == (3, 3, 3)
    assert report["missing"] == [[21, 22]]
