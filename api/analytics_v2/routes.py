"""Analytics v2: the endpoints of inx-chronicle 1.0.0-beta.22, and the list of all operations of the family.

Endpoints of the ledger state read one row of `ms_analytics`. Endpoints of activity sum rows over a range of milestones,
whose length is bounded.
"""

from collections.abc import Sequence

from api.analytics_v2.address_routes import ANALYTICS_OF_ADDRESSES
from api.analytics_v2.measures import byte_cost
from api.analytics_v2.params import END_INDEX, START_INDEX, EndIndex, StartIndex
from api.analytics_v2.responses import (
    AddressStatistics,
    Claimed,
    MilestoneStatistics,
    ObjectStatistics,
    OutputStatistics,
    StorageDepositStatistics,
)
from api.analytics_v2.series_routes import ANALYTICS_SERIES
from api.fields.inx_chronicle_params import LedgerIndex
from api.fields.params import MilestoneIndex
from api.fields.stardust_params import MilestoneId
from api.handlers.analysed_state import ledger_row, state_row
from api.handlers.parameter_history import parameters_at
from api.handlers.rich_list import RICHEST_ADDRESSES, TOKEN_DISTRIBUTION
from api.http.errors import BadParameter, NotKept, flat_error_body
from api.http.operations import Family, Handler, Operation
from api.http.responses import FLAT_ERRORS, Json
from api.network import NetworkMount
from db.intervals import Intervals, intersect, size
from db.listing.streams import get_chunk_size
from db.queries import analytics, ledger, milestones
from db.roles import KINDS, STARDUST_KINDS
from db.schema import PENDING_RANGE
from db.store import NotFound
from db.sync import complete

SUMMED_MAX = 100_000
"""Maximum number of milestones that one request sums."""

CHANGES_MAX = 100_000
"""Maximum number of created and spent outputs whose addresses one request reads."""


async def storage_deposits(network: NetworkMount, ledger_index: LedgerIndex) -> Json:
    """Returns the bytes that unspent Stardust outputs store, their cost, and the deposits that the outputs owe."""
    row = await ledger_row(network, ledger_index)
    parameters = await parameters_at(network, row["milestone_index"])
    return {
        "outputCount": str(sum(row[f"{kind}_count"] for kind in STARDUST_KINDS)),
        "storageDepositReturnCount": str(row["storage_deposit_return_count"]),
        "storageDepositReturnTotalValue": str(row["storage_deposit_owed"]),
        "totalKeyBytes": str(row["key_bytes"]),
        "totalDataBytes": str(row["data_bytes"]),
        "totalByteCost": str(byte_cost(row, parameters)),
        "ledgerIndex": row["milestone_index"],
        "rentStructure": {
            "vByteCost": parameters.v_byte_cost,
            "vByteFactorKey": parameters.v_byte_factor_key,
            "vByteFactorData": parameters.v_byte_factor_data,
        },
    }


async def native_tokens(network: NetworkMount, ledger_index: LedgerIndex) -> Json:
    """Returns the number of unspent foundries, one per native token, and the base tokens in them."""
    row = await ledger_row(network, ledger_index)
    return {"count": str(row["foundry_count"]), "totalValue": str(row["foundry_amount"])}


async def nfts(network: NetworkMount, ledger_index: LedgerIndex) -> Json:
    """Returns the number of unspent NFTs, and the base tokens in them."""
    row = await ledger_row(network, ledger_index)
    return {"count": str(row["nft_count"]), "totalValue": str(row["nft_amount"])}


async def claimed_tokens(network: NetworkMount, ledger_index: LedgerIndex) -> Json:
    """Returns the base tokens of genesis outputs that were spent: in the milestone `ledgerIndex`, or in total
    without it.
    """
    row = await ledger_row(network, ledger_index)
    genesis = (await ledger.get_applied(network.store, network.name)).start - 1
    before = await state_row(network, genesis if ledger_index is None else max(genesis, ledger_index - 1))
    return {"count": str(before["unclaimed_amount"] - row["unclaimed_amount"])}


