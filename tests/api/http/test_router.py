"""The router finds the same route as trying each pattern of a list in order."""

from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match, Mount, Route

from api.app import routes
from api.http.errors import MethodNotAllowed, NoSuchRoute
from api.http.router import OperationRouter

SEGMENTS = ["api", "v1", "testing", "messages", "metadata", "info", ""]


async def endpoint(request: Request) -> Response:
    return PlainTextResponse(request.url.path)


async def ask(router: OperationRouter, path: str, method: str = "GET", **scope: Any) -> tuple[dict[str, Any], int]:
    """The scope that the application received, and the status."""
    requested: dict[str, Any] = {
        "type": "http", "method": method, "path": path, "query_string": b"", "headers": [], "server": ("x", 80)
    } | scope  # fmt: skip
    statuses: list[int] = []

    async def send(message: Any) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    await router(requested, None, send)  # type: ignore[arg-type]
    return requested, statuses[0]


async def test_parameters_are_passed_by_name() -> None:
    router = OperationRouter([Route("/a/{first}/b/{second}", endpoint)])
    scope, status = await ask(router, "/a/1/b/2")
    assert (scope["path_params"], status) == ({"first": "1", "second": "2"}, 200)


async def test_a_literal_wins_over_a_parameter() -> None:
    router = OperationRouter([Route("/api/{network}/info", endpoint), Route("/api/v1/info", endpoint)])
    assert (await ask(router, "/api/v1/info"))[0]["path_params"] == {}
    assert (await ask(router, "/api/other/info"))[0]["path_params"] == {"network": "other"}


@pytest.mark.parametrize("path", ["", "/", "/a", "/a/", "/a/1/b", "/a/1/b/", "/a//b/2", "/a/1/b/2/", "/a/1/c/2"])
async def test_other_paths_have_no_route(path: str) -> None:
    with pytest.raises(NoSuchRoute):
        await ask(OperationRouter([Route("/a/{first}/b/{second}", endpoint)]), path)


async def test_head_goes_where_get_goes_and_others_are_rejected() -> None:
    router = OperationRouter([Route("/a", endpoint, methods=["GET"])])
    assert (await ask(router, "/a", "HEAD"))[1] == 200
    assert (await ask(router, "/a", "OPTIONS"))[1] == 204
    with pytest.raises(MethodNotAllowed):
        await ask(router, "/a", "POST")


async def test_a_root_path_is_not_part_of_the_route() -> None:
    router = OperationRouter([Route("/a", endpoint)])
    assert (await ask(router, "/behind/a", root_path="/behind"))[1] == 200


def test_two_routes_for_one_request_are_rejected() -> None:
    with pytest.raises(ValueError, match="twice"):
        OperationRouter([Route("/a/{x}", endpoint), Route("/a/{y}", endpoint)])


def test_a_mount_is_rejected() -> None:
    with pytest.raises(TypeError):
        OperationRouter([Mount("/a", routes=[])])


@pytest.mark.thorough
def test_every_operation_is_found_as_starlette_would_find_it() -> None:
    every = list(routes({}, "", "", ""))
    router = OperationRouter(every)
    paths = ["/" + "/".join(parts) for parts in combinations(5)]
    for path in paths:
        scope = {"type": "http", "path": path, "method": "GET", "root_path": ""}
        # Starlette's own first step, because most of 600 routes end there.
        theirs = [each for each in every if each.path_regex.match(path) and each.matches(scope)[0] is Match.FULL]
        node: Any = router.root
        for segment in path[1:].split("/"):
            node = node and (node.literal.get(segment) or (node.parameter if segment else None))
        own = node.methods.get("GET") if node else None
        reserved = path.startswith("/api/v1/")
        literal = [route for route in theirs if route.path.startswith("/api/v1/")] if reserved else theirs
        assert (own is None) == (not literal), path
        assert own is None or own is literal[0], path


def combinations(length: int) -> list[tuple[str, ...]]:
    """Every path of up to that many segments."""
    found: list[tuple[str, ...]] = [()]
    grown = found
    for _ in range(length):
        grown = [(*path, segment) for path in grown for segment in SEGMENTS]
        found = found + grown
    return found
