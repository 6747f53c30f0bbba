"""The steps of the Wormhole pipeline: files of VAAs, prices and tokens → lake → tables.

Each function takes a WormholeRun and returns the WormholeRun for the next step.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import DataFrame

from etl.engine.arrow_frames import arrow_frame
from etl.lake.summary import reject_lines
from etl.sources.files import shown_name
from etl.wormhole.decode_worker import Emitters
from etl.wormhole.load import Beside, VaaLoad
from etl.wormhole.prices import read_prices
from etl.wormhole.selection import choose_emitters
from etl.wormhole.token_list import read_token_list
from etl.writers.publish import Publication


@dataclass(frozen=True)
class WormholeRun:
    """The options of one run, and what its steps have found so far.

    Attributes:
        publication: the store, the lake and the session of the run.
        files: files of VAAs, or of cells of the event tables.
        prices: CSV file of token prices.
        tokens: CSV file with a list of tokens.
        keep: filters of emitters to add, as text (ledger/selection.py).
        emitters: the emitters that a selective store keeps. None: all. Set by `choose`.
        beside: rows of the price file and of the token list. Set by `read_beside`.
        cells: cells of the files. Set by `decode`.
    """

    publication: Publication
    files: list[Path] = field(default_factory=list)
    prices: Path | None = None
    tokens: Path | None = None
    keep: Sequence[str] = ()
    emitters: Emitters | None = None
    beside: Beside = field(default_factory=Beside)
    cells: DataFrame | None = None

    @property
    def load(self) -> VaaLoad:
        """The computations over the run's store and lake."""
        return VaaLoad(self.publication)


def choose(run: WormholeRun) -> WormholeRun:
    """Adds the filters of the run to those of a selective store."""
    return replace(run, emitters=choose_emitters(run.publication, run.keep))


def read_beside(run: WormholeRun) -> WormholeRun:
    """Reads the price file and the token list. Raises ValueError for an invalid one before anything is written."""
    spark = run.publication.spark
    priced = None if run.prices is None else arrow_frame(spark, read_prices(run.prices))
    listed = None if run.tokens is None else arrow_frame(spark, read_token_list(run.tokens))
    return replace(run, beside=Beside(priced, listed))


def decode(run: WormholeRun) -> WormholeRun:
    """Reads and verifies the files' cells and adds them, the prices and the token list to the lake."""
    with run.publication.report.timed("decode"):
        return replace(run, cells=run.load.add_to_lake(run.files, run.beside, run.emitters))


def fill_tables(run: WormholeRun) -> WormholeRun:
    """Computes the rows of all messages and days that the cells, prices and tokens affect, and writes them."""
    assert run.cells is not None
    with run.publication.report.timed("tables"):
        run.load.fill_tables(run.cells, run.beside)
        if run.files:
            run.publication.write_file_rejects([shown_name(each) for each in run.files])
    return run


def refill_tables(run: WormholeRun) -> WormholeRun:
    """Replaces all rows of the store by those of the lake."""
    with run.publication.report.timed("tables"):
        run.publication.lake.check()
        run.load.refill_tables()
    return run


def report_rejects(run: WormholeRun) -> WormholeRun:
    """Reports the first rejects of the files."""
    report = run.publication.report
    if report.rejects:
        report.rejected = reject_lines(run.publication.lake, [])
    return run
