"""What happened to aliases, foundries and NFTs: those a transaction made, changed, passed on or ended.

Rules of this file: as in active_addresses.py.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db.roles import ALIAS, FOUNDRY, KIND_OF_TYPE, NFT
from etl.analytics.measures.native_tokens import TOKEN_BYTES, TOKENS_AT

ALIAS_ID_BYTES = 32
STATE_INDEX_BYTES = 4


def chains(changes: DataFrame) -> DataFrame:
    """A row a transaction and object."""
    taken, made = F.col("is_spent"), ~F.col("is_spent")
    # Of an alias alone; of others some bytes that nobody looks at.
    state = F.substring(
        "data", TOKENS_AT + 1 + TOKEN_BYTES * F.col("stardust.native_tokens") + ALIAS_ID_BYTES, STATE_INDEX_BYTES
    )
    steps = (
        changes.where("stardust.chain_id IS NOT NULL")
        .select(
            "milestone_index",
            "white_flag_index",
            "output_type",
            F.col("stardust.chain_id").alias("chain_id"),
            "is_spent",
            state.alias("state"),
            F.col("stardust.governor").alias("governor"),
        )
        .groupBy("milestone_index", "white_flag_index", "output_type", "chain_id")
        .agg(
            F.count_if(taken).alias("taken"),
            F.count_if(made).alias("made"),
            *(F.max(F.when(taken, F.col(name))).alias(f"{name}_before") for name in ("state", "governor")),
            *(F.max(F.when(made, F.col(name))).alias(f"{name}_after") for name in ("state", "governor")),
        )
    )
    went_on = (F.col("taken") > 0) & (F.col("made") > 0)
    found = {}
    for kind in (ALIAS, FOUNDRY, NFT):
        found[f"{kind}_new_count"] = _is(kind) & (F.col("taken") == 0)
        found[f"{kind}_destroyed_count"] = _is(kind) & (F.col("made") == 0)
    for kind in (FOUNDRY, NFT):
        found[f"{kind}_transferred_count"] = _is(kind) & went_on
    for name, column in (("state", "alias_state_changed_count"), ("governor", "alias_governor_changed_count")):
        found[column] = _is(ALIAS) & went_on & (F.col(f"{name}_before") != F.col(f"{name}_after"))
    return steps.select("milestone_index", *(told.cast("int").alias(name) for name, told in found.items()))


def _is(kind: str) -> Column:
    (number,) = [number for number, name in KIND_OF_TYPE.items() if name == kind]
    return F.col("output_type") == number
