"""Parameters that node REST v1 and Chronicle v1 share: messages, outputs and their listings."""

from dataclasses import replace
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from api.fields.params import ADDRESS, CHRONICLE, INDEX, PAGE_SIZE, SORT, TAG_MAX_BYTES, bech32, node_flag
from api.http.errors import BadParameter
from api.http.page_sizes import CHRONICLE_V1, INX_API_CORE_V1, MAXIMUM
from api.http.params import Param, hexadecimal, integer, page_size, path, reader, unchecked_text, words

ID = hexadecimal(32)
OUTPUT_INDEX_MAX = 126
"""A transaction has at most 127 outputs (TIP-7)."""

OUTPUT_TYPES = [0, 1, 3, 4, 5, 6]
"""Types of outputs that an address can own, of both eras (TIP-7, TIP-18)."""

MESSAGE_ID = path(
    "messageId", ID, "ID of a message", "4bb9ae828f9a7f750a33d23a217563caf2b4b9e921eb8f87b2064ef7a1290dea"
)
TRANSACTION_ID = path(
    "transactionId", ID, "ID of a transaction", "09e65d589aa1616deab709b6b5f6314be7176b591a9723ffe1e57fe37bb2292f"
)
OUTPUT_ID = path(
    "outputId",
    hexadecimal(34, may_have_0x=True),
    "ID of an output: the transaction ID, then the output index (two bytes, little-endian)",
    "09e65d589aa1616deab709b6b5f6314be7176b591a9723ffe1e57fe37bb2292f0000",
)
ED25519_ADDRESS = path(
    "address",
    ID,
    "An Ed25519 address: the BLAKE2b-256 hash of its public key",
    "f90c0d94fa949f37a6fc5b7e95fb7be90f957bc6b2bed042fa360e31b9dc6455",
)
OUTPUT_TRANSACTION_ID = replace(TRANSACTION_ID, type=hexadecimal(32, may_have_0x=True))
"""The transaction of an output. Listings of Stardust write ids with 0x."""

TAG = Param(
    "index",
    unchecked_text(f"hex of 1 to {TAG_MAX_BYTES} bytes", minLength=1, maxLength=2 * TAG_MAX_BYTES),
    "Index of an indexation payload, direct or inside a transaction: hex, or with utf8=true text",
    "7065726d616e6f6465",
    required=True,
)
OUTPUT_TYPE = Param(
    "type",
    Annotated[
        words({str(each): each for each in OUTPUT_TYPES}), WithJsonSchema({"type": "integer", "enum": OUTPUT_TYPES})
    ],
    "Only outputs of this type: 0 SigLockedSingle, 1 SigLockedDustAllowance; of Stardust 3 basic, 4 alias, 5 foundry, "
    "6 NFT",
    0,
)
INCLUDE_SPENT = node_flag("include-spent", "Also return spent outputs", "false")
PAGE_SIZE_OF_100 = replace(PAGE_SIZE, elsewhere={CHRONICLE: page_size(CHRONICLE_V1, 100)})
"""For Chronicle's own routes. Wallets send bech32 addresses as to a node and read only the first page."""

HISTORY_PAGE_SIZE = replace(PAGE_SIZE, name="pageSize", **page_size(INX_API_CORE_V1, MAXIMUM), elsewhere={})
"""Named and read as in inx-api-core-v1, in every dialect."""

CORE_PAGE_SIZE = replace(
    HISTORY_PAGE_SIZE,
    meaning="`page_size` as inx-api-core-v1 names it. A request has only one of the two",
    default=None,
)

MessageId = Annotated[str, MESSAGE_ID]
TransactionId = Annotated[str, TRANSACTION_ID]
OutputTransactionId = Annotated[str, OUTPUT_TRANSACTION_ID]
OutputId = Annotated[str, OUTPUT_ID]
OutputIndex = Annotated[
    int, path("outputIndex", integer(0, OUTPUT_INDEX_MAX), "Index of an output in its transaction", 0)
]
NodeAddress = Annotated[tuple[str, bytes], replace(ADDRESS, type=Annotated[bech32(), BeforeValidator(str.lower)])]
"""Nodes lower the text first, so they accept addresses that mix upper and lower case, which Bech32 forbids."""

Ed25519Address = Annotated[str, ED25519_ADDRESS]
Tag = Annotated[str, TAG]
OutputType = Annotated[int | None, OUTPUT_TYPE]
IncludeSpent = Annotated[bool, INCLUDE_SPENT]
IncludeSpentInHistory = Annotated[
    bool, replace(INCLUDE_SPENT, elsewhere={CHRONICLE: {**INCLUDE_SPENT.elsewhere[CHRONICLE], "default": "true"}})
]
"""For the route that Chronicle has: it returns spent outputs like any others. Only nodes have the bech32 route."""

Included = Annotated[
    bool,
    node_flag("included", "Only outputs of included transactions; false: also of conflicting and pending ones", "true"),
]
LedgerNone = Annotated[
    bool, node_flag("ledger_none", "Also transactions without inclusion state; an archive has none of them", "true")
]
LedgerIncluded = Annotated[bool, node_flag("ledger_included", "Also included transactions", "true")]
LedgerConflicting = Annotated[bool, node_flag("ledger_conflicting", "Also conflicting transactions", "true")]
Expanded = Annotated[
    bool, node_flag("expanded", "Return objects with inclusion state and milestone, not only IDs", "false")
]
StartMilestone = Annotated[int, Param("start", INDEX, "First milestone", 1, default="1")]
EndMilestone = Annotated[int, Param("end", INDEX, "First milestone after the range", 1000, default=str(2**31 - 1))]
PageSizeOf100 = Annotated[int, PAGE_SIZE_OF_100]
NodePageSize = Annotated[int, replace(PAGE_SIZE, also=CORE_PAGE_SIZE)]
NodePageSizeOf100 = Annotated[int, replace(PAGE_SIZE_OF_100, also=CORE_PAGE_SIZE)]
"""For listings that inx-api-core-v1 has, too."""

HistoryPageSize = Annotated[int, HISTORY_PAGE_SIZE]
HistoryOrder = Annotated[
    bool | None,
    replace(SORT, meaning="Which end comes first; by default the newest in JSON, the oldest in CSV", default=None),
]

_tag_bytes = reader(hexadecimal(1, TAG_MAX_BYTES))


def tag_of(index: str, *, utf8: bool) -> str:
    """The index bytes as lowercase hex. Raises BadParameter."""
    try:
        return str(_tag_bytes(index.encode().hex() if utf8 else index))
    except ValueError as error:
        expected = f"text of 1 to {TAG_MAX_BYTES} bytes" if utf8 else TAG.expected
        raise BadParameter(TAG.name, expected, index) from error
