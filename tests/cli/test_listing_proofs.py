"""`permanode proof check` with proofs that a listing is complete: its output and its exit codes."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner, Result

from cli import main as cli
from ledger.completeness.document import render_document
from ledger.transparency.checkpoint import Checkpoint, sign_checkpoint
from ledger.transparency.keys import Kind, SigningKey
from tests.ledger.completeness.ledgers import TAGS, Archive

ROWS = [bytes.fromhex(f"{milestone:08x}") + Random(milestone).randbytes(32) for milestone in (7, 7, 130, 250)]
TAG = b"spam"
ORIGIN = "permanode/permatest-1/1"
LOG = SigningKey("log.example", bytes(range(32)))
OTHER = SigningKey("log.example", bytes(32))
WITNESS = SigningKey("witness.example", bytes(range(1, 33)), Kind.COSIGNATURE)
END = 299


def document(*cosigners: SigningKey) -> str:
    rows = sorted({*ROWS[:1], *ROWS[2:]})
    archive = Archive({bytes([TAGS.number]) + TAG: rows}, 1, 320)
    note = sign_checkpoint(Checkpoint(ORIGIN, archive.head.size, archive.head.root), LOG)
    signed = note.sign_with(*(key.cosign(note.text, 1_700_000_000) for key in cosigners))
    proof = archive.prove(bytes([TAGS.number]) + TAG, END, 1, 2)
    return render_document(replace(proof, checkpoint=bytes(signed).decode()))


def check(tmp_path: Path, text: str, *options: str, network: str = "permatest-1") -> Result:
    file = tmp_path / "listing.json"
    file.write_text(text, "utf-8")
    return CliRunner().invoke(cli.app, ["--network", network, "proof", "check", str(file), *options])


def keys(*found: SigningKey) -> list[str]:
    return ["--keys", ",".join(each.verifier.text for each in found)]


def test_a_listing_is_proved_and_each_claim_is_printed(tmp_path: Path) -> None:
    result = check(tmp_path, document(), *keys(LOG))
    # 320 milestones, three intervals and three covers.
    assert result.output.splitlines() == [
        "network     permatest-1",
        "listing     messages_by_tag, key 7370616d",
        f"log         {ORIGIN}, 326 records",
        f"proved      The log {ORIGIN} with 326 leaves contains these 3 intervals.",
        "proved      In milestones 0 to 299 of permatest-1, messages_by_tag has exactly 3 rows under the key 7370616d.",
        "proved      Rows 1 to 2 of these, oldest first and counted from 0, are the rows in the document.",
        "signatures  log.example",
        "valid: the listing has 3 rows, and this page 2 of them",
    ]
    assert result.exit_code == 0


def test_a_listing_without_one_of_its_rows_is_invalid(tmp_path: Path) -> None:
    changed = json.loads(document())
    del changed["rows"][0]
    result = check(tmp_path, json.dumps(changed, separators=(",", ":"), ensure_ascii=False), *keys(LOG))
    assert (result.exit_code, result.output.splitlines()[-1]) == (1, "invalid")
    assert "NOT proved" in result.output


def test_without_a_key_of_the_log_nothing_is_valid_as_anybody_can_make_one(tmp_path: Path) -> None:
    for options in ([], keys(WITNESS)):
        result = check(tmp_path, document(WITNESS), *options)
        assert result.exit_code == 1
        assert result.output.splitlines()[-2:] == [
            "signatures  signer unknown: pass --keys with the key of the log",
            "signer unknown; all else is right",
        ]


@pytest.mark.parametrize(
    ("known", "cosigners", "line"),
    [
        ((OTHER,), (), "NOT sufficient: expected a signature of a known key"),
        ((OTHER, LOG), (), "log.example"),
        ((LOG, WITNESS), (), "NOT sufficient: expected a cosignature of witness.example"),
        ((LOG, WITNESS), (WITNESS,), "log.example, witness.example"),
        ((LOG,), (WITNESS,), "log.example"),
    ],
)
def test_one_log_and_every_witness_must_have_signed(
    tmp_path: Path, known: tuple[SigningKey, ...], cosigners: tuple[SigningKey, ...], line: str
) -> None:
    result = check(tmp_path, document(*cosigners), *keys(*known))
    assert result.output.splitlines()[-2] == f"signatures  {line}"
    assert result.exit_code == (1 if "NOT" in line else 0)


def test_a_listing_of_another_network_is_invalid(tmp_path: Path) -> None:
    result = check(tmp_path, document(), *keys(LOG), network="permatest-2")
    assert result.exit_code == 1
    assert "NOT proved  The proof is about the network permatest-1, not permatest-2." in result.output.splitlines()


def test_a_document_that_is_written_differently_is_named_with_what_is_wrong(tmp_path: Path) -> None:
    result = check(tmp_path, json.dumps(json.loads(document()), indent=1), *keys(LOG))
    assert result.exit_code == 1
    assert str(result.exception).startswith(f"{tmp_path}/listing.json: not a proof of a listing: ")
    assert "canonical JSON" in str(result.exception)


def test_a_key_that_cannot_be_read_is_a_usage_error(tmp_path: Path) -> None:
    result = check(tmp_path, document(), "--keys", "log.example+00000000+AAAA")
    assert result.exit_code == 2
    assert "--keys" in result.output
