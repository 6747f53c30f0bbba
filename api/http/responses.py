"""What the answers of every family share: pages, errors, and how models say what may be absent.

Rules of this file and of its siblings: a model is what openapi.yaml promises; bodies are built elsewhere, and tests
hold each answer to its model.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from api.http.errors import GRPC_CODES

Json: TypeAlias = dict[str, Any]
"""A JSON object that a handler returns."""


def omitted() -> Any:
    """A field that may be absent, and is never null."""
    return Field(default_factory=lambda: None)


def example(**data: Any) -> ConfigDict:
    """Model settings that carry one example of the whole body."""
    return ConfigDict(json_schema_extra={"examples": [{"data": data}]})


def whole_example(**body: Any) -> ConfigDict:
    """As example, of families that put nothing around their bodies."""
    return ConfigDict(json_schema_extra={"examples": [body]})


def example_of(model: type[BaseModel]) -> Any:
    """The example that a model carries, its fields in their order, which pydantic's JSON schema does not keep."""
    extra: Any = model.model_config["json_schema_extra"]
    (found,) = extra["examples"]
    return found


class Page(BaseModel):
    """What every listing says of itself; `state` is null on the last page."""

    maxResults: int
    count: int
    state: str | None


class HealthResponse(BaseModel):
    """Every network's store answers, and holds a complete milestone or, of Wormhole, messages."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"isHealthy": True, "networks": ["mainnet"]}]})
    isHealthy: Literal[True]
    networks: list[str]


class RoutesResponse(BaseModel):
    """What stands below /api."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"routes": ["core/v1", "mainnet", "v1"]}]})
    routes: list[str]


class ErrorDetail(BaseModel):
    """`code` is the status as text; `message` names the parameter and what was expected of it."""

    code: str
    message: str


class ErrorResponse(BaseModel):
    """The body of every error of a node's family."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"error": {"code": "404", "message": "milestone 51 is not in this archive"}}]}
    )
    error: ErrorDetail


class FlatErrorResponse(BaseModel):
    """The body of every error of a family of inx-chronicle: `code` is the status."""

    model_config = whole_example(code=404, message="milestone 51 is not in this archive")
    code: int
    message: str


class GrpcErrorResponse(BaseModel):
    """The body of every error of Wormhole's families: `code` is gRPC's."""

    model_config = whole_example(code=5, message="requested VAA not found in store", details=[])
    code: int
    message: str
    details: list[str]


MEANINGS: dict[int, tuple[str, str]] = {
    400: ("A parameter is wrong", "parameter messageId: expected 64 hex characters, found 'abc'"),
    401: ("The server is protected", "header Authorization: expected Bearer and a key"),
    404: ("Not in this archive", "milestone 51 is not in this archive"),
    413: ("The body is longer than any right one", "body: expected at most 262144 bytes"),
    429: ("The server limits how often a client asks", "no more than 100 per 1 minute: ask again in 7 s"),
    500: ("A fault of ours", "internal server error"),
    501: (
        "Not kept here: what only a node has, or ledger state without a genesis",
        "the ledger state is not known: it begins with `permanode load --genesis FILE`",
    ),
    503: ("The store does not answer", "the store does not answer, try again later"),
}
"""Status → what it says, and an example of a message."""


def documented(model: type[BaseModel], body: Callable[[int, str], dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """The OpenAPI response object of each error, with an example of its body."""
    return {
        status: {
            "model": model,
            "description": meaning,
            "content": {"application/json": {"example": body(status, message)}},
        }
        for status, (meaning, message) in MEANINGS.items()
    }


ERRORS = documented(ErrorResponse, lambda status, message: {"error": {"code": str(status), "message": message}})
"""Of the nodes' families."""

FLAT_ERRORS = documented(FlatErrorResponse, lambda status, message: {"code": status, "message": message})
"""Of inx-chronicle's."""

GRPC_ERRORS = documented(
    GrpcErrorResponse,
    lambda status, message: {"code": GRPC_CODES[status], "message": message, "details": []},
)
"""Of Wormhole's."""
