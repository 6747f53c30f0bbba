"""Which era files are of.

Rules of this file: their content says it, never a name.
"""

from collections.abc import Iterable

from etl.sources import read_cones
from etl.sources.files import lines, open_stream
from ledger.eras import Codec
from ledger.json_reader import JsonError
from ledger.reader import CodecError


def codec_of(files: Iterable[str]) -> Codec | None:
    """By which files are written, as the first line says that begins one and can be read."""
    for file in files:
        try:
            with open_stream(file) as stream:
                _, _, line = next(lines(stream))
            return read_cones(line)[0].codec
        except (StopIteration, JsonError, CodecError, OSError, EOFError, ValueError):
            continue
    return None
