"""Calls a node through PyPI's iota-client. Argument: node. A call is [method, *arguments]. Bytes are lists of numbers.

The driver runs in an environment of its own, on a Python that the client has wheels for. `refused` is null if the
client rejects the node's answer.
"""

import json
import sys
from typing import Any

from iota_client import IotaClient


def outcome(answer: Any) -> dict[str, Any]:
    """The client returns errors as objects of a type, and never raises."""
    if not isinstance(answer, dict) or "error" not in answer:
        return {"answer": answer}
    error = answer["error"]
    if answer["type"] == "responseError":
        return {"refused": error["code"], "message": error["text"]}
    return {"refused": 404 if answer["type"] == "notFound" else None, "message": error}


def main() -> None:
    """Answers every line."""
    client = IotaClient({"nodes": [sys.argv[1]]})
    for line in sys.stdin:
        method, *arguments = json.loads(line)
        found = outcome(getattr(client, method)(*arguments))
        sys.stdout.write(json.dumps(found) + "\n")


main()
