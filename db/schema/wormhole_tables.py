"""The tables of a Wormhole network, as db/schema has those of IOTA's: its own, and those that every store has.

Rules of this file: as in schema.py. What seeds/000, 001 and 002 call a column db/schema/event_columns.py says; a key
is never null,
so what is not told there is '' or 0. Sequences are unsigned 64-bit numbers: 20 digits of text, never an integer.
"""

from db import schema
from db.model import Column, Lookup, Order, Table, Type, columns
from db.schema.event_columns import PAYLOAD_COLUMNS, PUBLICATION_COLUMNS, FamilyColumn

LAYOUT = 8
"""The migration that creates all of these tables."""

SEQUENCE_RANGE_DIGITS = 16
"""Of a sequence_key, the digits that a partition of `vaas` shares: 10 000 sequences."""

EMITTER_CHAIN = ("emitter_chain", Type.INT, "Wormhole's number of the chain that the message was emitted on")
EMITTER_ADDRESS = ("emitter_address", Type.HEX, "32 bytes of the contract that emitted it")
SEQ_RANGE = ("seq_range", Type.TEXT, "the first 16 digits of sequence_key")
SEQUENCE_KEY = ("sequence_key", Type.TEXT, "the sequence as 20 digits: its order is the numbers'")
DIGEST = ("digest", Type.HEX, "Keccak-256, twice, of the body; '' for what was written of the id, whatever its body")
ROW_KEY = ("row_key", Type.TEXT, "chain:address:sequence as the seeds write it, the sequence padded to 16 digits")
TIMESTAMP = ("timestamp", Type.BIGINT, "seconds since 1970, the body's; 0 where it does not tell")
DAY = ("day", Type.INT, "days since 1970 of the body's timestamp")
DAY_RANGE = ("day_range", Type.INT, "day // chunk_days")
TOKEN_KEY = ("token_key", Type.TEXT, "chain/address of a token at home, the address 64 hex digits")
OBSERVED_AT = ("observed_at", Type.TIMESTAMP, "earliest time of a cell that held it; null: no source told")
VERIFIED = ("verified", Type.BOOLEAN, "a quorum of the guardian set that its header names signed it")
CANONICAL = ("canonical", Type.BOOLEAN, "of the bodies under this id, the one that is served")
PAYLOAD_KIND = (
    "payload_kind",
    Type.TEXT,
    "token_transfer, asset_meta, nft_transfer, governance, …; raw: unknown",
)

_OF_KEY = {"emitter"}
"""Of the publication's columns those that the key says as well."""


def _own(specs: tuple[FamilyColumn, ...]) -> tuple[Column, ...]:
    """A column for each name, whatever it was spelled like over time."""
    named: dict[str, list[str]] = {}
    kinds = {each.column: each.kind for each in specs}
    for each in specs:
        named.setdefault(each.column, []).append(f"{each.family}:{each.qualifier}")
    return tuple(Column(name, kinds[name], ", ".join(told)) for name, told in named.items() if name not in _OF_KEY)


vaas = Table(
    "vaas",
    "Every message by its id, with the bytes that are served and the verdict on them; one row a body",
    columns(EMITTER_CHAIN, EMITTER_ADDRESS, SEQ_RANGE, SEQUENCE_KEY, DIGEST, ROW_KEY)
    + _own(PUBLICATION_COLUMNS)
    + columns(
        ("signed_vaa", Type.BLOB, "QuorumState:SignedVAA: verified before not, then most signatures, then least bytes"),
        OBSERVED_AT,
        TIMESTAMP,
        ("consistency_level", Type.SMALLINT, "the body's"),
        PAYLOAD_KIND,
        VERIFIED,
        ("fault", Type.TEXT, "what the verdict found first (ledger/wormhole/verify.py); null: verified"),
        ("reason", Type.TEXT, "the sentence about it"),
        ("expired", Type.BOOLEAN, "by the time of the message its guardian set had been replaced for a day"),
        ("signature_count", Type.SMALLINT, "signatures in signed_vaa"),
        ("valid_signatures", Type.SMALLINT, "those of them by the guardian at their place"),
        CANONICAL,
        ("digests", Type.SMALLINT, "bodies under this id, verified ones where any is: more than 1 is a conflict"),
    ),
    partition=("emitter_chain", "emitter_address", "seq_range"),
    clustering=("sequence_key", "digest"),
    layout=LAYOUT,
)

