"""Which of the JVM's compilers compile which code, as Java options.

The JVM has a quick compiler and an optimizing one. The optimizing compiler pays off for code that runs once per row.
Spark's planner, parser and code generator end before it does. Each function here is one measure with its gain.
"""

import json
from pathlib import Path

from etl.engine.spans import Span

PER_ROW = (
    "org/apache/spark/sql/catalyst/expressions/*.*", "org/apache/spark/sql/execution/*.*",
    "org/apache/spark/sql/vectorized/*.*", "org/apache/spark/sql/types/*.*",
    "org/apache/spark/unsafe/*.*", "org/apache/spark/util/collection/*.*",
    "org/apache/spark/shuffle/*.*", "org/apache/spark/serializer/*.*", "org/apache/parquet/*.*",
    "org/apache/arrow/*.*", "org/xerial/*.*", "net/jpountz/*.*", "java/lang/*.*", "java/nio/*.*", "java/math/*.*",
    "java/util/Arrays*.*", "java/util/HashMap*.*", "jdk/internal/misc/*.*", "sun/nio/*.*", "sun/misc/*.*",
    "scala/collection/*.*", "scala/runtime/*.*",
)  # fmt: skip

PER_QUERY = (
    "java/lang/invoke/*.*", "org/apache/parquet/format/*.*", "org/apache/parquet/schema/*.*",
    "scala/collection/generic/*.*", "scala/collection/immutable/*.*",
)  # fmt: skip
"""Exceptions from PER_ROW: classes that read footers, plan and send tasks."""

GENERATED = "org/apache/spark/sql/catalyst/expressions/GeneratedClass*.*"
"""Classes that Spark generates for a query."""

DIRECTIVES = 3
"""Number of directives."""


def compiler_options(span: Span, scratch: Path) -> list[str]:
    """Returns the Java options for a run of that duration. `scratch`: directory for the file of directives."""
    if span in (Span.SECONDS, Span.MINUTE):
        return quick_compiler_only()
    return [*late_optimization(), *optimize_per_row(scratch, generated=span is Span.MINUTES)]


def executor_options(span: Span) -> list[str]:
    """Returns the Java options for executors of a run of that duration. The file of directives is not on their
    machines.

    Gain: the executor of a load of 50 milestones used 68 and 66 s of CPU time, and uses 34.
    """
    return quick_compiler_only() if span in (Span.SECONDS, Span.MINUTE) else []


def quick_compiler_only() -> list[str]:
    """Disables the optimizing compiler. The code cache is larger than its default of 48 MB, which one load fills.

    Gain for files below 512 MB: 5,566, 5,725 and 5,766 messages/s; with the optimizing compiler 5,445, 5,493 and 5,553.
    For ten milestones, together with interpreted expressions: 2 to 4 s of 24 s.
    """
    return ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m"]


def late_optimization() -> list[str]:
    """Raises the number of calls after which the optimizing compiler starts.

    A load runs each generated stage once or twice. Gain for 200,000 messages: the optimizing compiler used about 40 s
    with Java's defaults and uses 17 s.
    """
    return [
        "-XX:Tier0ProfilingStartPercentage=1000",
        "-XX:Tier3DelayOn=1",
        "-XX:Tier4InvocationThreshold=50000",
        "-XX:Tier4MinInvocationThreshold=6000",
        "-XX:Tier4CompileThreshold=150000",
        "-XX:Tier4BackEdgeThreshold=400000",
    ]


def optimize_per_row(scratch: Path, *, generated: bool) -> list[str]:
    """Restricts the optimizing compiler to code that runs once per row (JEP 165). `generated`: see `directives`.

    Gain: the optimizing compiler used 17 s without and 8 s with it. Without
    `generated`, the analytics of a million messages used 64.0, 55.6 and 58.7 s of CPU time; with it 68.8, 63.5, 68.6.
    """
    file = scratch / "compiler.json"
    file.write_text(directives(generated=generated))
    return ["-XX:+UnlockDiagnosticVMOptions", f"-XX:CompilerDirectivesFile={file}"]


def directives(*, generated: bool) -> str:
    """Returns the directives in HotSpot's format. The first one that matches a method applies.

    `generated`: allows GENERATED too, which pays off where a query's code runs for minutes.
    """
    excluded = PER_QUERY if generated else (*PER_QUERY, GENERATED)
    all_of_them = [
        {"match": list(excluded), "c2": {"Exclude": True}},
        {"match": list(PER_ROW), "c2": {"Exclude": False}},
        {"match": "*.*", "c2": {"Exclude": True}},
    ]
    assert len(all_of_them) == DIRECTIVES
    return json.dumps(all_of_them)
