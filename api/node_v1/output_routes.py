"""Node REST v1, outputs: by id, by transaction and index, and by the address that owns them.

Outputs of both eras have the node's fields; `output` is the JSON of the output's own era. The owner of an alias is its
state controller.
"""

from api import era_routing as eras
from api.fields.chrysalis_params import (
    Ed25519Address,
    Expanded,
    Included,
    IncludeSpent,
    IncludeSpentInHistory,
    NodeAddress,
    NodePageSize,
    NodePageSizeOf100,
    OutputId,
    OutputIndex,
    OutputTransactionId,
    OutputType,
)
from api.fields.params import NewestFirst, Proof, State, StateIndex
from api.fields.span_params import TimedSpan
from api.handlers.ledger_state import ledger_index, listed_index
from api.handlers.listing_proofs import expect_whole, under_roles, with_proofs
from api.http.operations import Operation
from api.http.responses import Json
from api.network import NetworkMount
from api.node_v1.pages import address_head, listing, serialized_ed25519, window
from api.node_v1.responses import AddressOutputsResponse, OutputResponse
from db.queries import ledger, outputs


async def output_of_transaction(
    network: NetworkMount, transaction_id: OutputTransactionId, output_index: OutputIndex
) -> Json:
    """Returns an output by its transaction and index."""
    return await output(network, transaction_id + output_index.to_bytes(2, "little").hex())


async def output(network: NetworkMount, output_id: OutputId) -> Json:
    """Returns an output of an included transaction, and whether it is spent at ledgerIndex.

    `output` has the form of its own era: of Chrysalis as in node REST v1, of Stardust as in core API v2.
    """
    as_of = await ledger.find_ledger_index(network.store, network.name)
    found = await outputs.get_output(network.store, output_id, as_of)
    value: Json = {
        "messageId": found["created_message_id"],
        "transactionId": output_id[:64],
        "outputIndex": int.from_bytes(bytes.fromhex(output_id[64:]), "little"),
        "isSpent": found["spent_milestone_index"] is not None,
    }
    if found["spent_milestone_index"] is not None:
        value["milestoneIndexSpent"] = found["spent_milestone_index"]
        value["transactionIdSpent"] = found["spent_transaction_id"]
    value["output"] = eras.output_json(found)
    value["ledgerIndex"] = await ledger_index(network, as_of)
    return value


async def address_outputs(
    network: NetworkMount,
    address: NodeAddress,
    output_type: OutputType,
    include_spent: IncludeSpent,
    included: Included,
    page_size: NodePageSize,
    state: State,
    newest: NewestFirst,
    expanded: Expanded,
    span: TimedSpan,
    at: StateIndex,
    proof: Proof,
) -> Json:
    """Returns the outputs of an address, by default only those that are unspent at ledgerIndex."""
    whole = {"include-spent=true": include_spent, "included=true": included, "no type": output_type is None}
    expect_whole(proof, whole)
    kinds, limits = await eras.listed_kinds(network), await window(network, span)
    owner = network.address(address)
    page = await outputs.list_outputs_by_address(
        network.store,
        owner,
        kinds=kinds,
        output_type=output_type,
        include_spent=include_spent,
        included=included,
        with_inclusion=expanded,
        window=limits,
        as_of=await listed_index(network, at),
        is_fixed=at is not None,
        newest=newest,
        page_size=page_size,
        cursor=state,
    )
    answer = listing(address_head(owner), "outputIds", "output_id", page, page_size, expanded=expanded)
    answer["ledgerIndex"] = await ledger_index(network, page.as_of)
    if proof is None:
        return answer
    owned = under_roles(outputs.roles_owned_by(owner, kinds))
    return await with_proofs(network, proof, answer, page, owned, limits)


async def ed25519_outputs(
    network: NetworkMount,
    address: Ed25519Address,
    output_type: OutputType,
    include_spent: IncludeSpentInHistory,
    included: Included,
    page_size: NodePageSizeOf100,
    state: State,
    newest: NewestFirst,
    expanded: Expanded,
    span: TimedSpan,
    at: StateIndex,
    proof: Proof,
) -> Json:
    """Returns the outputs of an Ed25519 address in hex."""
    return await address_outputs(
        network,
        serialized_ed25519(network, address),
        output_type,
        include_spent,
        included,
        page_size,
        state,
        newest,
        expanded,
        span,
        at,
        proof,
    )


OUTPUTS_V1 = (
    Operation("/outputs/{outputId}", output, OutputResponse, (404,)),
    Operation("/outputs/{transactionId}/{outputIndex}", output_of_transaction, OutputResponse, (404,)),
    Operation("/addresses/{address}/outputs", address_outputs, AddressOutputsResponse, (404, 501)),
    Operation("/addresses/ed25519/{address}/outputs", ed25519_outputs, AddressOutputsResponse, (404, 501)),
)
