"""The tables of a Wormhole network: its own, and those that every store has.

Key columns are never null, so an unknown value in a key is '' or 0. Sequences are unsigned 64-bit integers, stored as
texts of 20 digits, never as integers. db/schema/event_columns.py maps the columns of the event plans.
"""

from db import schema
from db.model import Column, Lookup, Order, Table, Type, columns
from db.schema.event_columns import PAYLOAD_COLUMNS, PUBLICATION_COLUMNS, FamilyColumn

LAYOUT = 8
"""The migration that creates all of these tables."""

TOKEN_LIST_LAYOUT = 11
"""The migration that adds what token lists contain."""

DAYS_LAYOUT = 18
"""The migration that adds the days of the sums."""

SEQUENCE_RANGE_DIGITS = 16
"""Digits of a sequence_key that a partition of `vaas` shares: a partition has 10 000 sequences."""

EMITTER_CHAIN = ("emitter_chain", Type.INT, "Wormhole's number of the emitter's chain")
EMITTER_ADDRESS = ("emitter_address", Type.HEX, "address of the emitting contract, 32 bytes")
SEQ_RANGE = ("seq_range", Type.TEXT, "the first 16 digits of sequence_key")
SEQUENCE_KEY = ("sequence_key", Type.TEXT, "the sequence as 20 digits, which sort as the numbers do")
DIGEST = ("digest", Type.HEX, "double Keccak-256 of the body; '' for values written for the id, whatever its body")
ROW_KEY = ("row_key", Type.TEXT, "chain:address:sequence as in the event plans, with the sequence padded to 16 digits")
TIMESTAMP = ("timestamp", Type.BIGINT, "seconds since 1970, from the body; 0 if unknown")
DAY = ("day", Type.INT, "days since 1970 of the body's timestamp")
DAY_RANGE = ("day_range", Type.INT, "day // chunk_days")
TOKEN_KEY = ("token_key", Type.TEXT, "chain/address of a token on its home chain, with 64 hex digits")
OBSERVED_AT = ("observed_at", Type.TIMESTAMP, "earliest time of a cell that contained it; null: unknown")
VERIFIED = ("verified", Type.BOOLEAN, "signed by a quorum of the guardian set that its header names")
CANONICAL = ("canonical", Type.BOOLEAN, "the body that is returned for this id")
PAYLOAD_KIND = (
    "payload_kind",
    Type.TEXT,
    "token_transfer, asset_meta, nft_transfer, governance, …; raw: unknown",
)

_OF_KEY = {"emitter"}
"""Columns of the publication that are also part of the key."""


def _own(specs: tuple[FamilyColumn, ...]) -> tuple[Column, ...]:
    """One column for each name, for all its spellings."""
    named: dict[str, list[str]] = {}
    kinds = {each.column: each.kind for each in specs}
    for each in specs:
        named.setdefault(each.column, []).append(f"{each.family}:{each.qualifier}")
    return tuple(
        Column(name, kinds[name], ", ".join(meanings)) for name, meanings in named.items() if name not in _OF_KEY
    )


vaas = Table(
    "vaas",
    "Every message by id, with the returned bytes and their verdict; one row per body",
    columns(EMITTER_CHAIN, EMITTER_ADDRESS, SEQ_RANGE, SEQUENCE_KEY, DIGEST, ROW_KEY)
    + _own(PUBLICATION_COLUMNS)
    + columns(
        ("signed_vaa", Type.BLOB, "QuorumState:SignedVAA: verified first, then most signatures, then smallest bytes"),
        OBSERVED_AT,
        TIMESTAMP,
        ("consistency_level", Type.SMALLINT, "the body's"),
        PAYLOAD_KIND,
        VERIFIED,
        ("fault", Type.TEXT, "first fault found (ledger/wormhole/verify.py); null: verified"),
        ("reason", Type.TEXT, "description of the fault"),
        ("expired", Type.BOOLEAN, "the guardian set had been replaced for a day by the message's own timestamp"),
        ("signature_count", Type.SMALLINT, "signatures in signed_vaa"),
        ("valid_signatures", Type.SMALLINT, "those of them by the guardian at their index"),
        CANONICAL,
        ("digests", Type.SMALLINT, "bodies under this id (verified ones if there is any); more than 1 is a conflict"),
    ),
    partition=("emitter_chain", "emitter_address", "seq_range"),
    clustering=("sequence_key", "digest"),
    layout=LAYOUT,
)

