"""Aliases, foundries and NFTs that transactions created, changed, transferred or destroyed."""

from db.measures.measure import Kind, Measure, MeasureColumn, is_type
from db.measures.native_tokens import TOKEN_BYTES, TOKENS_AT
from db.model import Type
from db.output_kinds import ALIAS, FOUNDRY, NFT, types_of

ALIAS_ID_BYTES = 32
STATE_INDEX_BYTES = 4

# The state index of an alias. Other outputs have other bytes here, which no expression reads.
STATE = (
    f"substring(hex(data), {2 * (TOKENS_AT + ALIAS_ID_BYTES) + 1} + {2 * TOKEN_BYTES} * stardust.native_tokens, "
    f"{2 * STATE_INDEX_BYTES})"
)

STEPS = f"""
SELECT
  milestone_index,
  output_type,
  count_if(is_spent) > 0 AS was_there,
  count_if(NOT is_spent) > 0 AS is_there,
  max(if(is_spent, {STATE}, NULL)) != max(if(is_spent, NULL, {STATE})) AS is_other_state,
  max(if(is_spent, stardust.governor, NULL)) != max(if(is_spent, NULL, stardust.governor)) AS is_other_governor
FROM {{changes}}
WHERE stardust.chain_id IS NOT NULL
GROUP BY milestone_index, white_flag_index, output_type, stardust.chain_id
"""
"""One row per transaction and object."""

CREATED, KEPT, DESTROYED = "NOT was_there", "was_there AND is_there", "NOT is_there"


def _count(name: str, kind: str, meaning: str, condition: str) -> MeasureColumn:
    expression = f"count_if({is_type(*types_of(kind))} AND {condition})"
    return MeasureColumn(f"{kind}_{name}_count", Type.INT, meaning, expression)


MEASURE = Measure(
    Kind.FLOW,
    (
        _count("new", ALIAS, "aliases created", CREATED),
        _count("state_changed", ALIAS, "aliases with a new state index", f"{KEPT} AND is_other_state"),
        _count("governor_changed", ALIAS, "aliases with a new governor", f"{KEPT} AND is_other_governor"),
        _count("destroyed", ALIAS, "aliases destroyed", DESTROYED),
        _count("new", FOUNDRY, "foundries created", CREATED),
        _count("transferred", FOUNDRY, "foundries that were spent and created again", KEPT),
        _count("destroyed", FOUNDRY, "foundries destroyed", DESTROYED),
        _count("new", NFT, "NFTs created", CREATED),
        _count("transferred", NFT, "NFTs that were spent and created again, by any owner", KEPT),
        _count("destroyed", NFT, "NFTs destroyed", DESTROYED),
    ),
    rows=STEPS,
)
