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
from tests.api.processes import free_port, started, wait_for
from tests.api.stardust import StardustLedger
from tests.conftest import ROOT

EXAMPLES = 3
"""Random questions an operation, beside the examples of the contract and the edges of each parameter."""

LIMIT_S = 300
"""Not how long it takes (10 s on a free machine), but when it hangs."""


OF_STARDUST = (
    "/(analytics/v2|core/v2|explorer/v2|indexer/v1|poi/v1)/|/api/[{]network[}]/(aliases|foundries|nft|outputs$)"
)
"""In the paths that a network of Stardust answers."""


@pytest.mark.parametrize("era", ["chrysalis", "stardust"])
def test_schemathesis_finds_nothing(oracle: Oracle, stardust: StardustLedger, tmp_path: Path, era: str) -> None:
    folder = tmp_path / "store"
    is_stardust = era == "stardust"
    if is_stardust:
        fill_stardust(StoreSettings(f"sqlite:///{folder}", stardust.network), stardust).close()
    else:
        filled_store(folder, oracle, 100_000, 100_000).close()
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    served = ("-m", "uvicorn", "--factory", "tests.api.served:make", "--port", str(port), "--log-level", "error")
    network = stardust.network if is_stardust else oracle.expected["network"]
    store = {"PERMANODE_TEST_STORE": str(folder), "PERMANODE_TEST_NETWORK": network}
    command = [
        Path(sys.executable).with_name("schemathesis"), "--config-file", ROOT / "schemathesis.toml", "run",
        ROOT / "openapi.yaml", "--url", base, "--checks", "all", "--max-examples", str(EXAMPLES), "--seed", "1",
        f"--{'include' if is_stardust else 'exclude'}-path-regex", OF_STARDUST,
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
    operations = sum(len(item) for path, item in paths.items() if bool(re.search(OF_STARDUST, path)) == is_stardust)
    assert re.search(rf"Tested: +{operations}$", done.stdout, re.MULTILINE)
    assert "WARNING" not in done.stdout, done.stdout
    assert "Traceback" not in (tmp_path / "stderr").read_text()
