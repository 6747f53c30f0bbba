"""The keys that may sign a milestone, and signature checks: with the oracle's keys and with altered milestones."""

from dataclasses import replace
from typing import Any

import pytest

from ledger.chrysalis import codec as chrysalis
from ledger.chrysalis.json import parse_milestone_json
from ledger.eras import Coordinator, KeyRange
from ledger.milestone_proof import default_threshold, find_signature_fault, parse_key_range
from ledger.stardust import values as stardust_values
from ledger.stardust.json_parse import parse_milestone_json as parse_stardust_json
from tests.reference import ORACLE, read_json, read_lines
from tests.reference_stardust import ORACLE as STARDUST_ORACLE

KEYS = [bytes.fromhex(key) for key in read_json(ORACLE / "genesis.json")["coordinatorPublicKeys"]]
BOTH = Coordinator(tuple(KeyRange(key, 1, None) for key in KEYS), 2)


def of_chrysalis() -> list[chrysalis.Milestone]:
    return [parse_milestone_json(line["milestone"]["payload"]) for line in read_lines(ORACLE / "milestones.jsonl")]


def of_stardust() -> list[stardust_values.Milestone]:
    lines = read_lines(STARDUST_ORACLE / "milestones.jsonl")
    return [parse_stardust_json(line["milestone"]["payload"]) for line in lines]


@pytest.mark.parametrize("milestones", [of_chrysalis, of_stardust])
def test_every_milestone_of_the_oracle_is_signed(milestones: Any) -> None:
    found = milestones()
    assert len(found) == 50
    assert [find_signature_fault(each, BOTH) for each in found] == [None] * 50


@pytest.mark.parametrize("milestones", [of_chrysalis, of_stardust])
def test_whatever_is_signed_may_not_change(milestones: Any) -> None:
    one = milestones()[6]
    for name in ("index", "timestamp"):
        changed = replace(one, **{name: getattr(one, name) + 1})
        fault = find_signature_fault(changed, BOTH)
        assert fault is not None
        assert fault.endswith("does not hold")


def test_who_may_not_sign_is_named() -> None:
    one = of_chrysalis()[6]
    until_six = Coordinator((KeyRange(KEYS[0], 1, None), KeyRange(KEYS[1], 1, 6)), 1)
    assert find_signature_fault(one, until_six) == f"signatures: no coordinator's key of milestone 7 is {KEYS[1].hex()}"
    assert find_signature_fault(of_chrysalis()[5], until_six) is None


def test_too_few_or_the_same_twice_are_not_enough() -> None:
    one = of_chrysalis()[6]
    alone = replace(one, public_keys=one.public_keys[:1], signatures=one.signatures[:1])
    assert find_signature_fault(alone, BOTH) == "signatures: 2 or more expected, found 1"
    twice = replace(one, public_keys=one.public_keys[:1] * 2, signatures=one.signatures[:1] * 2)
    assert find_signature_fault(twice, BOTH) == "signatures: each public key once expected"


def test_key_ranges_as_settings_write_them() -> None:
    key = KEYS[0].hex()
    assert parse_key_range(key) == KeyRange(KEYS[0], 0, None)
    assert parse_key_range(f"0x{key}:5") == KeyRange(KEYS[0], 5, None)
    assert parse_key_range(f"{key}:5:9") == KeyRange(KEYS[0], 5, 9)
    for wrong in ("", key[:-2], f"{key}:x", f"{key}:9:5", f"{key}:1:2:3"):
        with pytest.raises(ValueError, match="a coordinator's key, 64 hex digits, as KEY, KEY:FIRST or KEY:FIRST:LAST"):
            parse_key_range(wrong)
    with pytest.raises(ValueError, match="a threshold of 1 to 2 signatures expected, not 3"):
        Coordinator(BOTH.key_ranges, 3)


@pytest.mark.parametrize(
    ("ranges", "threshold"),
    [
        ("A", 1),
        ("A B", 2),
        ("A:1:5000 B:1", 1),
        ("A:1:50 B:1:50 C:40 D:40", 2),
        ("A:1:50 A:40", 1),
        ("A:1:50 B:1:60 C:70 D:70", 1),
        ("A B C:9:9", 2),
    ],
)
def test_as_many_must_sign_as_the_milestone_with_the_fewest_keys_has_keys(ranges: str, threshold: int) -> None:
    found = [parse_key_range(each.replace(each[0], f"{ord(each[0]):02x}" * 32, 1)) for each in ranges.split()]
    assert default_threshold(found) == threshold
