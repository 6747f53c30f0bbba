"""Explorer v2, the ledger state: balances, richest addresses, token distribution, and the changes of a milestone."""

from collections import Counter

from api.explorer_v2.responses import BalanceAnswer, UpdatesOfMilestone
from api.fields.inx_chronicle_params import After, ChangeCursor, ExplorerPageSize
from api.fields.params import Address, OldestFirst, StateIndex
from api.fields.stardust_params import MilestoneId
from api.handlers.ledger_state import state_index
from api.handlers.rich_list import RICHEST_ADDRESSES, TOKEN_DISTRIBUTION
from api.http.errors import NotKept
from api.http.operations import Operation
from api.http.responses import Json
from api.network import NetworkMount
from db.queries import balances, ledger, milestones, outputs
from db.store import NotFound
from ledger.chrysalis.codec import TreasuryOutput
from ledger.stardust.codec import decode_output

OUTPUTS_MAX = 100_000
"""Maximum number of unspent outputs whose conditions one request reads."""

DECODED_AT_ONCE = 1_000


async def balance_of_address(network: NetworkMount, address: Address, at: StateIndex) -> Json:
    """Returns the balance of an address at ledgerIndex.

    The status is 404 if no unspent output names the address. An expired output counts in full for its return address.
    Other outputs count for their owner, without the storage deposit to return. `availableBalance` leaves out outputs
    with a timelock. Conditions are compared with the time of the milestone. The status is 501 if an output has such a
    condition and the time is unknown: that of a genesis that is not a Hornet 2.x snapshot.
    """
    serialized = network.address(address)
    as_of = await state_index(network, at)
    (now,) = await milestones.find_timestamps(network.store, [as_of])
    found = await balances.find_balance(
        network.store, serialized, as_of=as_of, is_fixed=at is not None, unix_time=now, most=OUTPUTS_MAX
    )
    if found.is_partial:
        raise NotKept(f"a balance needs to read more than {OUTPUTS_MAX} outputs of this address")
    if not found.outputs:
        raise NotFound(f"an unspent output of {network.bech32(serialized)}")
    return {
        "totalBalance": str(found.total),
        "availableBalance": str(found.available),
        "ledgerIndex": as_of,
        "nativeTokens": await native_tokens(network, found.with_tokens),
    }


async def native_tokens(network: NetworkMount, output_ids: list[str]) -> list[Json]:
    """Returns the sums of native tokens in these outputs, by id."""
    amounts = Counter[bytes]()
    for first in range(0, len(output_ids), DECODED_AT_ONCE):
        for row in await outputs.find_outputs(network.store, output_ids[first : first + DECODED_AT_ONCE]):
            output = decode_output(row["data"]) if row else None
            if output is not None and not isinstance(output, TreasuryOutput):
                amounts.update({token.token_id: token.amount for token in output.native_tokens})
    return [{"id": f"0x{each.hex()}", "amount": hex(amounts[each])} for each in sorted(amounts)]


async def updates_by_milestone(
    network: NetworkMount,
    milestone_id: MilestoneId,
    newest: OldestFirst,
    page_size: ExplorerPageSize,
    after: ChangeCursor,
) -> Json:
    """Returns the outputs that a milestone created and spent, by output id, with their owner at that time.

    `sort=newest`, an extension, returns the exact reverse.
    """
    index = (await milestones.get_milestone_by_id(network.store, milestone_id))["milestone_index"]
    if index not in await ledger.get_applied(network.store, network.name):
        raise NotFound(f"the changes of milestone {index}")
    at = after or After(page_size)
    page = await ledger.list_updates_by_milestone(
        network.store, index, newest=newest, page_size=at.page_size, cursor=at.cursor, start=at.start
    )
    items = [
        {
            "address": network.bech32(row["address"]),
            "outputId": f"0x{row['output_id']}",
            "isSpent": row["is_spent"],
            "amount": str(row["amount"]),
        }
        for row in page.rows
    ]
    return {"milestoneIndex": index, "items": items, "cursor": at.next(page)}


EXPLORER_LEDGER = (
    Operation("/balance/{address}", balance_of_address, BalanceAnswer, (404, 501)),
    Operation(
        "/ledger/updates/by-milestone/{milestoneId}",
        updates_by_milestone,
        UpdatesOfMilestone,
        (404, 501),
        no_span="one milestone made all these changes",
    ),
    RICHEST_ADDRESSES,
    TOKEN_DISTRIBUTION,
)
