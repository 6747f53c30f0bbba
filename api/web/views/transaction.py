"""The page of a transaction: its inputs and outputs, and the messages that contain it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from api.web import coverage, formats, payloads
from api.web.graph import flow_of
from api.web.inclusion import reason_of
from api.web.outputs import Unlocking, chain_of, output_id, unlock_texts, unlocking_of
from api.web.page import Answer, Page, Redirect, View
from api.web.views.message import BLOCK, MESSAGE, Form
from api.web.views.search import page_of
from api.web.visit import Visit, segment
from db.coverage import missing
from db.schema.protocols import IOTA
from db.together import together

ATTACHMENTS = 25
"""Messages with the transaction in a part of the list."""


@dataclass(frozen=True, slots=True)
class Attached:
    """A transaction, and the message that shows it: the included one, else the first.

    Attributes:
        form: the era.
        id: of the transaction, as its era writes it.
        payload: its JSON.
        attachments: the answer about its messages that a milestone references.
        pending: its messages that no milestone references yet.
        metadata: of the message; empty while the transaction is pending.
    """

    form: Form
    id: str
    payload: Mapping[str, Any]
    attachments: Mapping[str, Any]
    pending: Sequence[str]
    metadata: Mapping[str, Any]

    @property
    def state(self) -> str:
        """included, conflicting or pending."""
        return str(self.metadata.get("ledgerInclusionState", "pending"))


@dataclass(frozen=True, slots=True)
class End:
    """An input or output of a transaction.

    Attributes:
        id: of the output that is spent or created.
        output: its JSON; None if the archive does not have it.
        unlocking: who can unlock it.
        chain: page and id of the alias, NFT or foundry.
        spent_by: the transaction that spent it, if it is spent.
        is_known: whether the ledger of the archive has it.
    """

    id: str
    output: Mapping[str, Any] | None
    unlocking: Unlocking | None
    chain: tuple[str, str] | None
    spent_by: str | None
    is_known: bool

    @property
    def amount(self) -> int:
        """Its amount in the smallest unit; 0 if it is not known."""
        return int(self.output["amount"]) if self.output else 0


async def transaction(visit: Visit) -> Answer:
    """A transaction that is applied, in conflict or pending. The id of another object leads to that object's page."""
    digits = visit.params["id"].removeprefix("0x").lower()
    found = await find_transaction(visit, digits, visit.query.get("blocks"))
    if found is None:
        others = await visit.json("search", q=digits)
        if len(others["results"]) == 1 and others["results"][0]["kind"] != "transaction":
            return Redirect(page_of(others["results"][0]))
        raise await missing(visit.mount.store, f"transaction {digits}")
    if found.id != visit.params["id"]:
        return Redirect(f"/{visit.network}/transaction/{found.id}")
    essence = found.payload["essence"]
    inputs = [
        output_id(form_id(found.form, each["transactionId"]), each["transactionOutputIndex"])
        for each in essence["inputs"]
    ]
    created = [(output_id(found.id, index), each) for index, each in enumerate(essence["outputs"])]
    milestone = found.metadata.get("referencedByMilestoneIndex")
    level, spent, made = await together(
        coverage.level_at(visit, milestone),
        together(*(end_of(visit, each) for each in inputs)),
        together(*(end_of(visit, id_, output) for id_, output in created)),
    )
    height, bands = flow_of([each.amount for each in spent], [each.amount for each in made])
    cursor = found.attachments["cursor"]
    attachments = [{**each, "blockId": form_id(found.form, each["blockId"])} for each in found.attachments["items"]]
    values = {
        "id": found.id,
        "kind": found.form.kind,
        "state": found.state,
        "milestone": milestone,
        "reason": reason_of(found.metadata, is_stardust=found.form is BLOCK),
        "level": level,
        "proof_at": next((each["blockId"] for each in attachments if each["ledgerInclusionState"] == "included"), None),
        "inputs": list(zip(spent, unlock_texts(found.payload), strict=False)),
        "outputs": made,
        "total": sum(each.amount for each in made),
        "height": height,
        "bands": bands,
        "attachments": attachments,
        "next_attachments": visit.here(blocks=cursor) if cursor else None,
        "pending": found.pending,
        "tag": payloads.tag_of(essence.get("payload")),
        "data": payloads.tagged_data_of(essence.get("payload")),
    }
    return Page("transaction", f"Transaction {formats.short(found.id)}", values)


async def find_transaction(visit: Visit, digits: str, cursor: str | None = None) -> Attached | None:
    """Returns a transaction; None if no message of the archive contains it.

    Args:
        visit: the request.
        digits: the id of the transaction in hex, without 0x.
        cursor: of the next part of its messages.
    """
    attachments, waiting = await together(
        visit.json(f"explorer/v2/transactions/{segment(digits)}/blocks", pageSize=ATTACHMENTS, cursor=cursor),
        visit.find(f"explorer/v2/pending/transactions/{segment(digits)}", pageSize=ATTACHMENTS),
    )
    unreferenced = waiting["items"] if waiting else []
    pending = [each["blockId"] for each in unreferenced]
    if attachments["items"] or cursor:
        shown = attachments["items"][0]["blockId"].removeprefix("0x")
        for form in (MESSAGE, BLOCK):
            found = await visit.find(form.path.format(shown))
            if found is not None:
                metadata = await visit.json(form.metadata.format(shown))
                whole = found["data"] if form is MESSAGE else found
                metadata = metadata["data"] if form is MESSAGE else metadata
                ids = [form_id(form, each) for each in pending]
                return Attached(form, form.prefix + digits, whole["payload"], attachments, ids, metadata)
    if not pending:
        return None
    payload = unreferenced[0]["payload"]
    form = BLOCK if "unlocks" in payload else MESSAGE
    ids = [form_id(form, each) for each in pending]
    return Attached(form, form.prefix + digits, payload, attachments, ids, {})


def form_id(form: Form, id_: str) -> str:
    """Returns an id as an era writes it."""
    return form.prefix + id_.removeprefix("0x")


async def end_of(visit: Visit, id_: str, output: Mapping[str, Any] | None = None) -> End:
    """Returns an input or output of a transaction.

    Args:
        visit: the request. Its sources do not list the outputs: a transaction may have 256.
        id_: the output's id.
        output: its JSON; of an input, what the archive has.
    """
    answer = await replace(visit, sources=[]).find(f"outputs/{id_.removeprefix('0x')}")
    found = answer["data"] if answer else {}
    shown = output or found.get("output")
    return End(
        id_,
        shown,
        unlocking_of(shown, visit.mount) if shown else None,
        chain_of(shown, id_) if shown else None,
        found.get("transactionIdSpent"),
        answer is not None,
    )


VIEWS = (View("/{network}/transaction/{id}", transaction, IOTA),)
