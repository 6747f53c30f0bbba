"""The units of systemd: valid, and their commands are commands of ours."""

import configparser
import shlex
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT, installed
from tests.house.test_compose import parse

UNITS = sorted((ROOT / "deploy" / "systemd").iterdir())
PROGRAM = "/opt/permanode/bin/permanode"


def sections(unit: Path) -> configparser.RawConfigParser:
    found = configparser.RawConfigParser(strict=True)
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found.read_string(unit.read_text("utf-8"))
    return found


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    """With this environment's program, because systemd checks that it exists."""
    checker = installed("systemd-analyze")
    for unit in UNITS:
        text = unit.read_text("utf-8").replace(PROGRAM, str(Path(sys.executable).with_name("permanode")))
        (tmp_path / unit.name).write_text(text)
    command: list[str | Path] = [checker, "verify", "--man=no", *sorted(tmp_path.iterdir())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_commands_are_commands_and_write_to_their_own_folder_only() -> None:
    names = [unit.name for unit in UNITS]
    assert names == ["permanode-load.service", "permanode-load.timer", "permanode.service"]
    for unit in UNITS:
        if unit.suffix == ".service":
            service = sections(unit)["Service"]
            program, *arguments = shlex.split(service["ExecStart"])
            assert program == PROGRAM
            # The folder of archives exists on the machine that the unit is for.
            parse(["/" if each.startswith("/") else each for each in arguments])
            assert (service["User"], service["ProtectSystem"]) == ("permanode", "strict")
            # A service that systemd stops with SIGINT ends with 130, which is not a failure.
            is_interrupted = service["KillSignal"] == "SIGINT"
            assert is_interrupted == ("130" in service.get("SuccessExitStatus", "").split())
            assert service["WorkingDirectory"] == f"/var/lib/{service['StateDirectory']}"
