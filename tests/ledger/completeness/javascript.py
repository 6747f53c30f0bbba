"""The JavaScript checker, run by Node: all cases in one process."""

import json
import os
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

from ledger.completeness.check import LogHead, Verdict
from tests.conftest import ROOT

CHECKER = ROOT / "api/web/static/listing_proof.js"

TIMEOUT_S = 400


class Case(NamedTuple):
    """What a checker is given."""

    document: bytes
    network: str
    head: LogHead


def node() -> str:
    """The program. Skips if it is not installed, except in CI."""
    found = shutil.which("node")
    if found is None:
        if "CI" in os.environ:
            pytest.fail("CI needs node for the JavaScript checker")
        pytest.skip("node is not installed: the JavaScript checker is not tested")
    return found


def check_all(folder: Path, cases: Iterable[Case], smallest: int = 100) -> list[Verdict]:
    """The verdicts of the JavaScript checker, for intervals that have `smallest` milestones at level 0."""
    program = node()
    checker = folder / "listing_proof.mjs"
    constant = "const SMALLEST = 100,"
    script = CHECKER.read_text("utf-8")
    assert constant in script
    checker.write_text(script.replace(constant, f"const SMALLEST = {smallest},"), "utf-8")
    lines = [
        {
            "network": network,
            "size": head.size,
            "root": head.root.hex(),
            "document": b64encode(document).decode(),
        }
        for document, network, head in cases
    ]
    (folder / "cases").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    command = [program, str(Path(__file__).with_name("driver.mjs")), str(checker), str(folder / "cases")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    return [Verdict(tuple(each["claims"]), each["failure"]) for each in verdicts]
