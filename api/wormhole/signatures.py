"""Which guardian signatures belong to a body of a message."""

from collections.abc import Sequence

from db.store import Row
from ledger.crypto.secp256k1 import recover_address


def signatures_of_body(signatures: Sequence[Row], digest: str) -> list[Row]:
    """Returns the signatures of one body, by guardian.

    A source may record a signature under the message id without a digest. Such a row counts if it signs this body and
    the guardian has no other signature of it.
    """
    body = bytes.fromhex(digest)
    by_guardian = {
        row["guardian_address"]: row
        for row in signatures
        if row["digest"] == "" and recover_address(body, row["signature"]) == bytes.fromhex(row["guardian_address"])
    }
    by_guardian |= {row["guardian_address"]: row for row in signatures if row["digest"] == digest}
    return [row for _, row in sorted(by_guardian.items())]
