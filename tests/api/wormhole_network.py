"""A store of a Wormhole network without Spark, and the expected answers of its families, read from the records alone.

The store is filled from lines, message by message, in the way that a load reads them; tests/etl tests that a load does
the same. Expectations come from the records (the shared data set if present, otherwise the shipped part) and from what
the lines add to them, in plain Python. Nothing of them comes from project code.
"""

import base64
import json
import struct
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

from db.connect import StoreSettings, open_store
from db.model import Table, Type
from db.schema import wormhole_tables as tables
from db.store import WritableStore
from etl.wormhole.cells import Cell, read_line
from etl.wormhole.frames import set_rows
from etl.wormhole.messages import assemble
from etl.wormhole.transfers import Token
from ledger.wormhole.guardians import PUBLISHED
from ledger.wormhole.vaa import decode_vaa
from ledger.wormhole.verify import learn
from tests.cassandra_rows import many_at_a_time
from tests.etl.vaas import cell_line, records, row_line
from tests.sqlite_stores import create

Json = dict[str, Any]

NETWORK = "wormhole-mainnet"
DAY_S = 86_400
LAUNCH_DAY = 18_883
"""2021-09-13: the event database sums from this day on."""

SEEN_FIRST_S = 1_632_000_000
"""2021-09-18: no line has an observation before this day."""

PRICED_DAYS = (18_901, 19_500, 20_080)
"""Days on which tokens get a price, a different one each: before most transfers, between them, in their last weeks."""

UNLISTED = "4/000000000000000000000000a3fff4e9d3d5a34088b36949a10e35403797c6cb"
"""A token that moves but is not on the list of counted tokens; all others with an amount are."""

NAMED = {
    "2/0000000000000000000000002260fac5e5542a773aa44fbcfedf7c193bc2c599": (8, "WBTC", "Wrapped BTC"),
    "2/0000000000000000000000006b175474e89094c44da98b954eedeac495271d0f": (18, "DAI", "Dai Stablecoin"),
    "2/000000000000000000000000a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48": (6, "USDC", "USD Coin"),
    "4/0000000000000000000000008ac76a51cc950d9822d68b83fe1ad97b32cd580d": (18, "USDC", "USD Coin"),
    UNLISTED: (18, "USDC", "Nobody's Coin"),
    "5/0000000000000000000000002791bca1f2de4661ed88a30c99a7a9449aa84174": (6, "usdc", "USD Coin"),
}
"""Decimals, symbol and name of tokens that move and that no message of the data describes. Some return home, and four
share one symbol, in two spellings.
"""

SHARED_TX = "0x" + "5a" * 32
UNSIGNED, UNSIGNED_TX = f"4:{'ab' * 32}:{7:016d}", "0x" + "ef" * 32
"""A message that a guardian observed, without a VAA; and its transaction."""

WRITTEN = f"4:{'ab' * 32}:{8:016d}"

