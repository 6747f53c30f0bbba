"""File systems of pyarrow below a local directory or a URL."""

import os
from collections.abc import Iterable
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


def sync_files(root: str, paths: Iterable[str]) -> None:
    """Returns when local files below a directory, and their names, are on disk. Object stores acknowledge no others."""
    if "://" in root:
        return
    files = [Path(root, path) for path in paths]
    # Any folder up to the one that contains the directory may be new.
    folders = {each: None for file in files for each in file.parents if len(each.parts) >= len(Path(root).parts) - 1}
    for each in [*files, *folders]:
        descriptor = os.open(each, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
