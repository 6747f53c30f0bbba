"""Caching: immutable responses have an ETag and are not sent twice; responses that may change make no such promise."""

import httpx
import pytest

from tests.api.oracle import Oracle

FOREVER = "public, max-age=31536000, immutable"


def immutable(oracle: Oracle) -> list[tuple[str, str]]:
    """(path, what its ETag names)."""
    message_id = oracle.entries[0]["id"]
    transaction_id = next(iter(oracle.included))
    return [
        (f"/api/v1/messages/{message_id}", message_id),
        (f"/api/v1/messages/{message_id}/raw", message_id),
        (f"/api/testing/transactions/{transaction_id}/included-message", transaction_id),
        (f"/api/core/v1/transactions/{transaction_id}/included-message/raw", transaction_id),
    ]


async def test_immutable_answers_carry_their_id_as_etag(client: httpx.AsyncClient, oracle: Oracle) -> None:
    for path, identity in immutable(oracle):
        for method in ("GET", "HEAD"):
            answer = await client.request(method, path.replace(identity, identity.upper()))
            assert answer.status_code == 200
            assert (answer.headers["etag"], answer.headers["cache-control"]) == (f'"{identity}"', FOREVER)


@pytest.mark.parametrize("known", ['"{}"', 'W/"{}"', '"{}", "other"', 'W/"other" , "{}"', "*"])
async def test_a_client_that_has_it_gets_304_and_nothing_else(
    client: httpx.AsyncClient, oracle: Oracle, known: str
) -> None:
    for path, identity in immutable(oracle):
        answer = await client.get(path, headers={"If-None-Match": known.format(identity)})
        assert (answer.status_code, answer.content) == (304, b"")
        named = f'W/"{identity}"' if known.startswith('W/"{}"') else f'"{identity}"'
        assert (answer.headers["etag"], answer.headers["cache-control"]) == (named, FOREVER)
        assert "x-request-id" in answer.headers


@pytest.mark.parametrize("known", ["{}", '"{}x"', '"other"', ""])
async def test_a_client_that_has_something_else_gets_all(client: httpx.AsyncClient, oracle: Oracle, known: str) -> None:
    for path, identity in immutable(oracle):
        answer = await client.get(path, headers={"If-None-Match": known.format(identity)})
        assert (answer.status_code, answer.content) == (200, (await client.get(path)).content)


async def test_what_is_not_there_is_never_called_known(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"/api/v1/messages/{'ab' * 32}", headers={"If-None-Match": "*"})
    assert answer.status_code == 404
    assert "etag" not in answer.headers


async def test_what_may_change_has_no_etag(client: httpx.AsyncClient, oracle: Oracle) -> None:
    message_id = oracle.entries[0]["id"]
    for path in (f"messages/{message_id}/metadata", f"messages/{message_id}/children", "info", "milestones/1/messages"):
        answer = await client.get(f"/api/v1/{path}", headers={"If-None-Match": "*"})
        assert answer.status_code == 200
        assert "etag" not in answer.headers
        assert "cache-control" not in answer.headers