vaa_signatures = Table(
    "vaa_signatures",
    "Signatures of guardians: which observed a message, and when",
    columns(
        ROW_KEY,
        ("digest", Type.HEX, "the body that it is of; '' as it was written alone, whatever body it is of"),
        ("guardian_address", Type.HEX, "20 bytes: the guardian"),
        ("signature", Type.BLOB, "65 bytes: r, s, v"),
        ("guardian_set_index", Type.BIGINT, "the earliest set under which it was seen; null: not told"),
        OBSERVED_AT,
    ),
    partition=("row_key",),
    clustering=("digest", "guardian_address"),
    order=Order.ASC,
    layout=LAYOUT,
)

vaa_states = Table(
    "vaa_states",
    "VAAState:Signatures, cell by cell: how signatures accumulated, each list one longer than the one before",
    columns(
        ROW_KEY,
        ("guardian_set_index", Type.BIGINT, "the set of the qualifier; -1: it named none"),
        ("updated_at", Type.TIMESTAMP, "time of the cell; 0: not told"),
        ("signature_count", Type.SMALLINT, "signatures in the list"),
        ("signatures", Type.BLOB, "the list as it was written: count, then index and signature each"),
    ),
    partition=("row_key",),
    clustering=("guardian_set_index", "updated_at", "signature_count"),
    order=Order.ASC,
    layout=LAYOUT,
)

vaa_payloads = Table(
    "vaa_payloads",
    "What a message says and what is known about it: the payload's families of the seeds",
    columns(ROW_KEY, DIGEST)
    + _own(PAYLOAD_COLUMNS)
    + columns(
        ("transfer_fee", Type.TEXT, "of a transfer, for who brings it there"),
        ("transfer_from_address", Type.HEX, "of a transfer with a payload: the contract that sent it"),
        ("transfer_payload", Type.BLOB, "its message for the receiving contract"),
    ),
    partition=("row_key",),
    clustering=("digest",),
    order=Order.ASC,
    layout=LAYOUT,
)

vaa_lookups = Table(
    "vaa_lookups",
    "Messages by whatever they are looked up by, newest first",
    columns(
        ("kind", Type.TEXT, "recent, chain, emitter, transaction, sender, recipient or token"),
        ("key", Type.TEXT, "of kind recent '', else the chain, chain/address, transaction id, address or token_key"),
        DAY_RANGE,
        ("partition_id", Type.INT, "first day of the partition; 0 for a range's first"),
        DAY,
        TIMESTAMP,
        EMITTER_CHAIN,
        EMITTER_ADDRESS,
        SEQUENCE_KEY,
        ("digest", Type.HEX, "of the body; '', on day 0: a transaction that was written of the id, whatever its body"),
        ROW_KEY,
        OBSERVED_AT,
        VERIFIED,
        CANONICAL,
        PAYLOAD_KIND,
        ("target_chain", Type.INT, "where a transfer goes; null: it is none"),
    ),
    partition=("kind", "key", "day_range", "partition_id"),
    clustering=("day", "timestamp", "emitter_chain", "emitter_address", "sequence_key", "digest"),
    layout=LAYOUT,
)

vaa_hints = Table(
    "vaa_hints",
    "Which partitions of vaa_lookups hold rows",
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
    "Which ranges of an emitter's sequences hold rows in `vaas`",
    columns(EMITTER_CHAIN, EMITTER_ADDRESS, SEQ_RANGE),
    partition=("emitter_chain", "emitter_address"),
    clustering=("seq_range",),
    layout=LAYOUT,
)