async def requested_milestones(network: NetworkMount, start: int | None, end: int | None) -> Intervals:
    """Returns the complete milestones from `start` to before `end`.

    Raises BadParameter if `end` is lower than `start`, and NotKept if there are more than SUMMED_MAX.
    """
    if end is not None and end < (start or 0):
        raise BadParameter(END_INDEX.name, f"{START_INDEX.name} ({start}) or later", str(end))
    first, last = start or 0, (PENDING_RANGE if end is None else end) - 1
    held = await complete(network.store, network.name)
    requested = intersect(held, [(first, last)]) if first <= last else []
    if size(requested) > SUMMED_MAX:
        raise NotKept(f"{size(requested)} milestones are more than the maximum of {SUMMED_MAX}: request fewer")
    return requested


async def sums(network: NetworkMount, start: int | None, end: int | None, columns: Sequence[str]) -> list[int]:
    """Returns the sums of these columns of `ms_analytics` over the requested milestones. Unknown values count as 0."""
    found = [0] * len(columns)
    for first, last in await requested_milestones(network, start, end):
        async for row in analytics.list_milestones(network.store, network.name, first, last, columns=columns):
            for position, name in enumerate(columns):
                found[position] += row[name] or 0
    return found


async def address_activity(network: NetworkMount, start: StartIndex, end: EndIndex) -> Json:
    """Returns the number of distinct addresses whose outputs were created or spent, up to the ledger index."""
    applied = await ledger.get_applied(network.store, network.name)
    known = intersect(await requested_milestones(network, start, end), [(applied.start, applied.stop - 1)])
    received, sent = set[str](), set[str]()
    changes = 0
    for first, last in known:
        rows = analytics.list_milestones(network.store, network.name, first, last, columns=("active_addresses",))
        async for row in rows:
            if row["active_addresses"] == 0:
                continue
            async for some in ledger.list_changes(network.store, row["milestone_index"]):
                sent.update([change.address for change in some if change.is_spent])
                received.update([change.address for change in some if not change.is_spent])
                changes += len(some)
            if changes > CHANGES_MAX:
                raise NotKept(f"addresses are counted over at most {CHANGES_MAX} changes: request fewer milestones")
    return {
        "totalActiveAddresses": str(len(received | sent)),
        "receivingAddresses": str(len(received)),
        "sendingAddresses": str(len(sent)),
    }


async def created(network: NetworkMount, start: int | None, end: int | None, kinds: Sequence[str]) -> Json:
    """Returns the outputs of these kinds that were created."""
    names = [f"{kind}_created_{what}" for what in ("count", "amount") for kind in kinds]
    found = await sums(network, start, end, names)
    return {"count": str(sum(found[: len(kinds)])), "totalValue": str(sum(found[len(kinds) :]))}


async def output_activity(network: NetworkMount, start: StartIndex, end: EndIndex) -> Json:
    """Returns the number of outputs of all kinds created, and the base tokens in them."""
    return await created(network, start, end, KINDS)


async def basic_output_activity(network: NetworkMount, start: StartIndex, end: EndIndex) -> Json:
    """Returns the number of basic outputs created, and the base tokens in them."""
    return await created(network, start, end, ("basic",))


async def alias_output_activity(network: NetworkMount, start: StartIndex, end: EndIndex) -> Json:
    """Returns the number of alias outputs created, and the base tokens in them."""
    return await created(network, start, end, ("alias",))


async def nft_output_activity(network: NetworkMount, start: StartIndex, end: EndIndex) -> Json:
    """Returns the number of NFT outputs created, and the base tokens in them."""
    return await created(network, start, end, ("nft",))


async def foundry_output_activity(network: NetworkMount, start: StartIndex, end: EndIndex) -> Json:
    """Returns the number of foundry outputs created, and the base tokens in them."""
    return await created(network, start, end, ("foundry",))


