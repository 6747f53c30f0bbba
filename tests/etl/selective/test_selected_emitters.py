"""`permanode load --keep emitter:…` stores the messages of the emitter and of governance, and nothing else."""

import asyncio
from collections import Counter
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import open_store
from etl import runs
from tests.etl.conftest import Loading, Stores
from tests.etl.vaas import records, vaa_line, write_lines

pytestmark = pytest.mark.loads

NETWORK = "wormhole-mainnet"
GOVERNANCE = (1, f"{4:064x}")


def emitters() -> list[tuple[int, str]]:
    """The emitters by their number of records, without governance."""
    counts = Counter((each["emitter_chain"], each["emitter_address"]) for each in records("mainnet"))
    return [each for each, _ in counts.most_common() if each != GOVERNANCE]


def messages(*of: tuple[int, str]) -> set[tuple[int, str, int]]:
    """The messages of these emitters and of governance."""
    return {
        (each["emitter_chain"], each["emitter_address"], each["sequence"])
        for each in records("mainnet")
        if (each["emitter_chain"], each["emitter_address"]) in (*of, GOVERNANCE)
    }


def test_only_selected_emitters_are_kept(stores: Stores, tmp_path: Path) -> None:
    first, second, third, *_ = emitters()
    file = write_lines(tmp_path / "vaas.jsonl", [vaa_line(each) for each in records("mainnet")])
    loading = stores(network=NETWORK)
    filters = [f"emitter:{chain}/{address}" for chain, address in (first, second)]

    def found() -> set[tuple[int, str, int]]:
        return {
            (row["emitter_chain"], row["emitter_address"], int(row["sequence_key"][-20:]))
            for row in loading.rows()["vaas"]
        }

    with pytest.raises(ValueError, match="has filters of the kinds emitter"):
        loading.load(file, keep=["tag:a"])
    assert loading.load(file, keep=filters[:1]).exit_code == 0
    assert found() == messages(first)
    assert loading.load(file).exit_code == 0
    assert found() == messages(first), "later loads keep the selection"
    assert loading.load(file, keep=filters[1:]).exit_code == 0
    assert found() == messages(first, second)
    assert runs.rebuild(loading.store, loading.settings).exit_code == 0
    assert found() == messages(first, second)
    asyncio.run(check_responses(loading, first, third))
    whole = stores(network=NETWORK)
    whole.load(file)
    with pytest.raises(ValueError, match="this store or its lake has all messages"):
        whole.load(file, keep=filters)


async def check_responses(loading: Loading, kept: tuple[int, str], other: tuple[int, str]) -> None:
    with closing(open_store(loading.store)) as store:
        app = create_app({"net": NetworkMount(store, NETWORK, wormhole="mainnet")}, "net", ApiSettings())
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as asked:
            for (chain, address), text in ((kept, "is not in this archive"), (other, "is not kept here")):
                answer = await asked.get(f"/api/wormhole/v1/vaas/{chain}/{address}/999999999")
                assert answer.status_code == 404
                assert text in answer.text
