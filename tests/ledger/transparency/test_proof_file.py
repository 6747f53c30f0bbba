"""`.tlog-proof`: the layout of the specification, proofs of a log, and everything that is rejected."""

from base64 import b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.transparency.checkpoint import Checkpoint, sign_checkpoint
from ledger.transparency.errors import LogError
from ledger.transparency.proof_file import LogProof, parse_proof, verify_proof
from ledger.transparency.tiled_tree import TiledTree
from tests.ledger.transparency.logs import LOG_KEY, ORIGIN, WITNESS_KEYS, records_of, stored_log

LOG = LOG_KEY.verifier

WITNESSES = tuple(key.verifier for key in WITNESS_KEYS)


def proof_of(size: int, index: int, extra: bytes | None = None) -> LogProof:
    log = stored_log(size)
    note = sign_checkpoint(Checkpoint(ORIGIN, size, log.builder.root()), LOG_KEY)
    cosigned = note.sign_with(*(key.cosign(note.text, 1_700_000_000) for key in WITNESS_KEYS))
    return LogProof(index, tuple(TiledTree(size, log.tile).audit_path(index)), cosigned, extra)


def test_a_proof_has_the_layout_of_the_specification() -> None:
    proof = proof_of(700, 5, b"\0\1")
    lines = bytes(proof).decode().split("\n")
    path = [b64encode(each).decode() for each in proof.path]
    assert lines[:3] == ["c2sp.org/tlog-proof@v1", "extra AAE=", "index 5"]
    assert lines[3 : 3 + len(path) + 1] == [*path, ""]
    assert "\n".join(lines[4 + len(path) :]).encode() == bytes(proof.checkpoint)
    assert bytes(proof_of(1, 0)).startswith(b"c2sp.org/tlog-proof@v1\nindex 0\n\npermanode/")


@settings(max_examples=50)
@given(st.sampled_from([1, 2, 255, 256, 257, 700]), st.data())
def test_proofs_are_parsed_and_verified(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    proof = proof_of(size, index, data.draw(st.none() | st.binary(max_size=40)))
    assert parse_proof(bytes(proof)) == proof
    signed = verify_proof(proof, records_of(size)[index], ORIGIN, LOG, WITNESSES)
    assert signed.checkpoint.size == size
    assert [each.name for each in signed.cosignatures] == [key.name for key in WITNESSES]


def test_other_records_indexes_paths_and_logs_are_rejected() -> None:
    proof, record = proof_of(700, 5), records_of(700)[5]
    first, *rest = proof.path
    forged = [
        (proof, records_of(700)[4], ORIGIN),
        (proof, record, "permanode/permatest-2/1"),
        (LogProof(4, proof.path, proof.checkpoint), record, ORIGIN),
        (LogProof(700, proof.path, proof.checkpoint), record, ORIGIN),
        (LogProof(5, tuple(rest), proof.checkpoint), record, ORIGIN),
        (LogProof(5, (first, *proof.path), proof.checkpoint), record, ORIGIN),
        (LogProof(5, (*rest, first), proof.checkpoint), record, ORIGIN),
        (LogProof(5, proof.path, proof_of(699, 5).checkpoint), record, ORIGIN),
    ]
    for other, claimed, origin in forged:
        with pytest.raises(LogError):
            verify_proof(other, claimed, origin, LOG, WITNESSES)


def test_every_changed_bit_and_every_cut_is_rejected() -> None:
    record = records_of(700)[5]
    log = stored_log(700)
    note = sign_checkpoint(Checkpoint(ORIGIN, 700, log.builder.root()), LOG_KEY)
    data = bytes(LogProof(5, tuple(TiledTree(700, log.tile).audit_path(5)), note))
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]
        for other in (changed, data[:place]):
            with pytest.raises(LogError):
                verify_proof(parse_proof(other), record, ORIGIN, LOG)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@v1", "@v2"), ("c2sp.org/tlog-proof@v1\n", ""), ("index 5", "index 05"), ("index 5", "Index 5"),
        ("index 5\n", ""), ("index 5", "index 5 "), ("index 5", "index"), ("index 5", f"index {2**63}"),
        ("index 5", "extra AAE\nindex 5"), ("index 5", "extra\nindex 5"), ("index 5", "index 5\nextra AAE="),
        ("index 5", "extra AAE=\nextra AAE=\nindex 5"), ("index 5\n", "index 5\n" + ("A" * 43 + "=\n") * 60),
        ("index 5\n", "index 5\nAAE=\n"), ("\n\npermanode", "\npermanode"), ("index 5", "índex 5"), ("\n", "\r\n"),
        ("index 5\n", "index 5\n\n"),
    ],
)  # fmt: skip
def test_malformed_proofs_are_rejected(old: str, new: str) -> None:
    text = bytes(proof_of(700, 5)).decode()
    changed = text.replace(old, new) if old == "\n" else text.replace(old, new, 1)
    assert changed != text
    with pytest.raises(LogError):
        verify_proof(parse_proof(changed.encode()), records_of(700)[5], ORIGIN, LOG)


def test_a_proof_has_at_most_2_mb() -> None:
    with pytest.raises(LogError, match="at most"):
        parse_proof(b"c2sp.org/tlog-proof@v1\nextra " + b"A" * 2_000_000)
