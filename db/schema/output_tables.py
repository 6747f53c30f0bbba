"""Tables of outputs: by id, address, tag and chain id, and the hints that name their partitions."""

from db.model import Table, Type, columns
from db.schema.shared_columns import (
    AMOUNT,
    FILTERS,
    INCLUDED,
    MESSAGE_ID,
    MILESTONE_INDEX,
    MS_RANGE_ID,
    MS_TIMESTAMP,
    OUTPUT_ID,
    OUTPUT_KIND,
    OUTPUT_TYPE,
    PARTITION_ID,
)

outputs = Table(
    "outputs",
    "Every output that an included transaction created or spent; the two halves are written "
    "independently, in any order",
    columns(
        OUTPUT_ID,
        ("created_milestone_index", Type.INT, "milestone that created it"),
        ("created_white_flag_index", Type.INT, "position of the creating message in that cone"),
        ("created_message_id", Type.HEX, "the included message that created it"),
        OUTPUT_KIND,
        ("address", Type.HEX, "owner, serialized"),
        ("amount", Type.BIGINT, "base tokens"),
        ("data", Type.BLOB, "serialized output"),
        ("spent_milestone_index", Type.INT, "milestone that spent it"),
        ("spent_white_flag_index", Type.INT, "position of the spending message in that cone"),
        ("spent_transaction_id", Type.HEX, "the spending transaction"),
        ("spent_message_id", Type.HEX, "the included message that spent it"),
    ),
    partition=("output_id",),
)

booked_outputs = Table(
    "booked_outputs",
    "Milestones that booked outputs of a genesis after milestone 0; empty if it does not contain them",
    columns(
        OUTPUT_ID,
        ("milestone_index", Type.INT, "milestone that booked it; 0 for outputs of the network's own genesis"),
        MS_TIMESTAMP,
    ),
    partition=("output_id",),
    layout=19,
)

outputs_by_address = Table(
    "outputs_by_address",
    "Outputs by the address in a role (variant)",
    columns(
        ("address", Type.HEX, "serialized address"),
        OUTPUT_KIND,
        (
            "variant",
            Type.TEXT,
            "role of the address: address, sender, issuer, state_controller, governor, storage_deposit_return "
            "or expiration_return",
        ),
        INCLUDED,
        MS_RANGE_ID,
        PARTITION_ID,
        MILESTONE_INDEX,
        OUTPUT_ID,
        MESSAGE_ID,
        MS_TIMESTAMP,
        OUTPUT_TYPE,
        AMOUNT,
    )
    + columns(*FILTERS, layout=5),
    partition=("address", "output_kind", "variant", "included", "ms_range_id", "partition_id"),
    clustering=("milestone_index", "output_id", "message_id"),
)

outputs_by_tag = Table(
    "outputs_by_tag",
    "Basic and NFT outputs by their tag feature",
    columns(
        ("tag", Type.HEX, "the tag's bytes"),
        OUTPUT_KIND,
        INCLUDED,
        MS_RANGE_ID,
        PARTITION_ID,
        MILESTONE_INDEX,
        OUTPUT_ID,
        MESSAGE_ID,
        MS_TIMESTAMP,
        OUTPUT_TYPE,
        AMOUNT,
        *(each for each in FILTERS if each[0] != "tag"),
    ),
    partition=("tag", "output_kind", "included", "ms_range_id", "partition_id"),
    clustering=("milestone_index", "output_id", "message_id"),
    layout=5,
)


def _chain_outputs(name: str, meaning: str, chain_id: str) -> Table:
    return Table(
        name,
        meaning,
        columns(
            ("chain_id", Type.HEX, chain_id),
            MS_RANGE_ID,
            PARTITION_ID,
            MILESTONE_INDEX,
            ("white_flag_index", Type.INT, "position of the creating message in the cone; 0 for genesis outputs"),
            OUTPUT_ID,
            MS_TIMESTAMP,
            OUTPUT_TYPE,
            AMOUNT,
            *FILTERS,
        ),
        partition=("chain_id", "ms_range_id", "partition_id"),
        clustering=("milestone_index", "white_flag_index", "output_id"),
        layout=5,
    )


alias_outputs = _chain_outputs("alias_outputs", "Every state of an alias", "alias id: 32 bytes")

nft_outputs = _chain_outputs("nft_outputs", "Every state of an NFT", "NFT id: 32 bytes")

foundry_outputs = _chain_outputs(
    "foundry_outputs", "Every state of a foundry", "foundry id: address of its alias, serial number, kind"
)

addresses_hints = Table(
    "addresses_hints",
    "Partitions of an address that have rows, by kind and role",
    columns(
        ("address", Type.HEX, "serialized address; for kind chain the chain id, for native_token the token id"),
        (
            "output_kind",
            Type.TEXT,
            "legacy, basic, alias, foundry, nft, ledger, transaction, chain, balance, movement or native_token",
        ),
        ("variant", Type.TEXT, "role of the address; for kind chain alias, nft or foundry; for native_token ledger"),
        ("included", Type.BOOLEAN, "as in the lookup"),
        MS_RANGE_ID,
        PARTITION_ID,
    ),
    partition=("address", "output_kind", "variant", "included"),
    clustering=("ms_range_id", "partition_id"),
)
