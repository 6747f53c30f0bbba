"""Explorer v2, the ledger state: balances, who owns most, how tokens are spread, what a milestone changed.

Rules of this file: as in explorer_v2.py.
"""

from collections import Counter
from collections.abc import AsyncGenerator
from operator import itemgetter

from api.explorer_v2.responses import BalanceAnswer, RichestAddresses, TokenDistribution, UpdatesOfMilestone
from api.fields.inx_chronicle_params import After, ChangeCursor, ExplorerPageSize, LedgerIndex, LedgerIndexAsServed, Top
from api.fields.params import Address
from api.fields.stardust_params import MilestoneId
from api.http.errors import BadParameter, NotKept
from api.http.operations import Operation
from api.http.streaming import exports_of
from api.listing import Json
from api.network import NetworkMount
from db.queries import balances, ledger, milestones, outputs
from db.store import NotFound
from ledger.chrysalis.codec import TreasuryOutput
from ledger.stardust.codec import decode_output

U64_MAX = 2**64 - 1

OUTPUTS_MAX = 100_000
"""Unspent outputs whose conditions one request looks at."""

DECODED_AT_ONCE = 1_000

FIGURES = ("addressCount", "totalBalance")
"""Of a power of ten."""


async def balance_of_address(network: NetworkMount, address: Address) -> Json:
    """What an address may spend at ledgerIndex: 404 where no unspent output names it.

    Outputs that expired count for their return address, whole; others for their owner, without the deposit that goes
    back. What is locked for some time is left out of availableBalance. Times are held against that of the milestone.
    """
    serialized = network.address(address)
    as_of = await ledger.get_ledger_index(network.store, network.name)
    (now,) = await milestones.find_timestamps(network.store, [as_of])
    found = await balances.find_balance(network.store, serialized, as_of=as_of, unix_time=now or 0, most=OUTPUTS_MAX)
    if not found.outputs:
        raise NotFound(f"an unspent output of {network.bech32(serialized)}")
    if found.outputs > OUTPUTS_MAX:
        raise NotKept(f"a balance is summed of at most {OUTPUTS_MAX} unspent outputs, and this address has more")
    return {
        "totalBalance": str(found.total),
        "availableBalance": str(found.available),
        "ledgerIndex": as_of,
        "nativeTokens": await native_tokens(network, found.with_tokens),
    }


async def native_tokens(network: NetworkMount, output_ids: list[str]) -> list[Json]:
    """The native tokens in those outputs, summed, by id."""
    amounts = Counter[bytes]()
    for first in range(0, len(output_ids), DECODED_AT_ONCE):
        for row in await outputs.find_outputs(network.store, output_ids[first : first + DECODED_AT_ONCE]):
            output = decode_output(row["data"]) if row else None
            if output is not None and not isinstance(output, TreasuryOutput):
                amounts.update({token.token_id: token.amount for token in output.native_tokens})
    return [{"id": f"0x{each.hex()}", "amount": hex(amounts[each])} for each in sorted(amounts)]


async def updates_by_milestone(
    network: NetworkMount, milestone_id: MilestoneId, page_size: ExplorerPageSize, after: ChangeCursor
) -> Json:
    """The outputs that a milestone created and spent, by output id, and whose each was then."""
    index = (await milestones.get_milestone_by_id(network.store, milestone_id))["milestone_index"]
    if index not in await ledger.get_applied(network.store, network.name):
        raise NotFound(f"what milestone {index} changed")
    at = after or After(page_size)
    page = await ledger.list_updates_by_milestone(
        network.store, index, page_size=at.page_size, cursor=at.cursor, start=at.start
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


async def richest_addresses(
    network: NetworkMount, top: Top, ledger_index: LedgerIndex, as_served: LedgerIndexAsServed
) -> Json:
    """Who owns most: the base tokens of all unspent outputs that name an address their owner.

    Conditions of an output do not matter here.
    """
    if None not in (ledger_index, as_served):
        raise BadParameter("ledger_index", "nothing beside ledgerIndex", str(as_served))
    index = await known_index(network, as_served if ledger_index is None else ledger_index)
    rows = await ledger.list_richest(network.store, network.name, index, page_size=top)
    if not rows:
        raise not_kept(index)
    owners = [{"address": network.bech32(row["address"]), "balance": str(row["balance"])} for row in rows]
    return {"top": owners, "ledgerIndex": index}


async def token_distribution(network: NetworkMount, ledger_index: LedgerIndex) -> Json:
    """How tokens are spread over the addresses that own any, by power of ten of the balance."""
    index = await known_index(network, ledger_index)
    rows = await ledger.get_distribution(network.store, network.name, index)
    if not rows:
        raise not_kept(index)
    distribution = [
        {
            "range": {"start": 10 ** row["power"], "end": min(10 ** (row["power"] + 1), U64_MAX)},
            "addressCount": str(row["addresses"]),
            "totalBalance": str(row["amount"]),
        }
        for row in rows
    ]
    return {"distribution": distribution, "ledgerIndex": index}


async def all_richest(
    network: NetworkMount, top: Top, ledger_index: LedgerIndex, as_served: LedgerIndexAsServed
) -> AsyncGenerator[list[Json]]:
    """The owners of `richest_addresses`."""
    yield (await richest_addresses(network, top, ledger_index, as_served))["top"]


async def all_powers(network: NetworkMount, ledger_index: LedgerIndex) -> AsyncGenerator[list[Json]]:
    """The items of `token_distribution`."""
    yield powers(await token_distribution(network, ledger_index))


def powers(answer: Json) -> list[Json]:
    """The items of that answer, each with the ends of its range beside its figures."""
    return [each["range"] | {name: each[name] for name in FIGURES} for each in answer["distribution"]]


async def known_index(network: NetworkMount, asked: int | None) -> int:
    """The ledger index asked for, else that of now; NotFound for one that is not reached."""
    newest = await ledger.get_ledger_index(network.store, network.name)
    if asked is not None and asked > newest:
        raise NotFound(f"the ledger state of {asked}")
    return newest if asked is None else asked


def not_kept(index: int) -> NotKept:
    """The refusal of a ledger index that was reached, and is not among those that are kept."""
    return NotKept(f"who owned how much at {index} is not kept: ask without ledgerIndex, or for one of the last loads")


RICHEST_ADDRESSES = Operation(
    "/ledger/richest-addresses",
    richest_addresses,
    RichestAddresses,
    (404, 501),
    exports=exports_of(all_richest, ("address", "balance"), itemgetter("top")),
)
TOKEN_DISTRIBUTION = Operation(
    "/ledger/token-distribution",
    token_distribution,
    TokenDistribution,
    (404, 501),
    exports=exports_of(all_powers, ("start", "end", *FIGURES), powers),
)
"""These two stand in analytics v2 as well."""

EXPLORER_LEDGER = (
    Operation("/balance/{address}", balance_of_address, BalanceAnswer, (404, 501)),
    Operation("/ledger/updates/by-milestone/{milestoneId}", updates_by_milestone, UpdatesOfMilestone, (404, 501)),
    RICHEST_ADDRESSES,
    TOKEN_DISTRIBUTION,
)
