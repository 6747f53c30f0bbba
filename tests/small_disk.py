"""A disk that is full, for tests of what happens then. Mounting one needs root."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path) -> Iterator[Callable[[int], None]]:
    """Mounts a disk there. Yields a function that limits its free KiB."""
    folder.mkdir()

    def mount(*options: str) -> int:
        return subprocess.run(["mount", *options, "tmpfs", folder], capture_output=True, check=False).returncode

    def leave(kib: int) -> None:
        used = shutil.disk_usage(folder).used >> 10
        assert mount("-o", f"remount,size={used + kib}k") == 0

    if mount("-t", "tmpfs", "-o", "size=64m") != 0:
        pytest.skip("mounting a disk needs root")
    try:
        yield leave
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
