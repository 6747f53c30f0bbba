"""The queries that the schema plans write out, with the table and key that serve each here, or what was wrong with it.

The order is that of the plans. A query is identified by its table and the columns that it names. An answer begins with
the table that it reads, if there is one.
"""

Answer = tuple[str, str]

STARDUST_SELECTS: tuple[Answer, ...] = (
    ("messages: `message` by message_id", "`messages ((message_id))`: one row; version and bytes were key columns"),
    (
        "messages: `variant, parents, is_solid, should_promote, …` by message_id",
        "`messages ((message_id))`: parents are in the bytes; the plan's table does not have these columns, and the "
        "state of a live node is not stored",
    ),
    ("messages: `*` by message_id", "`messages ((message_id))`"),
    (
        "messages by milestone_index (its secondary index)",
        "`messages_by_milestone ((milestone_index), white_flag_index, message_id)`: an index queries every node",
    ),
    (
        "transactions: by transaction_id, idx and variant IN ('output', 'unlock')",
        "`transactions ((transaction_id), idx, variant, message_id)`; `outputs ((output_id))` contains the included "
        "spender",
    ),
    ("transactions: by transaction_id", "`transactions ((transaction_id), …)`: every attachment"),
    (
        "transactions_by_state: `message_id` by transaction_id and inclusion_state LIMIT 1",
        "`transactions_by_state ((transaction_id), inclusion_state, message_id)`: the view's key is missing the key "
        "column `data` of its table",
    ),
    (
        "milestones: `message_id, timestamp` by milestone_index",
        "`milestones ((milestone_index))`; by milestone id `milestone_ids ((milestone_id))`",
    ),
    (
        "tag_hints: `ms_range_id` by tag",
        "`tag_hints ((tag, table_kind), ms_range_id, partition_id)`: one query per kind of lookup, newest range first",
    ),
    (
        "tag_hints: `ms_range_id` by tag and table_kind",
        "`tag_hints ((tag, table_kind), …)`: table_kind was not a key column, so the query was invalid; kinds are "
        "message, basic and nft",
    ),
    (
        "addresses_hints: by address, output_kind IN (…) and variant IN (…)",
        "`addresses_hints ((address, output_kind, variant, included), ms_range_id, partition_id)`: one read per role, "
        "merged; extended outputs are now basic outputs",
    ),
    (
        "basic_outputs_by_address: `*` by address and ms_range_id",
        "`outputs_by_address ((address, 'basic', 'address', included, ms_range_id, partition_id), …)`: hints list the "
        "partitions; a hot address has several per range",
    ),
    (
        "basic_outputs_by_address: the same, ms_timestamp >= ? and < ?",
        "the same rows: `ranges` excludes ranges outside, `sync` has the bounds if timestamps rise, and each row's own "
        "timestamp decides",
    ),
    (
        "basic_outputs_by_sender",
        "`outputs_by_address ((address, 'basic', 'sender', …), …)`: the view sorts by time, which need not rise",
    ),
    (
        "basic_outputs_by_tag",
        "`outputs_by_tag ((tag, 'basic', included, ms_range_id, partition_id), milestone_index, output_id, "
        "message_id)`",
    ),
    (
        "alias_outputs_by_sender, _by_issuer, _by_state_controller, _by_governor",
        "`outputs_by_address ((address, 'alias', VARIANT, …), …)`: the views had no output_id, so two states in one "
        "milestone were one row",
    ),
    (
        "alias_outputs by alias_id",
        "`alias_outputs ((chain_id, ms_range_id, partition_id), milestone_index, white_flag_index, output_id)`: every "
        "state, hints of kind chain",
    ),
    (
        "foundry_outputs_by_address",
        "`outputs_by_address ((address, 'foundry', 'address', …), …)`: the address of the alias that controls it",
    ),
    ("foundry_outputs by foundry_id", "`foundry_outputs`: as alias_outputs"),
    (
        "nft_outputs_by_address, _by_sender, _by_issuer",
        "`outputs_by_address ((address, 'nft', VARIANT, …), …)`",
    ),
    (
        "nft_outputs_by_dust_return_address",
        "`outputs_by_address ((address, 'nft', 'storage_deposit_return', …), …)`: the final name; also for basic "
        "outputs, and with expiration_return",
    ),
    ("nft_outputs_by_tag", "`outputs_by_tag ((tag, 'nft', …), …)`"),
    ("nft_outputs by nft_id", "`nft_outputs`: as alias_outputs"),
    (
        "legacy_outputs_by_address",
        "`outputs_by_address ((address, 'legacy', 'address', …), …)`: is_used was a key column, so a spend would move "
        "the row; `outputs` contains it",
    ),
    (
        "any of these, unspent outputs only",
        "`unspent_outputs ((lookup, output_kind, key, ms_range_id, partition_id), milestone_index, output_id)` at a "
        "ledger index, by the same roles, tags and chain ids, or all of a kind; hints in `unspent_hints`",
    ),
    (
        "tags: by tag and ms_range_id",
        "`tags ((tag, ms_range_id, partition_id), milestone_index, message_id)`: without message_id two messages of "
        "one milestone were one row",
    ),
    ("tags: the same, ms_timestamp >= ? and < ?", "the same rows, as basic outputs between two times"),
    (
        "parents_by_ms: by parent_id",
        "`parents ((parent_id), milestone_index, message_id)`: time is not a key, because it need not rise",
    ),
    ("parents_by_ms: the same, ms_timestamp >= ? and < ?", "the same rows, as basic outputs between two times"),
    (
        "sync: all of it",
        "`ranges ((network), ms_range_id)`: intervals by range; no query needs every milestone's row",
    ),
    ("sync: by ms_range_id and milestone_index >= ? and < ?", "`sync ((ms_range_id), milestone_index)`"),
    (
        "analytics: by ms_range_id and milestone_index >= ? and < ?",
        "`ms_analytics ((ms_range_id), milestone_index)`, the plan's other name for the table",
    ),
    (
        "daily_analytics: by year, date >= ? and <= ?",
        "`daily_analytics ((year), date)`",
    ),
    (
        "address_analytics: by address and milestone_index >= ? and < ?",
        "`address_analytics ((address, ms_range_id), milestone_index)`, ranges by hints of kind ledger: the partition "
        "of a hot address would grow without limit",
    ),
    (
        "metrics_cache: `count(1)` by date, variant and metric",
        "`daily_analytics ((year), date)` has the four counts; `metrics_cache ((date), variant, metric, value)` has "
        "the counted values",
    ),
    ("metrics_cache: DELETE by date", "`metrics_cache ((date), …)`: a day that changed is deleted and written again"),
    ("date_cache: by date", "`date_cache ((date))`"),
)

