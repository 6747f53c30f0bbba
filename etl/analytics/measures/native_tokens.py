"""Native tokens that transactions minted, passed on and burned.

Rules of this file: as in active_addresses.py. Amounts are u256, which no SQL type holds: they are summed in parts of
32 bits, and only the sign of what is gained or lost is asked.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

TOKENS_AT = 10
"""Where the native tokens begin in every output's bytes: behind its kind, amount and their count (TIP-18)."""

ID_BYTES, AMOUNT_BYTES = 38, 32
TOKEN_BYTES = ID_BYTES + AMOUNT_BYTES

PARTS = 8
PART_BITS = 32


def native_tokens(changes: DataFrame) -> DataFrame:
    """A row a transaction and token."""
    places = F.sequence(F.lit(0), F.col("stardust.native_tokens").cast("int") - 1)
    held = F.transform(
        places,
        lambda place: F.struct(
            F.substring("data", TOKENS_AT + 1 + TOKEN_BYTES * place, F.lit(ID_BYTES)).alias("token_id"),
            F.hex(F.substring("data", TOKENS_AT + 1 + ID_BYTES + TOKEN_BYTES * place, F.lit(AMOUNT_BYTES))).alias(
                "amount"
            ),
        ),
    )
    rows = changes.where("stardust.native_tokens > 0").select(
        "milestone_index", "white_flag_index", "is_spent", F.inline(held)
    )
    sign = F.when(F.col("is_spent"), -1).otherwise(1)
    gains = rows.groupBy("milestone_index", "white_flag_index", "token_id").agg(
        (F.count_if("is_spent") > 0).alias("taken"),
        (F.count_if(~F.col("is_spent")) > 0).alias("made"),
        *(F.sum(sign * _part(number)).alias(f"part_{number}") for number in range(PARTS)),
    )
    carry, rest = _sum_of_parts()
    gains = gains.withColumns({"carry": carry, "rest": rest})
    return gains.select(
        "milestone_index",
        ((F.col("carry") > 0) | ((F.col("carry") == 0) & F.col("rest")))
        .cast("int")
        .alias("native_tokens_minted_count"),
        (F.col("taken") & F.col("made")).cast("int").alias("native_tokens_transferred_count"),
        (F.col("carry") < 0).cast("int").alias("native_tokens_burned_count"),
    )


def _part(number: int) -> Column:
    """Bits of a little-endian amount in hex, the lowest first."""
    at = 1 + 8 * number
    digits = F.concat(*(F.substring("amount", at + 2 * byte, 2) for byte in (3, 2, 1, 0)))
    return F.conv(digits, 16, 10).cast("bigint")


def _sum_of_parts() -> tuple[Column, Column]:
    """What is left above all parts, negative where the sum is, and whether anything is left in them."""
    low_bits = F.lit((1 << PART_BITS) - 1)
    carry, left = F.lit(0).cast("bigint"), []
    for number in range(PARTS):
        whole = F.col(f"part_{number}") + carry
        left.append(whole.bitwiseAND(low_bits) != 0)
        carry = F.shiftright(whole, PART_BITS)
    return carry, reduce(lambda one, other: one | other, left)
