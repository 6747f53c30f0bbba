"""Both clients find every id of the oracle ledgers, and return what the tables of the store have."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from etl.static_client import ArchiveError, Found, open_archive
from tests.conftest import ROOT
from tests.etl.static_archive.conftest import Case, on_both
from tests.etl.static_archive.file_host import FileHost
from tests.ledger.completeness.javascript import node

CLIENT = ROOT / "api/web/static/static_archive.js"

MOST_REQUESTS, MOST_OVERHEAD = 3, 10_000

INCLUDED, CONFLICTING = 1, 2


@cache
def rows_of(case: Case) -> dict[str, list[dict[str, Any]]]:
    return case.loading.rows()


def messages_of(case: Case) -> dict[str, dict[str, Any]]:
    """The messages that a milestone references, as the API reads them."""
    return {row["message_id"]: row for row in rows_of(case)["messages"]}


def transactions_of(case: Case) -> dict[str, set[str]]:
    """The messages of each transaction among which an archive may choose: included ones before others."""
    found: dict[str, dict[str, int]] = {}
    known = messages_of(case)
    for row in (each for each in rows_of(case)["transactions_by_state"] if each["message_id"] in known):
        found.setdefault(row["transaction_id"], {})[row["message_id"]] = row["inclusion_state"]
    return {
        identity: {each for each, state in states.items() if state == INCLUDED} or {*states}
        for identity, states in found.items()
    }


def outputs_of(case: Case) -> dict[str, dict[str, Any]]:
    """The outputs that a message created; not those of the genesis."""
    known = messages_of(case)
    return {row["output_id"]: row for row in rows_of(case)["outputs"] if row["created_message_id"] in known}


def same_record(row: dict[str, Any], found: dict[str, Any]) -> bool:
    return (
        row["message"].hex() == found["bytes"]
        and row["milestone_index"] == found["milestoneIndex"]
        and row["white_flag_index"] == found["position"]
        and row["inclusion_state"] == found["inclusionState"]
        and row["conflict_reason"] == found["conflictReason"]
    )


def as_values(found: Found | None) -> dict[str, Any]:
    """What the JavaScript driver prints."""
    if found is None:
        return {"what": None}
    record = found.record
    return {
        "what": found.what,
        "milestoneIndex": record.milestone_index,
        "position": record.position,
        "inclusionState": record.inclusion_state,
        "conflictReason": record.conflict_reason,
        "bytes": record.data.hex(),
        "outputIndex": found.output_index,
    }


def in_python(place: str, ids: list[str]) -> Iterator[dict[str, Any]]:
    archive = open_archive(place)
    for each in ids:
        yield as_values(archive.find(bytes.fromhex(each)))


def in_javascript(place: str, ids: list[str], folder: Path) -> list[dict[str, Any]]:
    client = shutil.copy(CLIENT, folder / "static_archive.mjs")
    command = [node(), str(Path(__file__).with_name("driver.mjs")), str(client), place]
    done = subprocess.run(command, input="\n".join(ids), capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_answers(case: Case, ids: list[str], answers: list[dict[str, Any]]) -> None:
    messages, transactions, outputs = messages_of(case), transactions_of(case), outputs_of(case)
    by_bytes = {row["message"].hex(): name for name, row in messages.items()}
    assert len(answers) == len(ids)
    for each, found in zip(ids, answers, strict=True):
        if each in messages:
            assert found["what"] == "message"
            assert same_record(messages[each], found), each
        elif each in transactions:
            assert found["what"] == "transaction"
            name = by_bytes[found["bytes"]]
            assert name in transactions[each], each
            assert same_record(messages[name], found), each
        else:
            assert found["what"] == "output", each
            assert found["outputIndex"] == int.from_bytes(bytes.fromhex(each[64:]), "little")
            if each[:64] in transactions:
                assert by_bytes[found["bytes"]] == outputs[each]["created_message_id"], each


def every_id(case: Case) -> list[str]:
    return [*messages_of(case), *transactions_of(case), *outputs_of(case)]


@pytest.mark.thorough
@on_both
def test_python_finds_every_id_in_a_folder(case: Case) -> None:
    ids = every_id(case)
    assert len(ids) > 1_000
    check_answers(case, ids, [*in_python(str(case.archive), ids)])
    assert [*in_python(case.archive.as_uri(), ids[:3])] == [*in_python(str(case.archive), ids[:3])]


@pytest.mark.thorough
@on_both
def test_javascript_finds_every_id_at_a_file_url(case: Case, tmp_path: Path) -> None:
    ids = every_id(case)
    check_answers(case, ids, in_javascript(case.archive.as_uri(), ids, tmp_path))


@pytest.mark.thorough
def test_javascript_finds_ids_over_http(case: Case, host: FileHost, tmp_path: Path) -> None:
    ids = every_id(case)[::50]
    check_answers(case, ids, in_javascript(host.url, ids, tmp_path))
    requests, _ = host.counted()
    assert requests <= 1 + MOST_REQUESTS * len(ids)


@pytest.mark.thorough
def test_a_query_over_http_needs_three_requests_and_reads_little_more_than_its_answer(
    case: Case, host: FileHost
) -> None:
    archive = open_archive(host.url)
    opening = host.counted()
    assert opening == (1, (case.archive / "manifest.json").stat().st_size)
    for each in every_id(case)[::5]:
        found = archive.find(bytes.fromhex(each))
        assert found is not None
        requests, size = host.counted()
        assert requests <= MOST_REQUESTS
        assert size - len(found.record.data) <= MOST_OVERHEAD


@pytest.mark.thorough
@on_both
def test_milestones_are_found_by_their_ids(case: Case, tmp_path: Path) -> None:
    ids = [row["milestone_id"] for row in rows_of(case)["milestone_ids"]]
    payloads = {row["milestone_index"]: row["payload"].hex() for row in rows_of(case)["milestones"]}
    assert len(ids) == len(payloads) > 1
    for found in [*in_python(str(case.archive), ids), *in_javascript(case.archive.as_uri(), ids, tmp_path)]:
        assert found["what"] == "milestone"
        assert payloads[found["milestoneIndex"]] in found["bytes"]


@pytest.mark.thorough
def test_unknown_ids_are_not_found(case: Case, host: FileHost, tmp_path: Path) -> None:
    unknown = [sha256(bytes([each])).hexdigest() for each in range(100)]
    created = next(iter(outputs_of(case)))
    unknown += [created[:64] + "7f00", next(iter(messages_of(case))) + "0000"]
    assert all(found["what"] is None for found in in_python(host.url, unknown))
    assert all(found["what"] is None for found in in_javascript(host.url, unknown, tmp_path))


def test_invalid_ids_are_rejected(case: Case) -> None:
    with pytest.raises(ValueError, match="32 or 34 bytes expected, found 33"):
        open_archive(str(case.archive)).find(bytes(33))


def test_a_server_without_range_requests_is_an_error(case: Case) -> None:
    with FileHost(case.archive, has_ranges=False) as host:
        archive = open_archive(host.url)
        with pytest.raises(ArchiveError, match="range requests expected"):
            archive.find(bytes(32))


def test_a_folder_without_a_manifest_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_archive(str(tmp_path))
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(ArchiveError, match="the manifest of a static archive expected"):
        open_archive(str(tmp_path))
