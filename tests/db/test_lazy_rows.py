"""Rows that were not rendered yet, compared with the dicts that they stand for."""

import pytest

from db.lazy_rows import FEW, LazyRows, RowForm, joined, values_of

FORM = RowForm({"number": "number", "id": "id.hex()"})


def native(count):
    return [(number, bytes([number, 255])) for number in range(count)]


def dicts(count):
    return [{"number": number, "id": f"{number:02x}ff"} for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, FEW, FEW + 1, 3 * FEW])
def test_rows_are_a_sequence_of_dicts(count):
    rows, expected = FORM.read(native(count)), dicts(count)
    assert isinstance(rows, list) == (count <= FEW)
    assert rows == expected
    assert [*rows] == expected
    assert len(rows) == count
    assert bool(rows) == bool(expected)
    assert [*reversed(rows)] == expected[::-1]


def test_parts_and_values_need_no_dicts():
    rows, expected = LazyRows(native(30), FORM), dicts(30)
    assert rows[-1] == expected[-1]
    assert rows[3:-4] == expected[3:-4]
    assert isinstance(rows[3:-4], LazyRows)
    assert values_of(rows, "id") == [row["id"] for row in expected]
    assert values_of(rows[5:], "number") == [*range(5, 30)]
    assert rows != expected[1:]


def test_what_a_caller_adds_to_a_row_stays():
    rows = LazyRows(native(30), FORM)
    for row in rows:
        row["more"] = 1
    assert rows[7] == {"number": 7, "id": "07ff", "more": 1}


def test_a_column_that_was_not_read_is_an_error():
    with pytest.raises(KeyError, match="other"):
        values_of(LazyRows(native(30), FORM), "other")


def test_parts_of_a_page_follow_each_other():
    first = [{"id": "aa", "bucket": 5}]
    assert joined([first]) is first
    rows = joined([first, LazyRows(native(20), FORM), LazyRows(native(2), FORM)])
    expected = [*first, *dicts(20), *dicts(2)]
    assert rows == expected
    assert (len(rows), rows[0], rows[-1], rows[1:3]) == (23, expected[0], expected[-1], expected[1:3])
    assert values_of(rows, "id") == [row["id"] for row in expected]
    assert joined([]) == []
