"""The file with the private key of a log or of a witness, in the text form of signed-note."""

import os
import secrets
from pathlib import Path

from ledger.transparency.errors import LogError
from ledger.transparency.keys import KEY_BYTES, Kind, SigningKey

OTHERS = 0o077
"""Permissions of others than the owner of a file."""


def create_key(file: Path, name: str, kind: Kind) -> SigningKey:
    """Creates a key in a new file that only its owner may read.

    Raises:
        FileExistsError: the file exists; keys are never replaced.
        LogError: the name has spaces or plus signs.
    """
    key = SigningKey(name, secrets.token_bytes(KEY_BYTES), kind)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
        opened.write(f"{key.text}\n")
    return key


def read_key(file: Path, kind: Kind) -> SigningKey:
    """Reads a key.

    Raises:
        LogError: others may read the file, it does not contain a key, or one of another kind.
        FileNotFoundError: the file does not exist.
    """
    if file.stat().st_mode & OTHERS:
        raise LogError(f"{file}: expected a file that only its owner may read: chmod 600")
    try:
        key = SigningKey.parse(file.read_text("utf-8").strip())
    except LogError as error:
        raise LogError(f"{file}: {error}") from None
    if key.kind is not kind:
        expected = "a log" if kind is Kind.SIGNATURE else "a witness"
        raise LogError(f"{file}: expected the key of {expected}")
    return key
