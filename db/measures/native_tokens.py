"""Native tokens that transactions minted, transferred and burned.

Amounts are u256, which no SQL type holds. They are summed in parts of 32 bits, and only the sign of the sum is used.
"""

from db.measures.measure import Kind, Measure, MeasureColumn
from db.model import Type

TOKENS_AT = 10
"""Where the native tokens of an output begin in its bytes: after type, amount and their count (TIP-18)."""

ID_BYTES, AMOUNT_BYTES = 38, 32
TOKEN_BYTES = ID_BYTES + AMOUNT_BYTES

PARTS = 8
PART_BITS = 32

# Hexadecimal digits, because engines differ in `substring` of bytes. SQL counts from 1.
HELD = f"""
SELECT milestone_index, white_flag_index, is_spent, inline(transform(
  sequence(0, CAST(stardust.native_tokens AS INT) - 1),
  place -> named_struct(
    'token_id', substring(hex(data), {2 * TOKENS_AT + 1} + {2 * TOKEN_BYTES} * place, {2 * ID_BYTES}),
    'amount', substring(hex(data), {2 * (TOKENS_AT + ID_BYTES) + 1} + {2 * TOKEN_BYTES} * place, {2 * AMOUNT_BYTES})
  )
))
FROM {{changes}}
WHERE stardust.native_tokens > 0
"""
"""One row per output and token, with its id as hex and the amount as little-endian hex."""


def _part(number: int) -> str:
    """One part of an amount; part 0 is the lowest."""
    at = 1 + 8 * number
    digits = ", ".join(f"substring(amount, {at + 2 * byte}, 2)" for byte in (3, 2, 1, 0))
    return f"CAST(conv(concat({digits}), 16, 10) AS BIGINT)"


GAINS = f"""
SELECT
  milestone_index,
  count_if(is_spent) > 0 AS taken,
  count_if(NOT is_spent) > 0 AS made,
  {", ".join(f"sum(if(is_spent, -1, 1) * {_part(number)}) AS part_{number}" for number in range(PARTS))}
FROM ({HELD})
GROUP BY milestone_index, white_flag_index, token_id
"""
"""One row per transaction and token, with the sum of each part."""


def _carry(number: int) -> str:
    """What the parts below a number carry to it; negative if their sum is."""
    return f"shiftright({_whole(number - 1)}, {PART_BITS})" if number else "0"


def _whole(number: int) -> str:
    return f"(part_{number} + {_carry(number)})"


IS_NEGATIVE = f"{_carry(PARTS)} < 0"
IS_ZERO = " AND ".join(
    [f"{_carry(PARTS)} = 0", *(f"({_whole(number)} & {(1 << PART_BITS) - 1}) = 0" for number in range(PARTS))]
)

MEASURE = Measure(
    Kind.FLOW,
    (
        MeasureColumn(
            "native_tokens_minted_count",
            Type.INT,
            "native tokens with a larger amount in a transaction's outputs than in its inputs",
            "count_if(NOT is_negative AND NOT is_zero)",
        ),
        MeasureColumn(
            "native_tokens_transferred_count",
            Type.INT,
            "native tokens in both inputs and outputs of a transaction",
            "count_if(taken AND made)",
        ),
        MeasureColumn(
            "native_tokens_burned_count",
            Type.INT,
            "native tokens with a smaller amount in a transaction's outputs than in its inputs",
            "count_if(is_negative)",
        ),
    ),
    rows=f"SELECT milestone_index, taken, made, {IS_NEGATIVE} AS is_negative, {IS_ZERO} AS is_zero FROM ({GAINS})",
)