emitters = Table(
    "emitters",
    "The emitters of a chain that any row is of",
    columns(EMITTER_CHAIN, EMITTER_ADDRESS),
    partition=("emitter_chain",),
    clustering=("emitter_address",),
    order=Order.ASC,
    layout=LAYOUT,
)

guardian_sets = Table(
    "guardian_sets",
    "The guardian sets of the network, as published or as the set before named them",
    columns(
        ("network", Type.TEXT, "exact network name"),
        ("guardian_set_index", Type.BIGINT, "the set"),
        ("addresses", Type.TEXT, "JSON list of the guardians' addresses in the order of their indices, hex"),
        (
            "since",
            Type.BIGINT,
            "seconds since 1970, of the message that named it; 0: there is none, or it has none",
        ),
        ("named_by", Type.HEX, "digest of that message; null: it is only known because it was published"),
        ("expires_at_s", Type.BIGINT, "seconds since 1970 after which contracts refuse it; null: not known"),
    ),
    partition=("network",),
    clustering=("guardian_set_index",),
    layout=LAYOUT,
)

tokens = Table(
    "tokens",
    "What a token is called at home, by the first verified AssetMeta about it",
    columns(
        TOKEN_KEY,
        ("decimals", Type.SMALLINT, "its own; amounts on the way have 8 at most"),
        ("symbol", Type.TEXT, "ticker"),
        ("name", Type.TEXT, "name"),
        ("digest", Type.HEX, "the message that told"),
    ),
    partition=("token_key",),
    layout=LAYOUT,
)

prices = Table(
    "prices",
    "Prices of tokens by day, from files that were loaded",
    columns(
        (
            "token_key",
            Type.TEXT,
            "as elsewhere; symbol/SYMBOL: of any token that is called so and has no price of its own",
        ),
        ("day", Type.INT, "days since 1970 from which it holds"),
        ("price_usd", Type.TEXT, "USD of one token, decimal"),
    ),
    partition=("token_key",),
    clustering=("day",),
    layout=LAYOUT,
)

vaa_daily = Table(
    "vaa_daily",
    "Counts and sums of verified messages by UTC day; the day is written whole, never added to",
    columns(
        ("measure", Type.TEXT, "totals, nfts, transfers or addresses"),
        ("day", Type.INT, "days since 1970: of observed_at where a source told it, else of the timestamp"),
        EMITTER_CHAIN,
        EMITTER_ADDRESS,
        ("target_chain", Type.INT, "transfers, addresses: where they go; 0: none"),
        ("token_key", Type.TEXT, "transfers: the token; '': none"),
        ("address", Type.TEXT, "addresses: the recipient, 64 hex digits; '': none"),
        ("message_count", Type.BIGINT, "messages"),
        ("amount", Type.TEXT, "transfers: tokens, decimal; null: of a token whose decimals nobody told"),
        ("notional_usd", Type.TEXT, "transfers, addresses: USD, decimal; null: nothing of it has a price"),
    ),
    partition=("measure", "day"),
    clustering=("emitter_chain", "emitter_address", "target_chain", "token_key", "address"),
    order=Order.ASC,
    layout=LAYOUT,
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
)

SHARED: tuple[Table, ...] = (
    schema.splits,
    schema.tails,
    schema.rejects,
    schema.keyspace_info,
    schema.migrations,
    schema.lease,
)
"""Tables of every store; of a Wormhole network's ms_range_id is a range of days there, a milestone a day."""

TABLES = (*OWN, *SHARED)

LOOKUP = Lookup(vaa_lookups, vaa_hints, ("kind", "key"))
LOOKUPS: tuple[Lookup, ...] = (LOOKUP,)


def symbol_key(symbol: str) -> str:
    """Under what `prices` has those of a symbol, whatever the case of its letters."""
    return f"symbol/{symbol.upper()}"
