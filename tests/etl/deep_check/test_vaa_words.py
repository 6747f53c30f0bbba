"""The words in SQL for numbers and times of a Wormhole network, compared with Python's."""

from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal, localcontext

import pytest

from db.utc_days import format_time
from etl.deep_check.engine import Database, define_constants, run_file

TIMES = [0, 1_632_189_146_038, 1_632_189_146_030, 1_632_189_146_300, 1_632_189_146_000, 253_402_300_799_999]

SEQUENCES = ["0", "7", "9999999999999999", "10000000000000000", "18446744073709551615"]

SUM = "sum_text(sum(whole_part(text)), sum(fraction_part(text)))"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    folder = tmp_path_factory.mktemp("words")
    with closing(Database(":memory:", "256MB", 1, str(folder))) as database:
        define_constants(database, {"chunk_size": 100})
        run_file(database, "macros")
        run_file(database, "vaa_macros")
        yield database


def plain(number: Decimal) -> str:
    digits = f"{number:f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


@pytest.mark.parametrize("digits", ["0", "1", "10", "123456789", "100000000", str(2**256 - 1)])
@pytest.mark.parametrize("decimals", [0, 1, 6, 8])
def test_digits_are_scaled(database: Database, digits: str, decimals: int) -> None:
    [(found,)] = database.run("SELECT scaled(?, CAST(? AS INTEGER))", [digits, decimals])
    assert found == plain(Decimal(f"{digits}e-{decimals}") if decimals else Decimal(digits))


@pytest.mark.parametrize("ms", TIMES)
def test_times_are_written_as_go_writes_them(database: Database, ms: int) -> None:
    [(found,)] = database.run("SELECT go_time(CAST(? AS BIGINT))", [ms])
    assert found == format_time(ms)
    [(read,)] = database.run("SELECT ms_of_go_time(?)", [found.replace(" +0000", "999 +0000") if ms % 1000 else found])
    assert read - ms in range(1000 if ms % 1000 else 1)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_row_keys_have_16_digits_or_more(database: Database, sequence: str) -> None:
    [(found,)] = database.run("SELECT row_key_of(2, unhex('ab'), ?)", [sequence.zfill(20)])
    assert found == f"2:ab:{int(sequence):016d}"


@pytest.mark.parametrize(
    "numbers",
    [
        ["1.5", "2.25"],
        ["0.00000001"] * 3,
        ["-1.5", "0.25"],
        ["0"],
        ["999999999999999999999999999999.99999999", "-0.99999999"],
        ["no number", "3"],
    ],
)
def test_sums_are_exact(database: Database, numbers: list[str]) -> None:
    [(found,)] = database.run(f"SELECT {SUM} FROM (SELECT unnest(?) AS text)", [numbers])
    known = [Decimal(each) for each in numbers if each != "no number"]
    with localcontext(prec=60):
        assert found == plain(sum(known, Decimal(0)))


def test_a_sum_that_has_too_many_digits_is_null(database: Database) -> None:
    numbers = ["999999999999999999999999999999"] * 200 + ["1"]
    assert database.run(f"SELECT {SUM} FROM (SELECT unnest(?) AS text)", [numbers]) == [(None,)]
    assert database.run(f"SELECT {SUM} FROM (SELECT NULL::VARCHAR AS text)") == [(None,)]
