"""Limits of input files: a small hostile file must not use much memory or time. The settings `etl.max_line_bytes` and
`etl.max_unpacked_bytes` replace the defaults.
"""

from dataclasses import dataclass
from typing import BinaryIO

from etl.engine.settings import EtlSettings

CHUNK_BYTES = 1 << 20
"""Bytes that are read at a time of what is skipped, or of a document of unknown length."""


class TooLarge(ValueError):
    """A line or a file has more bytes than its limit. The text contains the limit and the setting."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The most bytes of a line, and of the unpacked content of a compressed file. None: no limit."""

    line_bytes: int | None
    unpacked_bytes: int | None

    @classmethod
    def of(cls, settings: EtlSettings) -> "Limits":
        """The limits of a run."""
        return cls(settings.max_line_bytes, settings.max_unpacked_bytes)


DEFAULT = Limits(EtlSettings.max_line_bytes, EtlSettings.max_unpacked_bytes)

UNLIMITED = Limits(None, None)
"""For files of this program, and for lines that were found with limits before."""


def line_fault(most: int, found: int, what: str = "line") -> str:
    """The reason why a line of `found` bytes is rejected. `what` begins it."""
    return f"{what}: at most {most} bytes expected (etl.max_line_bytes), found {found}"


def read_rest(stream: BinaryIO, begun: bytes, most: int | None) -> bytes:
    """Reads a stream to its end. Returns `begun` and the rest. Raises TooLarge for more than `most` bytes in all."""
    parts, length = [begun], len(begun)
    while chunk := stream.read(CHUNK_BYTES):
        parts.append(chunk)
        length += len(chunk)
        if most is not None and length > most:
            raise TooLarge(f"file: a document of at most {most} bytes expected (etl.max_line_bytes), found more")
    return b"".join(parts)
