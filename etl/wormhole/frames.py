"""Computes table frames from the rows of messages, and the sums per day.

Sums are decimals over whole days. They contain messages that are served and verified. A transfer without a price is
counted, but adds no value.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db.model import Table
from db.schema.wormhole_tables import (
    emitters,
    guardian_sets,
    prices,
    sequence_hints,
    tokens,
    vaa_daily,
    vaa_days,
    vaa_lookups,
    vaas,
)
from etl.tables.frames import TableFrame, conform
from etl.tables.partition_columns import Placement, hex_text
from etl.wormhole.values import SUM_DECIMALS, SUM_DIGITS
from ledger.wormhole.verify import History, expires_at

MEASURES = ("totals", "nfts", "transfers", "addresses")

TRANSFERS = ("token_transfer", "token_transfer_with_payload")
"""Kinds of payloads that transfer tokens."""

EXACT = f"decimal({SUM_DIGITS + SUM_DECIMALS},{SUM_DECIMALS})"
"""The type of sums."""


def inlined(rows: DataFrame, table: Table) -> DataFrame:
    """The rows of one table."""
    return rows.selectExpr(f"inline({table.name})")


def of_table(rows: DataFrame, table: Table) -> TableFrame:
    """The rows of one table with the columns that are written."""
    return conform(inlined(rows, table), table)


def lookups(rows: DataFrame, placement: Placement) -> TableFrame:
    """Rows of vaa_lookups with their partitions."""
    return conform(placement.place(inlined(rows, vaa_lookups), vaa_lookups), vaa_lookups)


def sequences(rows: DataFrame) -> TableFrame:
    """The ranges of sequences that contain rows."""
    return conform(inlined(rows, vaas).select(*sequence_hints.names).distinct(), sequence_hints)


def emitters_of(rows: DataFrame) -> TableFrame:
    """The emitters that have messages."""
    return conform(inlined(rows, vaas).select(*emitters.names).distinct(), emitters)


def tokens_of(metas: DataFrame) -> TableFrame:
    """Token metadata: (token_key, meta)."""
    return conform(metas.select("token_key", "meta.*"), tokens)


def prices_of(rows: DataFrame) -> TableFrame:
    """Prices as they were read."""
    return conform(rows, prices)


def first_metas(metas: DataFrame) -> DataFrame:
    """(token_key, meta) from etl.wormhole.decode_worker.METAS. Of several messages about a token, the earliest counts,
    then the one with the smaller digest.
    """
    meta = F.struct("timestamp", "digest", "decimals", "symbol", "name", "symbol_key")
    return metas.groupBy("token_key").agg(F.min(meta).alias("meta"))


def described(metas: DataFrame, listed: DataFrame) -> DataFrame:
    """(token_key, meta) from `first_metas` and etl.lake.wormhole_tables.TOKEN_LIST. What a message says about a token
    precedes the list, except that the list completes an empty symbol or name. `digest` is null if no message describes
    the token.
    """
    names = ("decimals", "symbol", "name", "coin_gecko_id", "symbol_key")
    own = F.col("meta")
    beside = listed.select("token_key", F.struct(*names).alias("listed"))
    has_symbol = own.isNotNull() & (own["symbol"] != "")
    name = F.when(own.isNotNull() & (own["name"] != ""), own["name"])
    meta = F.struct(
        own["digest"].alias("digest"),
        F.coalesce(own["decimals"], F.col("listed.decimals")).alias("decimals"),
        *(
            F.when(has_symbol, own[each]).otherwise(F.coalesce(F.col(f"listed.{each}"), own[each])).alias(each)
            for each in ("symbol", "symbol_key")
        ),
        F.coalesce(name, F.col("listed.name"), own["name"]).alias("name"),
        F.col("listed.coin_gecko_id").alias("coin_gecko_id"),
    )
    return metas.join(beside, "token_key", "full").select("token_key", meta.alias("meta"))


def known_tokens(moved: DataFrame, metas: DataFrame, prices: DataFrame) -> DataFrame:
    """(token_key, day) of transfers → the same without duplicates, with meta and price_usd (null if unknown). The price
    is the last one up to that day, or the first one if all prices are later; that of the token, else that of its
    symbol.
    """
    history = F.sort_array(F.collect_list(F.struct("day", "price_usd")))
    of_token = prices.groupBy("token_key").agg(history.alias("of_token"))
    of_symbol = of_token.toDF("symbol_key", "of_symbol")
    held = F.coalesce("of_token", "of_symbol")
    until = F.filter(held, lambda each: each["day"] <= F.col("day"))
    price = F.coalesce(F.try_element_at(until, F.lit(-1)), F.try_element_at(held, F.lit(1)))["price_usd"]
    return (
        moved.select("token_key", "day")
        .distinct()
        .join(metas, "token_key", "left")
        .join(of_token, "token_key", "left")
        .join(of_symbol, F.col("meta.symbol_key") == F.col("symbol_key"), "left")
        .select("token_key", "day", "meta", price.alias("price_usd"))
    )


def set_rows(network: str, history: History) -> list[tuple[str, int, str, int, bytes | None, int | None]]:
    """Rows of guardian_sets in native values."""
    assert guardian_sets.names[:2] == ("network", "guardian_set_index")
    return [
        (
            network,
            index,
            "[" + ", ".join(f'"{address.hex()}"' for address in each.addresses) + "]",
            each.since,
            each.named_by,
            expires_at(index, history),
        )
        for index, each in sorted(history.items())
    ]


def daily(rows: DataFrame, days: list[int]) -> TableFrame:
    """vaa_daily of whole days. `rows` contains every message that may count for one of them."""
    counted = rows.where("counted IS NOT NULL").select("counted.*").where(F.col("day").isin(days))
    moved = counted.where(F.col("kind").isin(*TRANSFERS))
    amount, notional = (F.try_sum(F.col(name).cast(EXACT)) for name in ("amount", "notional_usd"))
    address = hex_text(F.col("recipient"))
    measures = [
        _measure(counted, "totals", {}),
        _measure(counted.where("kind = 'nft_transfer'"), "nfts", {}),
        _measure(
            moved,
            "transfers",
            {"target_chain": F.col("target_chain"), "token_key": F.col("token_key")},
            amount=amount,
            notional_usd=notional,
        ),
        _measure(
            moved, "addresses", {"target_chain": F.col("target_chain"), "address": address}, notional_usd=notional
        ),
    ]
    return conform(reduce(DataFrame.unionByName, measures), vaa_daily)


def days_of(sums: DataFrame) -> TableFrame:
    """The days that have these rows of vaa_daily."""
    return conform(sums.select(*vaa_days.names).distinct(), vaa_days)


def _measure(counted: DataFrame, measure: str, keys: dict[str, Column], **sums: Column) -> DataFrame:
    defaults = {"target_chain": F.lit(0), "token_key": F.lit(""), "address": F.lit("")}
    group = [(defaults | keys)[name].alias(name) for name in defaults]
    nothing = F.lit(None).cast("string")
    grouped = counted.groupBy("day", "emitter_chain", "emitter_address", *group).agg(
        F.count("*").alias("message_count"),
        *((_plain(sums[name]) if name in sums else F.max(nothing)).alias(name) for name in ("amount", "notional_usd")),
    )
    return grouped.withColumn("measure", F.lit(measure))


def _plain(number: Column) -> Column:
    """A decimal without trailing zeros."""
    return F.regexp_replace(number.cast("string"), r"\.?0+$", "")
