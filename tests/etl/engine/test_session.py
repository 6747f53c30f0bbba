"""Options that a session rejects, and how it shortens errors."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from db.connect import StoreSettings
from etl import runs
from tests.conftest import ROOT, SAMPLE
from tests.etl.conftest import SETTINGS

pytestmark = pytest.mark.spark

FAILING = """
from etl.engine.session import engine_session
from etl.engine.settings import EtlSettings
try:
    with engine_session(EtlSettings(master="local[1]")) as spark:
        spark.{fails}
except RuntimeError as error:
    print(str(error).splitlines()[0])
"""


@pytest.mark.parametrize("name", ["old[1]", "b{c", "d}", "a*", "what?", "e\\f"])
def test_a_path_that_spark_takes_for_a_pattern_is_rejected_before_anything_is_made(name: str, tmp_path: Path) -> None:
    plain = StoreSettings(f"sqlite:///{tmp_path}/store", "permatest-1")
    for setting, store, settings in (
        ("store", replace(plain, url=f"sqlite:///{tmp_path}/{name}"), SETTINGS),
        ("lake", plain, replace(SETTINGS, lake=f"{tmp_path}/{name}")),
        ("staging", plain, replace(SETTINGS, staging=f"{tmp_path}/{name}")),
    ):
        with pytest.raises(ValueError, match=f"^{setting}: expected a path without ") as rejected:
            runs.load(store, settings, [SAMPLE])
        assert str(tmp_path / name) in str(rejected.value)
    assert list(tmp_path.iterdir()) == []


def test_what_failed_in_the_jvm_is_reported_when_that_has_ended() -> None:
    """In Spark's own errors and in those of a direct call."""
    for fails, reported in (
        ("read.parquet('/nowhere/at/all')", "[PATH_NOT_FOUND] Path does not exist: file:/nowhere/at/all"),
        ("_jvm.java.nio.file.Files.size(None)", "An error occurred while calling z:java.nio.file.Files.size."),
    ):
        ended = subprocess.run(
            [sys.executable, "-c", FAILING.format(fails=fails)], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert ended.stdout.startswith(reported), ended.stderr
