"""New SQLite stores for tests: `migrate` creates the first one with some settings, the others are copies of its files.

A migration waits for the disk again and again, and takes 0.11 s of CPU time; a copy takes 0.001 s.
"""

from pathlib import Path

from db.admin.migrate import migrate
from db.connect import SQLITE, StoreSettings

_created: dict[tuple[tuple[str, str], ...], dict[str, bytes]] = {}
"""keyspace_info → the files of an empty store that contains it."""


def create(settings: StoreSettings) -> None:
    """Does what `migrate` does, and copies files if there is no store yet. A cluster is always migrated."""
    folder = Path(settings.url.removeprefix(SQLITE))
    if not settings.url.startswith(SQLITE) or (folder.exists() and any(folder.iterdir())):
        migrate(settings)
        return
    key = tuple(sorted(settings.info().items()))
    if key not in _created:
        migrate(settings)
        _created[key] = {path.name: path.read_bytes() for path in folder.iterdir()}
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in _created[key].items():
        (folder / name).write_bytes(content)
