"""The steps of the Wormhole pipeline: files of VAAs and prices → lake → tables.

Each function takes a WormholeRun and returns the WormholeRun for the next step.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import DataFrame

from etl.engine.arrow_frames import arrow_frame
from etl.lake.summary import reject_lines
from etl.wormhole.load import VaaLoad
from etl.wormhole.prices import read_prices
from etl.writers.publish import Publication


@dataclass(frozen=True)
class WormholeRun:
    """The options of one run, and what its steps have found so far.

    Attributes:
        publication: the store, the lake and the session of the run.
        files: files of VAAs, or of cells of the event tables.
        prices: CSV file of token prices.
        priced: rows of the price file. Set by `read_price_file`.
        cells: cells of the files. Set by `decode`.
    """

    publication: Publication
    files: list[Path] = field(default_factory=list)
    prices: Path | None = None
    priced: DataFrame | None = None
    cells: DataFrame | None = None

    @property
    def load(self) -> VaaLoad:
        """The computations over the run's store and lake."""
        return VaaLoad(self.publication)


def read_price_file(run: WormholeRun) -> WormholeRun:
    """Reads the price file. Raises ValueError for an invalid one before anything is written."""
    if run.prices is None:
        return run
    return replace(run, priced=arrow_frame(run.publication.spark, read_prices(run.prices)))


def decode(run: WormholeRun) -> WormholeRun:
    """Reads and verifies the files' cells and adds them, and the prices, to the lake."""
    with run.publication.report.timed("decode"):
        return replace(run, cells=run.load.add_to_lake(run.files, run.priced))


def fill_tables(run: WormholeRun) -> WormholeRun:
    """Computes the rows of all messages and days that the cells and prices affect, and writes them."""
    assert run.cells is not None
    with run.publication.report.timed("tables"):
        run.load.fill_tables(run.cells, run.priced)
        if run.files:
            run.publication.write_file_rejects(run.files)
    return run


def refill_tables(run: WormholeRun) -> WormholeRun:
    """Replaces all rows of the store by those of the lake."""
    with run.publication.report.timed("tables"):
        run.load.refill_tables()
    return run


def report_rejects(run: WormholeRun) -> WormholeRun:
    """Reports the first rejects of the files."""
    report = run.publication.report
    if report.rejects:
        report.rejected = reject_lines(run.publication.lake, [])
    return run
