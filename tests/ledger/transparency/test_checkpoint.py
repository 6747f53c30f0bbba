"""Checkpoints and cosignatures: examples of the specifications, everything that is rejected, and cosignatures added."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.crypto.log_tree import EMPTY
from ledger.transparency.checkpoint import (
    Checkpoint,
    Cosignature,
    add_cosignatures,
    make_origin,
    open_checkpoint,
    parse_checkpoint,
    parse_origin,
    sign_checkpoint,
)
from ledger.transparency.errors import LogError, SignatureError
from ledger.transparency.keys import Signature, SigningKey, read_timestamp
from ledger.transparency.note import make_note, parse_note, parse_signatures
from tests.ledger.transparency.logs import LOG_KEY, ORIGIN, WITNESS_KEYS, stored_log

EXAMPLE = """example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
"""  # noqa: E501
"""The example of C2SP tlog-cosignature. Its message has the time 1679315147."""

LOG = LOG_KEY.verifier

WITNESSES = tuple(key.verifier for key in WITNESS_KEYS)


def head(size: int = 700) -> Checkpoint:
    return Checkpoint(ORIGIN, size, stored_log(size).builder.root())


def test_the_example_is_parsed() -> None:
    note = parse_note(EXAMPLE.encode())
    root = bytes.fromhex("0ac5186a91863e8e1d90c808014aa89bf5da8e3ee1d9f07630f0378f68f1ab62")
    assert parse_checkpoint(note.text) == Checkpoint("example.com/behind-the-sofa", 20852163, root)
    assert parse_checkpoint(note.text).text == note.text
    assert [read_timestamp(each) for each in note.signatures] == [None, 1679315147]
    assert bytes(note) == EXAMPLE.encode()


def test_a_checkpoint_is_signed_and_opened() -> None:
    note = sign_checkpoint(head(), LOG_KEY)
    assert note.text.splitlines()[:2] == [ORIGIN, "700"]
    signed = open_checkpoint(bytes(note), ORIGIN, LOG)
    assert signed.checkpoint == head()
    assert signed.cosignatures == ()


def test_every_changed_bit_and_every_cut_of_a_checkpoint_is_rejected() -> None:
    data = bytes(sign_checkpoint(head(), LOG_KEY).sign_with(WITNESS_KEYS[0].cosign(head().text, 1_700_000_000)))
    own = data.index(b"\xe2\x80\x94 witness")
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]
        if place < own:
            with pytest.raises(LogError):
                open_checkpoint(changed, ORIGIN, LOG, WITNESSES)
        else:
            # A changed name or key id is an unknown signature.
            try:
                assert open_checkpoint(changed, ORIGIN, LOG, WITNESSES).cosignatures == ()
            except LogError:
                continue
        if place != own:
            with pytest.raises(LogError):
                open_checkpoint(data[:place], ORIGIN, LOG, WITNESSES)


@pytest.mark.parametrize(
    "text",
    [
        "", "\n", f"{ORIGIN}\n", f"{ORIGIN}\n5\n", f"{ORIGIN}\n5\n{'A' * 43}=", f"\n5\n{'A' * 43}=\n",
        f"{ORIGIN}\n05\n{'A' * 43}=\n", f"{ORIGIN}\n-5\n{'A' * 43}=\n", f"{ORIGIN}\n+5\n{'A' * 43}=\n",
        f"{ORIGIN}\n 5\n{'A' * 43}=\n", f"{ORIGIN}\n5_0\n{'A' * 43}=\n", f"{ORIGIN}\n٥\n{'A' * 43}=\n",
        f"{ORIGIN}\n{2**63}\n{'A' * 43}=\n", f"{ORIGIN}\n5\n{'A' * 42}B=\n", f"{ORIGIN}\n5\n{'A' * 43}\n",
        f"{ORIGIN}\n5\n{'A' * 44}\n", f"{ORIGIN}\n5\n{'A' * 40}\n", f"{ORIGIN}\n5\n\n", f"{ORIGIN}\n5\n{'A' * 43}=\n\n",
        f"{ORIGIN}\n0\n{'A' * 43}=\n", f"{ORIGIN}\n5\n{'A' * 43}=\n\nmore\n",
    ],
)  # fmt: skip
def test_malformed_checkpoints_are_rejected(text: str) -> None:
    with pytest.raises(LogError):
        parse_checkpoint(text)


def test_an_empty_log_and_extensions_are_parsed() -> None:
    for checkpoint in (Checkpoint(ORIGIN, 0, EMPTY), Checkpoint("any origin", 2**63 - 1, bytes(32), ("more", "lines"))):
        assert parse_checkpoint(checkpoint.text) == checkpoint


def test_checkpoints_without_one_form_are_not_signed() -> None:
    for checkpoint in (Checkpoint("a\nb", 1, bytes(32)), Checkpoint(ORIGIN, 1, bytes(32), ("a\nb",))):
        with pytest.raises(LogError):
            sign_checkpoint(checkpoint, LOG_KEY)


def test_a_checkpoint_of_another_log_or_key_is_rejected() -> None:
    data = bytes(sign_checkpoint(head(), LOG_KEY))
    with pytest.raises(LogError, match="expected the origin permanode/permatest-2/1"):
        open_checkpoint(data, "permanode/permatest-2/1", LOG)
    other = SigningKey(ORIGIN, bytes(32))
    with pytest.raises(SignatureError):
        open_checkpoint(data, ORIGIN, other.verifier)
    cosigned = make_note(head().text, WITNESS_KEYS[0].cosign(head().text, 5))
    with pytest.raises(SignatureError, match=f"signature of {ORIGIN}"):
        open_checkpoint(bytes(cosigned), ORIGIN, LOG, WITNESSES)


def test_cosignatures_are_added_replaced_and_shown_with_their_time() -> None:
    note = sign_checkpoint(head(), LOG_KEY)
    unknown = SigningKey("unknown.example", bytes(32), WITNESS_KEYS[0].kind).cosign(note.text, 9)
    for times in ((1_700_000_000, 1_700_000_001), (1_800_000_000, 1_800_000_001)):
        lines = "".join(key.cosign(note.text, at).line for key, at in zip(WITNESS_KEYS, times, strict=True))
        note = add_cosignatures(note, (unknown.line + lines).encode(), WITNESSES)
        signed = open_checkpoint(bytes(note), ORIGIN, LOG, WITNESSES)
        assert signed.cosignatures == tuple(
            Cosignature(key.name, key.key_id, at) for key, at in zip(WITNESSES, times, strict=True)
        )
        assert len(note.signatures) == 3
    assert open_checkpoint(bytes(note), ORIGIN, LOG, WITNESSES[:1]).cosignatures[0].unix_time == 1_800_000_000
    assert open_checkpoint(bytes(note), ORIGIN, LOG).cosignatures == ()


@given(st.integers(0, 71), st.integers(0, 7))
def test_a_changed_cosignature_is_not_added(place: int, bit: int) -> None:
    note = sign_checkpoint(head(), LOG_KEY)
    signature = WITNESS_KEYS[0].cosign(note.text, 1_700_000_000)
    data = bytearray(signature.data)
    data[place] ^= 1 << bit
    with pytest.raises(SignatureError):
        add_cosignatures(note, Signature(signature.name, signature.key_id, bytes(data)).line.encode(), WITNESSES)


def test_cosignatures_of_other_checkpoints_or_unknown_witnesses_are_not_added() -> None:
    note = sign_checkpoint(head(), LOG_KEY)
    other = WITNESS_KEYS[0].cosign(head(699).text, 1_700_000_000)
    with pytest.raises(SignatureError, match="invalid signature"):
        add_cosignatures(note, other.line.encode(), WITNESSES)
    with pytest.raises(SignatureError, match="known key"):
        add_cosignatures(note, WITNESS_KEYS[1].cosign(note.text, 5).line.encode(), WITNESSES[:1])
    for lines in (b"", b"\n", b"text\n", other.line.encode()[:-1]):
        with pytest.raises(LogError):
            parse_signatures(lines)


def test_a_cosignature_has_72_bytes_and_a_time_below_2_63() -> None:
    key = WITNESS_KEYS[0]
    valid = key.cosign("text\n", 2**63 - 1)
    assert key.verifier.verify("text\n", valid)
    assert not key.verifier.verify("text\n", Signature(valid.name, valid.key_id, valid.data + b"\0"))
    assert not key.verifier.verify("text\n", Signature(valid.name, valid.key_id, b"\x80" + valid.data[1:]))


def test_keys_of_the_wrong_kind_are_an_error_of_the_caller() -> None:
    data = bytes(sign_checkpoint(head(), LOG_KEY))
    with pytest.raises(ValueError, match="keys of witnesses"):
        open_checkpoint(data, ORIGIN, LOG, [LOG])
    with pytest.raises(ValueError, match="key of a log"):
        open_checkpoint(data, ORIGIN, WITNESSES[0])
    with pytest.raises(ValueError, match="keys of witnesses"):
        add_cosignatures(parse_note(data), b"", [LOG])


def test_an_origin_names_network_and_first_milestone() -> None:
    assert make_origin("permatest-1", 1) == ORIGIN
    assert parse_origin("permanode/iota-mainnet/7669900") == ("iota-mainnet", 7669900)
    for network, first in (("a/b", 1), ("", 1), ("a b", 1), ("a+b", 1), ("a", 0), ("a", -1)):
        with pytest.raises(LogError):
            make_origin(network, first)
    for origin in ("permanode/a", "permanode/a/1/2", "other/a/1", "permanode/a/01", "permanode/a/x", ""):
        with pytest.raises(LogError):
            parse_origin(origin)
