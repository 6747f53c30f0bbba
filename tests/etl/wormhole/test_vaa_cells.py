"""Input lines, cell values and price files: what is read, what is rejected, and the error messages. No Spark."""

import gzip
import random
import re
import struct
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from db.schema.event_columns import FAMILY_COLUMNS
from etl.wormhole.cells import Cell, LineError, read_line
from etl.wormhole.messages import assemble
from etl.wormhole.prices import read_prices
from etl.wormhole.transfers import Token
from etl.wormhole.values import ValueFormError, read_value
from ledger.wormhole.addresses import format_address
from ledger.wormhole.ids import row_key
from ledger.wormhole.keys import address_key, transaction_key
from ledger.wormhole.vaa import encode_vaa
from tests.conftest import ROOT
from tests.etl.vaas import cell_line, row_line, vaa_line
from tests.ledger.wormhole.cases import PRIVATE, guardian_set, published, shipped, signed, vaa_of

TRANSFER = next(each for each in shipped() if each["payload_kind"] == "token_transfer" and each["quorum"])
KEY = TRANSFER["row_key"]
DATA = bytes.fromhex(TRANSFER["hex"])


def test_a_vaa_is_read_in_every_form_and_is_one_and_the_same_cell():
    data = bytes.fromhex(TRANSFER["hex"])
    forms = [data, vaa_line(TRANSFER).encode(), vaa_line({**TRANSFER, "sequence": TRANSFER["sequence"] + 1}).encode()]
    (cell,) = read_line(data)
    assert [read_line(form) for form in forms] == [[cell]] * 3
    assert (cell.family, cell.qualifier, cell.value, cell.time_ms) == ("QuorumState", "SignedVAA", data, None)
    assert row_key(cell.chain, cell.emitter, cell.sequence) == KEY


