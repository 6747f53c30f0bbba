"""Assembles the VAA of a body from single signatures, as a guardian does, if none of its VAAs has a quorum.

Signatures come from the body's VAAs, from cells of Signatures and from cells of VAAState. Each is checked against the
body's digest, so a wrong cell adds nothing. The result depends only on the set of cells and the guardian sets.
"""

from collections.abc import Iterable, Sequence

from db.schema.event_columns import SIGNATURES, STATE
from etl.wormhole.cells import Cell
from ledger.crypto.secp256k1 import recover_address
from ledger.wormhole.guardians import GuardianSet
from ledger.wormhole.vaa import Signature, Vaa, decode_signatures
from ledger.wormhole.verify import History, Verdict

SIGNING = (SIGNATURES, STATE)
"""Families of cells that contain signatures without a body."""


def assemble_vaa(
    digest: bytes, forms: Sequence[tuple[Vaa, Verdict]], cells: Iterable[Cell], history: History
) -> Vaa | None:
    """The VAA with all known signatures of a guardian set that a form names: the set with most of them, then the older
    one. None if no such set has a quorum, and if a form has one by itself: it verifies, or a bad signature makes it
    invalid, as for contracts.

    Other sets do not count: a single guardian was the quorum of the first set, and signed for years after it.
    """
    if any(verdict.quorum is not None and verdict.valid_signatures >= verdict.quorum for _, verdict in forms):
        return None
    by_guardian: dict[bytes, set[bytes]] = {}
    for vaa, verdict in forms:
        for each, signer in zip(vaa.signatures, verdict.signers, strict=True):
            if signer is not None:
                by_guardian.setdefault(signer, set()).add(each.signature)
    for signature in written_signatures((cell.family, cell.value) for cell in cells):
        signer = recover_address(digest, signature)
        if signer is not None:
            by_guardian.setdefault(signer, set()).add(signature)
    reached = [
        (len(found), -index, found)
        for index in {vaa.guardian_set_index for vaa, _ in forms} & history.keys()
        if len(found := _signatures(history[index], by_guardian)) >= history[index].quorum
    ]
    if not reached:
        return None
    _, index, signatures = max(reached, key=lambda each: each[:2])
    body = forms[0][0]
    return Vaa(
        -index,
        signatures,
        body.timestamp,
        body.nonce,
        body.emitter_chain,
        body.emitter_address,
        body.sequence,
        body.consistency_level,
        body.payload,
    )


def written_signatures(cells: Iterable[tuple[str, bytes]]) -> set[bytes]:
    """The signatures in cells of SIGNING, which are (family, value). Other cells are ignored."""
    found = set()
    for family, value in cells:
        if family == SIGNATURES:
            found.add(value)
        elif family == STATE:
            found |= {each.signature for each in decode_signatures(value)}
    return found


def _signatures(guardians: GuardianSet, by_guardian: dict[bytes, set[bytes]]) -> tuple[Signature, ...]:
    """The known signatures of the members of a set, one each, by their indices."""
    found: list[Signature] = []
    seen: set[bytes] = set()
    for index, address in enumerate(guardians.addresses):
        if address in by_guardian and address not in seen:
            seen.add(address)
            found.append(Signature(index, min(by_guardian[address])))
    return tuple(found)
