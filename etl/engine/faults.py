"""Turns failures of the engine's surroundings into one line with cause and next step: disk, memory, processes, plans.

The engines report one cause in many types: OSError, MemoryError, errors of py4j, of Spark Connect, of delta-rs. So a
cause is found in the texts of an error and of all errors that it was raised from.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

PROJECT = ("api", "cli", "db", "etl", "ledger")
"""Packages whose errors already have a text with the next step."""

LINE_MOST = 200
"""Maximum of characters of the engine's own words in a line."""

AGAIN = "then run the command again"
FEWER = "load fewer milestones at a time (--range)"


class EngineError(RuntimeError):
    """The engine could not continue. The text is one line with the cause and the next step. Store and lake keep their
    state, and the next run repairs what this one left.
    """


@dataclass(frozen=True)
class Fault:
    """A cause: how to recognize it, its name, and what to do.

    Attributes:
        pattern: found in the text of an error.
        types: names of types of errors that have this cause, whatever their text.
        cause: the beginning of the line.
        step: the end of the line.
    """

    pattern: re.Pattern[str] | None
    types: tuple[str, ...]
    cause: str
    step: str


FAULTS = (
    Fault(
        re.compile(
            r"No space left on device|os error 28\b|Disk quota exceeded|database or disk is full|File too large"
        ),
        (),
        "no disk space left",
        f"free space for the lake, for staging (etl.staging) and for temporary files (TMPDIR), {AGAIN}",
    ),
    Fault(
        re.compile(r"OutOfMemoryError|GC overhead limit|System memory \d+ must be at least|Initial heap size"),
        (),
        "the heap of Spark's driver is too small",
        f"raise etl.driver_memory, or {FEWER}, {AGAIN}",
    ),
    Fault(
        re.compile(r"bigger than (local )?maxResultSize|spark\.driver\.maxResultSize"),
        (),
        "a result is too large for Spark's driver",
        f"raise etl.max_result_size, or {FEWER}, {AGAIN}",
    ),
    Fault(
        re.compile(r"Resources exhausted|Cannot allocate memory|malloc of size \d+ failed"),
        ("MemoryError", "ArrowMemoryError"),
        "out of memory",
        f"{FEWER} or use etl.engine = spark, whose memory is bounded, {AGAIN}",
    ),
    Fault(
        re.compile(
            r"larger than max \(|recursion limit|[Rr]ecursion depth|StackOverflowError|decoded message length too large"
        ),
        ("RecursionError",),
        "a query has a larger plan than the engine accepts",
        f"{FEWER} or use etl.engine = spark, {AGAIN}",
    ),
    Fault(
        re.compile(r"Python worker (exited|failed)"),
        (),
        "a Python process that decodes messages ended: something killed it, often for lack of memory",
        f"free memory, or {FEWER}, {AGAIN}",
    ),
    Fault(
        re.compile(r"Java gateway process exited"),
        (),
        "Spark's Java process did not start",
        "read its own lines above, compare etl.driver_memory with the free memory, then run the command again",
    ),
    Fault(
        re.compile(r"Answer from Java side is empty|Error while sending or receiving"),
        ("Py4JNetworkError", "ConnectionRefusedError"),
        "Spark's Java process ended: something killed it, often for lack of memory",
        f"free memory, or lower etl.driver_memory, {AGAIN}",
    ),
    Fault(
        re.compile(r"StatusCode\.UNAVAILABLE|failed to connect to all addresses|Socket closed"),
        (),
        "the embedded engine does not respond any more",
        "run the command again, with etl.engine = spark if that happens again",
    ),
    Fault(
        None,
        ("DeltaError", "DeltaProtocolError", "SchemaMismatchError", "TableNotFoundError"),
        "the lake cannot be read or written",
        "run the command again; if that fails, restore the lake from its backup or load into a new one",
    ),
)
"""In the order of precedence: a full disk also ends processes, and a full heap breaks connections."""


@contextmanager
def engine_faults() -> Iterator[None]:
    """A block that raises EngineError for a known fault of the engine. All other errors pass unchanged."""
    try:
        yield
    except Exception as error:
        line = fault_line(error)
        if line is None:
            raise
        raise EngineError(line) from error


def fault_line(error: BaseException) -> str | None:
    """Cause and next step of an error in one line. None for unknown causes, and for errors of this project."""
    if type(error).__module__.partition(".")[0] in PROJECT:
        return None
    chain = list(_chain(error))
    for fault in FAULTS:
        for text, names in chain:
            found = fault.pattern.search(text) if fault.pattern else None
            if found or not names.isdisjoint(fault.types):
                return f"{fault.cause} ({_line_of(text, found)}); {fault.step}"
    return None


def _chain(error: BaseException | None) -> Iterator[tuple[str, set[str]]]:
    """Text and names of the types of an error and of all errors that it was raised from."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        try:
            text = str(error)
        except Exception as unreadable:  # noqa: BLE001 (py4j reads the text from the JVM, which may have ended)
            text = str(unreadable)
        yield text, {each.__name__ for each in type(error).__mro__} - {"object"}
        error = error.__cause__ or error.__context__


def _line_of(text: str, found: re.Match[str] | None) -> str:
    """The line of a text that contains a match, else the first one, shortened around the match."""
    at = found.start() if found else 0
    begin = text.rfind("\n", 0, at) + 1
    line = text[begin:].partition("\n")[0].strip()
    if len(line) > LINE_MOST:
        first = max(0, min(at - begin - LINE_MOST // 2, len(line) - LINE_MOST))
        line = ("…" if first else "") + line[first : first + LINE_MOST] + "…"
    return line or "no details"
