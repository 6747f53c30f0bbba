"""Messages that arrive late change how earlier ones are read: names of tokens, and guardian sets.

The network is invented, the guardians' keys are test keys, and payloads follow the specification. Each test states its
expected values.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from db.schema.wormhole_tables import OWN
from etl.wormhole import load
from ledger.wormhole.payloads import AssetMeta, TokenTransfer
from ledger.wormhole.vaa import Vaa, encode_vaa
from tests.etl.conftest import Stores
from tests.etl.vaas import DAY_S, write_lines
from tests.ledger.wormhole.cases import PRIVATE, guardian_set, signed, update, written

pytestmark = pytest.mark.loads

KEYS = PRIVATE[:1], PRIVATE[1:4], PRIVATE[4:8]
KNOWN = [guardian_set(0, KEYS[0]), guardian_set(1, KEYS[1])]
"""The guardian sets that the network publishes; set 2 is learnt."""

BRIDGE = bytes.fromhex("0290fb167208af455bb137780163b7b7a9a10c16".zfill(64))
"""The token bridge of chain 2 on devnet."""

ONE, OTHER = bytes([0x11] * 32), bytes([0x22] * 32)
"""Tokens of chain 2."""

DAY = 19_000


def message(sequence: int, guardian_set_index: int, payload: TokenTransfer | AssetMeta) -> Vaa:
    """Messages of the bridge, signed by all guardians of that set."""
    body = Vaa(guardian_set_index, (), DAY * DAY_S, 0, 2, BRIDGE, sequence, 1, written(payload))
    return signed(body, KEYS[guardian_set_index])


def moved(token: bytes, amount: int) -> TokenTransfer:
    return TokenTransfer(amount, token, 2, bytes([0x33] * 32), 4, 0)


EARLY = [
    message(1, 0, moved(ONE, 1_500_000)),
    message(2, 0, moved(OTHER, 250_000_000)),
    message(3, 2, moved(ONE, 7_000_000)),
    message(4, 2, AssetMeta(ONE, 2, 6, "ONE", "The one")),
]
LATE = [
    message(5, 0, AssetMeta(OTHER, 2, 18, "OTHER", "The other")),
    signed(replace(update(2, KEYS[2]), timestamp=DAY * DAY_S), KEYS[1]),
]
PRICES = [f"2/{ONE.hex()},2021-12-31,2", f"2/{OTHER.hex()},2021-12-31,10"]


def test_old_bug_transfers_whose_token_was_described_late_never_got_their_details(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "PUBLISHED", {"devnet": KNOWN})
    early, late = (
        write_lines(tmp_path / f"{name}.jsonl", [json.dumps({"vaa": encode_vaa(each).hex()}) for each in vaas])
        for name, vaas in (("early", EARLY), ("late", LATE))
    )
    prices = write_lines(tmp_path / "prices.csv", ["token_key,date,price_usd", *PRICES])
    loading = stores(network="wormhole-devnet")

    def reported() -> dict[int, tuple[bool, str | None, str | None]]:
        """Sequence → whether a transfer is verified, its amount and its value."""
        rows = loading.rows()
        verified = {row["row_key"]: row["verified"] for row in rows["vaas"]}
        return {
            int(row["row_key"].rpartition(":")[2]): (
                verified[row["row_key"]],
                row["details_amount"],
                row["details_notional_usd"],
            )
            for row in rows["vaa_payloads"]
            if row["transfer_payload_id"] is not None
        }

    loading.load(early, prices=prices)
    assert reported() == {1: (True, None, None), 2: (True, None, None), 3: (False, None, None)}
    loading.load(late)
    # The first message's guardian set is not the learnt one; only the message that describes its token has that set.
    assert reported() == {1: (True, "1.5", "3"), 2: (True, "2.5", "25"), 3: (True, "7", "14")}
    found = loading.rows()
    assert [row["guardian_set_index"] for row in found["guardian_sets"]] == [0, 1, 2]
    assert {row["token_key"]: row["symbol"] for row in found["tokens"]} == {
        f"2/{ONE.hex()}": "ONE",
        f"2/{OTHER.hex()}": "OTHER",
    }
    sums = [row for row in found["vaa_daily"] if row["measure"] == "transfers"]
    assert {row["token_key"]: (row["message_count"], row["amount"], row["notional_usd"]) for row in sums} == {
        f"2/{ONE.hex()}": (2, "8.5", "17"),
        f"2/{OTHER.hex()}": (1, "2.5", "25"),
    }
    loading.rebuild()
    again = loading.rows()
    for table in OWN:
        assert again[table.name] == found[table.name], table.name
