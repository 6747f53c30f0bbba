"""The tables of a selective lake. Other lakes do not have them."""

SELECTION_DDL = "filter STRING, milestones STRING"
"""The filters, and the milestones that each of them covers (etl/lake/coverage.py)."""

UNFINISHED_PURGE_DDL = "filter STRING, messages BIGINT"
"""The filters of a `purge --keep` that has not ended, and the number of messages before it (etl/lake/coverage.py)."""

WATCHED_DDL = "milestone_index INT, address BINARY, output_id BINARY"
"""Outputs of the addresses whose spending is looked for (etl/lake/watched_outputs.py)."""

KEPT_PROOFS_DDL = "store_table STRING, row STRING"
"""Rows of the store that prove its listings (etl/kept_proofs.py), each as JSON."""
