"""Calls a node through iota-sdk. Argument: node. A call is [method, *arguments]; {"outputId": …} denotes an OutputId,
{"query": …} query parameters.

The driver runs in an environment of its own, on a Python that iota-sdk has wheels for. It leaves out fields that are
None in the client's objects. `refused` is null if the client rejects the node's answer.
"""

import json
import re
import sys
from dataclasses import is_dataclass
from typing import Any

from iota_sdk import Client, ClientError, OutputId
from iota_sdk.client._node_indexer_api import NodeIndexerAPI, OutputIdsResponse

STATUS = re.compile(r"status code (\d+): (.*), URL: ")
NOT_FOUND = "was not found"


def plain(value: Any) -> Any:
    """JSON of the client's result: its objects with all their attributes, declared or not, except
    those that are None.
    """
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, OutputIdsResponse):
        value = vars(value)
    if isinstance(value, OutputId):
        return value.output_id
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if each is not None}
    return [plain(each) for each in value] if isinstance(value, list) else value


def given(argument: Any) -> Any:
    """An argument in the client's form."""
    if isinstance(argument, list):
        return [given(each) for each in argument]
    if isinstance(argument, dict) and "outputId" in argument:
        return OutputId.from_string(argument["outputId"])
    if isinstance(argument, dict) and "query" in argument:
        return NodeIndexerAPI.QueryParameters(**argument["query"])
    return argument


def rejected(error: ClientError) -> dict[str, Any]:
    """Status and message of a node's error; this client reads no body of a 404."""
    text = error.args[0]["error"]
    if NOT_FOUND in text:
        return {"refused": 404, "message": text}
    found = STATUS.search(text)
    return {"refused": int(found[1]), "message": found[2]} if found else {"refused": None, "message": text}


def main() -> None:
    """Answers every line."""
    client = Client(nodes=[sys.argv[1]])
    for line in sys.stdin:
        method, *arguments = json.loads(line)
        try:
            found = {"answer": plain(getattr(client, method)(*map(given, arguments)))}
        except ClientError as error:
            found = rejected(error)
        sys.stdout.write(json.dumps(found) + "\n")


main()
