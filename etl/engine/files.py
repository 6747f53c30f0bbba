"""Files that the engine reads and writes: names in a directory, deletion, and the files of a Delta table.

A path is local or a URL of any file system that the engine supports.
"""

import shutil
from pathlib import Path

from etl.engine.current import on_sail
from etl.engine.sail import delta
from etl.engine.session import Session
from etl.engine.spark import files


def exists(session: Session, path: str) -> bool:
    """Returns whether a file or a directory has that path."""
    return Path(path).exists() if on_sail() else files.exists(session, path)


def list_names(session: Session, path: str) -> list[str]:
    """Returns the names in a directory. Empty if it does not exist."""
    if not on_sail():
        return files.list_names(session, path)
    return [each.name for each in Path(path).iterdir()] if Path(path).is_dir() else []


def delete(session: Session, path: str) -> None:
    """Deletes a file, or a directory with all that it contains."""
    if on_sail():
        delete_local(Path(path))
    else:
        files.delete(session, path)


def delta_files(session: Session, path: str) -> list[tuple[str, str]]:
    """Returns path and column statistics (JSON) of each file in the newest snapshot of a Delta table.

    Raises OSError for an invalid log.
    """
    return delta.files(path) if on_sail() else files.delta_files(session, path)


def delete_local(path: Path) -> None:
    """Deletes a local file, or a local directory with all that it contains."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
