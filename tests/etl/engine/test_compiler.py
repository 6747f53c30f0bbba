"""The directives for the JVM's compilers, as parsed by the JVM of the tests."""

import subprocess
from pathlib import Path

import pytest

from etl.engine.java import java
from etl.engine.spans import Span
from etl.engine.spark.compiler import GENERATED, compiler_options, directives, executor_options
from etl.engine.spark.gateway import NOISE


def reported(tmp_path: Path, text: str) -> list[str]:
    """The JVM's first output about its directives."""
    file = tmp_path / "compiler.json"
    file.write_text(text)
    options = ("-XX:+UnlockDiagnosticVMOptions", f"-XX:CompilerDirectivesFile={file}", "-version")
    done = subprocess.run([java(), *options], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


@pytest.mark.parametrize("generated", [True, False])
def test_a_jvm_takes_them_and_what_it_says_of_them_is_known_as_noise(tmp_path: Path, *, generated: bool) -> None:
    text = directives(generated=generated)
    assert (GENERATED in text) is not generated
    (line,) = reported(tmp_path, text)
    assert line in NOISE
    assert reported(tmp_path, text.replace("Exclude", "Excluded")) != [line]


def test_executors_of_short_runs_compile_as_their_driver_does(tmp_path: Path) -> None:
    for span in (Span.SECONDS, Span.MINUTE):
        assert executor_options(span) == compiler_options(span, tmp_path) != []
    for span in (Span.ANALYTICS, Span.MINUTES):
        assert executor_options(span) == []
