"""The log of the cluster's driver: records on one line, without tracebacks.

While a session connects the driver logs nothing, because what it would report is raised as the store's error.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

DRIVER = "cassandra"
"""The name of the driver's logger, whose children log the records."""


class OneLine(logging.Filter):
    """Replaces the traceback of a record by the text of its error."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Accepts every record."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            record.msg, record.args = f"{record.getMessage()} {type(error).__name__}: {error}", ()
            record.exc_info = record.exc_text = None
        return True


def shorten() -> None:
    """Shortens the records of the loggers that the driver has now. Filters do not apply to the loggers below."""
    for name in list(logging.root.manager.loggerDict):
        if name == DRIVER or name.startswith(f"{DRIVER}."):
            logger = logging.getLogger(name)
            if not any(isinstance(each, OneLine) for each in logger.filters):
                logger.addFilter(OneLine())


@contextmanager
def silent() -> Iterator[None]:
    """A block in which the driver logs nothing."""
    logger = logging.getLogger(DRIVER)
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)
