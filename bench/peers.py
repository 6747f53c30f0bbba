"""Installs the programs that benches compare with: Python packages in new environments, jars in their own folders."""

import fcntl
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pyspark

from etl.engine.java import java

CONSTRAINTS = Path(__file__).parent.parent / "constraints.txt"


def install_peer(package: str, directory: Path, python: str) -> str:
    """Creates an environment in `directory`, installs `package` into it and returns the path of its interpreter.

    Versions come from constraints.txt where it pins them. Raises CalledProcessError; pip's own message says why.
    """
    subprocess.run([python, "-m", "venv", directory], check=True)
    program = str(directory / "bin" / "python")
    pip = [program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", str(CONSTRAINTS)]
    subprocess.run([*pip, "--only-binary", ":all:", package], check=True)
    return program


def peer_jars(cache: Path, coordinates: Sequence[tuple[str, str, str]]) -> list[Path]:
    """Returns the jars of those modules (group, artifact, version) and of all their dependencies.

    A marker that is written last says that the folder is complete; one process downloads and others wait. Raises
    RuntimeError if the jars cannot be downloaded.
    """
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (cache / "whole").exists():
            _retrieve(cache, coordinates)
            (cache / "whole").touch()
    return sorted(cache.glob("*.jar"))


def _retrieve(cache: Path, coordinates: Sequence[tuple[str, str, str]]) -> None:
    scratch = cache / "scratch"
    scratch.mkdir(exist_ok=True)
    dependencies = "".join(
        f'<dependency org="{group}" name="{name}" rev="{version}" conf="default->default"/>'
        for group, name, version in coordinates
    )
    module = scratch / "ivy.xml"
    module.write_text(
        '<ivy-module version="2.0"><info organisation="permanode" module="jars"/>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )
    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    pattern = cache / "[artifact]-[revision](-[classifier]).[ext]"
    command: list[str | Path] = [java(), "-jar", ivy, "-cache", scratch, "-ivy", module, "-retrieve", pattern]
    command += ["-types", "jar", "bundle"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        names = ", ".join(f"{name} {version}" for _, name, version in coordinates)
        raise RuntimeError(f"cannot fetch {names}: {done.stdout[-2000:]}")
    shutil.rmtree(scratch)
