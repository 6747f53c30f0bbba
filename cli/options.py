"""Arguments and options that several commands share, and the settings that they build. Imports no command."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cli.settings import Settings, read
from db.connect import StoreSettings
from ledger.selection import FORMS, parse_filters

if TYPE_CHECKING:
    from etl.engine.settings import EtlSettings

HOME = Path(__file__).parent.parent
"""The folder that contains the packages: a source tree, or site-packages."""

IS_SOURCE_TREE = (HOME / "pyproject.toml").exists()

Range: TypeAlias = Annotated[
    str | None,
    typer.Option("--range", metavar="FIRST:LAST", help="Only these milestones: FIRST included, LAST excluded."),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Into: TypeAlias = Annotated[
    Path, typer.Option("--into", metavar="FOLDER", help="Output folder; created if it does not exist.")
]
MaxSize: TypeAlias = Annotated[int, typer.Option("--max-size", min=1, metavar="BYTES", help="Maximum size of a file.")]

Keep: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="FILTERS",
        help=f"Only messages that one of these filters selects: {FORMS}. Separate several filters by spaces, or pass "
        "@FILE with one per line. Can be given several times.",
    ),
]


@dataclass(frozen=True, slots=True)
class Given:
    """The options before the command: the settings file, and the global flags by setting."""

    file: Path | None
    flags: Mapping[str, tuple[str, object]]

    def settings(self, **more: tuple[str, object]) -> Settings:
        """The effective settings. `more` contains the command's own flags, e.g. api_port=("--port", port)."""
        own = {name.replace("_", ".", 1): flag for name, flag in more.items()}
        return read(self.file, os.environ, {**self.flags, **own})


def etl_settings(context: typer.Context) -> "tuple[StoreSettings, EtlSettings]":
    """The store settings and the ETL settings of a job."""
    settings = context.obj.settings()
    return settings.store(), build_etl(settings)


def build_etl(settings: Settings, **fixed: str) -> "EtlSettings":
    """The ETL settings. If there is no Java for Spark and `etl.engine` is not set, it is `auto`."""
    from etl.engine.current import AUTO
    from etl.engine.java import java_fault
    from etl.engine.settings import EtlSettings

    etl = settings.build("etl", EtlSettings, **fixed)
    return replace(etl, engine=AUTO) if "etl.engine" not in settings.given and java_fault() else etl


def parse_range(text: str | None, hint: str = "--range") -> tuple[int | None, int | None]:
    """Parses `a:b` (milestones a ≤ m < b, like the names of archive files), or a single milestone. Returns None for an
    omitted end.
    """
    if text is None:
        return None, None
    expected = "FIRST:LAST, e.g. 1:100001 (you can omit either end), or one milestone"
    if re.fullmatch(r"\d+", text, re.ASCII):
        return int(text), int(text) + 1
    if found := re.fullmatch(r"(\d*):(\d*)", text, re.ASCII):
        first, last = (int(end) if end else None for end in found.groups())
        if first is None or last is None or first < last:
            return first, last
        expected = "FIRST below LAST, because LAST is excluded"
    raise typer.BadParameter(f"expected {expected}; found {text!r}", param_hint=hint)


def read_filters(texts: list[str]) -> list[str]:
    """Returns the texts of filters, with those of files in place of @FILE.

    Raises BadParameter if a file cannot be read, and ValueError if a filter is invalid in every network.
    """
    found = []
    for text in texts:
        if not text.startswith("@"):
            found.append(text)
            continue
        try:
            lines = Path(text[1:]).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise typer.BadParameter(f"{text}: {error}", param_hint="--keep") from None
        found += [line for line in lines if not line.lstrip().startswith("#")]
    if texts:
        parse_filters(found, kinds=None)
    return found
