"""The `permanode fsck` command: finds damaged rows of store and lake."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cli.bars import shown
from cli.options import Json, etl_settings
from cli.progress import printable
from db import schema
from db.admin.fsck import NEEDED_TO_OPEN, Repair, repair_of
from db.connect import StoreSettings, open_adapter, open_store
from db.damage import Checked, Damage
from db.intervals import in_words, intervals, word
from db.schema.protocols import IOTA
from db.store import StoreMismatch
from etl.report import WITH_REJECTS, Progress

if TYPE_CHECKING:
    from etl.deep_check.compare import Fault
    from etl.engine.settings import EtlSettings
    from etl.lake.fsck import LakeSums

CHECKED = ("store", "lake")
ROWS = "rows"
"""The check of `--deep`."""

NEEDED_FOR_LOG = (schema.log_heads.name, schema.log_tiles.name)
"""Tables whose damage is known before their content is compared."""


def fsck(
    context: typer.Context,
    only: Annotated[
        Literal["store", "lake", "rows"] | None,
        typer.Option("--only", help="Check only one of them. Default: store and lake. `rows` is the check of --deep."),
    ] = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Then compute each row of the store again from the lake, and compare it.")
    ] = False,
    work: Annotated[
        Path | None,
        typer.Option(
            "--work",
            help="File in which --deep keeps its progress, so that the same command continues after an interruption. "
            "Default: nothing is kept.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Reads every row of store and lake, and lists each damaged one.

    In a SQLite store it compares all pages with their checksums, and the bytes of each message with its id; a cluster
    compares its files with their own checksums. Files of the lake are compared with the checksums in its log, and their
    messages with their ids. In both, tiles and records of the transparency log are compared with its root and its
    signature. It changes nothing, and the store can be served and loaded meanwhile.

    With --deep, DuckDB computes each row of every table again from the lake, with SQL of its own, and names each row
    that is wrong, missing or extra (at most 100 of a table). In an IOTA network it also compares balances, treasury and
    unclaimed funds with the token supply after each milestone. Loads may run meanwhile: rows that differ are compared
    again at a moment without a load, and named if they still differ in the same way. It needs permanode[deep].

    At the end it prints the commands that repair what it found. Exit code 3: something is damaged.

    Example: permanode fsck
    """
    from etl.lake.fsck import LakeSums, known_milestones
    from etl.runs import lake_path

    store, etl = etl_settings(context)
    sums, found = LakeSums(), dict[str, list[Damage]]()
    with shown() as notify:

        def checked(what: str, done: int, total: int | None) -> None:
            stage, unit = (what, "rows") if total is None else (name, "bytes")
            notify(Progress(stage, done, total, unit))

        names = CHECKED if only is None else (only,)
        for name in (*names, ROWS) if deep and ROWS not in names else names:
            found[name] = []
            damages = (
                _check_rows(store, etl, work, checked) if name == ROWS else _check(name, store, etl, checked, sums)
            )
            for each in damages:
                found[name].append(each)
                if not as_json:
                    typer.echo(_line(name, each))
    repair = repair_of(found["store"], known_milestones(lake_path(store, etl))) if found.get("store") else None
    if found.get(ROWS):
        # A rebuild of a range keeps extra rows, and the ledger state.
        repair = repair_of([], [])
    if as_json:
        values = {name: [asdict(each) for each in damages] for name, damages in found.items()}
        typer.echo(json.dumps({**values, "repair": asdict(repair) if repair else None}, indent=2))
    else:
        typer.echo("\n".join(_summary(found, repair, sums.unsummed)))
    raise typer.Exit(WITH_REJECTS if any(found.values()) else 0)


def _summary(found: Mapping[str, Sequence[Damage]], repair: Repair | None, unsummed: int) -> Iterator[str]:
    """What to do. `unsummed`: the number of files of the lake without a checksum."""
    if not any(found.values()):
        yield f"no damage in {' and '.join(found)}"
    if unsummed:
        yield f"{unsummed:,} files of the lake have no checksum; `permanode lake compact` gives them one"
    if repair is not None:
        yield "to repair the store:"
        yield from (f"  {step}" for step in (repair.before, *repair.commands) if step)
    if of_lake := found.get("lake"):
        yield "to repair the lake, restore its damaged files from a backup, or load their milestones again:"
        milestones = intervals(each for damage in of_lake for each in damage.milestones)
        yield from (f"  permanode load ARCHIVE --range {word(each)} --force" for each in milestones)
        if any(each.table == "log" for each in of_lake):
            yield "  move the folder `log` out of the lake: the next load writes it again from the store's copy"


def _check(name: str, store: StoreSettings, etl: "EtlSettings", checked: Checked, sums: "LakeSums") -> Iterable[Damage]:
    from etl.lake.fsck import check_lake
    from etl.runs import lake_path
    from etl.store_reads import StoreReads
    from etl.transparency.log_check import check_log_files, check_log_rows
    from etl.transparency.log_files import LogFiles

    lake = lake_path(store, etl)
    if name == "lake":
        yield from check_lake(lake, checked, sums)
        yield from check_log_files(LogFiles(lake, store.network), checked)
        return
    with closing(open_adapter(store, writable=False)) as adapter:
        is_intact = True
        for each in adapter.check(store.range_size, checked):
            is_intact = is_intact and each.table not in (*NEEDED_TO_OPEN, *NEEDED_FOR_LOG)
            yield each
    # A store of another layout may have no log.
    with suppress(StoreMismatch):
        if is_intact and store.protocol == IOTA:
            with closing(open_store(store)) as opened, closing(StoreReads(opened, store.network)) as reads:
                yield from check_log_rows(reads, checked)


def _check_rows(store: StoreSettings, etl: "EtlSettings", work: Path | None, checked: Checked) -> Iterator[Damage]:
    from etl.deep_check.check import Setup, check_rows
    from etl.runs import lake_path

    # Rejects settings that are not those of the store.
    open_store(store).close()
    setup = Setup(store, lake_path(store, etl), work, threads=os.cpu_count() or 1)
    with closing(open_adapter(store, writable=False)) as adapter:
        found = check_rows(
            setup,
            adapter,
            lambda table, rows: checked(table, rows, None),
            lambda lease: checked(f"waiting for run {lease.run}", 0, None),
        )
        for compared in found:
            yield from map(_damage_of, compared.faults)
            if (more := compared.differing - len(compared.faults)) > 0:
                yield Damage(compared.table, ROWS, f"{more:,} more rows", "differ")


def _damage_of(fault: "Fault") -> Damage:
    key = ", ".join(f"{name} {value}" for name, value in fault.key.items())
    differing = (f"{name} is {found}, expected {wanted}" for name, (wanted, found) in fault.columns.items())
    index = fault.milestone_index
    milestones = [] if index is None else [(index, index)]
    return Damage(fault.table, fault.kind, key, "; ".join(differing) or f"{fault.kind} row", milestones)


def _line(name: str, damage: Damage) -> str:
    """One damage on one line."""
    where = f"{name} {damage.table}".strip()
    milestones = f" (milestones {in_words(damage.milestones)})" if damage.milestones else ""
    return printable(f"{where}, {damage.place}: {damage.rows}: {damage.cause}{milestones}")
