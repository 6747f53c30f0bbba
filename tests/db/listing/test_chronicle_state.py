"""Paging states of Chronicle that old clients still have: the milestone that each names, where the
listing continues.
"""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.listing.chronicle_paging_state import find_milestone
from db.listing.cursor import CursorError
from db.queries import messages, milestones
from tests.db.listing.test_paging import message_id, put_pending, put_tagged

API_YAML = "0000000100000000000000383413009100"
"""The example of Chronicle's own docs/api.yaml: one partition left, (1258552, 145)."""

u16, u32 = st.integers(0, 2**16 - 1), st.integers(0, 2**32 - 1)
partitions = st.lists(st.tuples(u32, u16), min_size=1, max_size=5)


def state(paging=None, partition=None, milestone=None, left=((9, 0),)):
    """The encoding of bincode 1.3: a byte 0 or 1 before an optional value, u64 lengths, everything little-endian."""
    parts = [b"\0" if paging is None else struct.pack("<BQ", 1, len(paging)) + paging]
    parts.append(b"\0" if partition is None else struct.pack("<BH", 1, partition))
    parts.append(b"\0" if milestone is None else struct.pack("<BI", 1, milestone))
    return b"".join([*parts, struct.pack("<Q", len(left)), *(struct.pack("<IH", *each) for each in left)]).hex()


def test_the_example_of_chronicle_s_documentation():
    assert state(left=[(1258552, 145)]) == API_YAML
    assert find_milestone(API_YAML) == find_milestone(API_YAML.upper()) == 1258552
    assert 1258552 // 8640 % 1000 == 145


@given(paging=st.none() | st.binary(max_size=40), partition=st.none() | u16, milestone=st.none() | u32, left=partitions)
def test_it_names_the_last_milestone_index_or_else_the_first_partition_s(paging, partition, milestone, left):
    text = state(paging, partition, milestone, left)
    assert find_milestone(text) == (left[0][0] if milestone is None else milestone)
    for broken in (text[:-2], text + "00", text[:-1], f"{text[:-2]}zz", f" {text}", f"0x{text}"):
        assert find_milestone(broken) is None


@given(st.text() | st.binary().map(bytes.hex) | st.text("0123456789abcdef"))
def test_garbage_names_none_and_nothing_is_raised(text):
    found = find_milestone(text)
    assert found is None or len(bytes.fromhex(text)) >= 17


@pytest.mark.parametrize("text", ["", state(left=[]), "02" + API_YAML[2:], state(b"x")[:-12] + "ff" * 8])
def test_what_has_no_partition_left_or_another_tag_is_none(text):
    assert find_milestone(text) is None


async def test_a_listing_goes_on_with_the_milestone_that_the_state_names(store):
    """Chronicle ends its pages between milestones: the state names the first one that it has not shown."""
    key = b"resumed"
    rows = [(m, message_id((m, n))) for m in range(20) for n in range(2)]
    put_tagged(store, key, rows)
    put_pending(store, "tags", key.hex(), [(21, message_id("pending"))])

    async def ask(text, *, newest=True, page_size=100):
        return await messages.list_tagged(store, key.hex(), newest=newest, page_size=page_size, cursor=text)

    for text, milestone in (
        (state(milestone=13, left=[(19, 0)]), 13),
        (state(partition=0, milestone=0), 0),
        (state(left=[(7, 0), (19, 1)]), 7),
        (state(paging=b"scylla's own", partition=0, milestone=19, left=[(19, 0)]), 19),
        (state(milestone=2**32 - 1), 2**32 - 1),
    ):
        page = await ask(text)
        wanted = sorted((row for row in rows if row[0] <= milestone), reverse=True)
        assert [row["message_id"] for row in page.rows] == [i.hex() for _, i in wanted]
        assert page.cursor is None
        first = await ask(text, page_size=1)
        following = await ask(first.cursor) if first.cursor else None
        assert [*first.rows, *(following.rows if following else [])] == page.rows
        with pytest.raises(CursorError):
            await ask(text, newest=False)
    with pytest.raises(CursorError):
        await milestones.list_milestone_messages(store, 3, newest=True, page_size=1, cursor=API_YAML)
