"""Messages that only several copies or separate signatures together verify name tokens and guardian sets, as messages
that one copy verifies do, in any order of loads.

The network is invented, the guardians' keys are test keys, and payloads follow the specification. The tests
state their expected values.
"""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from coincurve import PrivateKey

from db.schema.wormhole_tables import OWN
from etl.deep_check import wormhole as deep_check
from etl.wormhole import load
from ledger.wormhole.ids import row_key
from ledger.wormhole.payloads import AssetMeta, TokenTransfer
from ledger.wormhole.vaa import Vaa, digest, encode_vaa
from tests.etl.conftest import LATER_CASSANDRA, SQLITE, Loading, Stores, on
from tests.etl.deep_check.checking import checked, differing
from tests.etl.vaas import DAY_S, row_line, write_lines
from tests.ledger.wormhole.cases import PRIVATE, address_of, guardian_set, signed, update, written

pytestmark = pytest.mark.loads

KEYS = PRIVATE[:1], PRIVATE[1:4], PRIVATE[4:8], PRIVATE[8:12]
"""Keys of the sets 0 to 3, whose quorums are 1, 3, 3 and 3."""

KNOWN = [guardian_set(0, KEYS[0]), guardian_set(1, KEYS[1])]
"""The guardian sets that the network publishes; sets 2 and 3 are learned."""

BRIDGE = bytes.fromhex("0290fb167208af455bb137780163b7b7a9a10c16".zfill(64))
"""The token bridge of chain 2 on devnet."""

ONE, OTHER, THIRD = bytes([0x11] * 32), bytes([0x22] * 32), bytes([0x33] * 32)
"""Tokens of chain 2."""

DAY = 19_000


def message(sequence: int, guardian_set_index: int, day: int, payload: TokenTransfer | AssetMeta) -> Vaa:
    return Vaa(guardian_set_index, (), day * DAY_S, 0, 2, BRIDGE, sequence, 1, written(payload))


def copy(vaa: Vaa, *places: int) -> str:
    """A line with a copy that these guardians of its set signed."""
    keys = KEYS[vaa.guardian_set_index]
    return json.dumps({"vaa": encode_vaa(signed(vaa, {place: keys[place] for place in places})).hex()})


def signature(vaa: Vaa, key: PrivateKey) -> bytes:
    return signed(vaa, [key]).signatures[0].signature


def cell(vaa: Vaa, place: int) -> str:
    """A line with the signature of one guardian."""
    key = KEYS[vaa.guardian_set_index][place]
    return row_line(key_of(vaa), ("Signatures", address_of(key).hex(), signature(vaa, key), 5))


def state(vaa: Vaa, *places: int) -> str:
    """A line with a list of signatures."""
    keys = KEYS[vaa.guardian_set_index]
    listed = b"".join(bytes([place]) + signature(vaa, keys[place]) for place in places)
    return row_line(key_of(vaa), ("VAAState", "Signatures", bytes([len(places)]) + listed, 6))


def key_of(vaa: Vaa) -> str:
    return row_key(vaa.emitter_chain, vaa.emitter_address, vaa.sequence)


def moved(token: bytes, amount: int) -> TokenTransfer:
    return TokenTransfer(amount, token, 2, bytes([0x44] * 32), 4, 0)


NAMES_ONE = message(1, 1, DAY, AssetMeta(ONE, 2, 6, "ONE", "The one"))
TOO_FEW = message(2, 1, DAY - 9, AssetMeta(ONE, 2, 7, "FEW", "Of too few"))
NAMES_OTHER = message(3, 3, DAY + 1, AssetMeta(OTHER, 2, 18, "OTHER", "The other"))
NAMES_THIRD = message(4, 2, DAY + 2, AssetMeta(THIRD, 2, 5, "THIRD", "The third"))
SECOND_SET = replace(update(2, KEYS[2]), timestamp=DAY * DAY_S)
THIRD_SET = replace(update(3, KEYS[3]), timestamp=(DAY + 1) * DAY_S, sequence=6)
RIVAL = replace(update(2, KEYS[0]), timestamp=(DAY - 5) * DAY_S, sequence=7)
"""Earlier than SECOND_SET, but signed by too few."""

