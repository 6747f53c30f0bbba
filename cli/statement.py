"""The command `statement`: writes the statement of an account from the store to a file."""

import asyncio
import csv
import json
import sys
from collections.abc import Mapping
from contextlib import closing, nullcontext
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import typer

TAIL_BYTES = 1 << 20
"""More than the longest line: a transaction has at most 128 recipients."""


def statement(
    context: typer.Context,
    addresses: Annotated[list[str], typer.Argument(metavar="ADDRESS…", help="Bech32 addresses.")],
    start: Annotated[
        str | None, typer.Option(help="First milestone, time in seconds since 1970, or UTC day. Default: the genesis.")
    ] = None,
    end: Annotated[str | None, typer.Option(help="Last milestone, time or UTC day. Default: the ledger index.")] = None,
    form: Annotated[Literal["csv", "ndjson"], typer.Option("--format", help="Format of the lines.")] = "csv",
    sort: Annotated[Literal["oldest", "newest"], typer.Option(help="Which end comes first.")] = "oldest",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Output file. Default: standard output.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue FILE after its last whole line, with the same other options.")
    ] = False,
) -> None:
    """Writes the statement of one or more addresses: a line per movement, with the balance after it.

    Several addresses are one account: what moves between them only is left out. The last line has the closing balance.
    If the movements do not add up to it, the last line has the kind `error`, and the exit code is 1.

    Example: permanode statement ADDRESS --start 2022-01-01 --end 2022-12-31 --out 2022.csv
    """
    from api.http.errors import BadParameter
    from cli.serving import mount_one

    if resume and out is None:
        raise typer.BadParameter("needs --out", param_hint="--resume")
    if out is not None and out.exists() and not resume:
        raise typer.BadParameter(f"{out} exists; --resume continues it", param_hint="--out")
    network = mount_one(context.obj.settings())
    try:
        with closing(network.store):  # type: ignore[type-var]
            asyncio.run(_write(network, addresses, start, end, form, out, newest=sort == "newest", resume=resume))
    except BadParameter as error:
        raise typer.BadParameter(str(error)) from error


async def _write(
    network: Any,
    addresses: list[str],
    start: str | None,
    end: str | None,
    form: Literal["csv", "ndjson"],
    out: Path | None,
    *,
    newest: bool,
    resume: bool,
) -> None:
    from api.explorer_v2.statement_lines import CLOSING, OPENING, lines
    from api.explorer_v2.statement_routes import ADDRESSES, opened
    from api.fields.inx_chronicle_params import After, parse_after
    from api.fields.span_params import END, START
    from api.http.page_sizes import MAXIMUM

    parsed: Any = ADDRESSES.read(",".join(addresses))
    span: Mapping[str, Any] = {"start": START.read(start), "end": END.read(end)}
    closes = OPENING if newest else CLOSING
    kept, last = _kept(out, form, closes) if resume and out is not None else (0, None)
    if last is not None and last["kind"] == closes:
        typer.echo(f"{out} is complete", err=True)
        return
    at = After(MAXIMUM) if last is None else parse_after(str(last["cursor"]), ())
    cursors, place = await opened(network, parsed, at, span, newest=newest)
    with _opened(out, kept) as file:
        async for part in lines(network, cursors, form, after=place, page_size=at.page_size):
            file.write(part.encode())


def _opened(out: Path | None, kept: int) -> Any:
    """The file for writing after its first `kept` bytes."""
    if out is None:
        return nullcontext(sys.stdout.buffer)
    file: IO[bytes] = out.open("r+b" if out.exists() else "wb")
    file.truncate(kept)
    file.seek(kept)
    return file


def _kept(out: Path, form: str, closes: str) -> tuple[int, Mapping[str, Any] | None]:
    """The bytes of a file up to the last line from which its statement can continue, and that line: a movement, or the
    last line of a complete statement. Without one, the file begins again.
    """
    from api.explorer_v2.statement_lines import FIELDS
    from api.http.streaming import csv_text

    if not out.exists():
        return 0, None
    with out.open("rb") as file:
        first = max(0, file.seek(0, 2) - TAIL_BYTES)
        file.seek(first)
        tail = file.read()
    other = typer.BadParameter(f"{out} is not a statement as {form}", param_hint="--resume")
    end = tail.rfind(b"\n") + 1
    if not end:
        # A new statement ends like this if its process is killed.
        begins = (csv_text([FIELDS]).rstrip() if form == "csv" else f'{{"{FIELDS[0]}":').encode()
        if first or not (tail.startswith(begins) or begins.startswith(tail)):
            raise other
    while end > (tail.find(b"\n") + 1 if first else 0):
        begin = tail.rfind(b"\n", 0, end - 1) + 1
        try:
            text = tail[begin:end].decode()
            line = dict(zip(FIELDS, next(csv.reader([text])), strict=True)) if form == "csv" else json.loads(text)
            if line["kind"] == closes or (line["cursor"] and line["kind"] != FIELDS[0]):
                return first + end, line
        except (ValueError, KeyError) as error:
            raise other from error
        end = begin
    return 0, None
