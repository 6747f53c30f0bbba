"""Calls of every operation of openapi.yaml, by the questions of questions.py, and what a driver has to print of each.

Rules of this file: a question stands under its path below the mount, so that every mount of a kind is asked alike.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from tests.api.oracle import Json, Oracle
from tests.clients.questions import Asked, of_networks, of_nodes, of_the_server
from tests.conftest import ROOT

CONTRACT = ROOT / "openapi.yaml"

NETWORK_MOUNT = "/api/{network}"

MOUNTS = ("/api/v1", "/api/core/v1", NETWORK_MOUNT)


@dataclass(frozen=True)
class Walk:
    """One call of an operation. `given`: parameter, as on the wire → value. `answer`: a JSON body, or hex of bytes.

    `varying`: keys of the body whose values nobody can foretell.
    """

    method: str
    path: str
    operation: str
    status: int
    given: Mapping[str, Any]
    answer: Any
    varying: tuple[str, ...]

    @property
    def is_bytes(self) -> bool:
        return isinstance(self.answer, str)

    def check(self, printed: Json) -> None:
        """Compares what a driver printed, whole; what was refused comes with its whole body."""
        if self.status != 200:
            assert printed == {"refused": self.status, "message": self.answer}, self
            return
        foretold = {key: self.answer[key] for key in self.varying if key in printed["answer"]}
        found = printed["answer"] | foretold if foretold else printed["answer"]
        assert found == self.answer, self


@cache
def contract() -> tuple[tuple[str, str, Json], ...]:
    """Path, method and operation of everything that openapi.yaml promises."""
    paths: dict[str, Json] = yaml.safe_load(CONTRACT.read_text("utf-8"))["paths"]
    return tuple((path, method, operation) for path, item in paths.items() for method, operation in item.items())


def place(path: str, method: str) -> tuple[str, str]:
    """The mount of a path, "" for what stands alone, and where its questions stand."""
    mount = next((mount for mount in MOUNTS if path.startswith(f"{mount}/")), "")
    below = path.removeprefix(mount)
    return mount, below if method == "get" else f"{method} {below}"


def questions(oracle: Oracle) -> dict[str, Asked]:
    """Mount → what is asked there."""
    nodes = of_nodes(oracle)
    return {"": of_the_server(oracle), "/api/v1": nodes, "/api/core/v1": nodes, NETWORK_MOUNT: of_networks(oracle)}


def walks(oracle: Oracle) -> Iterator[Walk]:
    """At least one for each operation of openapi.yaml, in its order; KeyError names a path that nobody asks.

    What promises no 200 has to answer 501.
    """
    asked = questions(oracle)
    for path, method, operation in contract():
        mount, below = place(path, method)
        status = 200 if "200" in operation["responses"] else 501
        network = {"network": oracle.expected["network"]} if mount == NETWORK_MOUNT else {}
        for each in asked[mount][below]:
            given = network | each.given
            yield Walk(method, path, operation["operationId"], status, given, each.answer, each.varying)
