"""Numbers in binary values, as columns."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from etl.engine.columns import bytes_at


def u16(two_bytes: Column) -> Column:
    """Reads a little-endian u16 as a number."""
    return byte_at(two_bytes, 0) + byte_at(two_bytes, 1) * 256


def byte_at(data: Column, position: int) -> Column:
    """Reads a byte of a binary value as a number."""
    # A character of Latin-1 is its byte.
    return F.ascii(F.decode(bytes_at(data, position + 1, 1), "ISO-8859-1"))


def u8_bytes(number: Column) -> Column:
    """Encodes a number as a byte."""
    return F.unhex(F.lpad(F.hex(number.cast("bigint")), 2, "0"))


def u16_bytes(number: Column) -> Column:
    """Encodes a number as a little-endian u16."""
    swapped = F.pmod(number, F.lit(256)) * 256 + F.floor(number / 256)
    return F.unhex(F.lpad(F.hex(swapped.cast("bigint")), 4, "0"))