async def became_of(network: NetworkMount, start: int | None, end: int | None, kind: str) -> Json:
    """Returns how many chain objects of a kind were created, transferred and destroyed."""
    names = ("new", "transferred", "destroyed")
    found = await sums(network, start, end, [f"{kind}_{name}_count" for name in names])
    return dict(zip(("createdCount", "transferredCount", "burnedCount"), map(str, found), strict=True))


async def native_token_activity(network: NetworkMount, start: StartIndex, end: EndIndex) -> Json:
    """Returns how many foundries were created, transitioned and destroyed.

    This is how inx-chronicle counts native tokens.
    """
    return await became_of(network, start, end, "foundry")


async def nft_activity(network: NetworkMount, start: StartIndex, end: EndIndex) -> Json:
    """Returns how many NFTs were created, transferred and destroyed.

    A new state with the same owner counts as a transfer.
    """
    return await became_of(network, start, end, "nft")


async def milestone_activity(network: NetworkMount, milestone_id: MilestoneId) -> Json:
    """Returns the blocks that a milestone references, by payload and by inclusion state."""
    row = await milestones.get_milestone_by_id(network.store, milestone_id)
    return await blocks_of(network, row["milestone_index"])


async def milestone_activity_by_index(network: NetworkMount, index: MilestoneIndex) -> Json:
    """Returns the blocks that a milestone references, by payload and by inclusion state."""
    return await blocks_of(network, min(index, PENDING_RANGE))


async def blocks_of(network: NetworkMount, index: int) -> Json:
    """Returns the counts of a milestone's blocks. Raises NotFound if the milestone is missing or not analysed."""
    row = await analytics.find_milestone(network.store, await get_chunk_size(network.store), index)
    if row is None or row["message_count"] is None:
        raise NotFound(f"an analysis of milestone {index}")
    return {
        "blocksCount": row["message_count"],
        "perPayloadType": {
            "txPayloadCount": row["transaction_payload_count"],
            "treasuryTxPayloadCount": row["treasury_transaction_payload_count"],
            "milestonePayloadCount": row["milestone_payload_count"],
            "taggedDataPayloadCount": row["tagged_data_payload_count"],
            "noPayloadCount": row["no_payload_count"],
        },
        "perInclusionState": {
            "confirmedTxCount": row["transaction_count"],
            "conflictingTxCount": row["conflicting_count"],
            "noTxCount": row["no_transaction_count"],
        },
    }


def of_outputs(path: str, handler: Handler) -> Operation:
    """Returns an operation that counts created outputs."""
    return Operation(f"/activity/outputs{path}", handler, OutputStatistics, (404, 501))


ANALYTICS_V2 = Family(
    "analytics v2",
    (
        Operation("/ledger/storage-deposit", storage_deposits, StorageDepositStatistics, (404, 501)),
        Operation("/ledger/native-tokens", native_tokens, OutputStatistics, (404, 501)),
        Operation("/ledger/nfts", nfts, OutputStatistics, (404, 501)),
        RICHEST_ADDRESSES,
        TOKEN_DISTRIBUTION,
        Operation("/activity/addresses", address_activity, AddressStatistics, (404, 501)),
        Operation("/activity/claimed-tokens", claimed_tokens, Claimed, (404, 501)),
        of_outputs("", output_activity),
        of_outputs("/basic", basic_output_activity),
        of_outputs("/alias", alias_output_activity),
        of_outputs("/nft", nft_output_activity),
        of_outputs("/foundry", foundry_output_activity),
        Operation("/activity/native-tokens", native_token_activity, ObjectStatistics, (404, 501)),
        Operation("/activity/nfts", nft_activity, ObjectStatistics, (404, 501)),
        Operation("/activity/milestones/{milestoneId}", milestone_activity, MilestoneStatistics, (404,)),
        Operation("/activity/milestones/by-index/{index}", milestone_activity_by_index, MilestoneStatistics, (404,)),
        *ANALYTICS_SERIES,
        *ANALYTICS_OF_ADDRESSES,
    ),
    wrap=lambda value: value,
    error_body=flat_error_body,
    errors=FLAT_ERRORS,
    is_strict=True,
)
