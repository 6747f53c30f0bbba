"""VAAs that are assembled from single signatures: split real ones, and put their parts together by hand."""

import asyncio
import json
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import open_store
from tests.api.wormhole_network import b64
from tests.etl.conftest import LATER_CASSANDRA, SQLITE, Stores, on
from tests.etl.vaas import records, row_line, write_lines

pytestmark = pytest.mark.loads

NETWORK = "wormhole-mainnet"
QUORUM = 13
SIGNATURE, HEAD = 66, 6


def whole() -> list[dict[str, Any]]:
    """Verified messages of sets of 19 guardians, each once."""
    found = {each["digest"]: each for each in records("mainnet") if each["quorum"] and each["num_signatures"] >= QUORUM}
    return sorted(found.values(), key=lambda each: str(each["digest"]))[:6]


def parts(record: dict[str, Any]) -> tuple[bytes, list[bytes], bytes]:
    """The version and set, the signatures with their indices, the body."""
    data = bytes.fromhex(record["hex"])
    end = HEAD + SIGNATURE * data[5]
    return data[:5], [data[at : at + SIGNATURE] for at in range(HEAD, end, SIGNATURE)], data[end:]


def vaa(head: bytes, signatures: list[bytes], body: bytes) -> str:
    return (head + bytes([len(signatures)]) + b"".join(signatures) + body).hex()


def line(head: bytes, signatures: list[bytes], body: bytes) -> str:
    return json.dumps({"vaa": vaa(head, signatures, body)})


def split() -> Iterator[tuple[str, list[str], str | None]]:
    """Row key, lines, and the VAA that follows from them."""
    two, written, states, short, forged, mixed = whole()
    head, signatures, body = parts(two)
    half = len(signatures) // 2
    yield two["row_key"], [line(head, signatures[half:], body), line(head, signatures[:half], body)], two["hex"]
    head, signatures, body = parts(written)
    cells = [
        row_line(written["row_key"], ("Signatures", signer["address"], each[1:], 5))
        for each, signer in zip(signatures, written["signers"], strict=True)
    ]
    yield written["row_key"], [line(head, [], body), *cells], written["hex"]
    head, signatures, body = parts(states)
    grown = [bytes([count]) + b"".join(signatures[:count]) for count in (1, 5, len(signatures))]
    cells = [
        row_line(states["row_key"], ("VAAState", f"Signatures:{index}", each, 5)) for index, each in enumerate(grown)
    ]
    yield states["row_key"], [line(head, signatures[:1], body), *cells], states["hex"]
    head, signatures, body = parts(short)
    yield short["row_key"], [line(head, signatures[: QUORUM - 1], body)], None
    # Signatures of another message add nothing.
    head, signatures, body = parts(forged)
    _, others, _ = parts(mixed)
    cells = [row_line(forged["row_key"], ("VAAState", "Signatures", bytes([len(others)]) + b"".join(others), 5))]
    yield forged["row_key"], [line(head, signatures[: QUORUM - 1], body), *cells], None


@on(SQLITE, LATER_CASSANDRA)
def test_signatures_of_a_quorum_make_a_vaa_in_any_order(everywhere: Stores, tmp_path: Path) -> None:
    loading = everywhere(network=NETWORK)
    cases = list(split())
    lines = [each for _, held, _ in cases for each in held]
    random.Random(4).shuffle(lines)
    for number in range(0, len(lines), 20):
        loading.load(write_lines(tmp_path / f"{number}.jsonl", lines[number : number + 20]))
    rows = loading.rows()
    found = {row["row_key"]: row for row in rows["vaas"] if row["canonical"]}
    for key, _, expected in cases:
        assert found[key]["verified"] is (expected is not None), key
        if expected is not None:
            assert found[key]["signed_vaa"].hex() == expected, key
            assert found[key]["signature_count"] == bytes.fromhex(expected)[5]
    counted = [row for row in rows["vaa_daily"] if row["measure"] == "totals"]
    assert sum(row["message_count"] for row in counted) == 3
    loading.rebuild()
    again = loading.rows()
    assert again["vaas"] == rows["vaas"]
    assert again["vaa_daily"] == rows["vaa_daily"]
    with closing(open_store(loading.store)) as store:
        mount = NetworkMount(store, NETWORK, wormhole="mainnet")
        app = create_app({NETWORK: mount}, NETWORK, ApiSettings())
        for key, _, expected in cases:
            chain, emitter, sequence = key.split(":")
            status, body = answer(app, f"/v1/signed_vaa/{chain}/{emitter}/{int(sequence)}")
            if expected is None:
                assert (status, body["code"]) == (404, 5)
            else:
                assert (status, body) == (200, {"vaaBytes": b64(expected)})


def answer(app: Any, path: str) -> tuple[int, Any]:

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
            return await client.get(path)

    response = asyncio.run(ask())
    return response.status_code, response.json()
