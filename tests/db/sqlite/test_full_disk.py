"""A store on a disk that is full."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest

from db import schema
from db.admin.migrate import migrate
from db.store import StoreUnavailable, WritableStore
from tests.db.stores import reopened, settings_of
from tests.small_disk import small_disk


def put(store: WritableStore, number: int) -> None:
    """Writes messages in one batch."""
    with store.batch() as batch:
        rows = [(os.urandom(32), bytes(3_000)) for _ in range(number)]
        batch.upsert(schema.messages, ("message_id", "message"), rows)


def open_files(folder: Path) -> list[str]:
    """The files in a folder that this process has open."""
    found = list[str]()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(str(descriptor.readlink()))
    return [each for each in found if each.startswith(str(folder))]


def test_a_store_on_a_full_disk_is_closed_and_keeps_what_was_committed(tmp_path: Path) -> None:
    """The generation has no room for the rows in the log, so the last checkpoint fails as well."""
    with small_disk(tmp_path / "disk") as leave:
        settings = settings_of(f"sqlite:///{tmp_path}/disk/store")
        migrate(settings)
        store = reopened(settings)
        put(store, 300)
        # The next batch has room in the log, which begins again, and its checkpoint has none.
        leave(8)
        with pytest.raises(StoreUnavailable, match=r"^no space left on device: .*; free space on it"):
            put(store, 30)
        store.close()
        assert open_files(tmp_path) == []
        leave(32 << 10)
        store = reopened(settings)
        put(store, 20)
        (messages,) = asyncio.run(store.describe([schema.messages]))
        assert messages.rows == 350
        store.close()
