"""Listens to topics through iota-client-python. Arguments: node, topics as JSON. Prints each event as a line of JSON.

It ends when stdin ends. The driver runs in an environment of its own.
"""

import json
import sys
from threading import Lock

import iota_client


def main() -> None:
    """Prints events until stdin ends."""
    node, topics = sys.argv[1:]
    writing = Lock()

    def show(event: str) -> None:
        # The client calls this from several threads.
        with writing:
            sys.stdout.write(event + "\n")
            sys.stdout.flush()

    client = iota_client.Client(nodes_name_password=[[node]])
    client.subscribe_topics(json.loads(topics), show)
    sys.stdin.read()
    client.disconnect()


main()
