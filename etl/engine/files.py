"""Files that the engine reads and writes: existence and deletion.

A path is local or a URL of any file system that the engine supports.
"""

import shutil
from pathlib import Path

from etl.engine.current import on_sail
from etl.engine.session import Session
from etl.engine.spark import files


def exists(session: Session, path: str) -> bool:
    """Returns whether a file or a directory has that path."""
    return Path(path).exists() if on_sail() else files.exists(session, path)


def delete(session: Session, path: str) -> None:
    """Deletes a file, or a directory with all that it contains."""
    if on_sail():
        delete_local(Path(path))
    else:
        files.delete(session, path)


def delete_local(path: Path) -> None:
    """Deletes a local file, or a local directory with all that it contains."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
