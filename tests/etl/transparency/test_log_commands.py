"""The commands of the log: keys, proofs that a file alone is enough for, cosignatures of witnesses."""

import json
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app, describe_error
from db.connect import StoreSettings
from db.store import NotFound, StoreError
from ledger.transparency.checkpoint import open_checkpoint
from ledger.transparency.errors import LogError, SignatureError
from ledger.transparency.keys import Kind, SigningKey, VerifierKey
from ledger.transparency.note import parse_note
from tests.etl.transparency.logs import KEY, NETWORK, append, files_of, made_store

WITNESS = SigningKey("witness.example/w", bytes(range(32)), Kind.COSIGNATURE)

STRANGER = SigningKey("stranger.example/w", bytes(range(1, 33)), Kind.COSIGNATURE)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoreSettings:
    """The settings of a store with a signed log of 120 milestones, which commands use."""
    found = made_store(tmp_path / "store")
    append(found, tmp_path / "store" / "lake", 120)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PERMANODE_STORE", found.url)
    monkeypatch.setenv("PERMANODE_NETWORK", NETWORK)
    monkeypatch.setenv("PERMANODE_STORE_LOG_WITNESSES", WITNESS.verifier.text)
    return found


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments])


@pytest.mark.thorough
def test_a_key_is_created_once_and_only_its_owner_reads_it(settings: StoreSettings, tmp_path: Path) -> None:
    made = run("log", "key", "log.key")
    assert made.exit_code == 0
    assert stat.S_IMODE((tmp_path / "log.key").stat().st_mode) == 0o600
    key = SigningKey.parse((tmp_path / "log.key").read_text().strip())
    assert VerifierKey.parse(made.stdout.strip()) == key.verifier
    assert (key.name, key.kind) == (KEY.name, Kind.SIGNATURE)
    assert isinstance(run("log", "key", "log.key").exception, FileExistsError)
    run("log", "key", "witness.key", "--witness", "--name", "example.org/w")
    assert SigningKey.parse((tmp_path / "witness.key").read_text().strip()).kind is Kind.COSIGNATURE


def test_without_a_log_a_key_needs_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = made_store(tmp_path / "empty")
    monkeypatch.setenv("PERMANODE_STORE", made.url)
    monkeypatch.setenv("PERMANODE_NETWORK", NETWORK)
    failed = run("log", "key", str(tmp_path / "log.key"))
    assert (failed.exit_code, (tmp_path / "log.key").exists()) == (2, False)


@pytest.mark.thorough
def test_a_proof_is_checked_with_a_key_alone(settings: StoreSettings, tmp_path: Path) -> None:
    assert run("log", "proof", "99", "--into", "99.tlog-proof").exit_code == 0
    good = run("log", "check", "99.tlog-proof", "--key", KEY.verifier.text)
    assert good.exit_code == 0
    assert good.stdout.splitlines()[-1] == "valid"
    assert "milestone    99" in good.stdout
    assert "record 98 of 122" in good.stdout
    other = run("log", "check", "99.tlog-proof", "--key", SigningKey(KEY.name, bytes(32)).verifier.text)
    assert isinstance(other.exception, SignatureError)
    lines = (tmp_path / "99.tlog-proof").read_text().splitlines(keepends=True)
    for number in (1, 2, 3):
        changed = [*lines[:number], *lines[number + 1 :]]
        (tmp_path / "changed").write_text("".join(changed))
        assert isinstance(run("log", "check", "changed", "--key", KEY.verifier.text).exception, LogError)
    later = run("log", "proof", "121").exception
    assert isinstance(later, NotFound)
    assert describe_error(later) == f"milestone 121 in the signed log of {NETWORK} is not in this store"


def test_a_log_without_a_signature_says_how_to_sign_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = made_store(tmp_path / "store")
    append(found, tmp_path / "store" / "lake", 120, key=None)
    monkeypatch.setenv("PERMANODE_STORE", found.url)
    monkeypatch.setenv("PERMANODE_NETWORK", NETWORK)
    unsigned = run("log", "proof", "99").exception
    assert isinstance(unsigned, StoreError)
    assert describe_error(unsigned) == (
        f"the log of {NETWORK} is not signed: create a key with `permanode log key FILE`, set `log_key`, and run a load"
    )


def test_cosignatures_of_known_witnesses_are_stored(settings: StoreSettings, tmp_path: Path) -> None:
    lake = tmp_path / "store" / "lake"
    note = parse_note(files_of(lake)["checkpoint"])
    cosigned = note.sign_with(WITNESS.cosign(note.text, 1_700_000_000), STRANGER.cosign(note.text, 1_700_000_000))
    (tmp_path / "cosigned").write_bytes(bytes(cosigned))
    accepted = run("log", "accept", "cosigned")
    assert accepted.stdout == "checkpoint of 122 records, cosigned by witness.example/w at 2023-11-14 22:13:20 UTC\n"
    stored = files_of(lake)["checkpoint"]
    found = open_checkpoint(stored, KEY.name, KEY.verifier, [WITNESS.verifier])
    assert [each.name for each in found.cosignatures] == [WITNESS.name]
    assert STRANGER.name not in stored.decode()
    # The log grows; the cosigned checkpoint stays.
    append(settings, lake, 130)
    files = files_of(lake)
    assert files["cosigned"] == stored
    assert WITNESS.name not in files["checkpoint"].decode()
    status = json.loads(run("status", "--json").stdout)["log"]
    assert (status["size"], status["signed_size"], status["cosigned_size"]) == (132, 132, 122)
    assert (status["witnesses"], status["last_milestone"]) == ([WITNESS.name], 130)
    (tmp_path / "lines").write_text(WITNESS.cosign(parse_note(files["checkpoint"]).text, 1_700_000_060).line)
    assert run("log", "accept", "lines").stdout.startswith("checkpoint of 132 records")


def test_other_checkpoints_are_rejected(settings: StoreSettings, tmp_path: Path) -> None:
    lake = tmp_path / "store" / "lake"
    note = parse_note(files_of(lake)["checkpoint"])
    wrong = [
        bytes(note),
        bytes(note.sign_with(STRANGER.cosign(note.text, 1))),
        bytes(note.sign_with(WITNESS.cosign(f"{note.text}more\n", 1))),
        STRANGER.cosign(note.text, 1).line.encode(),
        b"no note",
    ]
    before = files_of(lake)
    for data in wrong:
        (tmp_path / "wrong").write_bytes(data)
        assert isinstance(run("log", "accept", "wrong").exception, LogError), data
    assert files_of(lake) == before
