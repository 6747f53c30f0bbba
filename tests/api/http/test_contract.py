"""The served API matches openapi.yaml: schemathesis sends valid and invalid requests to each operation and each alias,
with all its checks.
"""

import json
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from db.connect import StoreSettings
from tests.api import contract
from tests.api.conftest import fill_stardust, filled_store
from tests.api.oracle import Oracle
from tests.api.paths import OF_WORMHOLE
from tests.api.processes import free_port, started, wait_for
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import NETWORK, World
from tests.conftest import ROOT
from tests.reference_log import reference_log

pytestmark = pytest.mark.thorough

EXAMPLES = 3
"""Random requests per operation, beside the contract's examples and the limits of each parameter."""

LIMIT_S = 300
"""Not a time limit of the test (10 s on a free machine), but of a process that hangs."""


OF_STARDUST = (
    "/(analytics/v2|core/v2|explorer/v2|indexer/v1|poi/v1)/|/api/[{]network[}]/(aliases|foundries|nft|outputs$)"
)
"""Among the paths that a Stardust network serves."""

OF_TILES = "/log/tile/"
"""The number of a tile has several segments, which a parameter of OpenAPI cannot have."""

REQUESTS = {
    "chrysalis": ("exclude", f"{OF_STARDUST}|{OF_WORMHOLE.pattern}|{contract.OF_LONGER_LEDGERS}$|{OF_TILES}"),
    "stardust": ("include", OF_STARDUST),
    "wormhole": ("include", OF_WORMHOLE.pattern),
}
"""The paths that are requested of a network of each kind."""


@pytest.mark.parametrize("kind", REQUESTS)
def test_schemathesis_finds_nothing(oracle: Oracle, stardust: StardustLedger, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "store"
    network = {"chrysalis": oracle.expected["network"], "stardust": stardust.network, "wormhole": NETWORK}[kind]
    settings = StoreSettings(f"sqlite:///{folder}", network)
    if kind == "stardust":
        fill_stardust(settings, stardust).close()
    elif kind == "wormhole":
        World().fill(settings).close()
    else:
        with closing(filled_store(folder, oracle, 100_000, 100_000)) as filled:
            reference_log(network, oracle.milestones).write(filled)
    how, requested = REQUESTS[kind]
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    served = ("-m", "uvicorn", "--factory", "tests.api.served:make", "--port", str(port), "--log-level", "error")
    prefix = {"PERMANODE_TEST_HRP": stardust.expected["bech32Hrp"]} if kind == "stardust" else {}
    store = {"PERMANODE_TEST_STORE": str(folder), "PERMANODE_TEST_NETWORK": network} | prefix
    document = tmp_path / "spelled_out.json"
    document.write_text(json.dumps(contract.spelled_out()), "utf-8")
    command = [
        Path(sys.executable).with_name("schemathesis"), "--config-file", ROOT / "schemathesis.toml", "run",
        document, "--url", base, "--checks", "all", "--max-examples", str(EXAMPLES), "--seed", "1",
        f"--{how}-path-regex", requested,
        "--no-color", "--generation-database", "none",
    ]  # fmt: skip
    with started(*served, log=tmp_path / "stderr", **store) as server:
        wait_for(base, server)
        variables = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)} | prefix
        done = subprocess.run(
            command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
    paths = [each.path for each in contract.described()]
    operations = sum(bool(re.search(requested, path)) == (how == "include") for path in paths)
    assert re.search(rf"Tested: +{operations}$", done.stdout, re.MULTILINE)
    assert "WARNING" not in done.stdout, done.stdout
    assert "Traceback" not in (tmp_path / "stderr").read_text()
