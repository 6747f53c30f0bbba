"""Vectors that both checkers share. The reference wrote them: `python -m tests.ledger.completeness.test_vectors`."""

import json
from pathlib import Path
from random import Random
from typing import Any

from ledger.completeness.check import LogHead, check_document
from tests.conftest import ROOT
from tests.ledger.completeness.javascript import Case, check_all
from tests.ledger.completeness.reference import Ledger

FOLDER = ROOT / "tests/vectors/completeness"

Json = dict[str, Any]

TAG, PARENT, UPDATE = 1, 2, 112


def ledger(first: int, frontier: int) -> Ledger:
    rng = Random(28)

    def rows(size: int, *milestones: int) -> list[bytes]:
        return [each.to_bytes(4, "big") + rng.randbytes(size - 4) for each in milestones]

    listings = {
        (TAG, b""): rows(36, 7),
        (TAG, b"tag"): rows(36, 3, 5, 99, 100, 151, 230, 1_000, 1_099),
        (TAG, b"tag\0"): rows(36, *range(5, 45)),
        (TAG, b"taga"): rows(36, 99, 1_050),
        (PARENT, b"\x11" * 32): rows(36, 301, 301),
        (UPDATE, b"\0" + b"\x22" * 32): rows(39, 120, 640, 641),
    }
    return Ledger("permatest-1", first, frontier, listings)


def render() -> dict[str, Json]:
    """File → what the reference says."""
    pages = (
        ("several intervals", 1, "messages_by_tag", (TAG, b"tag"), 1_199, 0, 100),
        ("a page across intervals", 1, "messages_by_tag", (TAG, b"tag"), 1_199, 4, 3),
        ("a page inside groups", 1, "messages_by_tag", (TAG, b"tag\0"), 1_199, 17, 10),
        ("an older end", 1, "messages_by_tag", (TAG, b"tag"), 199, 0, 100),
        ("one interval inside a larger one", 1, "messages_by_parent", (PARENT, b"\x11" * 32), 999, 0, 100),
        ("another first milestone", 57, "ledger_updates_by_address", (UPDATE, b"\0" + b"\x22" * 32), 1_199, 1, 2),
        ("the first key", 1, "messages_by_tag", (TAG, b""), 99, 0, 1),
        ("absent between neighbours", 1, "messages_by_tag", (TAG, b"tag\0\0"), 1_199, 0, 1),
        ("absent after the last key, and in empty trees", 1, "transactions_by_address", (113, b"\0" * 33), 1_199, 0, 1),
        ("absent before the first key", 57, "messages_by_tag", (TAG, b""), 999, 0, 1),
    )
    valid = []
    for name, first, family, listing, end, index, count in pages:
        archive = ledger(first, 1_210)
        size, root = archive.head()
        document = archive.document(family, listing, end, index, count)
        valid.append({"name": name, "network": "permatest-1", "size": size, "root": root.hex(), "document": document})
    one, two, inside = (each["document"] for each in valid[:3])
    head = {key: valid[0][key] for key in ("network", "size", "root")}
    changed = (
        ("another network", one, {"network": "permatest-2"}),
        ("another root", one, {"root": "00" * 32}),
        ("another size", one, {"size": head["size"] - 1}),
        ("rows of another page", one.replace(json.loads(one)["rows"][0], json.loads(two)["rows"][0]), {}),
        ("a smaller total", inside.replace('"total":40', '"total":39'), {}),
        ("a duplicate field", one.replace('"version":1', '"version":1,"version":1'), {}),
        ("a space", one.replace('"version":1', '"version": 1'), {}),
        ("unused bits in base64", with_unused_bits(one), {}),
        ("base64 without padding", one.replace('="', '"', 1), {}),
        ("hex in upper case", one.replace('"key":"746167"', '"key":"74616G"'), {}),
        ("an unknown field", one[:-1] + ',"more":0}', {}),
        ("a cut end", one[:-1], {}),
        ("a lone surrogate", one.replace("permanode signature", "\\ud800"), {}),
    )
    invalid = [{"name": name, **head, **other, "document": document} for name, document, other in changed]
    return {"valid.json": {"cases": valid}, "invalid.json": {"cases": invalid}}


def with_unused_bits(document: str) -> str:
    """The document with another text of its first hash: a decoder ignores the last bits of its last character."""
    end = document.index('="')
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    changed = alphabet[alphabet.index(document[end - 1]) ^ 1]
    return document[: end - 1] + changed + document[end:]


def cases_of(name: str) -> list[Case]:
    cases = json.loads((FOLDER / name).read_text("utf-8"))["cases"]
    assert cases
    return [
        Case(each["document"].encode(), each["network"], LogHead(each["size"], bytes.fromhex(each["root"])))
        for each in cases
    ]


def test_the_vectors_are_those_of_the_reference() -> None:
    assert {path.name: json.loads(path.read_text("utf-8")) for path in FOLDER.glob("*.json")} == render()


def test_both_checkers_accept_the_valid_and_reject_the_others(tmp_path: Path) -> None:
    for name, is_valid in (("valid.json", True), ("invalid.json", False)):
        cases = cases_of(name)
        ours = [check_document(*case) for case in cases]
        assert {verdict.is_valid for verdict in ours} == {is_valid}, ours
        theirs = check_all(tmp_path, cases)
        assert [verdict.claims for verdict in theirs] == [verdict.claims for verdict in ours]
        assert {verdict.is_valid for verdict in theirs} == {is_valid}


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for file, value in render().items():
        (FOLDER / file).write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")
