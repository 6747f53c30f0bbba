"""The JVM's class archive: written once by a long run, then used, and written again when its dependencies change."""

import os
from pathlib import Path

import pytest

from etl.engine.spark.class_archive import class_archive

WRITES = "-XX:ArchiveClassesAtExit="
USES = "-XX:SharedArchiveFile="


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "some.jar"
    path.write_bytes(b"classes")
    return path


def run(cache: Path, jar: Path, *, ends: bool = True, may_write: bool = True) -> str:
    """Returns a JVM's archive option. If that option writes the archive, a JVM that `ends` by itself writes it."""
    with class_archive(cache, [jar], may_write=may_write) as options:
        (option,) = [each for each in options if not each.startswith("-Xlog")] or [""]
        if ends and option.startswith(WRITES):
            Path(option.removeprefix(WRITES)).write_bytes(b"archive")
    return option


def test_the_first_jvm_writes_it_and_the_next_uses_it(tmp_path: Path, jar: Path) -> None:
    assert run(tmp_path, jar).startswith(WRITES)
    (archive,) = tmp_path.glob("*.jsa")
    assert archive.read_bytes() == b"archive"
    assert run(tmp_path, jar) == run(tmp_path, jar) == f"{USES}{archive}"


def test_a_short_run_writes_none_and_uses_that_of_a_long_one(tmp_path: Path, jar: Path) -> None:
    assert run(tmp_path, jar, may_write=False) == ""
    assert list(tmp_path.glob("*.jsa")) == []
    run(tmp_path, jar)
    (archive,) = tmp_path.glob("*.jsa")
    assert run(tmp_path, jar, may_write=False) == f"{USES}{archive}"


def test_another_jar_gets_another_one_and_the_old_one_goes(tmp_path: Path, jar: Path) -> None:
    run(tmp_path, jar)
    (before,) = tmp_path.glob("*.jsa")
    os.utime(jar, ns=(1, 1))
    assert run(tmp_path, jar).startswith(WRITES)
    (after,) = tmp_path.glob("*.jsa")
    assert after != before


def test_a_jvm_that_was_killed_leaves_none(tmp_path: Path, jar: Path) -> None:
    assert run(tmp_path, jar, ends=False).startswith(WRITES)
    (tmp_path / "unfinished.jsa").write_bytes(b"half of it")
    assert run(tmp_path, jar, ends=False).startswith(WRITES)
    assert list(tmp_path.glob("*.jsa")) == []


def test_while_one_writes_it_others_start_without(tmp_path: Path, jar: Path) -> None:
    with class_archive(tmp_path, [jar], may_write=True) as first:
        assert any(each.startswith(WRITES) for each in first)
        with class_archive(tmp_path, [jar], may_write=True) as second:
            assert second == []
