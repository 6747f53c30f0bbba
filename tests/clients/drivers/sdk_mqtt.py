"""Listens to topics through iota-sdk. Arguments: node, topics as JSON. Prints each event as a line of JSON.

It ends when stdin ends. The driver runs in an environment of its own.
"""

import json
import sys
from threading import Lock

from iota_sdk import Client


def main() -> None:
    """Prints events until stdin ends."""
    node, topics = sys.argv[1:]
    writing = Lock()

    def show(event: str) -> None:
        # The client calls this from several threads.
        with writing:
            sys.stdout.write(event + "\n")
            sys.stdout.flush()

    client = Client(nodes=[node], ignore_node_health=True)
    client.listen_mqtt(json.loads(topics), show)
    sys.stdin.read()
    client.clear_mqtt_listeners(json.loads(topics))


main()
