"""A server that hides a row of a listing is detected: by `proof check` if its log has the row, by `audit` if not."""

import copy
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from typer.testing import CliRunner, Result

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from cli import main as cli
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_adapter, open_store
from ledger.completeness.trees import place_of
from ledger.transparency.keys import SigningKey
from tests.api.processes import free_port
from tests.db.stored_listings import (
    CHUNK_SIZE,
    END,
    FIRST,
    FRONTIER,
    ROWS,
    TAGS,
    write_archive,
    write_log,
    write_rows,
    write_trees,
)
from tests.ledger.completeness.forgeries import compact
from tests.ledger.completeness.ledgers import Archive

NETWORK = "permatest-1"

ORIGIN = f"permanode/{NETWORK}/{FIRST}"

TAG = b"turns"

HIDDEN = ROWS[place_of(TAGS, TAG)][-20]
"""A row of the newest page of the tag."""

OTHERS = {place: [row for row in rows if row != HIDDEN] for place, rows in ROWS.items()}

KEYS = {name: SigningKey(ORIGIN, bytes([number]) * 32) for number, name in enumerate(("honest", "forgetful", "lying"))}
"""Name of a server → the key of its operator."""


def made(folder: Path, name: str) -> StoreSettings:
    """The store of a server: `forgetful` lost a row after it was hashed, `lying` has hashed its listings without it."""
    settings = StoreSettings(f"sqlite:///{folder}/{name}", NETWORK, CHUNK_SIZE)
    migrate(settings)
    trees = Archive(OTHERS if name == "lying" else ROWS, FIRST, FRONTIER)
    with closing(open_adapter(settings, writable=True)) as store:
        if name == "forgetful":
            write_trees(store, trees, END, CHUNK_SIZE)
            write_rows(store, Archive(OTHERS, FIRST, FRONTIER))
        else:
            write_archive(store, trees)
        write_log(store, trees, KEYS[name])
    return settings


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Name of a server → its URL."""
    folder = tmp_path_factory.mktemp("operators")
    stores = {name: open_store(made(folder, name)) for name in KEYS}
    apps = {
        name: create_app({NETWORK: NetworkMount(store, NETWORK, "atoi")}, NETWORK, ApiSettings())
        for name, store in stores.items()
    }

    async def dispatch(scope: Any, receive: Any, send: Any) -> None:
        _, name, path = scope["path"].split("/", 2)
        await apps[name](scope | {"path": f"/{path}", "raw_path": f"/{path}".encode()}, receive, send)

    port = free_port()
    server = uvicorn.Server(uvicorn.Config(dispatch, port=port, lifespan="off", log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield {name: f"http://127.0.0.1:{port}/{name}" for name in KEYS}
    server.should_exit = True
    thread.join()
    for store in stores.values():
        store.close()


def newest_page(url: str) -> httpx.Response:
    query = {"tag": f"0x{TAG.hex()}", "pageSize": "25", "proof": "complete"}
    return httpx.get(f"{url}/api/{NETWORK}/explorer/v2/blocks", params=query)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, ["--network", NETWORK, *arguments])


def check(tmp_path: Path, document: Any, name: str) -> Result:
    file = tmp_path / "listing.json"
    file.write_bytes(compact(document))
    return run("proof", "check", str(file), "--keys", KEYS[name].verifier.text)


@pytest.mark.thorough
def test_a_row_that_is_left_out_of_a_document_makes_it_invalid(servers: Mapping[str, str], tmp_path: Path) -> None:
    page = newest_page(servers["honest"]).json()
    assert HIDDEN[4:].hex() in {each["blockId"][2:] for each in page["items"]}
    assert check(tmp_path, page["proof"], "honest").exit_code == 0
    intervals = len(page["proof"]["intervals"])
    for at in (0, len(page["proof"]["rows"]) // 2, -1):
        # Also with other counts: of the listing, and of one of the intervals.
        for total, interval in ((0, None), (1, None), *((1, each) for each in range(intervals))):
            forged = copy.deepcopy(page["proof"])
            del forged["rows"][at]
            forged["total"] -= total
            if interval is not None and "present" in forged["intervals"][interval]:
                forged["intervals"][interval]["present"]["count"] -= 1
            result = check(tmp_path, forged, "honest")
            assert (result.exit_code, result.output.splitlines()[-1]) == (1, "invalid"), result.output


@pytest.mark.thorough
def test_a_server_whose_store_lost_a_row_proves_no_page_near_it(servers: Mapping[str, str]) -> None:
    response = newest_page(servers["forgetful"])
    assert (response.status_code, "damaged" in response.text) == (503, True)


def test_a_row_that_was_never_hashed_is_found_by_an_audit(servers: Mapping[str, str], tmp_path: Path) -> None:
    page = newest_page(servers["lying"]).json()
    assert HIDDEN[4:].hex() not in {each["blockId"][2:] for each in page["items"]}
    # The document agrees with the log of its own operator, and with no other one.
    assert check(tmp_path, page["proof"], "lying").exit_code == 0
    assert check(tmp_path, page["proof"], "honest").exit_code == 1
    honest, lying = (f"{servers[name]}/api/{NETWORK}/log" for name in ("honest", "lying"))
    result = run("audit", "--json", honest, lying)
    (found,) = json.loads(result.stdout)["differences"]
    milestone = int.from_bytes(HIDDEN[:4], "big")
    assert result.exit_code == 1
    assert found["urls"] == [honest, lying]
    # The first record that differs is that of the interval of 100 milestones that has the row.
    assert (found["milestone"], found["what"]) == (milestone // 100 * 100 + 99, "trees of listings")
    assert run("audit", honest, f"{servers['forgetful']}/api/{NETWORK}/log").exit_code == 0