CHRYSALIS_SELECTS: tuple[Answer, ...] = (
    (
        "messages: `message`, `metadata` or both by message_id",
        "`messages ((message_id))`: metadata in separate columns",
    ),
    (
        "transactions: `data` by transaction_id, index and variant",
        "`transactions ((transaction_id), idx, variant, message_id)`",
    ),
    (
        "milestones: `milestone` by milestone_index",
        "`milestones ((milestone_index))`: the plan's table does not have this column",
    ),
    (
        "parents: `message_id` by parent_id and partition_id",
        "`parents ((parent_id), milestone_index, message_id)`: in order; the plan's partitions have the order of "
        "arrival",
    ),
    (
        "addresses: by address and partition_id",
        "`outputs_by_address ((address, 'legacy', 'address', included, ms_range_id, partition_id), …)`",
    ),
    ("indexes: by hashed_index and partition_id", "`tags ((tag, ms_range_id, partition_id), …)`, hints in `tag_hints`"),
    (
        "milestone_lookup: by index and partition_id",
        "`messages_by_milestone ((milestone_index), …)`: a cone is one partition; the plan does not define the table",
    ),
)


def selects_text() -> str:
    """The queries as tables of the page."""
    return "".join(
        f"\n### Queries of the {plan} schema plan\n\n| query | here |\n|---|---|\n"
        + "".join(f"| {query} | {answer} |\n" for query, answer in answers)
        for plan, answers in (("Stardust", STARDUST_SELECTS), ("Chrysalis", CHRYSALIS_SELECTS))
    )
