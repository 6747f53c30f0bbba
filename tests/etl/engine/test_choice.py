"""Which engine runs a pipeline, and the errors of runs that need something that the chosen engine does not have."""

import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from cli.main import app
from cli.options import build_etl
from cli.settings import read
from db.admin.migrate import migrate
from db.connect import StoreSettings
from etl import runs
from etl.engine import choice
from etl.engine.choice import BYTES_OF_LAKE, SAIL_BYTES, bytes_of, choose_engine
from etl.engine.current import AUTO, SAIL, SPARK
from etl.engine.java import INSTALL, WITHOUT_JAVA, JavaError
from etl.engine.session import engine_session
from etl.engine.settings import EtlSettings
from etl.lake.table_export import export

JAVA = """#!/bin/sh
echo 'openjdk version "{version}" 2025-04-15' >&2
"""


@pytest.fixture(autouse=True)
def no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    # The session that tests of this process share may be running, and a run inside it needs no other Java.
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes a PATH with a Java of that version, or with none."""

    def make(version: str | None) -> Path:
        folder = tmp_path / (version or "none")
        folder.mkdir()
        if version is not None:
            (folder / "java").write_text(JAVA.format(version=version))
            (folder / "java").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin" if version else str(folder))
        return folder

    return make


def installed(monkeypatch: pytest.MonkeyPatch, *, sail: bool) -> None:
    monkeypatch.setattr(choice, "find_spec", lambda name: find_spec(name) if sail else None)


@pytest.mark.parametrize(("size", "engine"), [(0, SAIL), (SAIL_BYTES - 1, SAIL), (SAIL_BYTES, SPARK)])
def test_auto_goes_by_the_size(size: int, engine: str, machine: Any) -> None:
    machine("17.0.15")
    assert choose_engine(EtlSettings(engine=AUTO), size=size) == engine
    assert choose_engine(EtlSettings(engine=SAIL), size=size) == SAIL
    assert choose_engine(EtlSettings(engine=SPARK), size=size) == SPARK


@pytest.mark.parametrize(
    ("size", "engine"), [(SAIL_BYTES // BYTES_OF_LAKE - 1, SAIL), (SAIL_BYTES // BYTES_OF_LAKE, SPARK)]
)
def test_auto_takes_a_lake_for_the_archive_files_of_its_rows(
    size: int, engine: str, machine: Any, tmp_path: Path
) -> None:
    machine("17.0.15")
    messages = tmp_path / "store" / "lake" / "messages"
    messages.mkdir(parents=True)
    with (messages / "part-0.parquet").open("wb") as file:
        file.truncate(size)
    store = StoreSettings(f"sqlite:///{tmp_path}/store", "permatest-1")
    assert runs.engine_of(store, EtlSettings(engine=AUTO)) == engine
    assert runs.engine_of(store, EtlSettings(engine=AUTO), size=size) == SAIL


def test_a_load_of_a_genesis_alone_is_as_large_as_the_lake(
    machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine("17.0.15")
    store = StoreSettings(f"sqlite:///{tmp_path}/store", "permatest-1")
    migrate(store)
    messages = tmp_path / "store" / "lake" / "messages"
    messages.mkdir(parents=True)
    with (messages / "part-0.parquet").open("wb") as file:
        file.truncate(SAIL_BYTES // BYTES_OF_LAKE)

    def opened(settings: EtlSettings, **_: object) -> None:
        raise InterruptedError(settings.engine)

    monkeypatch.setattr(runs, "engine_session", opened)
    with pytest.raises(InterruptedError, match=SPARK):
        runs.load(store, EtlSettings(engine=AUTO), [], genesis=tmp_path / "genesis.json")


@pytest.mark.parametrize(
    ("settings", "spark_only", "named"),
    [
        ({"master": "spark://host:7077"}, "", "etl.master = spark://host:7077"),
        ({"lake": "hdfs://host/lake"}, "", "etl.lake = hdfs://host/lake"),
        ({}, "--bulk", "--bulk"),
    ],
)
def test_what_only_spark_does_is_sparks_and_rejected_by_sail(
    settings: dict[str, str], spark_only: str, named: str
) -> None:
    assert choose_engine(EtlSettings(engine=AUTO, **settings), spark_only=spark_only) == SPARK
    with pytest.raises(ValueError, match=re.escape(f"etl.engine = sail: {named} needs spark; expected a local master")):
        choose_engine(EtlSettings(engine=SAIL, **settings), spark_only=spark_only)


def test_without_the_extra_auto_is_spark_and_sail_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, sail=False)
    assert choose_engine(EtlSettings(engine=AUTO)) == SPARK
    with pytest.raises(ValueError, match=re.escape("install Permanode with the extra [sail]")) as missing:
        choose_engine(EtlSettings(engine=SAIL))
    assert str(missing.value).startswith("etl.engine = sail: ")


@pytest.mark.parametrize(
    ("version", "printed"),
    [
        (None, "Spark requires Java 17 or 21; java was not found"),
        ("1.8.0_402", "Spark requires Java 17 or 21; {java} is 1.8.0_402"),
        ("25-ea", "Spark requires Java 17 or 21; {java} is 25-ea"),
    ],
)
def test_without_a_java_for_spark_the_default_is_sail_at_any_size_with_one_line(
    version: str | None, printed: str, machine: Any, caplog: pytest.LogCaptureFixture
) -> None:
    printed = printed.format(java=machine(version) / "java")
    etl = build_etl(read(None, {}, {}))
    assert etl.engine == AUTO
    with caplog.at_level(logging.INFO):
        assert choose_engine(etl, size=SAIL_BYTES) == SAIL
    assert caplog.messages == [f"{printed}; the embedded engine (sail) is used"]
    with pytest.raises(JavaError) as rejected, engine_session(replace(etl, master="spark://host:7077")):
        pass
    assert str(rejected.value) == f"{printed}. {INSTALL}. {WITHOUT_JAVA}"


def test_a_spark_that_was_requested_is_not_replaced(machine: Any) -> None:
    machine(None)
    etl = build_etl(read(None, {"PERMANODE_ETL_ENGINE": "spark"}, {}))
    assert etl.engine == SPARK
    with pytest.raises(JavaError), engine_session(etl):
        pass


@pytest.mark.parametrize("engine", [SPARK, SAIL, AUTO])
def test_without_java_an_export_advises_duckdb_and_its_views_are_printed(
    engine: str, machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(None)
    with pytest.raises(JavaError) as rejected:
        export(EtlSettings(engine=engine), lake=str(tmp_path), what="outputs", into=str(tmp_path / "new"), form="csv")
    assert str(rejected.value) == (
        f"Spark requires Java 17 or 21; java was not found. {INSTALL}. `permanode export` runs on Spark, whatever "
        "etl.engine is; without Java, query the lake with DuckDB: `permanode lake views`"
    )
    monkeypatch.setenv("PERMANODE_ETL_ENGINE", engine)
    store = f"sqlite:///{tmp_path}/store"
    views = CliRunner().invoke(app, ["--store", store, "--network", "permatest-1", "lake", "views"])
    assert (views.exit_code, views.stdout) == (0, "SET TimeZone = 'UTC';\n")


@pytest.mark.parametrize("version", ["17", "17.0.15", "21.0.4", "21-ea"])
def test_with_java_17_or_21_the_default_is_spark(version: str, machine: Any) -> None:
    machine(version)
    assert build_etl(read(None, {}, {})) == EtlSettings()


def test_java_home_goes_before_the_path(tmp_path: Path, machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    machine("17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with (
        pytest.raises(JavaError, match=f"{tmp_path / 'nowhere'}/bin/java was not found"),
        engine_session(EtlSettings()),
    ):
        pass


def test_a_size_is_of_files_and_of_folders(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "one").write_bytes(bytes(3))
    (tmp_path / "a" / "b" / "two").write_bytes(bytes(4))
    assert bytes_of([tmp_path / "a", tmp_path / "a" / "one", tmp_path / "nowhere"]) == 10
    assert bytes_of([]) == 0


def test_what_sail_cannot_load_is_rejected_before_anything_is_opened() -> None:
    store = StoreSettings("cassandra://127.0.0.1:1/nothing", "permatest-1")
    settings = EtlSettings(engine=SAIL, lake="/nowhere")
    with pytest.raises(ValueError, match=r"etl\.engine = sail: --bulk needs spark"):
        runs.rebuild(store, settings, bulk=True)


def test_an_unknown_engine_is_rejected() -> None:
    with pytest.raises(ValueError, match="engine must be spark, sail or auto, not 'flink'"):
        EtlSettings(engine="flink")
