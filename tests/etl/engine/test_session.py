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
import os, signal
from etl.engine.session import engine_session
from etl.engine.settings import EtlSettings
from etl.engine.spans import Span

def session(memory):
    return engine_session(EtlSettings(master="local[1]", driver_memory=memory), span=Span.SECONDS)

def killed(spark):
    os.kill(spark.sparkContext._gateway.proc.pid, signal.SIGKILL)
    spark.range(1).count()

def without_file(spark):
    print(spark.range(3).count())
    spark.read.parquet("/nowhere/at/all")

def without_memory(spark):
    spark._jvm.java.util.ArrayList(500_000_000)

def without_value(spark):
    spark._jvm.java.nio.file.Files.size(None)

for fails in (FAILS):
    try:
        with session("512m") as spark:
            fails(spark)
    except RuntimeError as error:
        print(type(error).__name__, str(error).splitlines()[0])
try:
    with session("64m") as spark:
        pass
except RuntimeError as error:
    print(type(error).__name__, error)
"""

TOO_SMALL = "EngineError the heap of Spark's driver is too small ("

FAILED = {
    "killed": ["EngineError Spark's Java process ended: something killed it, often for lack of memory ("],
    "without_memory": [TOO_SMALL],
    "without_value": ["EngineError NullPointerException"],
    "without_file": ["3", "RuntimeError [PATH_NOT_FOUND] Path does not exist: file:/nowhere/at/all"],
}
"""A fault → the beginnings of what it prints. A fault, whatever it is, does not prevent the next session. At the end a
session has too little memory to start.
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


@pytest.mark.parametrize(
    "faults",
    [
        ("killed", "without_file"),
        pytest.param(("without_memory", "without_value"), marks=pytest.mark.slow),
    ],
    ids=" and ".join,
)
def test_what_failed_in_the_jvm_is_reported_when_that_has_ended(faults: tuple[str, ...]) -> None:
    """In Spark's own errors, in those of a direct call, and where the JVM has no memory or was killed."""
    code = FAILING.replace("FAILS", ", ".join(faults))
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    lines = ended.stdout.splitlines()
    failed = [*(line for fault in faults for line in FAILED[fault]), TOO_SMALL]
    assert len(lines) == len(failed), ended.stderr
    assert all(map(str.startswith, lines, failed)), lines
    assert "Traceback" not in ended.stderr
