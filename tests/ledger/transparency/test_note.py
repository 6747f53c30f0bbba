"""Signed notes: the example of Go's package note, examples of the specifications, and everything that is rejected."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.transparency.errors import LogError, SignatureError
from ledger.transparency.keys import Kind, Signature, SigningKey, VerifierKey
from ledger.transparency.note import Note, make_note, parse_note, parse_signatures, verify_note
from tests.ledger.transparency.logs import LOG_KEY, WITNESS_KEYS

PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
PUBLIC = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
LINE = "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
"""The example in the documentation of golang.org/x/mod/sumdb/note."""

NOTE = f"{TEXT}\n{LINE}".encode()

POEM = """Ognuno sta solo sul cuor della terra
trafitto da un raggio di sole:

ed è subito sera.

— quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=
"""  # noqa: E501
"""The example of C2SP signed-note, whose text has an empty line."""


def test_the_example_of_go_is_signed_and_verified() -> None:
    key = SigningKey.parse(PRIVATE)
    assert key.text == PRIVATE
    assert key.verifier.text == PUBLIC
    assert key.verifier == VerifierKey.parse(PUBLIC)
    assert bytes(make_note(TEXT, key.sign(TEXT))) == NOTE
    assert [each.line for each in verify_note(parse_note(NOTE), [key.verifier])] == [LINE]


def test_the_last_empty_line_ends_the_text() -> None:
    note = parse_note(POEM.encode())
    assert note.text.splitlines()[-1] == "ed è subito sera."
    assert [each.name for each in note.signatures] == ["quasimodo.example/salvatore"]
    assert bytes(note) == POEM.encode()


def test_every_changed_bit_is_rejected() -> None:
    key = VerifierKey.parse(PUBLIC)
    for place in range(len(NOTE)):
        for bit in range(8):
            changed = NOTE[:place] + bytes([NOTE[place] ^ 1 << bit]) + NOTE[place + 1 :]
            with pytest.raises(LogError):
                verify_note(parse_note(changed), [key])


def test_every_cut_is_rejected() -> None:
    for length in range(len(NOTE)):
        with pytest.raises(LogError):
            verify_note(parse_note(NOTE[:length]), [VerifierKey.parse(PUBLIC)])


@pytest.mark.parametrize(
    "data",
    [
        TEXT, TEXT + LINE, TEXT + "\n", f"{TEXT}\n{LINE}".removesuffix("\n"), f"{TEXT}\n{LINE}\n", f"\n{LINE}",
        f"{TEXT}\n{LINE.replace('—', '-')}", f"{TEXT}\n{LINE.replace('— ', '—')}",
        f"{TEXT}\n{LINE.replace('x08', ' x08')}",
        f"{TEXT}\n{LINE.replace('Neumann', '+')}", f"{TEXT}\n{LINE.replace('Neumann', 'a ')}", f"{TEXT}\n— name\n",
        f"{TEXT}\n— x08go/ZJkuBS\n", f"{TEXT}\n— name x08gow==\n", f"{TEXT}\n— name x08go/Y\n",
        f"{TEXT}\n— name x08go/Z=\n",
        f"{TEXT}\n— name x08go/=\n", f"{TEXT}\n— name x08g_w\n", f"{TEXT}\n— name \n", f"{TEXT}\n{LINE}{TEXT}",
        f"{TEXT}\t\n{LINE}", f"{TEXT}\0\n{LINE}", f"{TEXT}\n{LINE.replace(chr(10), chr(13) + chr(10))}", "\n\n", "",
    ],
)  # fmt: skip
def test_malformed_notes_are_rejected(data: str) -> None:
    with pytest.raises(LogError):
        parse_note(data.encode())


def test_other_bytes_than_utf_8_are_rejected() -> None:
    with pytest.raises(LogError, match="UTF-8"):
        parse_note(b"\xff" + NOTE)


def test_a_note_has_at_most_100_signatures_and_1_mb() -> None:
    assert len(parse_note(f"{TEXT}\n{LINE * 100}".encode()).signatures) == 100
    with pytest.raises(LogError, match="1 to 100"):
        parse_note(f"{TEXT}\n{LINE * 101}".encode())
    with pytest.raises(LogError, match="at most 1000000"):
        parse_note(b"a" * 1_000_000 + NOTE)
    with pytest.raises(LogError, match="at most 1000000"):
        parse_signatures(b"a" * 1_000_001)


def test_signatures_of_unknown_keys_are_ignored() -> None:
    key = SigningKey.parse(PRIVATE)
    signature = key.sign(TEXT)
    same_name = Signature(key.name, b"\0\0\0\1", bytes(64))
    same_id = Signature("another", signature.key_id, b"any length")
    note = make_note(TEXT, same_name, same_id, signature)
    assert verify_note(note, [key.verifier]) == (signature,)
    with pytest.raises(SignatureError, match="known key"):
        verify_note(make_note(TEXT, same_name, same_id), [key.verifier])
    with pytest.raises(SignatureError, match="known key"):
        verify_note(note, [LOG_KEY.verifier])


def test_an_invalid_signature_of_a_known_key_rejects_the_note() -> None:
    key = SigningKey.parse(PRIVATE)
    wrong = Signature(key.name, key.verifier.key_id, key.sign("another text\n").data)
    for other in (wrong, Signature(key.name, key.verifier.key_id, bytes(63))):
        for signatures in ((other,), (key.sign(TEXT), other)):
            with pytest.raises(SignatureError, match="invalid signature of PeterNeumann"):
                verify_note(make_note(TEXT, *signatures), [key.verifier])


def test_signatures_with_a_point_of_small_order_are_rejected() -> None:
    # Verification with the cofactor accepts it for every text; other verifiers of notes do not.
    key = VerifierKey("name", bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa"))
    signature = Signature("name", key.key_id, (1).to_bytes(32, "little") + bytes(32))
    with pytest.raises(SignatureError):
        verify_note(make_note(TEXT, signature), [key])


def test_a_replaced_signature_is_not_repeated() -> None:
    first, second = (key.cosign(TEXT, 5) for key in WITNESS_KEYS)
    later = WITNESS_KEYS[0].cosign(TEXT, 6)
    note = make_note(TEXT, LOG_KEY.sign(TEXT), first, second)
    assert note.sign_with(later).signatures == (LOG_KEY.sign(TEXT), second, later)


def test_a_text_that_no_note_can_have_is_not_signed() -> None:
    for text in ("no newline", "tab\t\n"):
        with pytest.raises(LogError):
            make_note(text, LOG_KEY.sign(text))
    with pytest.raises(LogError):
        make_note(TEXT)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]) | st.just("\n")))
def test_a_parsed_note_has_one_form(text: str) -> None:
    data = bytes(Note(f"{text}\n", (LOG_KEY.sign(text),)))
    assert bytes(parse_note(data)) == data
    assert parse_note(data).text == f"{text}\n"


@pytest.mark.parametrize(
    "text",
    [
        "", "PeterNeumann", PUBLIC.replace("c74f", "c74e"), PUBLIC.replace("c74f", "C74F"),
        PUBLIC.replace("Peter", "Pete "),
        PUBLIC.replace("+c7", "c7"), PUBLIC + "+", PUBLIC + "A", PUBLIC[:-4], PUBLIC.replace("+AR", "+AB"), PRIVATE,
        PUBLIC.replace("PeterNeumann", ""), PUBLIC.replace("+AR", "+Ag"), PUBLIC.replace("TW", "T W"),
        "a+00000000+=", "a+00000000+",
    ],
)  # fmt: skip
def test_malformed_public_keys_are_rejected(text: str) -> None:
    with pytest.raises(LogError):
        VerifierKey.parse(text)


@pytest.mark.parametrize(
    "text", ["", PUBLIC, PRIVATE[:-4], PRIVATE.replace("c74f", "c74e"), PRIVATE.replace("+AY", "+AZ"), "PRIVATE+KEY+"]
)
def test_malformed_private_keys_are_rejected_and_not_shown(text: str) -> None:
    with pytest.raises(LogError) as error:
        SigningKey.parse(text)
    assert not re.search("EKFALVFGyN|ARpc2Q", f"{error.value}{error.value.__cause__}")


def test_a_private_key_is_not_shown() -> None:
    key = SigningKey.parse(PRIVATE)
    assert repr(key.seed)[2:-1] not in repr(key)
    assert "PeterNeumann" in repr(key)


def test_names_and_lengths_of_keys_are_checked() -> None:
    for name in ("", "a b", "a+b", "a\u00a0b", "a\u2003b", "a\nb", "a\x01b"):
        with pytest.raises(LogError, match="name of a key"):
            VerifierKey(name, bytes(32))
        with pytest.raises(LogError, match="name of a key"):
            SigningKey(name, bytes(32))
    for make in (VerifierKey, SigningKey):
        with pytest.raises(LogError, match="32 bytes"):
            make("name", bytes(31))


def test_kinds_of_keys_have_different_ids_and_do_not_verify_each_other() -> None:
    log, witness = (SigningKey("name", bytes(32), kind) for kind in Kind)
    assert log.verifier.key_id != witness.verifier.key_id
    with pytest.raises(ValueError, match="timestamp"):
        witness.sign(TEXT)
    with pytest.raises(ValueError, match="key of a witness"):
        log.cosign(TEXT, 1)
    for unix_time in (-1, 2**63):
        with pytest.raises(ValueError, match="time since 1970"):
            witness.cosign(TEXT, unix_time)
    with pytest.raises(SignatureError):
        verify_note(make_note(TEXT, witness.cosign(TEXT, 1)), [log.verifier])


class SameId(VerifierKey):
    """A key with the id of the log's key. A real one takes 2^32 attempts."""

    @property
    def key_id(self) -> bytes:
        return LOG_KEY.verifier.key_id


def test_two_keys_with_one_id_are_an_error_of_the_caller() -> None:
    key, note = LOG_KEY.verifier, make_note(TEXT, LOG_KEY.sign(TEXT))
    with pytest.raises(ValueError, match="two keys"):
        verify_note(note, [key, SameId(key.name, bytes(32))])
    assert verify_note(note, [key, key]) == note.signatures
