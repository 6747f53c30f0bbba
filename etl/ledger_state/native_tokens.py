"""Computes native_token_updates from changes, and the native tokens of outputs as a column.

Tokens are read from the bytes of an output: all kinds have them at the same place, after type, amount and their count
(TIP-18).
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db import schema
from db.measures.native_tokens import AMOUNT_BYTES, ID_BYTES, TOKEN_BYTES, TOKENS_AT
from etl.tables.row_frames import RowFrame

TABLE = schema.native_token_updates

TOKENS = "array<struct<token_id: binary, token_amount: binary>>"
"""The type of `tokens`."""


def tokens() -> Column:
    """The native tokens of `listed` outputs as structs of token_id and token_amount. Empty for outputs without."""
    # Hexadecimal digits, because engines differ in `substring` of bytes. SQL counts from 1.
    return F.expr(
        f"""
        transform(
          filter(sequence(0, greatest(coalesce(CAST(native_tokens AS INT), 0), 1) - 1), place -> place < native_tokens),
          place -> named_struct(
            'token_id', unhex(substring(hex(data), {2 * TOKENS_AT + 1} + {2 * TOKEN_BYTES} * place, {2 * ID_BYTES})),
            'token_amount',
            unhex(substring(
              hex(data), {2 * (TOKENS_AT + ID_BYTES) + 1} + {2 * TOKEN_BYTES} * place, {2 * AMOUNT_BYTES}
            ))
          )
        )
        """
    )


def token_updates(*, has_tokens: bool = True) -> RowFrame:
    """A row for each native token of each `listed` change, with the owner of the output at that time. Without
    `has_tokens` no output has tokens.
    """
    return RowFrame(
        TABLE,
        F.expr("native_tokens > 0"),
        computed={"address": F.col("owner")},
        items=tokens() if has_tokens else F.lit(None).cast(TOKENS),
        item_columns=("token_id", "token_amount"),
    )


def token_positions(changes: DataFrame) -> DataFrame:
    """token_id and milestone_index of each row of the table, of `listed` changes."""
    return token_updates().rows(changes, ["milestone_index"])
