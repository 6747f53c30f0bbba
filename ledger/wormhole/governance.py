"""Decodes governance payloads: a module, its action, the target chain, and the action's fields.

`MODULES` is the only table, with one layout per action. The content of an unknown module or action, or of a known one
in another layout (some chains have their own), is kept as the field `rest`. Only a payload that is too short for its
head is rejected. Source: sdk/vaa/payloads.go of wormhole-foundation/wormhole.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ledger.reader import CodecError, Reader
from ledger.wormhole.fields import (
    ADDRESS,
    EVM_ADDRESS,
    Layout,
    decode_fields,
    listed,
    raw,
    rest,
    sized,
    text,
    u8,
    u16,
    u32,
    u64,
    u256,
)

CORE = "Core"
GUARDIAN_SET_UPDATE = 2

EVERY_CHAIN = 0
"""The target chain that means all chains."""

COSMWASM_CORE = frozenset({3, 18, 19, 28, 32})
"""Chains whose core contract has the fields of TransferFees in the other order: those of cosmwasm/contracts/wormhole,
and Terra's, which was terra/contracts/wormhole.
"""


@dataclass(frozen=True, slots=True)
class Governance:
    """An instruction to contracts. An unknown action has no name. `chain` is None if the layout has no target chain."""

    module: str
    action: int
    action_name: str | None
    target_chain: int | None
    fields: Mapping[str, Any]


def _delegated(reader: Reader, name: str) -> tuple[int, int, tuple[bytes, ...]]:
    chain, threshold = u16(reader, f"{name} chain"), u8(reader, f"{name} threshold")
    keys: tuple[bytes, ...] = listed(u8, EVM_ADDRESS)(reader, f"{name} keys")
    return chain, threshold, keys


def _reason(reader: Reader, name: str) -> str:
    return text(32)(reader, name).strip(" ")  # this field is padded with spaces


def _plan(reader: Reader, name: str) -> str:
    # The name has no length prefix: it ends before the eight bytes of the height.
    data = reader.take(max(reader.end - reader.offset - 8, 0), name)
    return data.decode("utf-8", "replace")


_NEW_CONTRACT: Layout = (("new_contract", ADDRESS),)
_REGISTER: Layout = (("emitter_chain", u16), ("emitter_address", ADDRESS))
_RECOVER: Layout = (("evm_chain_id", u256), ("new_chain", u16))
_CHANNEL: Layout = (("channel_id", text(64)), ("chain", u16))
_ALLOWLIST: Layout = (("contract_address", ADDRESS), ("code_id", u64))
_BRIDGE = {1: ("register_chain", _REGISTER), 2: ("upgrade_contract", _NEW_CONTRACT), 3: ("recover_chain_id", _RECOVER)}

_SWAPPED_FEES: Layout = (("recipient", ADDRESS), ("amount", u256))

MODULES: Mapping[str, Mapping[int, tuple[str, Layout]]] = {
    CORE: {
        1: ("contract_upgrade", _NEW_CONTRACT),
        GUARDIAN_SET_UPDATE: ("guardian_set_update", (("new_index", u32), ("guardians", listed(u8, EVM_ADDRESS)))),
        3: ("set_message_fee", (("fee", u256),)),
        4: ("transfer_fees", (("amount", u256), ("recipient", ADDRESS))),
        5: ("recover_chain_id", _RECOVER),
    },
    "TokenBridge": {
        **_BRIDGE,
        4: ("set_pauser_addresses", (("pauser", sized(u8)), ("freezer", sized(u8)), ("unpauser", sized(u8)))),
    },
    "NFTBridge": _BRIDGE,
    "WormholeRelayer": {
        1: ("register_chain", _REGISTER),
        2: ("upgrade_contract", _NEW_CONTRACT),
        3: ("set_default_delivery_provider", (("new_provider", ADDRESS),)),
    },
    "GlobalAccountant": {
        1: (
            "modify_balance",
            (
                ("sequence", u64),
                ("chain", u16),
                ("token_chain", u16),
                ("token_address", ADDRESS),
                ("kind", u8),
                ("amount", u256),
                ("reason", _reason),
            ),
        ),
    },
    "WasmdModule": {
        1: ("store_code", (("wasm_hash", raw(32)),)),
        2: ("instantiate_contract", (("params_hash", raw(32)),)),
        3: ("migrate_contract", (("params_hash", raw(32)),)),
        4: ("add_wasm_instantiate_allowlist", _ALLOWLIST),
        5: ("delete_wasm_instantiate_allowlist", _ALLOWLIST),
    },
    "GatewayModule": {
        1: ("schedule_upgrade", (("name", _plan), ("height", u64))),
        2: ("cancel_upgrade", ()),
        3: ("set_ibc_composability_mw_contract", (("contract_address", ADDRESS),)),
        4: (
            "slashing_params_update",
            (
                ("signed_blocks_window", u64),
                ("min_signed_per_window", u64),
                ("downtime_jail_duration", u64),
                ("slash_fraction_double_sign", u64),
                ("slash_fraction_downtime", u64),
            ),
        ),
    },
    "CircleIntegration": {
        1: ("update_wormhole_finality", (("finality", u8),)),
        2: ("register_emitter_and_domain", (*_REGISTER, ("domain", u32))),
        3: ("upgrade_contract", _NEW_CONTRACT),
    },
    "IbcReceiver": {1: ("update_channel_chain", _CHANNEL)},
    "IbcTranslator": {1: ("update_channel_chain", _CHANNEL)},
    "GeneralPurposeGovernance": {
        1: (
            "evm_call",
            (("governance_contract", EVM_ADDRESS), ("target_contract", EVM_ADDRESS), ("data", sized(u16))),
        ),
        2: ("solana_call", (("governance_contract", ADDRESS), ("instruction", rest))),
        3: ("sui_call", (("governance_contract", ADDRESS), ("data", rest))),
    },
    "DelegatedGuardians": {1: ("set_config", (("config_index", u256), ("config", listed(u8, _delegated))))},
    "DelegatedManager": {
        1: ("manager_set_update", (("manager_chain", u16), ("new_index", u32), ("manager_set", rest)))
    },
}


def decode_governance(data: bytes) -> Governance:
    """Decodes a message of the governance emitter. Raises CodecError if its head is incomplete."""
    reader = Reader(data)
    name = reader.take(32, "module").lstrip(b"\0")
    if not (name.isascii() and name.decode("ascii").isprintable() and name):
        raise CodecError(0, f"module, an ASCII name behind zeros, found {name.hex()}")
    module = name.decode("ascii")
    action = u8(reader, "action")
    action_name, layout = MODULES.get(module, {}).get(action, (None, None))
    # Chains that lost their own chain id recover it, so this action has no target chain.
    target_chain = None if layout is _RECOVER else u16(reader, "target chain")
    if action_name == "transfer_fees" and target_chain in COSMWASM_CORE:
        layout = _SWAPPED_FEES
    return Governance(module, action, action_name, target_chain, _fields(reader, layout))


def _fields(reader: Reader, layout: Layout | None) -> Mapping[str, Any]:
    start = reader.offset
    if layout is not None:
        try:
            fields = decode_fields(reader, layout)
            reader.finish()
        except CodecError:
            reader.offset = start
        else:
            return fields
    return {"rest": rest(reader, "rest")}
