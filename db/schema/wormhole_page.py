"""The Wormhole part of docs/schema.md: the tables, and where each column of the seeds' three revisions went.

Rules of this file: text out of db/schema/wormhole_tables.py and db/schema/event_columns.py; what cannot be read there
stands here as data.
"""

from collections.abc import Callable

from db.model import Table
from db.schema.event_columns import FAMILY_COLUMNS, PUBLICATION, REVISIONS, FamilyColumn
from db.schema.wormhole_tables import OWN, SHARED

ROWS_OF_THEIR_OWN: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    (
        "Signatures:{GuardianAddress}",
        ("001",),
        "vaa_signatures.signature",
        "a row a guardian, its time `observed_at`; digest '' as it was written, a body's digest as its VAA has it",
    ),
    (
        "VAAState:Signatures:{GuardianSetIndex}",
        ("001",),
        "vaa_states.signatures",
        "a row a cell; written as `VAAState:Signatures`, it stands under set -1",
    ),
    (
        "QuorumState:SignedVAA",
        REVISIONS,
        "vaas.signed_vaa",
        "a row a body; time `observed_at`. Signatures of other cells of the same body are in vaa_signatures",
    ),
)
"""Columns whose cells are rows: name, revisions, ours, what becomes of them."""

NOTES = {
    "MessagePublication:Timestamp": "it was the time of writing; the body's own is `timestamp`",
    "MessagePublication:EmitterAddress": "the key says it",
    "MessagePublication:EmitterChain": "it was the chain's name; its number is in the key",
    "TokenTransferPayload:Amount": "decimal; beyond 64 bits it was bytes, the limbs in reverse",
    "TokenTransferPayload:TargetAdress": "spelled so for a month",
    "NFTTransferPayload:TargetAdress": "spelled so for a month",
    "NFTTransferPayload:TokenId": "decimal; it was bytes, the limbs in reverse",
    "TokenTransferDetails:NotionalUSD": "decimal; it was a float of eight bytes. Ours is amount × price, to 8 digits",
    "TokenTransferDetails:TargetSymbol": "of one revision, and never written",
    "TokenTransferDetails:TargetName": "of one revision, and never written",
}


def wormhole_text(describe: Callable[[Table], str]) -> str:
    """The page's part; `describe` gives the section of a table."""
    parts = [_HEAD, *map(describe, OWN), _FAMILIES]
    for name, seeds, ours, why in ROWS_OF_THEIR_OWN:
        parts.append(f"| {name} | {_marks(seeds)} | {ours} | {why} |\n")
    parts += [_line(each) for each in FAMILY_COLUMNS.values()]
    return "".join(parts)


def _line(each: FamilyColumn) -> str:
    name = f"{each.family}:{each.qualifier}"
    table = "vaas" if each.family == PUBLICATION else "vaa_payloads"
    ours = "vaas.emitter_address" if each.column == "emitter" else f"{table}.{each.column}"
    note = NOTES.get(name, "" if each.seeds else "undocumented, and written")
    return f"| {name} | {_marks(each.seeds)} | {ours} | {note} |\n"


def _marks(seeds: tuple[str, ...]) -> str:
    return " | ".join("✓" if each in seeds else "–" for each in REVISIONS)


_HEAD = f"""
## Tables of a Wormhole network

A store of a Wormhole network has these, and of those above {", ".join(f"`{each.name}`" for each in SHARED)}: their
`ms_range_id` is a range of days there, and their milestones are days. The row key of the seeds is kept and answered;
order and ranges go by `sequence_key`, as sequences have up to 20 digits and 16 are padded.
"""

_FAMILIES = """
## From the event tables' families to these

What was written of a message stands in the rows without a digest, what follows from the bytes of a VAA in that of its
digest. Of several cells of a column the earliest counts, then the smaller value. `PersistenceState` is `QuorumState`.

| column | 001 | 002 | 000 | here | note |
|---|---|---|---|---|---|
"""
