"""Installs Python programs that benches compare with, each in a new environment of its own."""

import subprocess
from pathlib import Path

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
