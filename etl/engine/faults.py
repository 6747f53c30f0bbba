"""Turns failures of the engine's surroundings into one line with cause and next step: disk, memory, processes, plans.

The engines report one cause in many types: OSError, MemoryError, errors of py4j, of Spark Connect, of delta-rs. So a
cause is found in the texts of an error and of all errors that it was raised from.
"""

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

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


class ConnectionLost(RuntimeError):
    """The connection to the embedded engine ended during a command or after the first rows of a query."""


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
        "no space left on device",
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


ENGINES = ("py4j", "pyspark", "pysail", "grpc", "google", "pyarrow", "deltalake")
"""Packages whose errors have many lines, of which the last cause is the one that counts."""

CALLING = "An error occurred while calling "
"""The beginning of the text of Java's errors, before the Java method of the call."""

CAUSED_BY = re.compile(r"^(?:Caused by)?: (?:[\w$]+\.)*([\w$]+(?:: .*)?)", re.MULTILINE)
"""A cause in the text of a Java error, without the package of its class."""

STATUS = re.compile(r'^\tstatus = StatusCode\.(\w+)\n\tdetails = "(.*)"$', re.MULTILINE)
"""The cause in the text of an error of gRPC."""

CODES = re.compile(r"^\[Errno \d+\] |^\((?:[\w.]+)\) |^\[[A-Z_.0-9]+\] ")
"""What the texts of Python, Spark Connect and Spark begin with."""

PATH = re.compile(r"/[^\s:'\"()\[\],]*[^\s:'\"()\[\],.]")
"""An absolute path in a text."""


@contextmanager
def engine_faults(folders: Sequence[Path] = ()) -> Iterator[None]:
    """A block that raises EngineError for a known fault of the engine, and for every other error of the engine with its
    cause in one line. Other errors pass unchanged. `folders`: where the run writes, for faults of a disk whose text
    contains no path.
    """
    try:
        yield
    except Exception as error:
        line = fault_line(error, folders)
        if line is None:
            raise
        raise EngineError(line) from error


def fault_line(error: BaseException, folders: Sequence[Path] = ()) -> str | None:
    """Cause, path and next step of an error in one line. None for errors of this project, and for unknown causes that
    the engine has not raised.
    """
    if _package(error) in PROJECT:
        return None
    chain = list(_chain(error))
    for fault in FAULTS:
        for text, names, place in chain:
            found = fault.pattern.search(text) if fault.pattern else None
            if found or not names.isdisjoint(fault.types):
                line = _line_of(text, found)
                if fault is FAULTS[0]:
                    return f"{fault.cause}: {place or _full_place(line, folders)} ({line}); {fault.step}"
                return f"{fault.cause} ({line}); {fault.step}"
    return _cause_of(error, folders)


def _cause_of(error: BaseException, folders: Sequence[Path]) -> str | None:
    """The last cause in the text of an error of the engine, with a path: at least that of the lake. None for other
    errors.
    """
    text = next(text for text, *_ in _chain(error))
    if _package(error) not in ENGINES and not text.startswith(CALLING):
        return None
    causes: list[str] = CAUSED_BY.findall(text) or [": ".join(each) for each in STATUS.findall(text)]
    line = causes[-1] if causes else next((line for line in text.splitlines() if line.strip()), "")
    line = CODES.sub("", line.strip())
    line = _shortened(line) if line else type(error).__name__
    return line if PATH.search(line) or not folders else f"{line}: {folders[0]}"


def _package(error: BaseException) -> str:
    return type(error).__module__.partition(".")[0]


def _full_place(line: str, folders: Sequence[Path]) -> str:
    """The path in a text, else the folder whose disk has the least free space."""
    found: list[str] = PATH.findall(line)
    if named := [each for each in found if Path(each).parent.exists()]:
        return named[0]
    rooms = [(shutil.disk_usage(each).free, each) for each in folders if each.exists()]
    return str(min(rooms)[1]) if rooms else "the disk of the lake, of staging or of TMPDIR"


def _chain(error: BaseException | None) -> Iterator[tuple[str, set[str], str]]:
    """Text, names of the types, and file of an error and of all errors that it was raised from."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        try:
            text = str(error)
        except Exception as unreadable:  # noqa: BLE001 (py4j reads the text from the JVM, which may have ended)
            text = str(unreadable)
        names = {each.__name__ for each in type(error).__mro__} - {"object"}
        yield text, names, str(getattr(error, "filename", None) or "")
        error = error.__cause__ or error.__context__


def _line_of(text: str, found: re.Match[str] | None) -> str:
    """The line of a text that contains a match, else the first one, shortened around the match."""
    at = found.start() if found else 0
    begin = text.rfind("\n", 0, at) + 1
    return _shortened(text[begin:].partition("\n")[0].strip(), at - begin) or "no details"


def _shortened(line: str, at: int = 0) -> str:
    if len(line) <= LINE_MOST:
        return line
    first = max(0, min(at - LINE_MOST // 2, len(line) - LINE_MOST))
    return ("…" if first else "") + line[first : first + LINE_MOST] + "…"