vaa_signatures = Table(
    "vaa_signatures",
    "Guardian signatures: who observed a message, and when",
    columns(
        ROW_KEY,
        ("digest", Type.HEX, "digest of the signed body; '' for a cell that does not identify its body"),
        ("guardian_address", Type.HEX, "guardian address, 20 bytes"),
        ("signature", Type.BLOB, "65 bytes: r, s, v"),
        ("guardian_set_index", Type.BIGINT, "earliest set with which it was seen; null: unknown"),
        OBSERVED_AT,
    ),
    partition=("row_key",),
    clustering=("digest", "guardian_address"),
    order=Order.ASC,
    layout=LAYOUT,
)

vaa_states = Table(
    "vaa_states",
    "Cells of VAAState:Signatures: how signatures accumulated, each list one longer than the previous one",
    columns(
        ROW_KEY,
        ("guardian_set_index", Type.BIGINT, "the set in the qualifier; -1: none"),
        ("updated_at", Type.TIMESTAMP, "time of the cell; 0: unknown"),
        ("signature_count", Type.SMALLINT, "signatures in the list"),
        ("signatures", Type.BLOB, "the list as written: count, then index and signature each"),
    ),
    partition=("row_key",),
    clustering=("guardian_set_index", "updated_at", "signature_count"),
    order=Order.ASC,
    layout=LAYOUT,
)

vaa_payloads = Table(
    "vaa_payloads",
    "Content of a message and values about it: the payload families of the event plans",
    columns(ROW_KEY, DIGEST)
    + _own(PAYLOAD_COLUMNS)
    + columns(
        ("transfer_fee", Type.TEXT, "fee of a transfer, for the relayer"),
        ("transfer_from_address", Type.HEX, "contract that sent a transfer with payload"),
        ("transfer_payload", Type.BLOB, "payload for the receiving contract"),
    ),
    partition=("row_key",),
    clustering=("digest",),
    order=Order.ASC,
    layout=LAYOUT,
)

vaa_lookups = Table(
    "vaa_lookups",
    "Messages by lookup key, newest first",
    columns(
        ("kind", Type.TEXT, "recent, chain, emitter, transaction, id, sender, recipient, token or value"),
        (
            "key",
            Type.TEXT,
            "'' for kind recent, else the chain, chain/address, transaction id, address or token_key; for id the first "
            "8 characters of a digest or transaction id; for value a hash of column and value",
        ),
        DAY_RANGE,
        ("partition_id", Type.INT, "first day of the partition; 0 for the first of a range"),
        DAY,
        TIMESTAMP,
        EMITTER_CHAIN,
        EMITTER_ADDRESS,
        SEQUENCE_KEY,
        ("digest", Type.HEX, "digest of the body; '' on day 0 for a transaction written for the id, whatever its body"),
        ROW_KEY,
        OBSERVED_AT,
        VERIFIED,
        CANONICAL,
        PAYLOAD_KIND,
        ("target_chain", Type.INT, "destination chain of a transfer; null: not a transfer"),
    ),
    partition=("kind", "key", "day_range", "partition_id"),
    clustering=("day", "timestamp", "emitter_chain", "emitter_address", "sequence_key", "digest"),
    layout=LAYOUT,
)

vaa_hints = Table(
    "vaa_hints",
    "Partitions of vaa_lookups that have rows",
    columns(
        ("kind", Type.TEXT, "as in vaa_lookups"),
        ("key", Type.TEXT, "as in vaa_lookups"),
        DAY_RANGE,
        ("partition_id", Type.INT, "as in vaa_lookups"),
    ),
    partition=("kind", "key"),
    clustering=("day_range", "partition_id"),
    layout=LAYOUT,
)

sequence_hints = Table(
    "sequence_hints",
    "Sequence ranges of an emitter that have rows in `vaas`",
    columns(EMITTER_CHAIN, EMITTER_ADDRESS, SEQ_RANGE),
    partition=("emitter_chain", "emitter_address"),
    clustering=("seq_range",),
    layout=LAYOUT,
)

emitters = Table(
    "emitters",
    "Emitters of a chain that have any row",
    columns(EMITTER_CHAIN, EMITTER_ADDRESS),
    partition=("emitter_chain",),
    clustering=("emitter_address",),
    order=Order.ASC,
    layout=LAYOUT,
)

