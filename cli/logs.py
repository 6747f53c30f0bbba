"""Log output: one record per line on stderr, as text on a terminal and as JSON otherwise.

A record whose only argument is a mapping becomes a JSON object with its keys. Every server process configures its own
logging.
"""

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

PLAIN = "%(levelname)s %(name)s: %(message)s"


class JsonLines(logging.Formatter):
    """Formats a record as a JSON object: time (UTC), level, logger, then the message or the mapping."""

    def format(self, record: logging.LogRecord) -> str:
        """Formats a record as a single line."""
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
    """Sends the log records of this process to stderr. Sets the level of `permanode` to INFO unless it is set."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(PLAIN) if sys.stderr.isatty() else JsonLines())
    logging.basicConfig(handlers=[handler], force=True)
    logger = logging.getLogger("permanode")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
