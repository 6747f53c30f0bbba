"""Parsing of parameters: text → value, one parameter at a time."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, get_type_hints
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from api.analytics_v2.routes import ANALYTICS_V2
from api.chronicle_v1.routes import CHRONICLE_V1
from api.core_v2.routes import CORE_V2
from api.explorer_v2.routes import EXPLORER_V2
from api.families import WORMHOLE_V1
from api.fields import chrysalis_params, inx_chronicle_params
from api.fields.chrysalis_params import INCLUDE_SPENT, PAGE_SIZE_OF_100
from api.fields.params import CHRONICLE, bech32
from api.http import page_sizes
from api.http.errors import BadParameter
from api.http.operations import arguments
from api.http.params import DAY, FLAG, Param, comma_separated, hexadecimal, integer, reader, word_list
from api.http.query import KEPT_BYTES, Query, query, read_once
from api.indexer_v1.routes import INDEXER_V1, SEED_INDEXER
from api.node_v1.routes import NODE_V1
from api.poi_v1.routes import POI_V1
from api.wormhole.events.params import SET
from api.wormhole.events.routes import EVENTS
from api.wormhole.guardian.routes import GUARDIAN_V1
from api.wormhole.params import INSTANT, OBSERVATION_ID, UTC_DAY
from ledger.crypto.bech32 import ADDRESS_BYTES, format_address
from tests.conftest import some_of

FAMILIES = (
    *(NODE_V1, CHRONICLE_V1, CORE_V2, EXPLORER_V2, ANALYTICS_V2, INDEXER_V1, SEED_INDEXER, POI_V1),
    *(GUARDIAN_V1, WORMHOLE_V1, EVENTS),
)
HANDLERS = {f"{family.tag} {each.handler.__name__}": each.handler for family in FAMILIES for each in family.operations}
ALL = list(
    {
        json.dumps([param.documented(), param.elsewhere], default=str): param
        for handler in HANDLERS.values()
        for param in arguments(handler).values()
    }.values()
)
"""Every parameter of every handler."""

TEXTS = st.text() | st.from_regex(r"(0x)?[0-9a-fA-F]{0,130}", fullmatch=True) | st.integers(-9, 2**70).map(str)


def read_or_none(read: Callable[[str], Any], text: str) -> Any:
    """The value; None if a ValueError is raised. No other exception may be raised."""
    try:
        return read(text)
    except ValueError:
        return None


@given(st.binary(min_size=1, max_size=64))
def test_hex_of_either_case_is_read_as_lowercase(data: bytes) -> None:
    read = reader(hexadecimal(1, 64))
    assert read(data.hex()) == data.hex()
    assert read(data.hex().upper()) == data.hex()


@given(TEXTS)
def test_whatever_is_read_as_hex_is_hex_and_nothing_but_a_value_error_comes_out(text: str) -> None:
    found = read_or_none(reader(hexadecimal(1, 64)), text)
    if found is not None:
        assert found == text.lower()
        assert bytes.fromhex(found).hex() == found


@given(st.binary(min_size=32, max_size=32), st.sampled_from(["", "0x", "0X"]), st.booleans())
def test_an_id_is_read_with_or_without_0x_where_its_type_allows_it(data: bytes, prefix: str, upper: bool) -> None:
    text = prefix + (data.hex().upper() if upper else data.hex())
    assert reader(hexadecimal(32, may_have_0x=True))(text) == data.hex()
    assert read_or_none(reader(hexadecimal(32)), text) == (None if prefix else data.hex())


@given(TEXTS)
def test_whatever_is_read_as_an_id_has_its_length(text: str) -> None:
    for may_have_0x in (False, True):
        found = read_or_none(reader(hexadecimal(32, may_have_0x=may_have_0x)), text)
        assert found is None or (len(found) == 64 and bytes.fromhex(found).hex() == found)


@given(st.integers(-5, 15))
def test_an_integer_is_read_within_its_bounds(value: int) -> None:
    found = read_or_none(reader(integer(1, 10)), str(value))
    assert found == (value if 1 <= value <= 10 else None)


@given(st.integers(0, 2**64 - 1), st.integers(0, 3))
def test_a_large_integer_is_read_exactly_and_with_leading_zeros(value: int, zeros: int) -> None:
    text = "0" * zeros + str(value)
    assert read_or_none(reader(integer(0, 2**64 - 1)), text) == (value if len(text) <= 20 else None)


@given(TEXTS)
def test_whatever_is_read_as_an_integer_is_ascii_digits(text: str) -> None:
    found = read_or_none(reader(integer(0, 2**64 - 1)), text)
    is_digits = text.isascii() and text.isdigit() and len(text) <= 20 and int(text) < 2**64
    assert found == (int(text) if is_digits else None)


@pytest.mark.parametrize("text", ["", " 1", "1 ", "+1", "1_0", "1.0", "1e1", "٣", "²", "9" * 5000, "1\n", "\udcff"])
def test_what_python_would_read_as_an_integer_is_not_one_here(text: str) -> None:
    with pytest.raises(ValueError, match="validation error"):
        reader(integer(0, 2**32 - 1))(text)


PARSE_BOOL = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}
"""The spellings of Go's strconv.ParseBool, lowered first, as Hornet and inx-api-core-v1 do."""

