"""How log records look: words for people, JSON lines for machines.

Rules of this file: everything goes to stderr, one record a line, as JSON where that is not a terminal; a record whose
arguments are one mapping is that mapping's keys. Every process that serves configures its own logging.
"""

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

PLAIN = "%(levelname)s %(name)s: %(message)s"


class JsonLines(logging.Formatter):
    """A record as one JSON object: time (UTC), level, logger, then what it says."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, whatever the record holds."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
        }
        line |= record.args if isinstance(record.args, Mapping) else {"message": record.getMessage()}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure() -> None:
    """Sends this process' records to stderr; our own from INFO upwards, where no other level was set before."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(PLAIN) if sys.stderr.isatty() else JsonLines())
    logging.basicConfig(handlers=[handler], force=True)
    ours = logging.getLogger("permanode")
    if ours.level == logging.NOTSET:
        ours.setLevel(logging.INFO)
