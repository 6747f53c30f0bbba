"""The page of an output: its life, who can unlock it, its features, and its storage deposit."""

from collections.abc import Mapping
from typing import Any

from api.web import formats
from api.web.outputs import OUTPUT_ID_DIGITS, chain_of, features_of, position_of, unlocking_of
from api.web.page import Answer, Page, Redirect, View
from api.web.payloads import data_of
from api.web.views.message import BLOCK, MESSAGE, RAW, Form
from api.web.views.search import page_of
from api.web.views.transaction import find_transaction
from api.web.visit import Visit, segment
from db.coverage import missing
from db.schema.protocols import IOTA
from db.together import together
from ledger.json_reader import JsonError
from ledger.stardust.protocol_parameters import parse_parameters_json, storage_deposit

CHRYSALIS_KINDS = (0, 1)
"""Types of Chrysalis outputs with an owner."""


async def output(visit: Visit) -> Answer:
    """An output of the ledger, or of a transaction that is pending or in conflict."""
    digits = visit.params["id"].removeprefix("0x").lower()
    found = await visit.find(f"outputs/{segment(digits)}")
    if found is None:
        return await never_booked(visit, digits)
    value = found["data"]["output"]
    form = MESSAGE if value["type"] in CHRYSALIS_KINDS else BLOCK
    id_ = form.prefix + digits
    if id_ != visit.params["id"]:
        return Redirect(f"/{visit.network}/output/{id_}")
    life = await life_of(visit, found["data"], digits)
    metadata = {
        key: form.prefix + each.removeprefix("0x") if isinstance(each, str) else each for key, each in life.items()
    }
    deposit = await deposit_of(visit, id_) if form is BLOCK else None
    return page(visit, form, id_, value, {"metadata": metadata, "deposit": deposit, "state": "booked"})


async def life_of(visit: Visit, found: Mapping[str, Any], digits: str) -> Mapping[str, Any]:
    """Returns when an output was created and spent, as core API v2 writes it.

    That API does not have outputs that were spent before Stardust. Their times are those of their messages' milestones.
    """
    whole = await visit.find(f"core/v2/outputs/{digits}")
    if whole is not None:
        return dict(whole["metadata"])
    life = {**found, "blockId": found["messageId"], "milestoneIndexBooked": 0, "milestoneTimestampBooked": 0}
    if found["messageId"].strip("0"):
        metadata = await visit.json(f"messages/{found['messageId']}/metadata")
        booked = metadata["data"]["referencedByMilestoneIndex"]
        life |= {"milestoneIndexBooked": booked, "milestoneTimestampBooked": await time_of(visit, booked)}
    return {**life, "milestoneTimestampSpent": await time_of(visit, found["milestoneIndexSpent"])}


async def time_of(visit: Visit, index: int) -> int:
    """Returns the timestamp of a Chrysalis milestone; 0 if the archive does not have the milestone."""
    found = await visit.find(f"milestones/{index}")
    return int(found["data"]["timestamp"]) if found else 0


async def never_booked(visit: Visit, digits: str) -> Answer:
    """An output that the ledger does not have: of a pending transaction, or of one in conflict. Raises NotFound."""
    if len(digits) == OUTPUT_ID_DIGITS:
        transaction_id, index = position_of(digits)
        found = await find_transaction(visit, transaction_id)
        if found is not None and index < len(found.payload["essence"]["outputs"]):
            id_ = found.form.prefix + digits
            if id_ != visit.params["id"]:
                return Redirect(f"/{visit.network}/output/{id_}")
            value = found.payload["essence"]["outputs"][index]
            milestone = found.metadata.get("referencedByMilestoneIndex")
            given = {"metadata": {"transactionId": found.id, "outputIndex": index}, "milestone": milestone}
            return page(visit, found.form, id_, value, {**given, "state": found.state, "deposit": None})
    others = await visit.json("search", q=digits)
    if len(others["results"]) == 1 and others["results"][0]["kind"] != "output":
        return Redirect(page_of(others["results"][0]))
    raise await missing(visit.mount.store, f"output {digits}")


def page(visit: Visit, form: Form, id_: str, value: Mapping[str, Any], given: Mapping[str, Any]) -> Page:
    """Returns the page of an output. `given`: state, metadata and storage deposit."""
    values = {
        "milestone": None,
        **given,
        "id": id_,
        "kind": form.kind,
        "value": value,
        "unlocking": unlocking_of(value, visit.mount),
        "features": features_of(value, visit.mount),
        "state_metadata": data_of(value["stateMetadata"]) if value.get("stateMetadata") else None,
        "chain": chain_of(value, id_),
    }
    return Page("output", f"Output {formats.short(id_)}", values)


async def deposit_of(visit: Visit, id_: str) -> tuple[int, int] | None:
    """Returns the storage deposit of a Stardust output by the newest protocol parameters, and the size of its bytes;
    None if the parameters are not known.
    """
    info, data = await together(visit.json("core/v2/info"), visit.body(f"core/v2/outputs/{id_}", RAW))
    try:
        parameters = parse_parameters_json(info["protocol"])
    except (JsonError, KeyError):
        return None
    return storage_deposit(data, parameters), len(data)


VIEWS = (View("/{network}/output/{id}", output, IOTA),)
