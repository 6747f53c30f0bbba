"""Detects the era of files from their content. File names have no influence."""

from collections.abc import Iterable
from contextlib import suppress
from itertools import islice

from etl.sources import read_cones
from etl.sources.limits import DEFAULT, Limits
from etl.sources.lines import lines
from etl.sources.unpacking import open_stream
from ledger.eras import Codec

LINES_TRIED = 10_000
"""Lines of a file that are read if none before is readable."""


def codec_of(files: Iterable[str], limits: Limits = DEFAULT) -> Codec | None:
    """Returns the codec of the first readable line of the files. A damaged line decides nothing."""
    for file in files:
        with suppress(OSError, EOFError, ValueError), open_stream(file, limits) as stream:
            for _, _, line in islice(lines(stream, limits, _skip), LINES_TRIED):
                if (codec := _codec_in(line)) is not None:
                    return codec
    return None


def _codec_in(line: bytes) -> Codec | None:
    try:
        return next((cone.codec for cone in read_cones(line)), None)
    except ValueError:
        return None


def _skip(number: int, reason: str) -> None:
    """Goes on after a line that is too long. The scan rejects it."""
