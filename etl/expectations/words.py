"""Hashes Arrow columns and rows as 64-bit words, vectorized.

A word contains a value's null state, its length, and its first and last 8 bytes. The hash of a row depends on which
column and which row each word is in, so exchanged columns and mixed rows change a sum of hashes. It detects errors, not
attacks.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Words: TypeAlias = npt.NDArray[np.uint64]

_NULL = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _LAST, _LENGTH = (np.uint64(each) for each in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93))
_BOTH = np.uint64((int(_FIRST) + int(_LAST)) % 2**64)
_WORD = 8
"""Bytes of a word."""


def row_hashes(
    columns: Mapping[str, Words | np.uint64], names: Sequence[str], count: int, shared: Words | None = None
) -> Words:
    """Returns a hash for each of `count` rows, from the words of the named columns, and `shared`, the weighted sum of
    other columns.
    """
    return _mixed(weighted(columns, names, count, shared))


def weighted(
    columns: Mapping[str, Words | np.uint64], names: Sequence[str], count: int, shared: Words | None = None
) -> Words:
    """Returns for each of `count` rows the sum of its words in the named columns, each multiplied by the number of its
    column, plus `shared`.
    """
    sums = np.zeros(count, np.uint64) if shared is None else shared.copy()
    with np.errstate(over="ignore"):
        for name in names:
            sums += columns[name] * _factor(name)
    return sums


def words(array: pa.Array) -> Words:
    """Returns a word per value: numbers as they are, bytes and text by length and both ends, and one word for null."""
    if len(array) == 0:
        return np.zeros(0, np.uint64)
    kind = array.type
    if array.null_count == len(array):
        return np.full(len(array), _NULL)
    if pa.types.is_decimal128(kind):
        found = _low_halves(array)
    elif pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        whole = pc.fill_null(array, False if pa.types.is_boolean(kind) else 0) if array.null_count else array
        found = pc.cast(whole, pa.int64()).to_numpy(zero_copy_only=False).view(np.uint64)
    else:
        found = _ends(array)
    return np.where(_valid(array), found, _NULL) if array.null_count else found


def distinct(hashes: Words) -> Words:
    """Returns each of the words once, in ascending order."""
    # numpy.unique finds them with a hash table first, which takes eight times as long.
    ordered = np.sort(hashes)
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def among(hashes: Words, ordered: Words) -> npt.NDArray[np.bool_]:
    """Returns for each word whether it is one of others, which are in ascending order."""
    if len(ordered) == 0:
        return np.zeros(len(hashes), np.bool_)
    places = np.minimum(np.searchsorted(ordered, hashes), len(ordered) - 1)
    found: npt.NDArray[np.bool_] = ordered[places] == hashes
    return found


def plain_amounts(array: pa.Array) -> Words:
    """Returns the numbers of a column, 0 for null."""
    found = words(array)
    return np.where(_valid(array), found, np.uint64(0)) if array.null_count else found


def grouped(array: pa.ChunkedArray) -> tuple[npt.NDArray[np.int64], Words]:
    """Returns the number of each value among the distinct values, -1 for null, and the words of the distinct values.

    Words do not distinguish values that differ in the middle, so they must not be what rows are grouped by.
    """
    chunks = array.dictionary_encode().unify_dictionaries().chunks
    if not chunks:
        return np.zeros(0, np.int64), np.zeros(0, np.uint64)
    codes = [pc.fill_null(each.indices, -1).to_numpy(zero_copy_only=False) for each in chunks]
    return np.concatenate(codes).astype(np.int64), words(chunks[0].dictionary)


def _valid(array: pa.Array) -> npt.NDArray[np.bool_]:
    return array.is_valid().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


@cache
def _factor(name: str) -> np.uint64:
    """An odd number for the column's name."""
    return np.uint64(int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little") | 1)


def _mixed(hashes: Words) -> Words:
    hashes ^= hashes >> np.uint64(29)
    hashes *= _FIRST
    hashes ^= hashes >> np.uint64(32)
    return hashes


def _low_halves(array: pa.Array) -> Words:
    halves = np.frombuffer(array.buffers()[1], np.uint64)
    return halves[2 * array.offset : 2 * (array.offset + len(array)) : 2]


def _ends(array: pa.Array) -> Words:
    if not pa.types.is_binary(array.type) and not pa.types.is_string(array.type):
        array = pc.cast(array, pa.binary())
    _, offsets_buffer, data = array.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32)[array.offset : array.offset + len(array) + 1]
    lengths = np.diff(offsets)
    size = int(lengths[0])
    if size >= _WORD and (lengths == size).all():
        # Ids and addresses: two views with a stride, without indexes.
        first: Words = np.ndarray(lengths.shape, np.uint64, data, int(offsets[0]), (size,))
        last: Words = np.ndarray(lengths.shape, np.uint64, data, int(offsets[1]) - _WORD, (size,))
        return first * _FIRST + last * _LAST + np.uint64(size * int(_LENGTH) % 2**64)
    if data is None or data.size < _WORD:
        data = pa.py_buffer((b"" if data is None else data.to_pybytes()) + bytes(_WORD))
    # A word at every position of the bytes, without a copy.
    sliding: Words = np.ndarray((data.size - _WORD + 1,), np.uint64, data, 0, (1,))
    starts, ends = offsets[:-1], offsets[1:]
    short = np.nonzero(lengths < _WORD)[0]
    if len(short):
        starts, ends = np.minimum(starts, len(sliding) - 1), np.maximum(ends, _WORD)
    found: Words = sliding[starts] * _FIRST + sliding[ends - _WORD] * _LAST
    if len(short):
        found[short] = _short(sliding, offsets[short].astype(np.int64), lengths[short].astype(np.int64)) * _BOTH
    return found + lengths.astype(np.uint64) * _LENGTH


def _short(sliding: Words, starts: npt.NDArray[np.int64], size: npt.NDArray[np.int64]) -> Words:
    """The words of up to 8 bytes, with zeros behind shorter ones."""
    position = np.minimum(starts, len(sliding) - 1)
    # At the end of the bytes, the bytes before a value share its word.
    shifted = np.minimum(starts - position, 8)
    whole = sliding[position] >> (8 * np.minimum(shifted, 7)).astype(np.uint64)
    kept = (8 * (8 - size)).astype(np.uint64)
    masked = whole & (np.uint64(2**64 - 1) >> np.minimum(kept, np.uint64(63)))
    return np.where(size == 0, np.uint64(0), masked)
