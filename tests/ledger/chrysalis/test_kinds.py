"""Every kind of both eras: each vector in both directions, cut at every byte, damaged at every byte, and in JSON."""

import pytest

from ledger.chrysalis.codec import CodecError
from ledger.chrysalis.json_parse import PARSE
from ledger.stardust.json_parse import PACK
from tests.ledger.cases import ERAS, Case, cases

ALL = cases(*ERAS)


@pytest.mark.parametrize("case", ALL)
def test_bytes_decode_to_a_value_that_encodes_to_them(case: Case) -> None:
    assert case.codec.encode(case.codec.decode(case.data)) == case.data


@pytest.mark.parametrize("case", ALL)
def test_bytes_cut_anywhere_are_rejected_where_they_end(case: Case) -> None:
    for size in range(len(case.data)):
        with pytest.raises(CodecError) as rejected:
            case.codec.decode(case.data[:size])
        assert 0 <= rejected.value.offset <= size
        assert rejected.value.expected


@pytest.mark.parametrize("case", ALL)
def test_a_byte_too_many_is_rejected_where_it_is(case: Case) -> None:
    with pytest.raises(CodecError, match="the end, found 1 more bytes") as rejected:
        case.codec.decode(case.data + b"\0")
    assert rejected.value.offset == len(case.data)


@pytest.mark.thorough
@pytest.mark.parametrize("case", ALL)
def test_a_damaged_byte_is_rejected_or_kept(case: Case) -> None:
    for position in range(len(case.data)):
        for damage in (0x01, 0x80, 0xFF):
            data = bytearray(case.data)
            data[position] ^= damage
            try:
                value = case.codec.decode(bytes(data))
            except CodecError:
                continue
            assert case.codec.encode(value) == data


@pytest.mark.parametrize("case", ALL)
def test_values_and_node_json_say_the_same(case: Case) -> None:
    value = case.codec.decode(case.data)
    assert case.codec.render(value) == case.vector["json"]
    assert case.codec.parse(case.vector["json"]) == value


@pytest.mark.parametrize("era", ERAS)
def test_every_kind_owns_a_vector(era: str) -> None:
    owned = {(case.values[0].family, case.values[0].tag) for case in cases(era)}
    kinds = {(family, tag) for family, tags in ERAS[era].kinds.items() for tag in tags}
    assert owned == kinds | {(family, None) for family in ERAS[era].whole}


@pytest.mark.parametrize("era", ERAS)
def test_every_kind_is_filed_under_its_own_tag(era: str) -> None:
    for kinds in ERAS[era].kinds.values():
        for tag, kind in kinds.items():
            assert tag == kind.value.KIND  # type: ignore[attr-defined]


@pytest.mark.parametrize(("era", "parsers"), [("chrysalis", PARSE), ("stardust", PACK)])
def test_the_tables_hold_the_same_kinds(era: str, parsers: dict[str, dict[int, object]]) -> None:
    tags = {family: set(kinds) for family, kinds in ERAS[era].kinds.items()}
    assert {family: set(table) for family, table in ERAS[era].render.items()} == tags
    assert {family: set(table) for family, table in parsers.items()} == tags