CELLS: list[tuple[str, str, bytes, str]] = [
    *(
        ("MessagePublication", name, value.encode(), value)
        for name, value in (
            ("Version", "31"),
            ("GuardianSetIndex", "7001"),
            ("Timestamp", "2021-09-21 01:52:26.038 +0000 UTC"),
            ("Nonce", "4000000001"),
            ("Sequence", "8"),
            ("EmitterChain", "bsc"),
            ("EmitterAddress", WRITTEN.split(":")[1]),
            ("ReporterHostname", "a-guardian"),
        )
    ),
    ("MessagePublication", "Payload", b"\x00\xffpayload", "AP9wYXlsb2Fk"),
    *(
        (family, name, f"{value}".encode(), f"{value}")
        for family, values in {
            "TokenTransferPayload": {
                "PayloadId": 101,
                "Amount": 123456789012345678901234567890,
                "OriginAddress": "a1" * 32,
                "OriginChain": 102,
                "TargetAddress": "a2" * 32,
                "TargetAdress": "a2" * 32,
                "TargetChain": 103,
            },
            "AssetMetaPayload": {
                "PayloadId": 104,
                "TokenAddress": "a3" * 32,
                "TokenChain": 105,
                "Decimals": 106,
                "Symbol": "ǝԁǝԁ",
                "Name": "A name: with colons",
                "CoinGeckoCoinId": "a-coin",
                "NativeAddress": "aNativeToken",
            },
            "NFTTransferPayload": {
                "PayloadId": 107,
                "OriginAddress": "a4" * 32,
                "OriginChain": 108,
                "Symbol": "NFT",
                "Name": "An NFT",
                "URI": "https://example.com/1?a=b&c=d",
                "TargetAddress": "a5" * 32,
                "TargetAdress": "a5" * 32,
                "TargetChain": 109,
            },
            "TokenTransferDetails": {
                "Amount": "1.50",
                "OriginSymbol": "ORIGIN",
                "OriginName": "The origin",
                "OriginTokenAddress": "anOriginToken",
                "Decimals": 110,
                "NotionalUSDStr": "3.000000",
                "TokenPriceUSDStr": "2.000000",
                "TransferTimestamp": "2021-09-22 00:00:00 +0000 UTC",
                "CoinGeckoCoinId": "another-coin",
                "TargetSymbol": "TARGET",
                "TargetName": "The target",
            },
            "ChainDetails": {
                "SenderAddress": "anotherSender",
                "ReceiverAddress": "aReceiver",
                "ResultingTokenAddress": "aResultingToken",
                "ResultingTokenSymbol": "RESULT",
                "ResultingTokenName": "The result",
            },
        }.items()
        for name, value in values.items()
    ),
    ("NFTTransferPayload", "TokenId", b"\x27" + bytes(24), "39"),
    ("TokenTransferDetails", "NotionalUSD", struct.pack(">d", 3.25), "3.25"),
    ("TokenTransferDetails", "TokenPriceUSD", struct.pack(">d", 2.125), "2.125"),
    ("Signatures", "0x" + "5e" * 20, b"s" * 65, "73" * 65),
    ("VAAState", "Signatures:1", b"\x01\x00" + b"t" * 65, "0100" + "74" * 65),
    ("VAAState", "Signatures", b"\x01\x01" + b"u" * 65, "0101" + "75" * 65),
]
"""A cell of each column of a message without a VAA: family, column, bytes, and the value as text."""


@dataclass(frozen=True)
class Observation:
    """A record with the other fields of its line: when it was seen (ms), and the transaction that sent it."""

    record: Json
    seen_ms: int | None
    tx_id: str | None

    @property
    def line(self) -> str:
        return json.dumps({"vaa": self.record["hex"], "observed_at": self.seen_ms, "tx_id": self.tx_id})