ROCKET = {"on": True, "yes": True, "true": True, "off": False, "no": False, "false": False}
"""The spellings of Rocket 0.5, which Chronicle uses, in any letter case."""

FLAG_TEXTS = st.text(max_size=6) | st.sampled_from([*PARSE_BOOL, *ROCKET, "y", "n", "ſ", "falſe", "true\n", " true"])


@given(FLAG_TEXTS, st.sampled_from([str, str.upper, str.title, str.swapcase]))
def test_a_flag_is_spelled_as_its_original_reads_it(text: str, cased: Callable[[str], str]) -> None:
    given_text = cased(text)
    lower = given_text.lower()
    assert read_or_none(reader(FLAG), given_text) is PARSE_BOOL.get(lower)
    of_chronicle = INCLUDE_SPENT.at(CHRONICLE)
    assert read_or_none(reader(of_chronicle.type), given_text) is (PARSE_BOOL | ROCKET).get(lower)


def test_every_flag_of_chronicle_takes_rocket_s_spellings() -> None:
    flags = {
        argument: param
        for family in (NODE_V1, CHRONICLE_V1)
        for each in family.operations
        for argument, param in arguments(each.handler).items()
        if param.type == FLAG
    }
    assert flags.keys() == {
        *("include_spent", "included", "expanded", "utf8"),
        *("none", "conflicting"),
    }
    for param in flags.values():
        assert [param.at(CHRONICLE).read(text) for text in ("On", "no")] == [True, False]
        for text in ("On", "no"):
            with pytest.raises(BadParameter, match=f"parameter {param.name}: expected true or false, found '{text}'"):
                param.read(text)


@given(st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=5))
def test_a_list_is_of_its_words_alone(items: list[str]) -> None:
    known = {"a": 1, "b": 2}
    found = read_or_none(reader(word_list(known)), ",".join(items))
    assert found == (tuple(known[each] for each in items) if items and known.keys() >= set(items) else None)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=5))
def test_a_list_has_a_maximum_of_items_each_within_its_bounds(items: list[int]) -> None:
    read = reader(comma_separated(integer(0, 10), "numbers", "[0-9]+", 3))
    is_right = len(items) <= 3 and max(items) <= 10
    assert read_or_none(read, ",".join(map(str, items))) == (tuple(items) if is_right else None)


@given(st.dates())
def test_a_date_is_a_day_from_1970_on_where_days_are_counted(day: date) -> None:
    assert reader(DAY)(day.isoformat()) == day
    since = (day - date(1970, 1, 1)).days
    assert read_or_none(reader(UTC_DAY), day.isoformat()) == (since if since >= 0 else None)


@pytest.mark.parametrize(
    "text", ["2021-02-30", "20210921", "2021-W38-2", "2021-9-21", "0", "1632182400", " 2021-09-21"]
)
def test_what_pydantic_or_python_would_read_as_a_date_is_not_one_here(text: str) -> None:
    with pytest.raises(ValueError, match="validation error"):
        reader(DAY)(text)


