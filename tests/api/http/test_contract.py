"""The served API is what openapi.yaml says: schemathesis asks each operation, well and badly, with all its checks."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from db.connect import StoreSettings
from tests.api.conftest import fill_stardust, filled_store
from tests.api.oracle import Oracle
from tests.api.paths import OF_WORMHOLE
from tests.api.processes import free_port, started, wait_for
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import NETWORK, World
from tests.conftest import ROOT

pytestmark = pytest.mark.thorough

EXAMPLES = 3
"""Random questions an operation, beside the examples of the contract and the edges of each parameter."""

LIMIT_S = 300
"""Not how long it takes (10 s on a free machine), but when it hangs."""


OF_STARDUST = (
    "/(analytics/v2|core/v2|explorer/v2|indexer/v1|poi/v1)/|/api/[{]network[}]/(aliases|foundries|nft|outputs$)"
)
"""In the paths that a network of Stardust answers."""

ASKED = {
    "chrysalis": ("exclude", f"{OF_STARDUST}|{OF_WORMHOLE.pattern}"),
    "stardust": ("include", OF_STARDUST),
    "wormhole": ("include", OF_WORMHOLE.pattern),
}
"""Which of the paths are asked of a network of each kind."""


@pytest.mark.parametrize("kind", ASKED)
def test_schemathesis_finds_nothing(oracle: Oracle, stardust: StardustLedger, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "store"
    network = {"chrysalis": oracle.expected["network"], "stardust": stardust.network, "wormhole": NETWORK}[kind]
    settings = StoreSettings(f"sqlite:///{folder}", network)
    if kind == "stardust":
        fill_stardust(settings, stardust).close()
    elif kind == "wormhole":
        World().fill(settings).close()
    else:
        filled_store(folder, oracle, 100_000, 100_000).close()
    how, asked = ASKED[kind]
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    served = ("-m", "uvicorn", "--factory", "tests.api.served:make", "--port", str(port), "--log-level", "error")
    store = {"PERMANODE_TEST_STORE": str(folder), "PERMANODE_TEST_NETWORK": network}
    command = [
        Path(sys.executable).with_name("schemathesis"), "--config-file", ROOT / "schemathesis.toml", "run",
        ROOT / "openapi.yaml", "--url", base, "--checks", "all", "--max-examples", str(EXAMPLES), "--seed", "1",
        f"--{how}-path-regex", asked,
        "--no-color", "--generation-database", "none",
    ]  # fmt: skip
    with started(*served, log=tmp_path / "stderr", **store) as server:
        wait_for(base, server)
        variables = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
    paths = yaml.safe_load((ROOT / "openapi.yaml").read_text("utf-8"))["paths"]
    operations = sum(len(item) for path, item in paths.items() if bool(re.search(asked, path)) == (how == "include"))
    assert re.search(rf"Tested: +{operations}$", done.stdout, re.MULTILINE)
    assert "WARNING" not in done.stdout, done.stdout
    assert "Traceback" not in (tmp_path / "stderr").read_text()
