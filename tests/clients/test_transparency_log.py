"""Go's packages tlog and note, and transparency-dev's merkle and formats, verify logs that this project writes.

What they sign, this project verifies.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from etl.report import quiet
from etl.static_archive.published_log import PublishedLog
from etl.store_reads import StoreReads
from ledger.transparency.checkpoint import Checkpoint, Cosignature, open_checkpoint, sign_checkpoint
from ledger.transparency.keys import SigningKey
from ledger.transparency.note import parse_note, verify_note
from ledger.transparency.positions import size_after
from ledger.transparency.proof_file import LogProof
from ledger.transparency.tiled_tree import TiledTree
from tests.api.conftest import fill
from tests.api.oracle import Oracle
from tests.api.processes import permanode
from tests.clients.installs import go_program, run
from tests.etl.static_archive.file_host import FileHost
from tests.etl.transparency.logs import KEY, NETWORK, append
from tests.ledger.transparency.logs import LOG_KEY, ORIGIN, WITNESS_KEYS, StoredLog, records_of, stored_log
from tests.reference_log import reference_log

pytestmark = pytest.mark.clients

SIZE = 66_000
"""More than 256 · 256 records: three levels of tiles."""

OLDER = (1, 255, 256, 257, 40_000, 65_535, 65_536, 65_999)

PROVED = (0, 1, 255, 256, 39_999, 65_535, 65_536, 65_999)

WITNESS = WITNESS_KEYS[0]

COSIGNED = 1_700_000_000


@pytest.fixture(scope="module")
def program(cache: Path) -> Path:
    return go_program(cache, "transparency_log")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log that was appended to in steps, as files: tiles, bundles, checkpoints, proofs."""
    folder = tmp_path_factory.mktemp("log")
    log, records = StoredLog(), records_of(SIZE)
    for size in (*OLDER, SIZE):
        log.append(records[log.builder.size : size])
        head = sign_checkpoint(Checkpoint(ORIGIN, size, log.builder.root()), LOG_KEY)
        (folder / f"checkpoint.{size}").write_bytes(bytes(head))
    note = parse_note((folder / f"checkpoint.{SIZE}").read_bytes())
    cosigned = note.sign_with(WITNESS.cosign(note.text, COSIGNED))
    (folder / "checkpoint").write_bytes(bytes(cosigned))
    for path, data in log.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    tree = TiledTree(SIZE, log.tile)
    for size in OLDER:
        (folder / f"consistency.{size}").write_bytes(b"".join(tree.consistency(size)))
    for index in PROVED:
        proof = LogProof(index, tuple(tree.audit_path(index)), cosigned, b"extra" if index % 2 else None)
        (folder / f"{index}.tlog-proof").write_bytes(bytes(proof))
    return folder


def verification(program: Path, folder: Path) -> list[str]:
    keys = [LOG_KEY.verifier.text, WITNESS.verifier.text]
    return [str(program), "verify", str(folder), ORIGIN, *keys, ",".join(map(str, OLDER))]


def test_they_verify_tiles_bundles_checkpoints_and_proofs(program: Path, folder: Path) -> None:
    assert json.loads(run(verification(program, folder))) == {
        "size": SIZE,
        "records": SIZE,
        "consistent": len(OLDER),
        "included": len(PROVED),
        "cosigned": COSIGNED,
    }


