"""Notes the first damage that a read of a generation found, for other processes and later starts.

The note is a file beside the generation. It applies only to the generation that it names: the next one consists of rows
that were read and written again.
"""

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from db.sqlite.files import current_generation

NOTE = "damaged.json"

_noted: dict[tuple[Path, str], str] = {}
"""What this process found in stores whose directory it cannot write, by directory and generation."""


def note(directory: Path, cause: str, *, of: str | None = None) -> None:
    """Notes damage of the served generation, unless one is noted. `of`: the generation that has it, if it may no longer
    be the served one. Nothing is noted then.
    """
    generation = current_generation(directory)
    if generation is None or of not in (None, generation) or noted(directory) is not None:
        return
    value = {"generation": generation, "cause": cause, "found": datetime.now(UTC).isoformat(timespec="seconds")}
    part = directory / f"{NOTE}.new"
    try:
        part.write_text(json.dumps(value), encoding="utf-8")
        part.replace(directory / NOTE)
    except OSError:
        _noted[directory, generation] = cause


def noted(directory: Path) -> str | None:
    """What was noted of the served generation, or None."""
    generation = current_generation(directory)
    try:
        value = json.loads((directory / NOTE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return _noted.get((directory, generation or ""))
    except (OSError, ValueError):
        return f"{NOTE} cannot be read"
    if value.get("generation") != generation:
        return None
    return str(value["cause"])


def forget(directory: Path) -> None:
    """Removes the note: the generation was checked and is intact."""
    for key in [each for each in _noted if each[0] == directory]:
        del _noted[key]
    with suppress(OSError):
        (directory / NOTE).unlink()
