"""Errors for damaged files of a Delta table. Each is one line: what is damaged, which rows, what to do."""


class LakeDamaged(RuntimeError):
    """Stored bytes differ from what was committed. Nothing was read from them."""


class LogDamaged(LakeDamaged):
    """The log of a table contains another state than the one that its newest commit has the checksum of."""

    def __init__(self, root: str, version: int) -> None:
        super().__init__(
            f"{root}/_delta_log: damaged: its files, statistics or columns differ from the checksum of version "
            f"{version}. Restore this folder from a backup of the lake"
        )


class FileDamaged(LakeDamaged):
    """A file differs from the checksum in its name, or is missing.

    Attributes:
        path: the file, relative to its table.
        ends: the least and the greatest value of the table's key in the file; None if they are unknown.
    """

    def __init__(self, root: str, path: str, cause: str, key: str | None, ends: tuple[int, int] | None) -> None:
        self.path, self.ends = path, ends
        rows, again = f"rows of {root.rpartition('/')[2]}", ""
        if ends is not None:
            span = f"{ends[0]}:{ends[1] + 1}"
            rows += f" with {key} {span}"
            if ends[0] >= 0:
                again = f", or load these again from archive files: permanode load ARCHIVE --range {span} --force"
        super().__init__(f"{root}/{path}: damaged: {cause}. It contains {rows}. Restore it from a backup{again}")
