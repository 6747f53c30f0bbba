"""Only `etl/engine` and the cluster writers name Spark's session, its context, py4j and jars."""

import ast
import subprocess
import sys

import pytest

from tests.conftest import ROOT, some_of

ALLOWED = {f"etl/writers/{name}.py" for name in ("bulk", "cassandra_java", "cluster_tls", "connector")}
FILES = sorted(
    path
    for part in ("api", "bench", "cli", "db", "etl", "ledger")
    for path in (ROOT / part).rglob("*.py")
    if not path.is_relative_to(ROOT / "etl/engine") and str(path.relative_to(ROOT)) not in ALLOWED
)

NAMES = {"SparkConf", "SparkContext", "SparkSession", "JavaGateway", "JavaObject", "Py4JError", "Py4JJavaError"}
MODULES = ("py4j", "pyspark.accumulators", "pyspark.java_gateway", "etl.engine.spark.jars")
ATTRIBUTES = {
    "defaultParallelism", "jars", "newSession", "sparkContext", "statusTracker",
    "_gateway", "_jconf", "_jdf", "_jsc", "_jsparkSession", "_jvm",
}  # fmt: skip
"""Attributes that only objects of the classic engine have."""

WORKERS = (
    "etl.ledger_state.conflict_worker",
    "etl.tables.splits",
    "etl.verification.audit_worker",
    "etl.verification.decode_worker",
    "etl.verification.full_worker",
    "etl.verification.inclusion_worker",
    "etl.wormhole.decode_worker",
    "etl.writers.sstables",
)
"""Modules with the functions that run in Spark's tasks."""


def engine_names(text: str) -> set[str]:
    """Names of the engine in a module: imported ones, and attributes of its objects."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = {module, *(f"{module}.{alias.name}" for alias in node.names)}
            found |= {alias.name for alias in node.names} & NAMES
        elif isinstance(node, ast.Import):
            names = {alias.name for alias in node.names}
        else:
            if isinstance(node, ast.Attribute):
                found |= {node.attr} & (ATTRIBUTES | NAMES)
            continue
        found |= {name for name in names if any(name == each or name.startswith(f"{each}.") for each in MODULES)}
    return found


@pytest.mark.thorough
def test_a_module_outside_the_engine_names_nothing_of_it() -> None:
    found = {str(path.relative_to(ROOT)): engine_names(path.read_text("utf-8")) for path in some_of(FILES)}
    assert {name: names for name, names in found.items() if names} == {}


def test_the_exceptions_exist_and_need_their_exception() -> None:
    for name in ALLOWED:
        assert engine_names((ROOT / name).read_text("utf-8")), name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from pyspark.sql import DataFrame, SparkSession", {"SparkSession"}),
        ("from pyspark import SparkContext as Context", {"SparkContext"}),
        ("import pyspark.sql as sql\nsql.SparkSession.builder", {"SparkSession"}),
        ("from py4j.protocol import Py4JJavaError", {"py4j.protocol", "py4j.protocol.Py4JJavaError", "Py4JJavaError"}),
        ("import py4j", {"py4j"}),
        ("from etl.engine.spark import jars", {"etl.engine.spark.jars"}),
        ("cores = spark.sparkContext.defaultParallelism", {"sparkContext", "defaultParallelism"}),
        ("spark._jvm.java.lang.System.gc()", {"_jvm"}),
        ("from pyspark.sql import DataFrame\nfrom etl.engine.session import Session", set()),
    ],
)
def test_the_check_finds_each_way_to_name_it(text: str, found: set[str]) -> None:
    assert engine_names(text) == found


@pytest.mark.thorough
def test_executors_need_no_delta_rs() -> None:
    """Functions of tasks are in modules that import it neither themselves nor through others: it has 130 MB."""
    code = f"import sys, {', '.join(WORKERS)}; sys.exit('deltalake' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
