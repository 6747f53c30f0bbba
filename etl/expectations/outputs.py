"""Outputs and addresses of decoded messages as rows of their tables."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from db import schema
from db.output_kinds import KIND_OF_TYPE, types_of
from db.roles import ROLES
from etl.expectations.changes import created_changes
from etl.expectations.message_batch import (
    NOTHING,
    Derived,
    Items,
    Messages,
    Numbers,
    bigint,
    child,
    numbers,
    positions,
    text_word,
    valid,
)
from etl.expectations.words import Words, grouped, plain_amounts, words
from ledger.selection import ADDRESS

TREASURY_OUTPUT = 2
_CHAINS = {schema.alias_outputs, schema.nft_outputs, schema.foundry_outputs}


def output_rows(of: Messages, items: Items) -> Iterator[Derived]:
    """Outputs of transactions, or of receipts: created outputs, and a row for each of their roles."""
    kind = numbers(items.field("kind"))
    kept = positions(kind != TREASURY_OUTPUT)
    if not len(kept):
        return
    kind, messages = kind[kept], items.messages[kept]
    stardust = items.field("stardust")
    fields = {"address": items.field("address")}
    if stardust.null_count < len(stardust):
        fields |= {each.name: child(stardust, each.name) for each in stardust.type}
        own = {name: words(values)[kept] for name, values in fields.items()}
        own["storage_deposit_return_amount"] = bigint(own["storage_deposit_return_amount"])
    else:
        own = {"address": words(fields["address"])[kept]}
    output_id = items.field("output_id")
    own |= {
        "output_id": words(output_id)[kept],
        "output_type": kind.view(np.uint64),
        "output_kind": _kind_words()[kind],
        "amount": bigint(words(items.field("amount"))[kept]),
    }
    included = of.took_effect[messages]
    created = positions(included)
    yield Derived(
        "outputs (created)",
        messages[created],
        {name: own[name][created] for name in ("output_id", "output_kind", "address", "amount")}
        | {
            "created_milestone_index": of.common["milestone_index"][messages[created]],
            "created_white_flag_index": of.common["white_flag_index"][messages[created]],
            "created_message_id": of.carrier[messages[created]],
            "data": words(items.field("data"))[kept][created],
        },
    )
    changed = {
        "output_id": own["output_id"][created],
        "amount": own["amount"][created],
        "idx": items.index[kept][created].view(np.uint64),
        "transaction_id": words(pc.binary_slice(output_id, 0, 32))[kept][created],
    }
    yield from created_changes(of, messages[created], changed)
    for role in ROLES:
        if role.column not in fields:
            continue
        held = np.isin(kind, types_of(role.output_kind)) & valid(fields[role.column])[kept]
        names = {*role.table.names}
        (key,) = names.intersection(role.table.partition).intersection(("address", "tag", "chain_id"))
        if role.table in _CHAINS:
            held &= included & of.has_place[messages]
        else:
            held &= of.is_listed(key, fields[role.column], items.messages)[kept]
        some = positions(held)
        if not len(some):
            continue
        columns: dict[str, Words | np.uint64] = dict.fromkeys(names.difference(of.common), NOTHING)
        columns |= {name: values[some] for name, values in own.items() if name in names}
        columns |= {
            key: own[role.column][some],
            "message_id": of.carrier[messages[some]],
            "variant": text_word(role.variant),
            "included": included[some].astype(np.uint64),
        }
        yield of.rows(role.table.name, messages[some], columns)


def address_rows(of: Messages) -> Derived:
    """Each address that an attachment or a migration pays, and each that signed an attachment."""
    paid = (of.outputs, of.funds)
    parts = (*paid, of.unlocks)
    addresses = pa.chunked_array([each.field("address") for each in parts], pa.binary())
    code, address = grouped(addresses)
    concerned = np.concatenate([each.messages for each in parts])
    kept = positions((code >= 0) & of.is_listed(ADDRESS, addresses.combine_chunks(), concerned))
    amounts = [*(plain_amounts(each.field("amount")) for each in paid), np.zeros(len(of.unlocks.messages), np.uint64)]
    signs = np.repeat([0, 1], [len(amounts[0]) + len(amounts[1]), len(amounts[2])])
    pair = concerned[kept] * len(address) + code[kept]
    order = np.argsort(pair)
    pair, kept = pair[order], kept[order]
    begins = positions(np.diff(pair, prepend=-1))
    messages, code = np.divmod(pair[begins], len(address) or 1)
    count, signatures = np.diff(np.append(begins, len(pair))), _sums(signs[kept], begins)
    is_signer, is_paid = signatures > 0, signatures < count
    is_transaction = of.is_transaction[messages]
    directions = np.array([text_word(each) for each in ("received", "sent", "both", "migrated")])
    direction = np.where(is_signer & is_paid, 2, np.where(is_signer, 1, 0))
    inputs_count = of.inputs.counts
    identity = pc.coalesce(of.transaction_field("transaction_id"), child(of.receipt, "treasury_input"))
    return of.rows(
        "transactions_by_address",
        messages,
        {
            "address": address[code],
            "included": of.took_effect[messages].astype(np.uint64),
            "transaction_id": words(identity)[messages],
            "message_id": of.carrier[messages],
            "direction": directions[np.where(is_transaction, direction, 3)],
            "received": bigint(_sums(np.concatenate(amounts)[kept], begins)),
            "inputs_count": np.where(is_transaction, inputs_count[messages], 1).astype(np.uint64),
            "outputs_count": (paid[0].counts + paid[1].counts)[messages].astype(np.uint64),
        },
    )


def _kind_words() -> Words:
    """The words of output_kind by the protocol's number."""
    kinds = [KIND_OF_TYPE.get(number) for number in range(max(KIND_OF_TYPE) + 1)]
    return np.array([NOTHING if kind is None else text_word(kind) for kind in kinds])


def _sums(values: npt.NDArray[Any], begins: Numbers) -> npt.NDArray[Any]:
    """The sums of groups, given by the positions where they begin."""
    return np.add.reduceat(values, begins) if len(begins) else values[:0]