guardian_sets = Table(
    "guardian_sets",
    "Guardian sets of the network, as published or as named by the previous set",
    columns(
        ("network", Type.TEXT, "exact network name"),
        ("guardian_set_index", Type.BIGINT, "the set"),
        ("addresses", Type.TEXT, "JSON list of the guardians' addresses in the order of their indices, hex"),
        (
            "since",
            Type.BIGINT,
            "seconds since 1970, timestamp of the message that named it; 0: unknown",
        ),
        ("named_by", Type.HEX, "digest of that message; null: known only from publication"),
        ("expires_at_s", Type.BIGINT, "seconds since 1970 from which contracts reject it; null: unknown"),
    ),
    partition=("network",),
    clustering=("guardian_set_index",),
    layout=LAYOUT,
)

tokens = Table(
    "tokens",
    "Token metadata on the home chain, from the first verified AssetMeta about it, else from the token list",
    columns(
        TOKEN_KEY,
        ("decimals", Type.SMALLINT, "the token's own decimals; amounts in messages have at most 8"),
        ("symbol", Type.TEXT, "ticker"),
        ("name", Type.TEXT, "name"),
        ("digest", Type.HEX, "the message that contained it; null: only the token list has it"),
    )
    + columns(
        ("coin_gecko_id", Type.TEXT, "CoinGecko's id in the token list; null: unknown"), layout=TOKEN_LIST_LAYOUT
    ),
    partition=("token_key",),
    layout=LAYOUT,
)

prices = Table(
    "prices",
    "Token prices by day, from loaded files",
    columns(
        (
            "token_key",
            Type.TEXT,
            "as elsewhere; symbol/SYMBOL: any token with this symbol and no price of its own",
        ),
        ("day", Type.INT, "days since 1970 from which it applies"),
        ("price_usd", Type.TEXT, "price of one token in USD, decimal"),
    ),
    partition=("token_key",),
    clustering=("day",),
    layout=LAYOUT,
)

vaa_daily = Table(
    "vaa_daily",
    "Counts and sums of verified messages by UTC day; a day is always rewritten as a whole",
    columns(
        ("measure", Type.TEXT, "totals, nfts, transfers or addresses"),
        ("day", Type.INT, "days since 1970, of observed_at if known, else of the timestamp"),
        EMITTER_CHAIN,
        EMITTER_ADDRESS,
        ("target_chain", Type.INT, "transfers, addresses: destination chain; 0: none"),
        ("token_key", Type.TEXT, "transfers: the token; '': none"),
        ("address", Type.TEXT, "addresses: the recipient, 64 hex digits; '': none"),
        ("message_count", Type.BIGINT, "messages"),
        ("amount", Type.TEXT, "transfers: tokens, decimal; null: the token's decimals are unknown"),
        ("notional_usd", Type.TEXT, "transfers, addresses: USD, decimal; null: no price"),
    ),
    partition=("measure", "day"),
    clustering=("emitter_chain", "emitter_address", "target_chain", "token_key", "address"),
    order=Order.ASC,
    layout=LAYOUT,
)

vaa_days = Table(
    "vaa_days",
    "Days that have rows in vaa_daily, of which some can lie before the network began or after today",
    columns(
        ("measure", Type.TEXT, "as in vaa_daily"),
        ("day", Type.INT, "as in vaa_daily; 0: no time is known"),
    ),
    partition=("measure",),
    clustering=("day",),
    order=Order.ASC,
    layout=DAYS_LAYOUT,
)

OWN: tuple[Table, ...] = (
    vaas,
    vaa_signatures,
    vaa_states,
    vaa_payloads,
    vaa_lookups,
    vaa_hints,
    sequence_hints,
    emitters,
    guardian_sets,
    tokens,
    prices,
    vaa_daily,
    vaa_days,
)

SHARED: tuple[Table, ...] = (
    schema.splits,
    schema.tails,
    schema.rejects,
    schema.keyspace_info,
    schema.migrations,
    schema.lease,
)
"""Tables of every store. In a Wormhole network their ms_range_id is a range of days, and their milestones are days."""

TABLES = (*OWN, *SHARED)

LOOKUP = Lookup(vaa_lookups, vaa_hints, ("kind", "key"))
LOOKUPS: tuple[Lookup, ...] = (LOOKUP,)


def symbol_key(symbol: str) -> str:
    """The key in `prices` of a symbol, in upper case."""
    return f"symbol/{symbol.upper()}"
