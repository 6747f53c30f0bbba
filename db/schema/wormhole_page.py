"""The Wormhole part of docs/schema.md: the tables, and where each column of the event plans is stored."""

from collections.abc import Callable

from db.model import Table
from db.schema.event_columns import FAMILY_COLUMNS, PUBLICATION, REVISIONS, FamilyColumn
from db.schema.wormhole_tables import OWN, SHARED

ROWS_OF_THEIR_OWN: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    (
        "Signatures:{GuardianAddress}",
        ("001",),
        "vaa_signatures.signature",
        "one row per guardian with its time in `observed_at`; digest '' for written cells, a body's digest "
        "for signatures of its VAA",
    ),
    (
        "VAAState:Signatures:{GuardianSetIndex}",
        ("001",),
        "vaa_states.signatures",
        "one row per cell; a cell of `VAAState:Signatures` without a set has set -1",
    ),
    (
        "QuorumState:SignedVAA",
        REVISIONS,
        "vaas.signed_vaa",
        "one row per body with its time in `observed_at`; signatures of other cells of the same body are in "
        "vaa_signatures",
    ),
)
"""Columns whose cells are rows: name, plans, column here, note."""

NOTES = {
    "MessagePublication:Timestamp": "the time of writing; the body's own is `timestamp`",
    "MessagePublication:EmitterAddress": "part of the key",
    "MessagePublication:EmitterChain": "the chain's name; its number is part of the key",
    "TokenTransferPayload:Amount": "decimal; originally bytes with the limbs reversed, beyond 64 bits",
    "TokenTransferPayload:TargetAdress": "misspelled for a month",
    "NFTTransferPayload:TargetAdress": "misspelled for a month",
    "NFTTransferPayload:TokenId": "decimal; originally bytes with the limbs reversed",
    "TokenTransferDetails:NotionalUSD": "decimal; originally a float; here amount × price, to 8 digits",
    "ChainDetails:ReceiverAddress": "computed from the payload if no cell was written",
    "ChainDetails:ResultingTokenAddress": "the same: the token at home, a wrapped token on Solana, else null",
    "ChainDetails:ResultingTokenSymbol": "the same, if the token's symbol is known",
    "ChainDetails:ResultingTokenName": "the same, on the home chain and on EVM chains",
    "TokenTransferDetails:TargetSymbol": "in one plan only, never written",
    "TokenTransferDetails:TargetName": "in one plan only, never written",
}


def wormhole_text(describe: Callable[[Table], str]) -> str:
    """The page's part. `describe` renders the section of a table."""
    parts = [_HEAD, *map(describe, OWN), _FAMILIES]
    for name, seeds, here, why in ROWS_OF_THEIR_OWN:
        parts.append(f"| {name} | {_marks(seeds)} | {here} | {why} |\n")
    parts += [_line(each) for each in FAMILY_COLUMNS.values()]
    return "".join(parts)


def _line(each: FamilyColumn) -> str:
    name = f"{each.family}:{each.qualifier}"
    table = "vaas" if each.family == PUBLICATION else "vaa_payloads"
    here = "vaas.emitter_address" if each.column == "emitter" else f"{table}.{each.column}"
    note = NOTES.get(name, "" if each.seeds else "undocumented, but written")
    return f"| {name} | {_marks(each.seeds)} | {here} | {note} |\n"


def _marks(seeds: tuple[str, ...]) -> str:
    return " | ".join("✓" if each in seeds else "–" for each in REVISIONS)


_HEAD = f"""
## Tables of a Wormhole network

A store of a Wormhole network contains these tables, and from those above
{", ".join(f"`{each.name}`" for each in SHARED)}, in which `ms_range_id` is a range of days and milestones are days. The
row keys of the event plans are stored and accepted. Rows are sorted by `sequence_key`, because sequences have up to 20
digits and row keys are padded to 16.
"""

_FAMILIES = """
## From the event plans' column families to these tables

Values written about a message are in the rows without a digest. Values computed from the bytes of a VAA are in the row
with its digest. If a column has several cells, the earliest counts, then the smallest value. `PersistenceState` is an
earlier name of `QuorumState`. The marks show which plans define a column.

| column | June 2021 | December 2021 | March 2022 | here | note |
|---|---|---|---|---|---|
"""
