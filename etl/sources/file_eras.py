"""Detects the era of files from their content. File names have no influence."""

from collections.abc import Iterable

from etl.sources import read_cones
from etl.sources.lines import lines
from etl.sources.unpacking import open_stream
from ledger.eras import Codec
from ledger.json_reader import JsonError
from ledger.reader import CodecError


def codec_of(files: Iterable[str]) -> Codec | None:
    """The codec of the first readable line among the first lines of the files."""
    for file in files:
        try:
            with open_stream(file) as stream:
                _, _, line = next(lines(stream))
            return read_cones(line)[0].codec
        except (StopIteration, JsonError, CodecError, OSError, EOFError, ValueError):
            continue
    return None
