"""Helpers of the poi v1 tests: an application over a network with known signers, and its requests."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import orjson

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from ledger.milestone_proof import parse_coordinator
from tests.api.asgi import ask
from tests.inclusion import Json, ledger

BASE = "/api/poi/v1"
provable = cache(ledger)


def proving(mount: NetworkMount, signers: Sequence[str] | None = None, threshold: int = 0) -> Any:
    """The application over a network, with the keys that sign its milestones if `keys` are given."""
    with_keys = replace(mount, coordinator=parse_coordinator(signers or (), threshold))
    return create_app({"proving": with_keys}, "proving", ApiSettings())


async def validate(app: Any, route: str, proof: Any) -> Any:
    """The verdict of a POST …validate route on a proof."""
    return await ask(app, f"{BASE}{route}/validate", posted=orjson.dumps(proof))


VALID, INVALID = (200, {"valid": True}), (200, {"valid": False})


def rejection(status: int, message: str) -> tuple[int, Json]:
    return status, {"error": {"code": str(status), "message": message}}