def test_its_transaction_is_a_cell_of_the_publication_at_the_time_that_it_was_observed():
    signed_cell, published_cell = read_line(
        vaa_line(TRANSFER, tx_id="0xAB", observed_at="2021-09-21T01:52:26.038Z").encode()
    )
    assert signed_cell.time_ms == published_cell.time_ms == 1_632_189_146_038
    assert (published_cell.family, published_cell.qualifier, published_cell.value) == (
        "MessagePublication",
        "InitiatingTxID",
        b"0xAB",
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[]", "expected a JSON object"),
        ("{", "expected JSON, or the bytes of a VAA"),
        ("{}", "expected a VAA as `vaa`"),
        ('{"vaa": "zz"}', "vaa: expected bytes in base64"),
        ('{"vaa": "02"}', "vaa: at byte 0: "),
        (vaa_line(TRANSFER, observed_at="today"), "observed_at: expected milliseconds"),
        (vaa_line(TRANSFER, observed_at="9999-12-31T23:59:59.9996Z"), "observed_at: expected milliseconds"),
        (vaa_line(TRANSFER, observed_at="9999-12-31T23:59:59-12:00"), "observed_at: expected milliseconds"),
        (vaa_line(TRANSFER, observed_at="1969-12-31T23:59:59Z"), "observed_at: expected milliseconds"),
        (vaa_line(TRANSFER, tx_id=7), "tx_id: expected a text"),
        (cell_line("2:ab:7", "ChainDetails", "SenderAddress", "x"), "row_key: '2:ab:7': expected CHAIN:ADDRESS:SEQ"),
        (cell_line(KEY, "Colours", "Red", "x"), "Colours:Red: no such column; expected a family of MessagePub"),
        (cell_line(KEY, "ChainDetails", "Red", "x"), "ChainDetails:Red: no such column; expected SenderAddress"),
        (cell_line(KEY, "AssetMetaPayload", "Decimals", "six"), "AssetMetaPayload:Decimals: expected a number"),
        (cell_line(KEY, "AssetMetaPayload", "Decimals", "32768"), "AssetMetaPayload:Decimals: expected a number up to"),
        (cell_line(KEY, "ChainDetails", "SenderAddress", "x" * 4097), "expected a text of at most 4096 bytes"),
        (cell_line(KEY, "Signatures", "me", "x"), "Signatures:me: expected the address of a guardian"),
        (row_line("2:" + "0" * 64 + ":1", ("QuorumState", "SignedVAA", DATA, 1)), "expected a VAA of the row, found"),
        (row_line(KEY, ("VAAState", "Signatures", b"\x02", 1)), "VAAState:Signatures: "),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_what_was_expected(line: str, reason: str):
    with pytest.raises(LineError) as rejection:
        read_line(line.encode())
    assert reason in str(rejection.value)


def test_old_bug_numbers_beyond_64_bits_were_written_with_their_limbs_in_reverse_order():
    # reference/wormhole.md: NFT id 39 was written as 0x27 and 24 zero bytes.
    assert read_value("token_id", b"\x27" + bytes(24)) == "39"
    assert read_value("amount", b"18446744073709551615") == "18446744073709551615"
    assert read_value("amount", (1).to_bytes(8) + bytes(24)) == "1"
    limbs = [limb.to_bytes(8) for limb in (4, 3, 2, 1)]
    number = str(1 << 192 | 2 << 128 | 3 << 64 | 4)
    assert (read_value("token_id", b"".join(limbs)), read_value("amount", b"".join(limbs))) == (number, number)


def test_floats_and_times_are_read_as_the_writers_wrote_them():
    assert read_value("float", struct.pack(">d", 12.5)) == "12.5"
    assert read_value("float", struct.pack(">d", 1e-9)) == "0.000000001"
    assert read_value("time", b"2021-09-21 01:52:26.038 +0000 UTC") == 1_632_189_146_038
    with pytest.raises(ValueFormError):
        read_value("float", struct.pack(">d", float("nan")))


def test_cells_in_any_order_and_twice_give_the_same_rows():
    cells = read_line(vaa_line(TRANSFER).encode()) + read_line(
        row_line(
            KEY,
            ("QuorumState", "SignedVAA", bytes.fromhex(TRANSFER["hex"]), 9),
            ("MessagePublication", "InitiatingTxID", b"b", 4),
            ("MessagePublication", "InitiatingTxID", b"a", 4),
            ("ChainDetails", "SenderAddress", b"x", 3),
        ).encode()
    )
    first = assemble("mainnet", cells, published("mainnet"), Token())
    assert first.vaas[0]["initiating_tx_id"] == "a"
    assert first.vaas[1]["observed_at"] == 9
    for seed in range(5):
        again = cells + cells[:2]
        random.Random(seed).shuffle(again)
        assert assemble("mainnet", again, published("mainnet"), Token()) == first


def test_another_body_under_the_same_id_is_kept_and_flagged_and_the_earlier_one_is_served():
    keys = PRIVATE[:1]
    history = {0: guardian_set(0, keys)}
    one = signed(replace(vaa_of(TRANSFER), guardian_set_index=0), keys)
    two = signed(replace(one, payload=b"other"), keys)

    def cell(vaa, time_ms):
        return Cell(
            one.emitter_chain, one.emitter_address, one.sequence, "QuorumState", "SignedVAA", time_ms, encode_vaa(vaa)
        )

    for first, second in ((one, two), (two, one)):
        rows = assemble("mainnet", [cell(first, 1), cell(second, 2)], history, Token()).vaas
        assert [row["digests"] for row in rows] == [2, 2]
        (served,) = [row for row in rows if row["canonical"]]
        assert served["signed_vaa"] == encode_vaa(first)
    # A VAA that does not verify flags nothing, and is served only if there is no other.
    forged = signed(replace(two, guardian_set_index=0), PRIVATE[1:2])
    rows = assemble("mainnet", [cell(one, 5), cell(forged, 1)], history, Token()).vaas
    assert sorted((row["verified"], row["canonical"], row["digests"]) for row in rows) == [
        (False, False, 1),
        (True, True, 1),
    ]


def test_of_several_signed_forms_of_a_body_the_one_with_most_signatures_is_served_and_all_signatures_are_kept():
    keys = PRIVATE[:4]
    history = {0: guardian_set(0, keys)}
    vaa = replace(vaa_of(TRANSFER), guardian_set_index=0)
    few, most = signed(vaa, {0: keys[0], 1: keys[1], 3: keys[3]}), signed(vaa, keys)
    cells = [cell for each in (few, most) for cell in read_line(encode_vaa(each))]
    rows = assemble("mainnet", cells, history, Token())
    (row,) = rows.vaas
    assert (row["signed_vaa"], row["signature_count"], row["digests"]) == (encode_vaa(most), 4, 1)
    assert len(rows.vaa_signatures) == 4


def test_old_bug_transfers_with_a_payload_were_never_decoded():
    record = next(
        each
        for each in shipped()
        if (each["payload_kind"], each["network"]) == ("token_transfer_with_payload", "mainnet")
    )
    printed = record["decoded"]
    rows = assemble("mainnet", read_line(bytes.fromhex(record["hex"])), published("mainnet"), Token())
    (reported,) = rows.vaa_payloads
    assert {name: reported[name] for name in reported if name.startswith("transfer_")} == {
        "transfer_payload_id": 3,
        "transfer_amount": printed["amount"],
        "transfer_origin_address": bytes.fromhex(printed["token_address"]),
        "transfer_origin_chain": printed["token_chain"],
        "transfer_target_address": bytes.fromhex(printed["to_address"]),
        "transfer_target_chain": printed["to_chain"],
        "transfer_from_address": bytes.fromhex(printed["from_address"]),
        "transfer_payload": bytes.fromhex(printed["payload"]),
    }
    by = {key for each in rows.vaa_lookups for key in each.keys}
    assert {
        ("token", f"{printed['token_chain']}/{printed['token_address']}"),
        ("recipient", printed["to_address"]),
        ("sender", printed["from_address"]),
    } <= by


def test_details_of_a_transfer_scale_the_amount_and_take_its_time_and_the_price_of_the_day():
    cells = read_line(bytes.fromhex(TRANSFER["hex"]))
    day = TRANSFER["timestamp"] // 86_400
    key = f"{TRANSFER['decoded']['token_chain']}/{TRANSFER['decoded']['token_address']}"
    prices = [(day - 1, "2"), (day, "3.5"), (day + 1, "9")]
    (row,) = assemble("mainnet", cells, published("mainnet"), Token(key, (18, "X", "Xs"), prices)).vaa_payloads
    amount = Decimal(TRANSFER["decoded"]["amount"]) / 10**8
    assert Decimal(row["details_amount"]) == amount
    assert Decimal(row["details_notional_usd"]) == amount * Decimal("3.5")
    sent = datetime.fromtimestamp(TRANSFER["timestamp"], UTC)
    assert row["details_transfer_timestamp"] == f"{sent:%Y-%m-%d %H:%M:%S} +0000 UTC"
    (bare,) = assemble("mainnet", cells, published("mainnet"), Token(key)).vaa_payloads
    assert "details_amount" not in bare
    assert Token(key, None, prices).price_on(day - 100) == 2


def test_keys_of_lookups_are_the_same_however_an_id_is_written():
    assert transaction_key("0xABcd") == "abcd"
    assert transaction_key("AB" * 32) == "ab" * 32
    base58 = "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW"
    assert transaction_key(base58) == base58
    address = bytes(12) + bytes(range(20))
    assert address_key(2, format_address(2, address)) == address.hex()
    assert address_key(2, "who:knows") == "who/knows"


def test_a_price_file_is_taken_whole_or_rejected_by_its_line(tmp_path: Path):
    key = "2/" + "0" * 64
    file = tmp_path / "prices.csv"
    file.write_text(f"symbol,token_key,date,price_usd\nX,{key},1970-01-02,1.50\nX,{key},1970-01-03,2e-9\n")
    assert read_prices(file).to_pylist() == [
        {"token_key": key, "day": 1, "price_usd": "1.5"},
        {"token_key": key, "day": 2, "price_usd": "0.000000002"},
    ]
    for line, reason in (
        (f"{key},1970-13-01,1", "3: date: expected YYYY-MM-DD"),
        *(
            (f"{key},1970-01-01,{price}", "3: price_usd: expected a number that is not negative, of 1e-40 to 1e40")
            for price in ("-1", "1e999999999", "1e41", "1e-41", "1_000", "\uff11\uff12", "nan", "inf", ".", "")
        ),
        (f"{key},19700101,1", "3: date: expected YYYY-MM-DD"),
        ("eth,1970-01-01,1", "3: token_key: expected CHAIN/ADDRESS"),
        (",1970-01-01,1", "3: token_key: expected CHAIN/ADDRESS, the address 64 hex digits, or none and a symbol"),
        (f"{key},1970-01-01,2", "3: expected one price"),
    ):
        file.write_text(f"token_key,date,price_usd\n{key},1970-01-01,1\n{line}\n")
        with pytest.raises(ValueError, match=reason):
            read_prices(file)
    file.write_text("symbol,date,price_usd\neth,1970-01-02,1\n")
    assert read_prices(file).to_pylist() == [{"token_key": "symbol/ETH", "day": 1, "price_usd": "1"}]
    file.write_text("token,date\n")
    with pytest.raises(
        ValueError, match="1: expected a header with date, price_usd, token_key or symbol; price_usd, token_key"
    ):
        read_prices(file)


def test_a_price_file_of_a_spreadsheet_may_begin_with_a_byte_order_mark(tmp_path: Path):
    """The header was "\\ufefftoken_key", so prices of tokens became prices of their symbols."""
    key, file = "2/" + "0" * 64, tmp_path / "prices.csv"
    file.write_text(f"token_key,symbol,date,price_usd\r\n{key},ETH,1970-01-02,1\r\n", "utf-8-sig")
    assert read_prices(file).to_pylist() == [{"token_key": key, "day": 1, "price_usd": "1"}]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (gzip.compress(b"symbol,date,price_usd\n"), "1: expected CSV in UTF-8, not compressed"),
        ("symbol,date,price_usd\n".encode("utf-16"), "1: expected CSV in UTF-8, not compressed"),
        (
            b"symbol,date,price_usd\nA,1970-01-02,1\n" + "É,1970-01-02,1\n".encode("latin-1"),
            "3: expected CSV in UTF-8, not compressed",
        ),
        (b"symbol,date,price_usd\n" + b"A" * 200_000, "2: invalid CSV: field larger than field limit (131072)"),
    ],
    ids=["gzip", "utf-16", "latin-1", "long field"],
)
def test_a_price_file_that_is_not_csv_is_rejected_by_its_line(content: bytes, reason: str, tmp_path: Path):
    file = tmp_path / "prices.csv"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(reason)) as rejected:
        read_prices(file)
    assert str(rejected.value) == f"{file}:{reason}"


def test_the_sample_of_the_event_tables_has_every_column_that_is_documented_and_each_finds_its_place():
    lines = (ROOT / "sample" / "wormhole" / "bigtable.jsonl").read_bytes().splitlines()
    read = [read_line(line) for line in lines]
    named = {(cell.family, cell.qualifier) for cells in read for cell in cells}
    documented = {place for place, column in FAMILY_COLUMNS.items() if column.seeds}
    assert documented <= named
    found = [assemble("mainnet", cells, published("mainnet"), Token()) for cells in read]
    held = {name for rows in found for row in (*rows.vaas, *rows.vaa_payloads) if not row["digest"] for name in row}
    assert {FAMILY_COLUMNS[place].column for place in documented} - {"emitter"} <= held
    transfer = found[0]
    assert [row["signature_count"] for row in transfer.vaa_states] == [1, 2, 3]
    alone = [row for row in transfer.vaa_signatures if not row["digest"]]
    verified = [row for row in transfer.vaa_signatures if row["digest"]]
    assert len(alone) == len(verified) == transfer.vaas[1]["signature_count"]
    assert {row["observed_at"] for row in alone} == {row["observed_at"] for row in verified}
