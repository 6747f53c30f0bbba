"""Calls a node through iota-client-python. Arguments: node, permanode or "". A call is [method, *arguments].

The driver runs in an environment of its own, on Python 3.8 or newer.
"""

import json
import re
import sys

import iota_client

STATUS = re.compile(r"status code (\d+): (.*)")


def main() -> None:
    """Answers every line."""
    node, permanode = sys.argv[1:]
    more = {"permanodes_name_password": [[permanode]]} if permanode else {}
    client = iota_client.Client(nodes_name_password=[[node]], **more)
    for line in sys.stdin:
        method, *arguments = json.loads(line)
        try:
            found = {"answer": getattr(client, method)(*arguments)}
        except ValueError as error:
            rejected = STATUS.search(str(error))
            if rejected is None:
                raise
            found = {"refused": int(rejected[1]), "message": rejected[2]}
        sys.stdout.write(json.dumps(found) + "\n")


main()
