"""Calls the functions that iota-sdk computes locally. A call is [function, data], as its Rust side expects them.

The driver runs in an environment of its own, on a Python that iota-sdk has wheels for.
"""

import json
import sys

from iota_sdk import call_utils_method


def main() -> None:
    """Answers every line."""
    for line in sys.stdin:
        name, data = json.loads(line)
        found = json.loads(call_utils_method(json.dumps({"name": name, "data": data})))
        if found["type"] == "error":
            raise ValueError(f"{name}: {found['payload']}")
        sys.stdout.write(json.dumps({"answer": found["payload"]}) + "\n")


main()
