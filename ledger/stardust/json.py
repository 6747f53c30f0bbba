"""Renders Stardust values as the JSON of the node's REST API v2 (TIP-25, Hornet 2.0). The inverse is `json_parse`.

Hex has the prefix 0x. u64 are decimal texts, u256 hex texts without leading zeros, smaller numbers are JSON numbers.
Keys have Hornet's order, and keys that Hornet omits when empty are omitted. `RENDER` has the tags of `codec.KINDS`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from ledger.chrysalis.values import (
    MigratedFunds,
    ReferenceUnlock,
    SignatureUnlock,
    TreasuryInput,
    TreasuryOutput,
    TreasuryTransaction,
    UtxoInput,
)
from ledger.stardust.conditions import ED25519
from ledger.stardust.transaction import ESSENCE
from ledger.stardust.values import (
    AliasOutput,
    AliasUnlock,
    BasicOutput,
    Block,
    Essence,
    Expiration,
    FoundryOutput,
    Metadata,
    Milestone,
    MilestoneOption,
    MilestoneSignature,
    NftOutput,
    NftUnlock,
    Output,
    ParametersOption,
    Payload,
    ReceiptOption,
    SimpleTokenScheme,
    StorageDepositReturn,
    Tag,
    TaggedData,
    Timelock,
    Transaction,
    TransferOutput,
)

Json: TypeAlias = dict[str, Any]

ADDRESS_KEYS = {0: "pubKeyHash", 8: "aliasId", 16: "nftId"}
"""The JSON key of the hash or id, by address type."""


def block_json(block: Block) -> Json:
    """Renders the response of GET blocks/{id}. A block without payload has no key `payload`."""
    rendered = {"protocolVersion": block.protocol_version, "parents": [_hex(parent) for parent in block.parents]}
    if block.payload is not None:
        rendered["payload"] = payload_json(block.payload)
    rendered["nonce"] = str(block.nonce)
    return rendered


def payload_json(payload: Payload) -> Json:
    """Renders a payload of any kind, including treasury transactions."""
    return RENDER["payload"][payload.KIND](payload)


def output_json(output: Output) -> Json:
    """Renders an output as in GET outputs/{id}."""
    return RENDER["output"][output.KIND](output)


def address_json(address: bytes) -> Json:
    """Renders a serialized address: its type, and the hash or id under the type's key."""
    tag = address[0]
    return {"type": tag, ADDRESS_KEYS[tag]: _hex(address[1:])}


def milestone_json(milestone: Milestone) -> Json:
    """Renders a milestone payload as in GET milestones/{id}."""
    rendered = {
        "type": Milestone.KIND,
        "index": milestone.index,
        "timestamp": milestone.timestamp,
        "protocolVersion": milestone.protocol_version,
        "previousMilestoneId": _hex(milestone.previous_milestone_id),
        "parents": [_hex(parent) for parent in milestone.parents],
        "inclusionMerkleRoot": _hex(milestone.inclusion_merkle_root),
        "appliedMerkleRoot": _hex(milestone.applied_merkle_root),
    }
    if milestone.metadata:
        rendered["metadata"] = _hex(milestone.metadata)
    if milestone.options:
        rendered["options"] = _items(milestone.options, "milestone option")
    rendered["signatures"] = [_signature(each) for each in milestone.signatures]
    return rendered


def option_json(option: MilestoneOption) -> Json:
    """Renders a milestone option: a receipt as in GET receipts, or protocol parameters as in GET info."""
    return RENDER["milestone option"][option.KIND](option)


def _hex(data: bytes) -> str:
    return "0x" + data.hex()


def _items(values: Iterable[Any], family: str) -> list[Json]:
    render = RENDER[family]
    return [render[each.KIND](each) for each in values]


def _tagged_data(payload: TaggedData) -> Json:
    rendered: Json = {"type": TaggedData.KIND}
    if payload.tag:
        rendered["tag"] = _hex(payload.tag)
    if payload.data:
        rendered["data"] = _hex(payload.data)
    return rendered


def _transaction(payload: Transaction) -> Json:
    return {
        "type": Transaction.KIND,
        "essence": essence_json(payload.essence),
        "unlocks": _items(payload.unlocks, "unlock"),
    }


def essence_json(essence: Essence) -> Json:
    """Renders the essence of a transaction."""
    rendered = {
        "type": ESSENCE,
        "networkId": str(essence.network_id),
        "inputs": [_utxo_input(each) for each in essence.inputs],
        "inputsCommitment": _hex(essence.inputs_commitment),
        "outputs": _items(essence.outputs, "output"),
    }
    if essence.payload is not None:
        rendered["payload"] = _tagged_data(essence.payload)
    return rendered


def _utxo_input(value: UtxoInput) -> Json:
    return {"type": UtxoInput.KIND, "transactionId": _hex(value.transaction_id), "transactionOutputIndex": value.index}


def _treasury_input(value: TreasuryInput) -> Json:
    return {"type": TreasuryInput.KIND, "milestoneId": _hex(value.milestone_id)}


def _treasury_output(output: TreasuryOutput) -> Json:
    return {"type": TreasuryOutput.KIND, "amount": str(output.amount)}


