"""What commands share: the settings behind them, and the arguments and flags that several take.

Rules of this file: nothing here is a command, and nothing imports one.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cli.settings import Settings, read
from db.connect import StoreSettings

if TYPE_CHECKING:
    from etl.engine.session import EtlSettings

HOME = Path(__file__).parent.parent
"""The tree that this command line runs from."""

Range: TypeAlias = Annotated[
    str | None, typer.Option("--range", metavar="FIRST:LAST", help="Milestones from FIRST, before LAST.")
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="As JSON.")]
Into: TypeAlias = Annotated[Path, typer.Option("--into", metavar="FOLDER", help="Where the files go; made if need be.")]
MaxSize: TypeAlias = Annotated[int, typer.Option("--max-size", min=1, metavar="BYTES", help="Greatest size of a file.")]


@dataclass(frozen=True, slots=True)
class Given:
    """What came before the command: the settings file and the global flags, by setting."""

    file: Path | None
    flags: Mapping[str, tuple[str, object]]

    def settings(self, **more: tuple[str, object]) -> Settings:
        """The settings that hold; `more` are the command's own flags, as api_port=("--port", port)."""
        own = {name.replace("_", ".", 1): flag for name, flag in more.items()}
        return read(self.file, os.environ, {**self.flags, **own})


def etl_settings(context: typer.Context) -> "tuple[StoreSettings, EtlSettings]":
    """What a job needs."""
    from etl.engine.session import EtlSettings

    settings = context.obj.settings()
    return settings.store(), settings.build("etl", EtlSettings)


def parse_range(text: str | None, hint: str = "--range") -> tuple[int | None, int | None]:
    """`a:b` as the milestones a ≤ m < b, as in the names of archive files; None for an end that is left out."""
    if text is None:
        return None, None
    if found := re.fullmatch(r"(\d*):(\d*)", text, re.ASCII):
        first, last = (int(end) if end else None for end in found.groups())
        if first is None or last is None or first < last:
            return first, last
    raise typer.BadParameter("expected FIRST:LAST, as 1:100001; either end may be left out", param_hint=hint)
