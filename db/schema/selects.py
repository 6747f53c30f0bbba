"""Every question that the plans write out, and which table and key answers it here, or what was wrong with it.

Rules of this file: data only, in the order of the plans; a question is told by its table and the columns that it names;
an answer begins with the table that it reads, where there is one.
"""

Answer = tuple[str, str]

SELECTS_003: tuple[Answer, ...] = (
    ("messages: `message` by message_id", "`messages ((message_id))`: one row; version and bytes were key columns"),
    (
        "messages: `variant, parents, is_solid, should_promote, …` by message_id",
        "`messages ((message_id))`: parents are in the bytes; the table had no such columns, and what a live "
        "node thinks "
        "is not kept",
    ),
    ("messages: `*` by message_id", "`messages ((message_id))`"),
    (
        "messages by milestone_index (its secondary index)",
        "`messages_by_milestone ((milestone_index), white_flag_index, message_id)`: an index asks every node",
    ),
    (
        "transactions: by transaction_id, idx and variant IN ('output', 'unlock')",
        "`transactions ((transaction_id), idx, variant, message_id)`; whether it is spent, and by whom that "
        "took effect, "
        "`outputs ((output_id))` says",
    ),
    ("transactions: by transaction_id", "`transactions ((transaction_id), …)`: every attachment"),
    (
        "transactions_by_state: `message_id` by transaction_id and inclusion_state LIMIT 1",
        "`transactions_by_state ((transaction_id), inclusion_state, message_id)`: the view's key lacked "
        "`data`, a column of "
        "its table's",
    ),
    (
        "milestones: `message_id, timestamp` by milestone_index",
        "`milestones ((milestone_index))`; by its id `milestone_ids ((milestone_id))`",
    ),
    (
        "tag_hints: `ms_range_id` by tag",
        "`tag_hints ((tag, table_kind), ms_range_id, partition_id)`: each kind of lookup is asked apart, "
        "newest range first",
    ),
    (
        "tag_hints: `ms_range_id` by tag and table_kind",
        "`tag_hints ((tag, table_kind), …)`: table_kind was no key column, so the question was refused; "
        "kinds are message, "
        "basic and nft",
    ),
    (
        "addresses_hints: by address, output_kind IN (…) and variant IN (…)",
        "`addresses_hints ((address, output_kind, variant, included), ms_range_id, partition_id)`: one read "
        "a role, merged; "
        "an extended output is a basic one",
    ),
    (
        "basic_outputs_by_address: `*` by address and ms_range_id",
        "`outputs_by_address ((address, 'basic', 'address', included, ms_range_id, partition_id), …)`: a "
        "hint names the "
        "partition; a hot address has several in a range",
    ),
    (
        "basic_outputs_by_address: the same, ms_timestamp >= ? and < ?",
        "the same rows: `ranges` drops what lies outside, `sync` finds the bounds where time rises, and each row's own "
        "time decides",
    ),
    (
        "basic_outputs_by_sender",
        "`outputs_by_address ((address, 'basic', 'sender', …), …)`: the view ordered by time, which need not rise",
    ),
    (
        "basic_outputs_by_tag",
        "`outputs_by_tag ((tag, 'basic', included, ms_range_id, partition_id), milestone_index, output_id, "
        "message_id)`",
    ),
    (
        "alias_outputs_by_sender, _by_issuer, _by_state_controller, _by_governor",
        "`outputs_by_address ((address, 'alias', VARIANT, …), …)`: the views had no output_id, so two states of one "
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
        "`outputs_by_address ((address, 'nft', 'storage_deposit_return', …), …)`: its name since; of basic "
        "outputs too, "
        "and expiration_return beside",
    ),
    ("nft_outputs_by_tag", "`outputs_by_tag ((tag, 'nft', …), …)`"),
    ("nft_outputs by nft_id", "`nft_outputs`: as alias_outputs"),
    (
        "legacy_outputs_by_address",
        "`outputs_by_address ((address, 'legacy', 'address', …), …)`: is_used was a key column, which a "
        "spend would move; "
        "`outputs` says it",
    ),
    (
        "any of these of what is unspent",
        "`unspent_outputs ((lookup, output_kind, key, ms_range_id, partition_id), milestone_index, "
        "output_id)` at a ledger "
        "index, by the same roles, tags and chain ids, or all of a kind; hints in `unspent_hints`",
    ),
    (
        "tags: by tag and ms_range_id",
        "`tags ((tag, ms_range_id, partition_id), milestone_index, message_id)`: without message_id two "
        "messages of one "
        "milestone were one row",
    ),
    ("tags: the same, ms_timestamp >= ? and < ?", "the same rows, as basic outputs between two times"),
    (
        "parents_by_ms: by parent_id",
        "`parents ((parent_id), milestone_index, message_id)`: time is no key here, as it need not rise",
    ),
    ("parents_by_ms: the same, ms_timestamp >= ? and < ?", "the same rows, as basic outputs between two times"),
    (
        "sync: all of it",
        "`ranges ((network), ms_range_id)`: intervals by range; nothing needs every milestone's row",
    ),
    ("sync: by ms_range_id and milestone_index >= ? and < ?", "`sync ((ms_range_id), milestone_index)`"),
    (
        "analytics: by ms_range_id and milestone_index >= ? and < ?",
        "`ms_analytics ((ms_range_id), milestone_index)`, as the plan names the table elsewhere",
    ),
    (
        "daily_analytics: by year, date >= ? and <= ?",
        "`daily_analytics ((year), date)`",
    ),
    (
        "address_analytics: by address and milestone_index >= ? and < ?",
        "`address_analytics ((address, ms_range_id), milestone_index)`, ranges by hints of kind ledger: a hot address' "
        "partition would grow for ever",
    ),
    (
        "metrics_cache: `count(1)` by date, variant and metric",
        "`daily_analytics ((year), date)` has the four counts; what was counted is `metrics_cache ((date), variant, "
        "metric, value)`",
    ),
    ("metrics_cache: DELETE by date", "`metrics_cache ((date), …)`: a day that changed is deleted and written again"),
    ("date_cache: by date", "`date_cache ((date))`"),
)

SELECTS_004: tuple[Answer, ...] = (
    (
        "messages: `message`, `metadata` or both by message_id",
        "`messages ((message_id))`: metadata in columns of its own",
    ),
    (
        "transactions: `data` by transaction_id, index and variant",
        "`transactions ((transaction_id), idx, variant, message_id)`",
    ),
    ("milestones: `milestone` by milestone_index", "`milestones ((milestone_index))`: the table had no such column"),
    (
        "parents: `message_id` by parent_id and partition_id",
        "`parents ((parent_id), milestone_index, message_id)`: in order, where partitions filled in the "
        "order of arrival",
    ),
    (
        "addresses: by address and partition_id",
        "`outputs_by_address ((address, 'legacy', 'address', included, ms_range_id, partition_id), …)`",
    ),
    ("indexes: by hashed_index and partition_id", "`tags ((tag, ms_range_id, partition_id), …)`, hints in `tag_hints`"),
    (
        "milestone_lookup: by index and partition_id",
        "`messages_by_milestone ((milestone_index), …)`: a cone is one partition; the table was never declared",
    ),
)


def selects_text() -> str:
    """The questions as tables of the page."""
    return "".join(
        f"\n### What seeds/{seed} asks\n\n| question | answer |\n|---|---|\n"
        + "".join(f"| {asked} | {answer} |\n" for asked, answer in answers)
        for seed, answers in (("003", SELECTS_003), ("004", SELECTS_004))
    )
