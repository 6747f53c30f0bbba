"""The application that test_server.py starts in a process of its own: `uvicorn --factory tests.api.served:make`."""

import os
from typing import Any

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import StoreSettings, open_store


def make() -> Any:
    """The API over the SQLite store in PERMANODE_TEST_STORE."""
    store = open_store(
        StoreSettings(
            url=f"sqlite:///{os.environ['PERMANODE_TEST_STORE']}",
            network=os.environ["PERMANODE_TEST_NETWORK"],
        )
    )
    mount = NetworkMount(store, os.environ["PERMANODE_TEST_NETWORK"], "atoi")
    return create_app({"testing": mount}, "testing", ApiSettings())
