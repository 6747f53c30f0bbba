"""Properties of both kinds of Hornet snapshot files: they survive reading and writing, and damage is rejected."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.reader import CodecError
from tests.conftest import needs_shared
from tests.ledger.cases import IOTA
from tests.ledger.chrysalis import test_snapshot as first
from tests.ledger.stardust import test_stardust_snapshot as second


class Kind(NamedTuple):
    """A kind of snapshot: the version at the start of its files, the shipped files, and the
    functions that read them.
    """

    version: int
    files: Mapping[str, bytes]
    decode: Callable[[bytes], Any]
    encode: Callable[..., bytes]
    snapshots: st.SearchStrategy[Any]


KINDS = [
    pytest.param(Kind(1, first.FILES, first.decode, first.encode, first.snapshots()), id="Hornet 1.x"),
    pytest.param(Kind(2, second.FILES, second.decode, second.encode, second.snapshots()), id="Hornet 2.x"),
]
of_both_kinds = pytest.mark.parametrize("kind", KINDS)


@needs_shared
@of_both_kinds
def test_the_shipped_files_are_copies(kind: Kind) -> None:
    assert {source: (IOTA / source).read_bytes() for source in kind.files} == kind.files


@of_both_kinds
def test_a_file_that_goes_on_is_rejected_at_its_end(kind: Kind) -> None:
    for data in kind.files.values():
        with pytest.raises(CodecError, match="expected the end, found more bytes") as rejected:
            kind.decode(data + b"\0")
        assert rejected.value.offset == len(data)


@pytest.mark.thorough
@of_both_kinds
@settings(max_examples=50)
@given(data=st.data())
def test_any_snapshot_comes_back_and_cut_anywhere_is_rejected(kind: Kind, data: st.DataObject) -> None:
    snapshot = data.draw(kind.snapshots)
    whole = kind.encode(*snapshot)
    assert kind.decode(whole) == snapshot
    size = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(CodecError) as rejected:
        kind.decode(whole[:size])
    assert rejected.value.offset <= size


@of_both_kinds
@given(data=st.data(), damage=st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255))))
def test_a_damaged_file_is_rejected_or_kept(kind: Kind, data: st.DataObject, damage: list[tuple[int, int]]) -> None:
    damaged = bytearray(data.draw(st.sampled_from(list(kind.files.values()))))
    for position, value in damage:
        damaged[position % len(damaged)] = value
    check(kind, bytes(damaged))


@of_both_kinds
@given(data=st.binary(max_size=300))
def test_out_of_random_bytes_comes_nothing_but_codec_error(kind: Kind, data: bytes) -> None:
    for head in (b"", bytes([kind.version, 0]), bytes([kind.version, 1])):
        check(kind, head + data)


def check(kind: Kind, data: bytes) -> None:
    """Rejected, or written again unchanged."""
    try:
        header, parts = kind.decode(data)
    except CodecError:
        return
    assert kind.encode(header, parts) == data
