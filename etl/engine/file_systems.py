"""File systems of pyarrow below a local directory or a URL."""

from pathlib import Path

import pyarrow.fs as pafs
from deltalake.fs import DeltaStorageHandler


def file_system(root: str) -> pafs.FileSystem:
    """Returns the file system below a local directory or URL. Paths in it are relative to that."""
    if root.startswith("file://"):
        # delta-rs opens a local directory only if it exists. Object stores have no directories.
        Path(root.removeprefix("file://")).mkdir(parents=True, exist_ok=True)
    if "://" in root:
        return pafs.PyFileSystem(DeltaStorageHandler(root))
    return pafs.SubTreeFileSystem(root, pafs.LocalFileSystem())
