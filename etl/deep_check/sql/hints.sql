-- Partitions that have rows.

-- table: tag_hints
SELECT DISTINCT tag, 'message' AS table_kind, ms_range_id, partition_id FROM expected_tags
UNION
SELECT tag, output_kind, ms_range_id, partition_id FROM expected_outputs_by_tag;

-- table: addresses_hints
SELECT address, output_kind, variant, included, ms_range_id, partition_id FROM expected_outputs_by_address
UNION
SELECT address, 'transaction', 'address', included, ms_range_id, partition_id FROM expected_transactions_by_address
UNION
SELECT chain_id, 'chain', output_kind, true, ms_range_id, partition_id FROM chain_states
UNION
SELECT address, 'ledger', 'address', true, ms_range_id, partition_id FROM expected_ledger_updates_by_address
UNION
SELECT address, 'balance', 'address', true, ms_range_id, 0 FROM expected_address_balances
UNION
SELECT address, 'movement', 'address', true, ms_range_id, partition_id FROM expected_address_movements
UNION
SELECT token_id, 'native_token', 'ledger', true, ms_range_id, partition_id FROM expected_native_token_updates;
