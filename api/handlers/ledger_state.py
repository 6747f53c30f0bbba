"""The ledger state: which one an answer shows, what a milestone changed in it, and the treasury."""

from api.fields.params import MilestoneIndex
from api.http.responses import Json
from api.network import NetworkMount
from db.queries import ledger, milestones
from db.store import NotFound


async def ledger_index(network: NetworkMount, as_of: int | None) -> int:
    """What an answer about outputs names: the ledger state it is true at, else how far all milestones are loaded."""
    return await milestones.get_ledger_index(network.store, network.name) if as_of is None else as_of


async def known_index(network: NetworkMount, asked: int | None) -> int:
    """The ledger index asked for, else that of now; NotFound for one that is not reached."""
    newest = await ledger.get_ledger_index(network.store, network.name)
    if asked is not None and asked > newest:
        raise NotFound(f"the ledger state of {asked}")
    return newest if asked is None else asked


async def utxo_changes(network: NetworkMount, index: MilestoneIndex) -> Json:
    """The outputs that a milestone created and spent, in the order in which they took effect."""
    if index not in await ledger.get_applied(network.store, network.name):
        raise NotFound(f"what milestone {index} changed")
    rows = await ledger.list_changes(network.store, index)
    return {
        "index": index,
        "createdOutputs": [row["output_id"] for row in rows if not row["is_spent"]],
        "consumedOutputs": [row["output_id"] for row in rows if row["is_spent"]],
    }


async def treasury(network: NetworkMount) -> Json:
    """What is left for migration, and the milestone whose receipt left it."""
    ledger_index = await ledger.get_ledger_index(network.store, network.name)
    row = await ledger.get_treasury(network.store, network.name, ledger_index)
    return {"milestoneId": row["milestone_id"], "amount": row["amount"]}