@given(st.datetimes(), st.integers(-23, 23), st.integers(0, 9))
def test_a_time_is_read_as_microseconds_cut_to_those_that_a_message_can_have(
    time: datetime, hours: int, digits: int
) -> None:
    zone = timezone(timedelta(hours=hours))
    fraction = f"{time.microsecond:06d}000"[:digits]
    text = time.strftime("%Y-%m-%dT%H:%M:%S").zfill(19) + (f".{fraction}" if fraction else "")
    text += f"{'-' if hours < 0 else '+'}{abs(hours):02d}:00"
    known = time.replace(microsecond=int(f"{fraction:0<6}"[:6]), tzinfo=zone)
    since = (known - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert reader(INSTANT)(text) == min(max(since, -1), 2**32 * 10**6)


@pytest.mark.parametrize(
    "text",
    [
        *("2021-09-21", "1632182400", "2021-09-21T00:00:00", "2021-09-21 00:00:00Z", "2021-09-21t00:00:00z"),
        *("2021-09-21T24:00:00Z", "2021-09-21T23:59:60Z", "2021-02-30T00:00:00Z", "2021-09-21T00:00:00+24:00"),
    ],
)
def test_an_invalid_time_of_rfc_3339_is_invalid_here(text: str) -> None:
    with pytest.raises(ValueError, match="validation error"):
        reader(INSTANT)(text)


@given(
    st.integers(0, 99_999),
    st.binary(min_size=32, max_size=32),
    st.integers(0, 10**20 - 1),
    st.binary(min_size=20, max_size=20),
)
def test_the_id_of_an_observation_is_read_in_its_parts(
    chain: int, emitter: bytes, sequence: int, guardian: bytes
) -> None:
    text = f"{chain}/{emitter.hex()}/{sequence}/0x{guardian.hex().upper()}/{emitter.hex()}"
    found = read_or_none(reader(OBSERVATION_ID), text)
    if chain >= 2**16 or sequence >= 2**64:
        assert found is None
    else:
        parts = (found.chain, found.emitter, found.sequence, found.guardian, found.digest)
        assert parts == (chain, emitter.hex(), sequence, guardian.hex(), emitter.hex())


@given(st.sampled_from([0, 8, 16, 1, 24]), st.binary(min_size=ADDRESS_BYTES - 1, max_size=ADDRESS_BYTES - 1))
def test_an_address_is_read_where_its_type_is_wanted(kind: int, data: bytes) -> None:
    serialized = bytes([kind]) + data
    text = format_address("atoi", serialized)
    assert reader(bech32())(text) == ("atoi", serialized)
    assert reader(bech32(types=(8,)))(text) == ("atoi", serialized) if kind == 8 else True
    assert (read_or_none(reader(bech32(types=(0, 8, 16))), text) is None) == (kind not in (0, 8, 16))


@given(TEXTS)
def test_no_parameter_raises_anything_but_a_bad_parameter(text: str) -> None:
    for param in some_of(ALL):
        with suppress(BadParameter):
            param.read(text)


def test_every_parameter_says_what_it_expects() -> None:
    for param in some_of(ALL):
        if param.type in (SET, chrysalis_params.TAG.type, inx_chronicle_params.BLOCK_TAG.type):
            assert param.read("\0" * 2000), param
        elif "anyOf" not in param.documented()["schema"]:
            with pytest.raises(
                BadParameter, match=f"^parameter {param.name}: expected {re.escape(param.expected)}, found "
            ):
                param.read("\0" * 2000)


def test_what_a_parameter_expects_is_in_its_errors_and_not_in_its_schema() -> None:
    for param in some_of(ALL):
        assert param.expected, param
        documented = param.documented()
        assert "description" not in documented["schema"], param
        assert documented["schema"].keys() & {"type", "anyOf"}, param


def test_every_value_is_of_the_type_that_its_handler_names() -> None:
    for name in some_of(HANDLERS):
        handler = HANDLERS[name]
        hints, found = get_type_hints(handler), arguments(handler)
        for argument in list(hints)[1:]:
            if argument in found and found[argument].example is not None:
                param = found[argument]
                TypeAdapter(hints[argument], config={"arbitrary_types_allowed": True}).validate_python(
                    param.read(json.dumps(param.example).strip('"')), strict=True
                )


def test_every_example_and_default_is_a_value() -> None:
    for param in some_of(ALL):
        if param.example not in (None, ""):
            assert param.read(json.dumps(param.example).strip('"')) is not None, param
        for dialect in ("", *param.elsewhere):
            here = param.at(dialect)
            if here.default is not None:
                assert here.read(None) == param.read(here.default), param


def test_a_default_is_another_only_where_a_dialect_says_so() -> None:
    param = Param("p", integer(0, 9), "", 1, default="5", elsewhere={"there": {"default": "7"}})
    assert [param.at(dialect).read(None) for dialect in ("", "elsewhere", "there")] == [5, 5, 7]
    assert param.at("there").read("6") == 6


def test_absence_is_the_default_or_none_or_an_error_that_says_so() -> None:
    for param in some_of(ALL):
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
    at_network = PAGE_SIZE_OF_100.at(CHRONICLE)
    assert at_network.read(text) == chronicle
    if node is None:
        with pytest.raises(BadParameter, match="parameter page_size: expected an integer from 1 to 1000, found"):
            PAGE_SIZE_OF_100.read(text)
    else:
        assert PAGE_SIZE_OF_100.read(text) == node


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
        assert query(raw, known, is_strict=False) == dict(pairs)
    else:
        with pytest.raises(BadParameter, match="one value"):
            query(raw, known, is_strict=False)


@given(st.binary(max_size=70), st.sampled_from(["", "0x"]), st.booleans())
def test_a_tag_is_hex_or_text_within_its_bounds(data: bytes, prefix: str, utf8: bool) -> None:
    given_text = data.hex() if not utf8 else "".join(chr(ord("a") + each % 26) for each in data)
    for read, with_0x, shortest in ((chrysalis_params.tag_of, False, 1), (inx_chronicle_params.tag_of, True, 0)):
        text = given_text if utf8 else prefix + given_text
        is_right = 1 <= len(data) <= 64 if utf8 or not prefix else with_0x and shortest <= len(data) <= 64
        if is_right:
            assert read(text, utf8=utf8) == (text.encode().hex() if utf8 else data.hex())
        else:
            with pytest.raises(BadParameter, match=r"1 to 64 bytes|at most 64 bytes"):
                read(text, utf8=utf8)


def test_the_read_once_short_queries_are_kept_and_errors_are_not() -> None:
    asked: list[bytes] = []

    def read(text: bytes) -> Query:
        asked.append(text)
        if text == b"wrong":
            raise BadParameter("a", "another", "wrong")
        return {"a": text.decode()}, None

    long = b"a" * (KEPT_BYTES + 1)
    for _ in range(2):
        assert [read_once(read, text)[0]["a"] for text in (b"b", long)] == ["b", long.decode()]
        with pytest.raises(BadParameter):
            read_once(read, b"wrong")
    assert asked == [b"b", long, b"wrong", long, b"wrong"]
