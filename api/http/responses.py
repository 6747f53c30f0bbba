"""Response models that all families share: pages, errors, health; and helpers for optional fields and examples.

A model is the schema in openapi.yaml. Handlers build the responses, and tests validate each response against its model.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from api.http.errors import GRPC_CODES

Json: TypeAlias = dict[str, Any]
"""A JSON object that a handler returns."""


def omitted() -> Any:
    """Returns a field that may be absent and is never null."""
    return Field(default_factory=lambda: None)


def example(**data: Any) -> ConfigDict:
    """Returns model settings with one example of the whole body, inside a `data` envelope."""
    return ConfigDict(json_schema_extra={"examples": [{"data": data}]})


def whole_example(**body: Any) -> ConfigDict:
    """Returns model settings with one example of the whole body, for families without an envelope."""
    return ConfigDict(json_schema_extra={"examples": [body]})


def example_of(model: type[BaseModel]) -> Any:
    """Returns the example of a model with its fields in order. pydantic's JSON schema does not keep the order."""
    extra: Any = model.model_config["json_schema_extra"]
    (found,) = extra["examples"]
    return found


class Page(BaseModel):
    """Fields of every listing. `state` is null on the last page."""

    maxResults: int
    count: int
    state: str | None


class HealthResponse(BaseModel):
    """The store of every network responds and holds a complete milestone or, for Wormhole, messages."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"isHealthy": True, "networks": ["permatest-1"]}]})
    isHealthy: Literal[True]
    networks: list[str]


class RoutesResponse(BaseModel):
    """The paths below /api."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"routes": ["core/v1", "permatest-1", "v1"]}]})
    routes: list[str]


class IndexedNetwork(BaseModel):
    """A network. `url` is the prefix of its operations."""

    name: str
    protocol: str
    url: str


class IndexResponse(BaseModel):
    """The networks of a server, and the paths of its documentation."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "Permanode",
                    "version": "0.1.0",
                    "networks": [{"name": "permatest-1", "protocol": "iota", "url": "/api/permatest-1"}],
                    "docs": "/docs",
                    "openapi": "/openapi.json",
                }
            ]
        }
    )
    name: str
    version: str
    networks: list[IndexedNetwork]
    docs: str
    openapi: str


class ErrorDetail(BaseModel):
    """`code` is the status as text. `message` names the parameter and the expected value."""

    code: str
    message: str


class ErrorResponse(BaseModel):
    """The error body of the node families."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"error": {"code": "404", "message": "milestone 51 is not in this archive"}}]}
    )
    error: ErrorDetail


class FlatErrorResponse(BaseModel):
    """The error body of the inx-chronicle families. `code` is the status."""

    model_config = whole_example(code=404, message="milestone 51 is not in this archive")
    code: int
    message: str


class GrpcErrorResponse(BaseModel):
    """The error body of the Wormhole families. `code` is the gRPC code."""

    model_config = whole_example(code=5, message="requested VAA not found in store", details=[])
    code: int
    message: str
    details: list[str]


MEANINGS: dict[int, tuple[str, str]] = {
    400: ("A parameter is invalid", "parameter messageId: expected 64 hex characters, found 'abc'"),
    401: ("The request has no valid key or token", "header Authorization: expected Bearer and a key"),
    404: ("Not in this archive", "milestone 51 is not in this archive"),
    413: ("The body is too large", "body: expected at most 262144 bytes"),
    429: ("The client exceeded the rate limit", "rate limit of 100 per 1 minute exceeded: retry in 7 s"),
    500: ("A server error", "internal server error"),
    501: (
        "Not available in this archive: only a node has it, or the ledger state has no genesis",
        "the ledger state is not known: run `permanode load`, or `load --genesis FILE` without a genesis",
    ),
    503: ("The store does not respond", "the store does not respond; retry later"),
}
"""Status → description, and an example of a message."""


def documented(model: type[BaseModel], body: Callable[[int, str], dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Returns the OpenAPI response object of each error, with an example."""
    return {
        status: {
            "model": model,
            "description": meaning,
            "content": {"application/json": {"example": body(status, message)}},
        }
        for status, (meaning, message) in MEANINGS.items()
    }


ERRORS = documented(ErrorResponse, lambda status, message: {"error": {"code": str(status), "message": message}})
"""Errors of the node families."""

FLAT_ERRORS = documented(FlatErrorResponse, lambda status, message: {"code": status, "message": message})
"""Errors of the inx-chronicle families."""

GRPC_ERRORS = documented(
    GrpcErrorResponse,
    lambda status, message: {"code": GRPC_CODES[status], "message": message, "details": []},
)
"""Errors of the Wormhole families."""
