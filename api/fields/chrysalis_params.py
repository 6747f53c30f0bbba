"""Parameters that node REST v1 and Chronicle v1 share: messages, outputs and their listings."""

from dataclasses import replace
from typing import Annotated, TypeAlias

from api.fields.params import CHRONICLE, INDEX_MAX, PAGE_SIZE, TAG_MAX_BYTES
from api.http.errors import BadParameter
from api.http.page_sizes import CHRONICLE_V1, INX_API_CORE_V1, MAXIMUM
from api.http.params import Param, choice, flag, hex_param, page_size, parse_hex, parse_int

OUTPUT_INDEX_MAX = 126
"""A transaction has at most 127 outputs (TIP-7)."""

MESSAGE_ID = hex_param(
    "messageId",
    "Id of a message",
    32,
    "4bb9ae828f9a7f750a33d23a217563caf2b4b9e921eb8f87b2064ef7a1290dea",
)
TRANSACTION_ID = hex_param(
    "transactionId",
    "Id of a transaction",
    32,
    "09e65d589aa1616deab709b6b5f6314be7176b591a9723ffe1e57fe37bb2292f",
)
OUTPUT_INDEX = Param(
    "outputIndex",
    "path",
    "Index of an output in its transaction",
    f"an integer from 0 to {OUTPUT_INDEX_MAX}",
    {"type": "integer", "minimum": 0, "maximum": OUTPUT_INDEX_MAX},
    lambda text: parse_int(text, 0, OUTPUT_INDEX_MAX),
    0,
    required=True,
)
ED25519_ADDRESS = hex_param(
    "address",
    "An Ed25519 address: BLAKE2b-256 of its public key",
    32,
    "f90c0d94fa949f37a6fc5b7e95fb7be90f957bc6b2bed042fa360e31b9dc6455",
)
OUTPUT_ID = hex_param(
    "outputId",
    "Id of an output: transaction id, then output index (two bytes, little-endian)",
    34,
    "09e65d589aa1616deab709b6b5f6314be7176b591a9723ffe1e57fe37bb2292f0000",
)
TAG = Param(
    "index",
    "query",
    "The index bytes as hex, or with utf8=true as text; messages whose indexation payload, direct or inside a "
    "transaction, has this index",
    f"hex of 1 to {TAG_MAX_BYTES} bytes",
    {"type": "string", "minLength": 1, "maxLength": 2 * TAG_MAX_BYTES},
    str,
    "7065726d616e6f6465",
    required=True,
)
OUTPUT_TYPE = Param(
    "type",
    "query",
    "Only outputs of this type: 0 SigLockedSingle, 1 SigLockedDustAllowance",
    "0 or 1",
    {"type": "integer", "enum": [0, 1]},
    choice({"0": 0, "1": 1}),
    0,
)
INCLUDE_SPENT = flag("include-spent", "Also outputs that are spent", default="false")

INCLUDE_SPENT_IN_HISTORY = replace(INCLUDE_SPENT, elsewhere={CHRONICLE: {"default": "true"}})
"""For the route that Chronicle had: it knew no spent outputs apart. The bech32 one is only the node's."""

INCLUDED = flag(
    "included",
    "Only outputs that an included transaction created; false: also those that only conflicting ones would have",
    default="true",
)
LEDGER_NONE = flag(
    "ledger_none", "Also transactions without inclusion state; an archive lists none of them", default="true"
)
LEDGER_INCLUDED = flag("ledger_included", "Also included transactions", default="true")
LEDGER_CONFLICTING = flag("ledger_conflicting", "Also conflicting transactions", default="true")
EXPANDED = flag("expanded", "Objects with inclusion state and milestone in place of ids", default="false")
START_MILESTONE = Param(
    "start",
    "query",
    "The first milestone",
    f"an integer from 0 to {INDEX_MAX}",
    {"type": "integer", "minimum": 0, "maximum": INDEX_MAX},
    lambda text: parse_int(text, 0, INDEX_MAX),
    1,
    default="1",
)
END_MILESTONE = replace(
    START_MILESTONE, name="end", meaning="The milestone before which it ends", example=1000, default=str(2**31 - 1)
)

HISTORY_PAGE_SIZE = replace(PAGE_SIZE, name="pageSize", **page_size(INX_API_CORE_V1, MAXIMUM), elsewhere={})
"""As inx-api-core-v1 spells and reads it, at every mount."""


PAGE_SIZE_OF_100 = replace(PAGE_SIZE, elsewhere={CHRONICLE: page_size(CHRONICLE_V1, 100)})
"""For routes that Chronicle had. A wallet, which asks by bech32 as it asks a node, looks at no second page."""

MessageId: TypeAlias = Annotated[str, MESSAGE_ID]
OutputId: TypeAlias = Annotated[str, OUTPUT_ID]
OutputIndex: TypeAlias = Annotated[int, OUTPUT_INDEX]
TransactionId: TypeAlias = Annotated[str, TRANSACTION_ID]
Ed25519Address: TypeAlias = Annotated[str, ED25519_ADDRESS]
Tag: TypeAlias = Annotated[str, TAG]
OutputType: TypeAlias = Annotated[int | None, OUTPUT_TYPE]
IncludeSpent: TypeAlias = Annotated[bool, INCLUDE_SPENT]
IncludeSpentInHistory: TypeAlias = Annotated[bool, INCLUDE_SPENT_IN_HISTORY]
Included: TypeAlias = Annotated[bool, INCLUDED]
LedgerNone: TypeAlias = Annotated[bool, LEDGER_NONE]
LedgerIncluded: TypeAlias = Annotated[bool, LEDGER_INCLUDED]
LedgerConflicting: TypeAlias = Annotated[bool, LEDGER_CONFLICTING]
Expanded: TypeAlias = Annotated[bool, EXPANDED]
StartMilestone: TypeAlias = Annotated[int, START_MILESTONE]
EndMilestone: TypeAlias = Annotated[int, END_MILESTONE]
HistoryPageSize: TypeAlias = Annotated[int, HISTORY_PAGE_SIZE]
PageSizeOf100: TypeAlias = Annotated[int, PAGE_SIZE_OF_100]


def tag_of(index: str, *, utf8: bool) -> str:
    """The index bytes as lowercase hex; BadParameter when it is not that."""
    try:
        return parse_hex(index.encode().hex() if utf8 else index, 1, TAG_MAX_BYTES)
    except ValueError as error:
        expected = f"text of 1 to {TAG_MAX_BYTES} bytes" if utf8 else TAG.expected
        raise BadParameter(TAG.name, expected, index) from error