@dataclass(frozen=True)
class Message:
    """A body with all its records; `served` is the record whose bytes the API returns."""

    observed: list[Observation] = field(default_factory=list)

    @cached_property
    def served(self) -> Json:
        forms = [each.record for each in self.observed]
        return min(forms, key=lambda each: (not each["quorum"], -each["num_signatures"], each["hex"]))

    @cached_property
    def seen_ms(self) -> int | None:
        return min((each.seen_ms for each in self.observed if each.seen_ms is not None), default=None)

    @cached_property
    def tx_id(self) -> str | None:
        """The earliest transaction, then the smaller one; transactions without a time come last."""
        given = [
            (each.seen_ms is None, each.seen_ms or 0, each.tx_id) for each in self.observed if each.tx_id is not None
        ]
        return min(given)[2] if given else None

    @property
    def day(self) -> int:
        return (self.served["timestamp"] if self.seen_ms is None else self.seen_ms // 1000) // DAY_S

    @property
    def order(self) -> tuple[Any, ...]:
        record = self.served
        at = record["timestamp"]
        return at // DAY_S, at, record["emitter_chain"], record["emitter_address"], record["sequence"]


class World:
    """All contents of the store."""

    def __init__(self) -> None:
        good, bad = records("mainnet"), records("unknown")
        self.observed = []
        for number, record in enumerate(good + bad):
            seen = 1000 * (max(record["timestamp"], SEEN_FIRST_S) + number) + 789
            tx_id = SHARED_TX if number in (3, 4) else "0x" + record["digest"] if number % 3 == 0 else None
            self.observed.append(Observation(record, seen if number % 2 == 0 else None, tx_id))
        self.first_transfer = next(each for each in good if each["payload_kind"] == "token_transfer" and each["quorum"])
        key = self.first_transfer["row_key"]
        self.lines = [each.line for each in self.observed] + [
            cell_line(key, "ChainDetails", "SenderAddress", "aNativeSender", SEEN_FIRST_S * 1000),
            cell_line(UNSIGNED, "MessagePublication", "InitiatingTxID", UNSIGNED_TX, SEEN_FIRST_S * 1000),
            *(row_line(WRITTEN, (family, name, data, SEEN_FIRST_S * 1000)) for family, name, data, _ in CELLS),
        ]

    @cached_property
    def messages(self) -> dict[str, Message]:
        """Digest → message."""
        found: dict[str, Message] = defaultdict(Message)
        for each in self.observed:
            found[each.record["digest"]].observed.append(each)
        return dict(found)

    @cached_property
    def canonical(self) -> dict[str, Message]:
        """Row key → the message that is served under it."""
        by_key: dict[str, list[Message]] = defaultdict(list)
        for each in self.messages.values():
            by_key[each.served["row_key"]].append(each)
        last = 2**63
        return {
            key: min(held, key=lambda each: (not each.served["quorum"], each.seen_ms or last, each.served["digest"]))
            for key, held in by_key.items()
        }

    @cached_property
    def verified(self) -> list[Message]:
        """Served and verified messages, newest first."""
        found = [each for each in self.canonical.values() if each.served["quorum"]]
        return sorted(found, key=lambda each: each.order, reverse=True)

    def of_record(self, record: Json) -> Message:
        return self.messages[record["digest"]]

    def token_key(self, record: Json) -> str:
        return f"{record['decoded']['token_chain']}/{record['decoded']['token_address']}"

    @cached_property
    def metas(self) -> dict[str, Json]:
        """token_key → the description in the first verified message about it, completed by NAMED."""
        observed = [each.served for each in self.verified if each.served["payload_kind"] == "asset_meta"]
        observed.sort(key=lambda each: (each["timestamp"], each["digest"]), reverse=True)
        named = {key: dict(zip(("decimals", "symbol", "name"), each, strict=True)) for key, each in NAMED.items()}
        return named | {self.token_key(each): each["decoded"] for each in observed}

    @cached_property
    def prices(self) -> list[tuple[str, int, str]]:
        found = [each for each in self.observed if each.record["payload_kind"].startswith("token_transfer")]
        keys = sorted({self.token_key(each.record) for each in found})
        return [
            (key, day, f"{number + 2}.{later + 1}25")
            for number, key in enumerate(keys)
            for later, day in enumerate(PRICED_DAYS)
        ]

    def price(self, token_key: str, day: int) -> Decimal:
        """USD price of a token: from the last day up to that one on which it got a price."""
        return max((since, Decimal(usd)) for key, since, usd in self.prices if key == token_key and since <= day)[1]

    @cached_property
    def transfers(self) -> list[Message]:
        """Verified transfers of tokens, newest first."""
        return [each for each in self.verified if each.served["payload_kind"].startswith("token_transfer")]

    def amount(self, message: Message) -> Decimal | None:
        """The number of tokens that a transfer moves; None if their decimals are unknown."""
        meta = self.metas.get(self.token_key(message.served))
        return None if meta is None else Decimal(message.served["decoded"]["amount"]) / 10 ** min(8, meta["decimals"])

    def usd(self, message: Message) -> Decimal | None:
        """The value of those tokens on the day of the transfer."""
        amount = self.amount(message)
        return None if amount is None else round(amount * self.price(self.token_key(message.served), message.day), 8)

    def locked(self, first: int, last: int) -> dict[str, Decimal]:
        """Tokens by token_key that left home in those days, minus those that returned; only listed tokens."""
        found: dict[str, Decimal] = defaultdict(Decimal)
        for message in self.transfers:
            record, amount = message.served, self.amount(message)
            key = self.token_key(record)
            home = int(key.partition("/")[0])
            if first <= message.day <= last and amount is not None and key != UNLISTED:
                found[key] += amount * ((record["emitter_chain"] == home) - (record["decoded"]["to_chain"] == home))
        return {key: amount for key, amount in found.items() if amount}

    def fill(self, settings: StoreSettings) -> WritableStore:
        """A new store with all contents."""
        create(settings)
        store = open_store(settings, writable=True)
        write(store, self._rows(settings))
        return store

    def _rows(self, settings: StoreSettings) -> dict[Table, list[Json]]:
        cells: dict[Any, dict[Cell, None]] = defaultdict(dict)
        for line in self.lines:
            for cell in read_line(line.encode()):
                cells[cell.key][cell] = None
        vaas = [decode_vaa(bytes.fromhex(each.record["hex"])) for each in self.observed]
        history = learn(PUBLISHED["mainnet"], vaas)
        found: dict[Table, list[Json]] = defaultdict(list)
        counted = []
        moves = {
            each.record["row_key"]: self.token_key(each.record)
            for each in self.observed
            if each.record["payload_kind"].startswith("token_transfer")
        }
        for (chain, emitter, key), held in cells.items():
            token_key = moves.get(f"{chain}:{emitter.hex()}:{int(key):016d}", "")
            meta = self.metas.get(token_key)
            named = (meta["decimals"], meta["symbol"], meta["name"]) if meta else None
            prices = [(day, price) for each, day, price in self.prices if each == token_key]
            made = assemble("mainnet", list(held), history, Token(token_key, named, prices))
            for table in (tables.vaas, tables.vaa_signatures, tables.vaa_states, tables.vaa_payloads):
                found[table] += getattr(made, table.name)
            for listed in made.vaa_lookups:
                day = listed.row["day"]
                place = {"day_range": day // settings.range_size, "partition_id": day}
                found[tables.vaa_lookups] += [
                    {"kind": kind, "key": key} | listed.row | place for kind, key in listed.keys
                ]
            found[tables.emitters].append({"emitter_chain": chain, "emitter_address": emitter})
            if made.counted is not None:
                counted.append(made.counted)
        for source, target in ((tables.vaa_lookups, tables.vaa_hints), (tables.vaas, tables.sequence_hints)):
            found[target] = [{name: row[name] for name in target.names} for row in found[source]]
        found[tables.tokens] = [
            {"token_key": key, "digest": b"\0" * 32} | {name: meta[name] for name in ("decimals", "symbol", "name")}
            for key, meta in self.metas.items()
        ]
        found[tables.prices] = [dict(zip(tables.prices.names, each, strict=True)) for each in self.prices]
        found[tables.vaa_daily] = daily(counted)
        found[tables.vaa_days] = [{name: row[name] for name in ("measure", "day")} for row in found[tables.vaa_daily]]
        names = tables.guardian_sets.names
        found[tables.guardian_sets] = [dict(zip(names, row, strict=True)) for row in set_rows(NETWORK, history)]
        return found


def daily(counted: Iterable[Any]) -> list[Json]:
    """vaa_daily of those messages."""
    sums: dict[tuple[Any, ...], list[Any]] = {}

    def add(key: tuple[Any, ...], *values: str | None) -> None:
        row = sums.setdefault(key, [0, None, None])
        row[0] += 1
        for at, value in enumerate(values, 1):
            if value is not None:
                row[at] = (row[at] or Decimal(0)) + Decimal(value)

    for each in counted:
        place = each.day, each.emitter_chain, each.emitter_address
        add(("totals", *place, 0, "", ""))
        if each.kind == "nft_transfer":
            add(("nfts", *place, 0, "", ""))
        if each.kind.startswith("token_transfer"):
            add(("transfers", *place, each.target_chain, each.token_key, ""), each.amount, each.notional_usd)
            add(("addresses", *place, each.target_chain, "", each.recipient.hex()), None, each.notional_usd)
    names = ("measure", "day", "emitter_chain", "emitter_address", "target_chain", "token_key", "address")
    return [
        dict(zip(names, key, strict=True))
        | {"message_count": count, "amount": plain(amount), "notional_usd": plain(usd)}
        for key, (count, amount, usd) in sums.items()
    ]


def plain(number: Decimal | None) -> str | None:
    if number is None:
        return None
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def write(store: WritableStore, rows: dict[Table, list[Json]]) -> None:
    with store.batch(publish=True) as batch, many_at_a_time(batch):
        for table, held in rows.items():
            shapes: dict[tuple[str, ...], list[tuple[Any, ...]]] = defaultdict(list)
            for row in held:
                shapes[tuple(row)].append(tuple(row.values()))
            for columns, values in shapes.items():
                batch.upsert(table, columns, list(dict.fromkeys(values)))


def write_read(store: WritableStore, rows: dict[Table, list[Json]]) -> None:
    """Writes rows that were read from a store, which gives hex as text and takes bytes."""
    found = {}
    for table, held in rows.items():
        digits = {each.name for each in table.columns if each.type is Type.HEX}
        found[table] = [
            {name: bytes.fromhex(each) if name in digits and each is not None else each for name, each in row.items()}
            for row in held
        ]
    write(store, found)


def b64(text: str) -> str:
    """Hex → base64."""
    return base64.b64encode(bytes.fromhex(text)).decode()


def utc(seconds: float) -> str:
    """A time in wormholescan's format."""
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds" if seconds % 1 else "seconds")
    return text.replace("+00:00", "Z")
