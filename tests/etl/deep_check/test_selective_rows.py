"""The rows of a selective store are recomputed, too, with the proofs of its messages, and each fault is named."""

from pathlib import Path

import pytest

from db import schema
from tests.etl.archives import write
from tests.etl.conftest import Loading, Stores
from tests.etl.deep_check.checking import GEOMETRY, checked, differing, missed
from tests.etl.deep_check.faults import SEED
from tests.etl.selective.test_selected_ledger import GENESIS, two_addresses
from tests.etl.selective.test_selective import CHRYSALIS_LATER, TAG, lines
from tests.selections import NETWORKS

pytestmark = pytest.mark.loads


def loaded(stores: Stores, folder: Path, era: str) -> Loading:
    """A store that keeps a tag and an address, whose ledger state it has."""
    loading = stores(GEOMETRY, NETWORKS[era])
    filters = [f"tag:0x{TAG}", f"address:0x{two_addresses(era)[0]}"]
    report = loading.load(write(folder / "milestones.jsonl", lines(era)), genesis=GENESIS[era], keep=filters)
    assert report.exit_code == 0
    return loading


@CHRYSALIS_LATER
def test_each_fault_is_named_with_table_key_and_values(stores: Stores, tmp_path: Path, era: str) -> None:
    loading = loaded(stores, tmp_path, era)
    found = checked(loading)
    assert differing(found) == []
    counts = {each.table: each.rows for each in found}
    assert min(counts[name] for name in ("message_proofs", "address_balances", "unspent_outputs")) > 0
    assert missed(loading, tmp_path, 8, SEED) == []
    assert missed(loading, tmp_path, 3, SEED, [schema.message_proofs]) == []