SERVED = 33_000
"""Milestones of an invented ledger, 33,700 records; the oracle ledger has fewer than a tile."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, oracle: Oracle) -> Iterator[str]:
    """The prefix of the log that `permanode serve` delivers."""
    made = tmp_path_factory.mktemp("made")
    # A server without milestones is not healthy.
    settings = StoreSettings(f"sqlite:///{made}/store", NETWORK)
    fill(settings, oracle).close()
    append(settings, made / "lake", SERVED)
    with permanode(made / "store", NETWORK, made / "stderr") as base:
        yield f"{base}/api/{NETWORK}/log"


def test_they_verify_the_served_log_of_the_oracle_ledger(program: Path, server: str, oracle: Oracle) -> None:
    network = oracle.expected["network"]
    log = reference_log(network, oracle.milestones)
    arguments = [log.origin, log.key.verifier.text, "1,7,32,49,50", "1,2,33,50"]
    assert json.loads(run([str(program), "audit", f"{server}/api/{network}/log", *arguments])) == {
        "size": 50,
        "records": 50,
        "consistent": 5,
        "included": 4,
    }


def test_they_verify_a_served_log_of_three_levels(program: Path, served: str) -> None:
    arguments = [KEY.name, KEY.verifier.text, "1,255,256,257,30000", f"1,99,100,20000,{SERVED}"]
    size = size_after(1, SERVED)
    assert json.loads(run([str(program), "audit", served, *arguments])) == {
        "size": size,
        "records": size,
        "consistent": 5,
        "included": 5,
    }


def flip(data: bytes) -> bytes:
    return data[:40] + bytes([data[40] ^ 1]) + data[41:]


def test_they_verify_the_log_of_a_static_archive_as_it_grows(program: Path, tmp_path: Path) -> None:
    settings = StoreSettings(f"sqlite:///{tmp_path}/store", NETWORK)
    migrate(settings)
    with FileHost(tmp_path / "public") as host:
        for last in (300, 301, 3_000):
            append(settings, tmp_path / "lake", last)
            with closing(open_store(settings)) as store, closing(StoreReads(store, NETWORK)) as reads:
                log = PublishedLog.find(reads)
                assert log is not None
                assert log.write(tmp_path / "public", quiet) > 0
                assert log.write(tmp_path / "public", quiet) == 0
            arguments = [KEY.name, KEY.verifier.text, "", ""]
            found = json.loads(run([str(program), "audit", f"{host.url}/log", *arguments]))
            assert found["records"] == size_after(1, last)
            assert {path.name for path in (tmp_path / "public/log").iterdir()} == {"checkpoint", "tile", "verifier"}


DAMAGE: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "leaf": ("tile/0/100", flip),
    "edge": ("tile/0/257.p/208", flip),
    "root": ("tile/2/000.p/1", lambda data: data[:-1]),
    "record": ("tile/entries/100", flip),
    "cut": ("tile/entries/257.p/208", lambda data: data[:-1]),
    "checkpoint": ("checkpoint", flip),
    "consistency": ("consistency.40000", flip),
    "short": ("consistency.40000", lambda data: data[:-32]),
    "proof": ("39999.tlog-proof", flip),
    "fork": (
        "checkpoint.256",
        lambda data: bytes(sign_checkpoint(Checkpoint(ORIGIN, 256, stored_log(255).builder.root()), LOG_KEY)),
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_they_reject_what_is_damaged(program: Path, folder: Path, kind: str) -> None:
    name, change = DAMAGE[kind]
    whole = (folder / name).read_bytes()
    try:
        (folder / name).write_bytes(change(whole))
        done = subprocess.run(verification(program, folder), capture_output=True, text=True, check=False)
    finally:
        (folder / name).write_bytes(whole)
    assert done.returncode == 1, done.stdout
    assert done.stderr


def test_they_sign_the_same_notes(program: Path) -> None:
    text = Checkpoint(ORIGIN, 5, stored_log(5).builder.root()).text
    ours = sign_checkpoint(Checkpoint(ORIGIN, 5, stored_log(5).builder.root()), LOG_KEY)
    assert run([str(program), "sign", LOG_KEY.text, text]).encode() == bytes(ours)
    # Their signer of cosignatures reads keys of type 1 and gives them the type of a witness.
    plain = SigningKey(WITNESS.name, WITNESS.seed)
    cosigned = run([str(program), "cosign", plain.text, bytes(ours).decode()]).encode()
    signed: Any = open_checkpoint(cosigned, ORIGIN, LOG_KEY.verifier, [WITNESS.verifier])
    assert [Cosignature(each.name, each.key_id, 0) for each in signed.cosignatures] == [
        Cosignature(WITNESS.name, WITNESS.verifier.key_id, 0)
    ]
    assert signed.cosignatures[0].unix_time > COSIGNED
    assert len(verify_note(signed.note, [LOG_KEY.verifier, WITNESS.verifier])) == 2
