"""What the JVM's optimizing compiler may compile, told by directives (JEP 165).

Rules of this file: the optimizing compiler is for what runs once a row; left to itself it spends a third of its time on
Spark's own compiler, parser and planner, which are done before that pays (docs/performance.md). What it may not compile
the quick one does.
"""

import json

PER_ROW = (
    "org/apache/spark/sql/catalyst/expressions/*.*", "org/apache/spark/sql/execution/*.*",
    "org/apache/spark/sql/vectorized/*.*", "org/apache/spark/sql/types/*.*", "org/apache/spark/sql/delta/files/*.*",
    "org/apache/spark/sql/delta/stats/*.*", "org/apache/spark/unsafe/*.*", "org/apache/spark/util/collection/*.*",
    "org/apache/spark/shuffle/*.*", "org/apache/spark/serializer/*.*", "org/apache/parquet/*.*",
    "org/apache/arrow/*.*", "org/xerial/*.*", "net/jpountz/*.*", "java/lang/*.*", "java/nio/*.*", "java/math/*.*",
    "java/util/Arrays*.*", "java/util/HashMap*.*", "jdk/internal/misc/*.*", "sun/nio/*.*", "sun/misc/*.*",
    "scala/collection/*.*", "scala/runtime/*.*",
)  # fmt: skip

PER_QUERY = (
    "java/lang/invoke/*.*", "org/apache/parquet/format/*.*", "org/apache/parquet/schema/*.*",
    "scala/collection/generic/*.*", "scala/collection/immutable/*.*",
)  # fmt: skip
"""Among PER_ROW, but for reading footers, planning and sending tasks."""

GENERATED = "org/apache/spark/sql/catalyst/expressions/GeneratedClass*.*"
"""What Spark makes of a query."""

DIRECTIVES = 3
"""That there are."""


def directives(*, generated: bool) -> str:
    """The directives as HotSpot reads them, the first that matches a method holds; `generated`: GENERATED may be
    compiled too, which pays where a query's code runs for minutes.
    """
    excluded = PER_QUERY if generated else (*PER_QUERY, GENERATED)
    told = [
        {"match": list(excluded), "c2": {"Exclude": True}},
        {"match": list(PER_ROW), "c2": {"Exclude": False}},
        {"match": "*.*", "c2": {"Exclude": True}},
    ]
    assert len(told) == DIRECTIVES
    return json.dumps(told)
