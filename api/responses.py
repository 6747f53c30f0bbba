"""What the answers of every family share: pages, errors, and how models say what may be absent.

Rules of this file and of its siblings: a model is what openapi.yaml promises; bodies are built elsewhere, and tests
hold each answer to its model.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


def omitted() -> Any:
    """A field that may be absent, and is never null."""
    return Field(default_factory=lambda: None)


def example(**data: Any) -> ConfigDict:
    """Model settings that carry one example of the whole body."""
    return ConfigDict(json_schema_extra={"examples": [{"data": data}]})


class Page(BaseModel):
    """What every listing says of itself; `state` is null on the last page."""

    maxResults: int
    count: int
    state: str | None


class HealthResponse(BaseModel):
    """Every network's store answers, and holds a complete milestone."""

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
    """The body of every error."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"error": {"code": "404", "message": "milestone 51 is not in this archive"}}]}
    )
    error: ErrorDetail


def error(status: int, meaning: str, message: str) -> dict[str, Any]:
    """An OpenAPI response object for an error, with an example."""
    content = {"application/json": {"example": {"error": {"code": str(status), "message": message}}}}
    return {"model": ErrorResponse, "description": meaning, "content": content}


ERRORS: dict[int, dict[str, Any]] = {
    400: error(400, "A parameter is wrong", "parameter messageId: expected 64 hex characters, found 'abc'"),
    401: error(401, "The server is protected", "header Authorization: expected Bearer and a key"),
    404: error(404, "Not in this archive", "milestone 51 is not in this archive"),
    429: error(429, "The server limits how often a client asks", "no more than 100 per 1 minute: ask again in 7 s"),
    500: error(500, "A fault of ours", "internal server error"),
    501: error(
        501,
        "Not kept here: what only a node has, or ledger state without a genesis",
        "the ledger state is not known: it begins with `permanode load --genesis FILE`",
    ),
    503: error(503, "The store does not answer", "the store does not answer, try again later"),
}
