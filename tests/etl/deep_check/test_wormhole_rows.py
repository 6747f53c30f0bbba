"""Every row of a Wormhole network is recomputed from its cells, and each fault is named."""

import random
from pathlib import Path

import pytest

from tests.conftest import SAMPLE
from tests.etl.conftest import LATER_CASSANDRA, Loading, Stores, on
from tests.etl.deep_check.checking import checked, differing, missed
from tests.etl.deep_check.faults import SEED
from tests.etl.vaas import cell_line, row_line, vaa_line, write_lines, write_prices
from tests.etl.wormhole.test_assembly import split
from tests.ledger.wormhole.cases import shipped

pytestmark = pytest.mark.loads

WORMHOLE = SAMPLE.parent / "wormhole"

TOKENS = WORMHOLE / "tokens.csv.gz"


def lines() -> list[str]:
    """Messages of mainnet and forged ones, VAAs that lack a quorum, and cells with and without a VAA."""
    known = [each for each in shipped() if each["network"] in ("mainnet", "unknown")]
    first = next(each for each in known if each["payload_kind"] == "token_transfer" and each["quorum"])
    other = next(each for each in known if each["payload_kind"] == "nft_transfer" and each["quorum"])
    found = [vaa_line(each) for each in known]
    found += [vaa_line(each, observed_at=1_700_000_000_000 + number) for number, each in enumerate(known[::3])]
    found += [line for _, held, _ in split() for line in held]
    return [
        *found,
        cell_line(first["row_key"], "MessagePublication", "InitiatingTxID", "0x" + "Ab" * 32, 1_632_000_000_000),
        cell_line(first["row_key"], "ChainDetails", "SenderAddress", "late", 1_632_000_000_001),
        cell_line(first["row_key"], "ChainDetails", "SenderAddress", "early", "2021-09-18T21:20:00Z"),
        cell_line(first["row_key"], "TokenTransferDetails", "Amount", "12.5", 1_632_000_000_000),
        cell_line(other["row_key"], "ChainDetails", "ReceiverAddress", "0x" + "11" * 20, 1_632_000_000_000),
        cell_line("2:" + "ab" * 32 + ":7", "TokenTransferPayload", "TargetAdress", "cd" * 32),
        cell_line("2:" + "ab" * 32 + ":18446744073709551615", "MessagePublication", "InitiatingTxID", "a:b"),
        row_line(
            first["row_key"],
            ("Signatures", "0x" + "11" * 20, b"s" * 65, 5),
            ("VAAState", "Signatures:1", b"\x01\x00" + b"a" * 65, 6),
            ("VAAState", "Signatures", b"\x02\x00" + b"a" * 65 + b"\x01" + b"b" * 65, 7),
        ),
    ]


def loaded(stores: Stores, folder: Path) -> Loading:
    """A store with small partitions, which was filled by two loads in random order."""
    loading = stores((7, 3), "wormhole-mainnet", eras={"chunk_days": 50})
    mixed = lines()
    random.Random(SEED).shuffle(mixed)
    known = [each for each in shipped() if each["network"] == "mainnet"]
    prices = write_prices(folder / "prices.csv", known)
    half = len(mixed) // 2
    loading.load(write_lines(folder / "first.jsonl", mixed[:half]), WORMHOLE / "bigtable.jsonl", prices=prices)
    broken = ["{}", '{"vaa": "00"}']
    loading.load(write_lines(folder / "second.jsonl", mixed[half:] + broken), tokens=TOKENS)
    return loading


@pytest.fixture(scope="module")
def network(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Loading:
    return loaded(stores, tmp_path_factory.mktemp("vaas"))


def test_all_rows_are_the_recomputed_ones(network: Loading) -> None:
    found = checked(network)
    assert differing(found) == []
    counts = {each.table: each.rows for each in found}
    rows = network.rows()
    assert counts == {name: len(rows[name]) for name in counts}
    assert all(counts.values()), counts


@pytest.mark.parametrize("count", [pytest.param(16), pytest.param(334, marks=pytest.mark.slow)])
def test_each_fault_is_named_with_table_key_and_values(network: Loading, tmp_path: Path, count: int) -> None:
    assert missed(network, tmp_path, count, SEED + count) == []


@on(LATER_CASSANDRA)
def test_faults_on_a_cluster_are_named_too(everywhere: Stores, tmp_path: Path) -> None:
    loading = loaded(everywhere, tmp_path)
    assert missed(loading, tmp_path, 20, SEED, is_checked=False) == []
