"""What a browser finds when it compares the rows of a page with the proofs of its listing."""

import json
import subprocess
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from api.web.static_files import StaticFiles
from ledger.completeness.families import milestone_of
from ledger.completeness.trees import place_of
from ledger.transparency.checkpoint import Checkpoint, sign_checkpoint
from ledger.transparency.keys import SigningKey
from tests.api.oracle import Json
from tests.clients.installs import node_programs
from tests.db.stored_listings import END, FIRST, FRONTIER, ROWS, TAGS
from tests.ledger.completeness.ledgers import Archive

pytestmark = pytest.mark.clients

DRIVER = Path(__file__).parent / "shown_driver.mjs"

TIMEOUT_S = 120

KEY, OTHER = (SigningKey(f"permanode/permatest-1/{FIRST}", seed * 32) for seed in (b"\1", b"\2"))

TAG = b"turns"


@pytest.fixture(scope="module")
def page() -> Json:
    """The 25 newest rows of a tag, and the proof of the page with the row before it."""
    archive = Archive(ROWS, FIRST, FRONTIER)
    rows = ROWS[place_of(TAGS, TAG)]
    whole = [row for row in rows if milestone_of(row) >= 100]
    document = json.loads(archive.document(place_of(TAGS, TAG), END, len(whole) - 26, 26))
    checkpoint = Checkpoint(f"permanode/permatest-1/{FIRST}", archive.head.size, archive.head.root)
    document["checkpoint"] = bytes(sign_checkpoint(checkpoint, KEY)).decode()
    shown = [{"row": row[4:].hex(), "milestone": milestone_of(row)} for row in reversed(whole[-25:])]
    assert [b64decode(each) for each in document["rows"]] == whole[-26:]
    return {
        "answer": {"proof": document},
        "network": "permatest-1",
        "verifier": KEY.verifier.text,
        "families": [TAGS.name],
        "key": TAG.hex(),
        "shown": shown,
        "ends": ["newest"],
    }


def checked(folder: Path, node: Path, cases: list[Json]) -> list[Json]:
    served = StaticFiles()
    (folder / "package.json").write_text('{"type": "module"}', "utf-8")
    for name, (body, _) in served.files.items():
        path = folder / name.removeprefix(f"{served.prefix}/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    done = subprocess.run(
        [str(node), str(DRIVER), str(folder)],
        input="\n".join(map(json.dumps, cases)),
        capture_output=True,
        text=True,
        check=True,
        timeout=TIMEOUT_S,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def failed(result: Json) -> list[str]:
    return [each["text"] for each in result["checks"] if each["passed"] is False]


def test_every_change_of_a_page_is_found(tmp_path: Path, pytestconfig: pytest.Config, page: Json) -> None:
    assert pytestconfig.cache is not None
    node = node_programs(pytestconfig.cache.mkdir("clients")) / "node"
    shown, document = page["shown"], page["answer"]["proof"]
    foreign = {"row": "ab" * 32, "milestone": 1_500}
    root = document["checkpoint"].split("\n")[2]
    altered = document["checkpoint"].replace(root, f"{'B' if root[0] == 'A' else 'A'}{root[1:]}")
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, ""),
        ({"answer": {"data": {"proofs": [document]}}}, ""),
        ({"verifier": None}, ""),
        ({"shown": shown[:-1], "ends": ["newest"]}, ""),
        ({"shown": shown[1:], "ends": []}, ""),
        ({"shown": shown[1:]}, "The page leaves out the newest rows"),
        ({"ends": ["newest", "oldest"]}, "The page leaves out the oldest rows"),
        ({"shown": [], "ends": ["newest", "oldest"]}, "The page shows none of the rows"),
        ({"shown": [*shown, {"row": "ab" * 32, "milestone": END + 1}]}, ""),
        ({"shown": [*shown, {"row": "ab" * 32, "milestone": None}]}, ""),
        ({"shown": [*shown[:5], *shown[6:]]}, "The page leaves out 1 rows between those that it shows."),
        ({"shown": [*shown[:5], *shown[9:]]}, "The page leaves out 4 rows between those that it shows."),
        ({"shown": [*shown, foreign]}, "1 of the rows shown are in no proof."),
        ({"verifier": OTHER.verifier.text}, "did NOT sign this log"),
        ({"network": "permatest-2"}, "The proof is about the network permatest-1, not permatest-2"),
        ({"families": ["messages_by_parent"]}, "The proofs are about NOT messages_by_parent"),
        ({"key": "00"}, "The proofs are about NOT messages_by_tag with the key 00"),
        ({"families": [TAGS.name, TAGS.name]}, "The proofs are about NOT"),
        ({"answer": {"proof": {**document, "checkpoint": altered}}}, "did NOT sign this log"),
        ({"answer": {"proof": {**document, "rows": document["rows"][:-1]}}}, ""),
    ]
    results = checked(tmp_path, node, [page | change for change, _ in cases])
    for (change, message), result in zip(cases[:-1], results, strict=False):
        assert any(message in each for each in failed(result)) if message else failed(result) == [], change
    assert failed(results[-1])
    assert [each["proved"] for each in results[:6]] == [25, 25, 25, 24, 24, 24]
    assert {each["last"] for each in results} == {END}


@pytest.mark.parametrize(
    "verifier", ["abc", "a+00000000+AQ==", KEY.verifier.text[:-4], KEY.verifier.text.replace("+", "+0", 1)]
)
def test_what_is_not_a_key_is_an_error(tmp_path: Path, pytestconfig: pytest.Config, page: Json, verifier: str) -> None:
    assert pytestconfig.cache is not None
    node = node_programs(pytestconfig.cache.mkdir("clients")) / "node"
    assert "error" in checked(tmp_path, node, [page | {"verifier": verifier}])[0]
