"""The column families of the Wormhole event plans (docs/origins.md), and where each column is stored.

`column` is the plan's name in snake_case, with the family as prefix if several families have the name. The list also
has columns that a later plan renamed or dropped, and columns that the original programs wrote without documenting them.
`form` is the encoding of a cell's value, which etl/wormhole/values.py decodes.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from db.model import Type

Form: TypeAlias = Literal["text", "number", "amount", "token_id", "hex", "bytes", "float", "time"]

REVISIONS = ("001", "002", "000")
"""The Wormhole event plans of June 2021, December 2021 and March 2022, by document number."""


@dataclass(frozen=True, slots=True)
class FamilyColumn:
    """A column of a family. `seeds` are the plans that document it; empty if it was only written."""

    family: str
    qualifier: str
    column: str
    form: Form
    seeds: tuple[str, ...] = REVISIONS
    kind: Type = Type.TEXT


PUBLICATION = "MessagePublication"
SIGNATURES = "Signatures"
STATE = "VAAState"
QUORUM = "QuorumState"
TRANSFER = "TokenTransferPayload"
ASSET = "AssetMetaPayload"
NFT = "NFTTransferPayload"
DETAILS = "TokenTransferDetails"
CHAIN = "ChainDetails"

RENAMED = {"PersistenceState": QUORUM}
"""Earlier names of families, from before the first plan."""

SIGNED_VAA = "SignedVAA"

_LATER = ("002", "000")
_LAST = ("000",)
_NONE: tuple[str, ...] = ()


def _family(family: str, prefix: str, *specs: tuple[str, str, Form, Type, tuple[str, ...]]) -> tuple[FamilyColumn, ...]:
    return tuple(
        FamilyColumn(family, qualifier, f"{prefix}{column}", form, seeds, kind)
        for qualifier, column, form, kind, seeds in specs
    )


PUBLICATION_COLUMNS = _family(
    PUBLICATION,
    "",
    ("Version", "version", "number", Type.SMALLINT, REVISIONS),
    ("GuardianSetIndex", "guardian_set_index", "number", Type.BIGINT, REVISIONS),
    ("Timestamp", "published_at", "time", Type.TIMESTAMP, REVISIONS),
    ("Nonce", "nonce", "number", Type.BIGINT, REVISIONS),
    ("Sequence", "sequence", "text", Type.TEXT, REVISIONS),
    ("EmitterChain", "emitter_chain_name", "text", Type.TEXT, REVISIONS),
    ("EmitterAddress", "emitter", "hex", Type.HEX, REVISIONS),
    ("InitiatingTxID", "initiating_tx_id", "text", Type.TEXT, REVISIONS),
    ("Payload", "payload", "bytes", Type.BLOB, REVISIONS),
    ("ReporterHostname", "reporter_hostname", "text", Type.TEXT, _NONE),
)
"""In `vaas`, in the row without a digest: the timestamp and consistency level of the body are unknown, so it has
none.
"""

PAYLOAD_COLUMNS = (
    *_family(
        TRANSFER,
        "transfer_",
        ("PayloadId", "payload_id", "number", Type.SMALLINT, _LATER),
        ("Amount", "amount", "amount", Type.TEXT, _LATER),
        ("OriginAddress", "origin_address", "hex", Type.HEX, _LATER),
        ("OriginChain", "origin_chain", "number", Type.INT, _LATER),
        ("TargetAddress", "target_address", "hex", Type.HEX, _LATER),
        ("TargetAdress", "target_address", "hex", Type.HEX, _NONE),
        ("TargetChain", "target_chain", "number", Type.INT, _LATER),
    ),
    *_family(
        ASSET,
        "asset_",
        ("PayloadId", "payload_id", "number", Type.SMALLINT, _LATER),
        ("TokenAddress", "token_address", "hex", Type.HEX, _LATER),
        ("TokenChain", "token_chain", "number", Type.INT, _LATER),
        ("Decimals", "decimals", "number", Type.SMALLINT, _LATER),
        ("Symbol", "symbol", "text", Type.TEXT, _LATER),
        ("Name", "name", "text", Type.TEXT, _LATER),
        ("CoinGeckoCoinId", "coin_gecko_coin_id", "text", Type.TEXT, _NONE),
        ("NativeAddress", "native_address", "text", Type.TEXT, _NONE),
    ),
    *_family(
        NFT,
        "nft_",
        ("PayloadId", "payload_id", "number", Type.SMALLINT, _LATER),
        ("OriginAddress", "origin_address", "hex", Type.HEX, _LATER),
        ("OriginChain", "origin_chain", "number", Type.INT, _LATER),
        ("Symbol", "symbol", "text", Type.TEXT, _LATER),
        ("Name", "name", "text", Type.TEXT, _LATER),
        ("TokenId", "token_id", "token_id", Type.TEXT, _LATER),
        ("URI", "uri", "text", Type.TEXT, _LATER),
        ("TargetAddress", "target_address", "hex", Type.HEX, _LATER),
        ("TargetAdress", "target_address", "hex", Type.HEX, _NONE),
        ("TargetChain", "target_chain", "number", Type.INT, _LATER),
    ),
    *_family(
        DETAILS,
        "details_",
        ("Amount", "amount", "text", Type.TEXT, _LATER),
        ("NotionalUSD", "notional_usd", "float", Type.TEXT, _LATER),
        ("OriginSymbol", "origin_symbol", "text", Type.TEXT, _LATER),
        ("OriginName", "origin_name", "text", Type.TEXT, _LATER),
        ("OriginTokenAddress", "origin_token_address", "text", Type.TEXT, _LATER),
        ("Decimals", "decimals", "number", Type.SMALLINT, _NONE),
        ("NotionalUSDStr", "notional_usd_str", "text", Type.TEXT, _NONE),
        ("TokenPriceUSD", "token_price_usd", "float", Type.TEXT, _NONE),
        ("TokenPriceUSDStr", "token_price_usd_str", "text", Type.TEXT, _NONE),
        ("TransferTimestamp", "transfer_timestamp", "text", Type.TEXT, _NONE),
        ("CoinGeckoCoinId", "coin_gecko_coin_id", "text", Type.TEXT, _NONE),
        ("TargetSymbol", "target_symbol", "text", Type.TEXT, _NONE),
        ("TargetName", "target_name", "text", Type.TEXT, _NONE),
    ),
    *_family(
        CHAIN,
        "chain_",
        ("SenderAddress", "sender_address", "text", Type.TEXT, _LATER),
        ("ReceiverAddress", "receiver_address", "text", Type.TEXT, _LATER),
        ("ResultingTokenAddress", "resulting_token_address", "text", Type.TEXT, _LAST),
        ("ResultingTokenSymbol", "resulting_token_symbol", "text", Type.TEXT, _LAST),
        ("ResultingTokenName", "resulting_token_name", "text", Type.TEXT, _LAST),
    ),
)
"""In `vaa_payloads`: written values in the row without a digest, values computed from a VAA in the row with its
digest.
"""

FAMILY_COLUMNS: dict[tuple[str, str], FamilyColumn] = {
    (each.family, each.qualifier): each for each in (*PUBLICATION_COLUMNS, *PAYLOAD_COLUMNS)
}
"""By family and qualifier. Without Signatures, VAAState and QuorumState, whose cells are rows."""

FAMILIES = (PUBLICATION, SIGNATURES, STATE, QUORUM, TRANSFER, ASSET, NFT, DETAILS, CHAIN)
