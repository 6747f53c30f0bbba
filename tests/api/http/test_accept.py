"""Content negotiation: `Accept` is parsed as in RFC 9110, section 12.5.1, and the responses match Hornet's."""

from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.app import ApiSettings, create_app
from api.http.content_negotiation import JSON, choose_form
from api.http.operations import SERIALIZED
from tests.api.stardust import StardustLedger

BYTES = SERIALIZED
FORMS = (JSON, BYTES)
FOREVER = "public, max-age=31536000, immutable"


@pytest.mark.parametrize(
    ("header", "form"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        (JSON, JSON),
        (BYTES, BYTES),
        (BYTES.upper(), BYTES),
        (f" {BYTES} ; q=0.3 ", BYTES),
        (f"{BYTES}, */*", BYTES),
        (f"*/*, {BYTES}", BYTES),
        (f"{JSON}, */*", JSON),
        (f"{BYTES}, {JSON}", BYTES),
        (f"{JSON}, {BYTES}", JSON),
        (f"{JSON};q=0.9, {BYTES}", BYTES),
        (f"{JSON};q=0.9, {BYTES};q=0.8", JSON),
        (f"{JSON};q=0.1, */*;q=0.5", BYTES),
        (f"{BYTES};q=0.1, application/*;q=0.5", JSON),
        (f"{BYTES};q=0, */*", JSON),
        (f"{JSON};q=0, */*", BYTES),
        (f"{JSON};q=0", JSON),
        ("text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8", JSON),
        (f"{JSON};charset=utf-8", JSON),
        ("application/vnd.iota.serializer-v2", JSON),
        ("text/csv", JSON),
        ("q=0.5", JSON),
        (";;,,", JSON),
        (f"{BYTES};q=x", JSON),
    ],
)
def test_accept_is_read_as_it_is_meant(header: str, form: str) -> None:
    assert choose_form(header, FORMS) == form


@given(st.text(max_size=60))
def test_any_header_chooses_one_of_the_forms(header: str) -> None:
    assert choose_form(header, FORMS) in FORMS


@pytest.fixture(scope="session")
def app(stardust: StardustLedger, stardust_store: Any) -> Any:
    return create_app({"shimmering": stardust.mount(stardust_store)}, "shimmering", ApiSettings())


def with_bytes(stardust: StardustLedger) -> list[str]:
    """A path of each operation that has both representations."""
    transaction_id, block_id = next(iter(stardust.expected["transactions"].items()))
    milestone = stardust.milestones[9]["milestone"]
    return [
        f"/api/core/v2/blocks/{block_id}",
        f"/api/core/v2/transactions/{transaction_id}/included-block",
        f"/api/core/v2/outputs/{transaction_id}0000",
        f"/api/core/v2/milestones/{milestone['milestoneId']}",
        f"/api/core/v2/milestones/by-index/{milestone['index']}",
    ]


async def test_each_form_says_what_it_is_and_that_it_depends_on_accept(
    client: httpx.AsyncClient, stardust: StardustLedger
) -> None:
    for path in with_bytes(stardust):
        for method in ("GET", "HEAD"):
            for accept in (JSON, BYTES):
                answer = await client.request(method, path, headers={"accept": accept})
                assert (answer.status_code, answer.headers["content-type"]) == (200, accept)
                assert "accept" in answer.headers["vary"].split(", ")
                assert int(answer.headers["content-length"]) > 40
        headers = [("accept", "text/plain"), ("accept", f"{BYTES};q=0.5")]
        assert (await client.get(path, headers=headers)).headers["content-type"] == BYTES


async def test_what_has_one_form_is_json_whatever_is_accepted(
    client: httpx.AsyncClient, stardust: StardustLedger
) -> None:
    (block, *_) = with_bytes(stardust)
    for path in (f"{block}/metadata", "/api/core/v2/info", "/api/core/v2/receipts", "/api/core/v2/treasury"):
        answer = await client.get(path, headers={"accept": BYTES})
        assert (answer.status_code, answer.headers["content-type"]) == (200, JSON)


def immutable(stardust: StardustLedger) -> list[str]:
    return [path for path in with_bytes(stardust) if "outputs" not in path and "by-index" not in path]


async def test_what_never_changes_has_an_etag_a_form(client: httpx.AsyncClient, stardust: StardustLedger) -> None:
    for path in immutable(stardust):
        identity = path.split("/")[5].removeprefix("0x")
        etags = {JSON: f'"{identity}"', BYTES: f'"{identity}.raw"'}
        for accept, etag in etags.items():
            for method in ("GET", "HEAD"):
                answer = await client.request(method, path, headers={"accept": accept})
                assert (answer.headers["etag"], answer.headers["cache-control"]) == (etag, FOREVER)
            known = await client.get(path, headers={"accept": accept, "if-none-match": f'"other", W/{etag}'})
            assert (known.status_code, known.content, known.headers["etag"]) == (304, b"", f"W/{etag}")
            assert "accept" in known.headers["vary"].split(", ")
        other = await client.get(path, headers={"accept": JSON, "if-none-match": etags[BYTES]})
        assert other.status_code == 200


async def test_what_may_change_has_none(client: httpx.AsyncClient, stardust: StardustLedger) -> None:
    for path in set(with_bytes(stardust)) - set(immutable(stardust)) | {"/api/core/v2/info"}:
        for accept in (JSON, BYTES):
            answer = await client.get(path, headers={"accept": accept, "if-none-match": "*"})
            assert answer.status_code == 200
            assert not {"etag", "cache-control"} & set(answer.headers)


async def test_both_forms_are_compressed_on_request(client: httpx.AsyncClient, stardust: StardustLedger) -> None:
    largest = max(stardust.entries, key=lambda entry: len(entry["bytes_hex"]))
    path = f"/api/core/v2/blocks/{largest['id']}"
    for accept in (JSON, BYTES):
        plain, packed = [
            await client.get(path, headers={"accept": accept, "accept-encoding": coding})
            for coding in ("identity", "gzip")
        ]
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.headers["etag"] == f"W/{plain.headers['etag']}"
        assert packed.content == plain.content
