"""How texts become values, one parameter at a time."""

import json
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.fields import chrysalis_params, params, stardust_params
from api.http import page_sizes
from api.http.errors import BadParameter
from api.http.operations import query
from api.http.params import Param, parse_hex, parse_int

ALL = [
    value
    for module in (params, chrysalis_params, stardust_params)
    for value in vars(module).values()
    if isinstance(value, Param)
]


@given(st.binary(min_size=1, max_size=64))
def test_hex_of_either_case_is_read_as_lowercase(data: bytes) -> None:
    assert parse_hex(data.hex(), 1, 64) == data.hex()
    assert parse_hex(data.hex().upper(), 1, 64) == data.hex()


@given(st.text())
def test_whatever_is_read_as_hex_is_hex_and_nothing_but_a_value_error_comes_out(text: str) -> None:
    try:
        found = parse_hex(text, 1, 64)
    except ValueError:
        return
    assert found == text.lower()
    assert bytes.fromhex(found).hex() == found


@given(st.integers(-5, 15))
def test_an_integer_is_read_within_its_bounds(value: int) -> None:
    if 1 <= value <= 10:
        assert parse_int(str(value), 1, 10) == value
    else:
        with pytest.raises(ValueError, match="bounds"):
            parse_int(str(value), 1, 10)


@pytest.mark.parametrize("text", ["", " 1", "1 ", "+1", "1_0", "1.0", "1e1", "٣", "²", "9" * 5000])
def test_what_python_would_read_as_an_integer_is_not_one_here(text: str) -> None:
    with pytest.raises(ValueError, match="bounds"):
        parse_int(text, 0, 2**32 - 1)


@pytest.mark.parametrize("param", ALL, ids=lambda param: f"{param.where}-{param.name}")
def test_every_example_and_default_is_a_value(param: Param) -> None:
    if param.example is not None:
        assert param.read(json.dumps(param.example).strip('"')) is not None
    for dialect in ("", *param.elsewhere):
        here = param.at(dialect)
        if here.default is not None:
            assert here.read(None) == param.read(here.default)


def test_a_default_is_another_only_where_a_dialect_says_so() -> None:
    param = Param("p", "query", "", "", {}, int, 1, default="5", elsewhere={"there": {"default": "7"}})
    assert [param.at(dialect).read(None) for dialect in ("", "elsewhere", "there")] == [5, 5, 7]
    assert param.at("there").read("6") == 6


@pytest.mark.parametrize("param", ALL, ids=lambda param: f"{param.where}-{param.name}")
def test_absence_is_the_default_or_none_or_an_error_that_says_so(param: Param) -> None:
    if param.required:
        with pytest.raises(BadParameter, match=f"parameter {param.name}: expected .*, found nothing"):
            param.read(None)
    elif param.default is None:
        assert param.read(None) is None


@pytest.mark.parametrize(
    ("text", "node", "chronicle"),
    [
        ("1", 1, 1),
        ("007", 7, 7),
        ("1000", 1000, 1000),
        ("1001", None, 1000),
        ("9" * 5000, None, 1000),
        ("0", None, 100),
        ("000", None, 100),
        ("-0", None, 100),
        ("-1", None, 100),
        ("-9999", None, 100),
        ("ten", None, 100),
        ("", None, 100),
        ("-", None, 100),
        ("1.5", None, 100),
        ("+5", None, 100),
        ("1e3", None, 100),
        ("٣", None, 100),
        (" 5", None, 100),
    ],
)
def test_a_page_size_is_read_as_the_family_s_original_would(text: str, node: int | None, chronicle: int) -> None:
    at_network = chrysalis_params.PAGE_SIZE_OF_100.at(params.CHRONICLE)
    assert at_network.read(text) == chronicle
    if node is None:
        with pytest.raises(BadParameter, match="parameter page_size: expected an integer from 1 to 1000, found"):
            chrysalis_params.PAGE_SIZE_OF_100.read(text)
    else:
        assert chrysalis_params.PAGE_SIZE_OF_100.read(text) == node


@given(st.text(max_size=12) | st.integers(-3000, 3000).map(str))
def test_no_page_is_larger_than_the_maximum_or_empty(text: str) -> None:
    for sizes in page_sizes.FAMILIES.values():
        try:
            assert 1 <= sizes.read(text, 100) <= page_sizes.MAXIMUM
        except ValueError:
            assert sizes in (page_sizes.NODE_V1, page_sizes.EXPLORER_V2)


@given(st.text("ab=&+%2C;é", max_size=12))
def test_a_query_is_parted_as_the_standard_library_parts_it(text: str) -> None:
    raw, known = f"a={text}".encode(), frozenset({"a", "b"})
    found = parse_qsl(raw.decode("latin-1"), keep_blank_values=True, errors="surrogateescape")
    pairs = [(name, value) for name, value in found if name in known]
    if len(pairs) == len(dict(pairs)):
        assert query({"query_string": raw}, known, is_strict=False) == dict(pairs)
    else:
        with pytest.raises(BadParameter, match="one value"):
            query({"query_string": raw}, known, is_strict=False)