LINES = [
    copy(NAMES_ONE, 0, 1),
    copy(NAMES_ONE, 1, 2),
    copy(TOO_FEW, 0),
    copy(TOO_FEW, 1),
    copy(NAMES_OTHER, 0),
    cell(NAMES_OTHER, 1),
    cell(NAMES_OTHER, 2),
    copy(NAMES_THIRD, 3),
    state(NAMES_THIRD, 0, 2),
    copy(SECOND_SET, 0),
    copy(SECOND_SET, 1, 2),
    copy(THIRD_SET, 0),
    state(THIRD_SET, 1),
    cell(THIRD_SET, 3),
    copy(RIVAL, 0),
    cell(RIVAL, 1),
    # Transfers on days without any other message.
    copy(message(11, 0, DAY + 10, moved(ONE, 1_500_000)), 0),
    copy(message(12, 0, DAY + 20, moved(OTHER, 250_000_000)), 0),
    copy(message(13, 3, DAY + 30, moved(THIRD, 700_000)), 1, 2, 3),
]
PRICES = [
    "token_key,symbol,date,price_usd",
    f"2/{ONE.hex()},,2021-12-31,2",
    f"2/{OTHER.hex()},,2021-12-31,10",
    ",THIRD,2021-12-31,3",
]


@pytest.fixture(autouse=True)
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (load, deep_check):
        monkeypatch.setattr(module, "PUBLISHED", {"devnet": KNOWN})


def loaded_at_once(stores: Stores, folder: Path) -> Loading:
    loading = stores(network="wormhole-devnet")
    loading.load(write_lines(folder / "all.jsonl", LINES), prices=write_lines(folder / "prices.csv", PRICES))
    return loading


@on(SQLITE, LATER_CASSANDRA)
def test_copies_that_verify_together_name_tokens_and_guardian_sets(everywhere: Stores, tmp_path: Path) -> None:
    loading = loaded_at_once(everywhere, tmp_path)
    found = loading.rows()
    sets = {
        row["guardian_set_index"]: (json.loads(row["addresses"]), row["since"], row["named_by"])
        for row in found["guardian_sets"]
    }
    assert sets == {
        index: ([address_of(key).hex() for key in KEYS[index]], since, named_by)
        for index, since, named_by in (
            (0, 0, None),
            (1, 0, None),
            (2, DAY * DAY_S, digest(SECOND_SET).hex()),
            (3, (DAY + 1) * DAY_S, digest(THIRD_SET).hex()),
        )
    }
    names = ("token_key", "decimals", "symbol", "name", "digest")
    assert sorted(tuple(row[name] for name in names) for row in found["tokens"]) == [
        (f"2/{ONE.hex()}", 6, "ONE", "The one", digest(NAMES_ONE).hex()),
        (f"2/{OTHER.hex()}", 18, "OTHER", "The other", digest(NAMES_OTHER).hex()),
        (f"2/{THIRD.hex()}", 5, "THIRD", "The third", digest(NAMES_THIRD).hex()),
    ]
    unverified = {row["row_key"] for row in found["vaas"] if row["digest"] and not row["verified"]}
    assert unverified == {key_of(TOO_FEW), key_of(RIVAL)}
    sums = [row for row in found["vaa_daily"] if row["measure"] == "transfers"]
    assert {row["token_key"]: (row["day"], row["amount"], row["notional_usd"]) for row in sums} == {
        f"2/{ONE.hex()}": (DAY + 10, "1.5", "3"),
        f"2/{OTHER.hex()}": (DAY + 20, "2.5", "25"),
        f"2/{THIRD.hex()}": (DAY + 30, "7", "21"),
    }
    assert differing(checked(loading)) == []


COMPLETING = [cell(NAMES_OTHER, 1), state(NAMES_THIRD, 0, 2), cell(NAMES_OTHER, 2)]
"""Signatures without a copy."""


def pieces(seed: int | None) -> list[list[str]]:
    """Two lines each in random order; None: all others, then single signatures that complete messages about tokens."""
    if seed is None:
        return [[line for line in LINES if line not in COMPLETING], *([line] for line in COMPLETING)]
    lines = random.Random(seed).sample(LINES, len(LINES))
    return [lines[at : at + 2] for at in range(0, len(lines), 2)]


@pytest.mark.parametrize(("seed", "priced"), [(None, 1), (1, 5), (2, 10)])
def test_the_tables_are_the_same_in_any_order_of_loads(
    stores: Stores, tmp_path: Path, seed: int | None, priced: int
) -> None:
    """`priced`: the number of loads before that of the prices."""
    at_once = loaded_at_once(stores, tmp_path)
    whole = at_once.rows()
    at_once.rebuild()
    assert at_once.rows() == whole
    loading = stores(network="wormhole-devnet")
    for number, lines in enumerate(pieces(seed)):
        if number == priced:
            loading.load(prices=tmp_path / "prices.csv")
        loading.load(write_lines(tmp_path / f"{number}.jsonl", lines))
    if len(pieces(seed)) == priced:
        loading.load(prices=tmp_path / "prices.csv")
    found = loading.rows()
    for table in OWN:
        assert found[table.name] == whole[table.name], table.name