def _treasury_transaction(payload: TreasuryTransaction) -> Json:
    return {
        "type": TreasuryTransaction.KIND,
        "input": _treasury_input(payload.input),
        "output": _treasury_output(payload.output),
    }


def _basic(output: BasicOutput) -> Json:
    return _conditions_and_features(_head(output), output)


def _alias(output: AliasOutput) -> Json:
    rendered = _head(output)
    rendered["aliasId"] = _hex(output.alias_id)
    rendered["stateIndex"] = output.state_index
    if output.state_metadata:
        rendered["stateMetadata"] = _hex(output.state_metadata)
    rendered["foundryCounter"] = output.foundry_counter
    return _with_immutable(_conditions_and_features(rendered, output), output)


def _foundry(output: FoundryOutput) -> Json:
    rendered = _head(output)
    rendered["serialNumber"] = output.serial_number
    rendered["tokenScheme"] = _simple_scheme(output.token_scheme)
    return _with_immutable(_conditions_and_features(rendered, output), output)


def _nft(output: NftOutput) -> Json:
    rendered = _head(output)
    rendered["nftId"] = _hex(output.nft_id)
    return _with_immutable(_conditions_and_features(rendered, output), output)


def _head(output: TransferOutput) -> Json:
    rendered: Json = {"type": output.KIND, "amount": str(output.amount)}
    if output.native_tokens:
        rendered["nativeTokens"] = [
            {"id": _hex(each.token_id), "amount": hex(each.amount)} for each in output.native_tokens
        ]
    return rendered


def _conditions_and_features(rendered: Json, output: TransferOutput) -> Json:
    rendered["unlockConditions"] = _items(output.unlock_conditions, "unlock condition")
    if output.features:
        rendered["features"] = _items(output.features, "feature")
    return rendered


def _with_immutable(rendered: Json, output: AliasOutput | FoundryOutput | NftOutput) -> Json:
    if output.immutable_features:
        rendered["immutableFeatures"] = _items(output.immutable_features, "feature")
    return rendered


def _simple_scheme(scheme: SimpleTokenScheme) -> Json:
    return {
        "type": SimpleTokenScheme.KIND,
        "mintedTokens": hex(scheme.minted),
        "meltedTokens": hex(scheme.melted),
        "maximumSupply": hex(scheme.maximum),
    }


def _address_item(value: Any) -> Json:
    return {"type": value.KIND, "address": address_json(value.address)}


def _deposit_return(value: StorageDepositReturn) -> Json:
    return {
        "type": StorageDepositReturn.KIND,
        "returnAddress": address_json(value.return_address),
        "amount": str(value.amount),
    }


def _timelock(value: Timelock) -> Json:
    return {"type": Timelock.KIND, "unixTime": value.unix_time}


def _expiration(value: Expiration) -> Json:
    return {
        "type": Expiration.KIND,
        "returnAddress": address_json(value.return_address),
        "unixTime": value.unix_time,
    }


def _metadata(value: Metadata) -> Json:
    return {"type": Metadata.KIND, "data": _hex(value.data)}


def _tag(value: Tag) -> Json:
    return {"type": Tag.KIND, "tag": _hex(value.tag)}


def _signature(value: SignatureUnlock | MilestoneSignature) -> Json:
    return {"type": ED25519, "publicKey": _hex(value.public_key), "signature": _hex(value.signature)}


def _signature_unlock(unlock: SignatureUnlock) -> Json:
    return {"type": SignatureUnlock.KIND, "signature": _signature(unlock)}


def _reference(unlock: ReferenceUnlock | AliasUnlock | NftUnlock) -> Json:
    return {"type": unlock.KIND, "reference": unlock.index}


def _receipt(option: ReceiptOption) -> Json:
    return {
        "type": ReceiptOption.KIND,
        "migratedAt": option.migrated_at,
        "funds": [_migrated_funds(each) for each in option.funds],
        "transaction": _treasury_transaction(option.transaction),
        "final": option.final,
    }


def _migrated_funds(funds: MigratedFunds) -> Json:
    return {
        "tailTransactionHash": _hex(funds.tail_transaction_hash),
        "address": address_json(funds.address),
        "deposit": str(funds.deposit),
    }


def _parameters(option: ParametersOption) -> Json:
    return {
        "type": ParametersOption.KIND,
        "targetMilestoneIndex": option.target_milestone_index,
        "protocolVersion": option.protocol_version,
        "params": _hex(option.params) if option.params else "",
    }


RENDER: Mapping[str, Mapping[int, Callable[[Any], Json]]] = {
    "payload": {4: _treasury_transaction, 5: _tagged_data, 6: _transaction, 7: milestone_json},
    "input": {0: _utxo_input, 1: _treasury_input},
    "output": {2: _treasury_output, 3: _basic, 4: _alias, 5: _foundry, 6: _nft},
    "unlock": {0: _signature_unlock, 1: _reference, 2: _reference, 3: _reference},
    "unlock condition": {
        0: _address_item,
        1: _deposit_return,
        2: _timelock,
        3: _expiration,
        4: _address_item,
        5: _address_item,
        6: _address_item,
    },
    "feature": {0: _address_item, 1: _address_item, 2: _metadata, 3: _tag},
    "token scheme": {0: _simple_scheme},
    "milestone option": {0: _receipt, 1: _parameters},
}
