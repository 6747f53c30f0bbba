"""`permanode statement`: its files, files that are cut anywhere and resumed, and its errors."""

import asyncio
import json
import random
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from api.app import ApiSettings, create_app
from api.explorer_v2 import statement_lines
from cli import main as cli
from cli import statement as command
from db import schema
from db.connect import StoreSettings, open_store
from ledger.crypto.bech32 import parse_address
from tests.api.conftest import fill_stardust
from tests.api.explorer import Explorer
from tests.api.stardust import StardustLedger
from tests.api.statements import Statements, of_stardust

LAST = 50


@pytest.fixture(scope="module")
def stardust() -> StardustLedger:
    return StardustLedger.read()


@pytest.fixture(scope="module")
def statements(stardust: StardustLedger) -> Statements:
    return of_stardust(Explorer(stardust))


@pytest.fixture(scope="module")
def settings(stardust: StardustLedger, tmp_path_factory: pytest.TempPathFactory) -> StoreSettings:
    hrp = stardust.expected["bech32Hrp"]
    found = StoreSettings(f"sqlite:///{tmp_path_factory.mktemp('statement')}", stardust.network, bech32_hrp=hrp)
    fill_stardust(found, stardust).close()
    return found


@pytest.fixture(autouse=True)
def environment(settings: StoreSettings, stardust: StardustLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERMANODE_STORE", settings.url)
    monkeypatch.setenv("PERMANODE_NETWORK", settings.network)
    monkeypatch.setenv("PERMANODE_STORE_BECH32_HRP", stardust.expected["bech32Hrp"])
    monkeypatch.setattr(statement_lines, "BATCH_ROWS", 20)


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(cli.app, ["statement", *map(str, arguments)])
    assert result.exit_code == code, (result.output, result.exception)
    return result


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["csv", "ndjson"])
@pytest.mark.parametrize("sort", ["oldest", "newest"])
async def test_a_file_is_the_export_of_the_api(
    settings: StoreSettings, stardust: StardustLedger, statements: Statements, form: str, sort: str
) -> None:
    addresses = statements.addresses[:3]
    with closing(open_store(settings)) as store:
        app = create_app({"one": stardust.mount(store)}, "one", ApiSettings())  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
            query = {"addresses": ",".join(addresses), "start": 3, "end": 30, "sort": sort, "format": form}
            answer = await client.get("/api/explorer/v2/ledger/statement", params=query | {"pageSize": 1000})
    assert answer.text.count("\n") == len(statements.items(addresses, 3, 30)) + 2 + (form == "csv")
    written = await asyncio.to_thread(run, *addresses, "--start", 3, "--end", 30, "--sort", sort, "--format", form)
    assert written.stdout == answer.text


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["csv", "ndjson"])
@pytest.mark.parametrize("sort", ["oldest", "newest"])
def test_a_file_that_was_cut_anywhere_is_completed(
    statements: Statements, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, sort: str
) -> None:
    """At each byte around the ends of the first and the last lines, and at some others; the file is what it was."""
    monkeypatch.setattr(command, "TAIL_BYTES", 20_000)
    out, options = tmp_path / "statement", [*statements.addresses[:2], "--format", form, "--sort", sort]
    run(*options, "--out", out)
    whole = out.read_bytes()
    assert len(whole) > 20_000
    ends = [at + 1 for at in range(len(whole)) if whole[at : at + 1] == b"\n"]
    around = {end + more for end in (*ends[:3], *ends[-3:]) for more in (-1, 0, 1)}
    cuts = around | {0, 1} | {*random.Random(6).sample(range(len(whole)), 5)}
    for cut in sorted(each for each in cuts if each <= len(whole)):
        out.write_bytes(whole[:cut])
        result = run(*options, "--out", out, "--resume")
        assert out.read_bytes() == whole, cut
        assert ("is complete" in result.output) == (cut == len(whole))
    out.unlink()
    run(*options, "--out", out, "--resume")
    assert out.read_bytes() == whole


@pytest.mark.thorough
def test_a_file_of_another_statement_is_not_continued(statements: Statements, tmp_path: Path) -> None:
    one, other, *_ = statements.addresses
    out = tmp_path / "statement.csv"
    run(one, "--out", out)
    assert "exists" in run(one, "--out", out, code=2).output
    cut = out.read_bytes()[:-300]
    out.write_bytes(cut)
    for options in ([other], [one, other], [one, "--sort", "newest"], [one, "--start", 1], [one, "--end", 20]):
        result = run(*options, "--out", out, "--resume", code=1)
        assert "this statement" in str(result.exception)
        assert out.read_bytes() == cut
    assert "not a statement as ndjson" in run(one, "--format", "ndjson", "--out", out, "--resume", code=2).output
    assert "needs --out" in run(one, "--resume", code=2).output


@pytest.mark.parametrize("content", [b"notes without a line end", b"{", b"\xff\n", b"\xff", b'"kind",' * 500_000])
def test_other_files_are_not_overwritten(statements: Statements, tmp_path: Path, content: bytes) -> None:
    out = tmp_path / "notes.txt"
    out.write_bytes(content)
    result = run(statements.addresses[0], "--out", out, "--resume", code=2)
    assert "is not a statement as csv" in " ".join(result.output.split())
    assert out.read_bytes() == content


def test_invalid_options(statements: Statements) -> None:
    address = statements.addresses[0]
    assert "addresses" in run(f"{address}x", code=2).output
    assert "start" in run(address, "--start", "yesterday", code=2).output
    assert "sort" in run(address, "--sort", "up", code=2).output


def test_what_does_not_reconcile_ends_with_an_error_and_is_taken_back_when_it_does(
    settings: StoreSettings, statements: Statements, tmp_path: Path
) -> None:
    address = max(statements.addresses, key=lambda each: len(statements.items([each])))
    out, balance = tmp_path / "statement", statements.balance([address], LAST)
    run(address, "--format", "ndjson", "--out", out)
    whole = out.read_bytes()
    out.unlink()
    last = statements.items([address])[-1]["milestoneIndex"]
    table, place = schema.address_balances, (parse_address(address)[1], 0, last)
    for wrong in (balance + 1, balance - 5):
        with closing(open_store(settings, writable=True)) as store, store.batch() as batch:
            batch.upsert(table, (*table.key, "balance"), [(*place, wrong)])
        result = run(address, "--format", "ndjson", "--out", out, "--resume", code=1)
        assert "does not reconcile" in str(result.exception)
        *lines, error = [json.loads(line) for line in out.read_text().splitlines()]
        assert len(lines) > 20
        assert (error["kind"], error["balance"]) == ("error", str(wrong))
        assert error["amount"] == str(wrong - balance)
        assert error["milestoneIndex"] == last
    with closing(open_store(settings, writable=True)) as store, store.batch() as batch:
        batch.upsert(table, (*table.key, "balance"), [(*place, balance)])
    run(address, "--format", "ndjson", "--out", out, "--resume")
    assert out.read_bytes() == whole
