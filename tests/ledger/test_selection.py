"""Filters of selective permanodes: their canonical text, and an error for every other text."""

import pytest

from ledger.crypto.bech32 import format_address
from ledger.selection import EMITTER, IOTA_KINDS, Filter, Selection, parse_filters

ADDRESS = "00" + "ab" * 32
BECH32 = format_address("atoi", bytes.fromhex(ADDRESS))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("tag:HORNET", "tag:0x484f524e4554"),
        ("tag:ü", "tag:0xc3bc"),
        ("tag:0x484F", "tag:0x484f"),
        ("tag:a:b", "tag:0x613a62"),
        (f"address:{BECH32}", f"address:0x{ADDRESS}"),
        (f"address:0x{ADDRESS.upper()}", f"address:0x{ADDRESS}"),
        (f"address:0x10{ADDRESS[2:]}", f"address:0x10{ADDRESS[2:]}"),
        ("milestones:1:101", "milestones:1:101"),
        ("milestones:007:8", "milestones:7:8"),
    ],
)
def test_a_filter_has_one_text(text: str, canonical: str) -> None:
    (found,) = parse_filters([text], "atoi")
    assert found.text == canonical
    assert parse_filters([canonical]) == {found}


def test_a_text_has_several_filters_each_once() -> None:
    found = parse_filters(["tag:a  tag:0x61\ttag:b", f"address:{BECH32}"], "atoi")
    assert str(Selection(found)) == f"address:0x{ADDRESS} tag:0x61 tag:0x62"


def test_an_emitter_is_a_filter_of_a_wormhole_network() -> None:
    text = f"emitter:32/{'86' * 32}"
    (found,) = parse_filters([text], kinds=(EMITTER,))
    assert (found.text, Selection(frozenset({found})).emitters) == (text, {(32, b"\x86" * 32)})
    with pytest.raises(ValueError, match="has filters of the kinds tag, address, milestones"):
        parse_filters([text], kinds=IOTA_KINDS)
    with pytest.raises(ValueError, match="has filters of the kinds emitter"):
        parse_filters(["tag:a"], kinds=(EMITTER,))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "at least one filter expected"),
        ("   ", "at least one filter expected"),
        ("HORNET", "a filter expected: tag:TEXT"),
        ("tags:HORNET", "a filter expected: tag:TEXT"),
        ("tag:", "a filter expected"),
        ("tag:0x", "hex digits"),
        ("tag:0x4", "an even number of hex digits"),
        ("tag:0xgg", "hex digits"),
        (f"tag:{'a' * 65}", "a tag of 1 to 64 bytes expected, found 65"),
        ("address:atoi1qqqq", "an address as Bech32 or as 0x and hex expected"),
        (f"address:{ADDRESS}", "an address as Bech32 or as 0x and hex expected"),
        (f"address:{format_address('iota', bytes.fromhex(ADDRESS))}", r"atoi1…, expected, found iota1…"),
        (f"address:0x{ADDRESS[2:]}", "33 bytes expected"),
        (f"address:0x01{ADDRESS[2:]}", "the first one of 00, 08, 10"),
        ("milestones:0:5", "milestones:FIRST:LAST expected"),
        ("milestones:5:5", "LAST excluded and above FIRST"),
        ("milestones:5", "milestones:FIRST:LAST expected"),
        ("milestones:1:2147483649", "milestones:FIRST:LAST expected"),
        ("milestones:1:99999999999", "milestones:FIRST:LAST expected"),
    ],
)
def test_another_text_is_an_error_that_names_it(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as raised:
        parse_filters([text], "atoi")
    assert str(raised.value).startswith("--keep: ")
    assert text.strip() in str(raised.value)


def test_milestones_are_a_range() -> None:
    selection = Selection(frozenset({Filter("milestones", first=3, last=5), Filter("milestones", first=9, last=9)}))
    assert [index for index in range(12) if selection.has_milestone(index)] == [3, 4, 5, 9]
