"""The contract as an OpenAPI document, built once in each process: three modules parametrize their tests with it."""

from functools import cache
from typing import Any

from api.http import openapi


@cache
def document() -> dict[str, Any]:
    """The document that `openapi.yaml` must equal. Do not change it: other tests read the same object."""
    return openapi.document()
