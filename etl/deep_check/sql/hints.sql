-- Partitions that have rows. A hint may be missing where all rows may.

-- table: tag_hints
SELECT tag, 'message' AS table_kind, ms_range_id, partition_id, bool_and(optional) AS optional
FROM expected_tags GROUP BY ALL
UNION ALL
SELECT tag, output_kind, ms_range_id, partition_id, bool_and(optional) FROM expected_outputs_by_tag GROUP BY ALL;

-- table: addresses_hints
SELECT address, output_kind, variant, included, ms_range_id, partition_id, bool_and(optional) AS optional
FROM expected_outputs_by_address GROUP BY ALL
UNION ALL
SELECT address, 'transaction', 'address', included, ms_range_id, partition_id, bool_and(optional)
FROM expected_transactions_by_address GROUP BY ALL
UNION
SELECT chain_id, 'chain', output_kind, true, ms_range_id, partition_id, false FROM chain_states
UNION
SELECT address, 'ledger', 'address', true, ms_range_id, partition_id, false FROM expected_ledger_updates_by_address
UNION
SELECT address, 'balance', 'address', true, ms_range_id, 0, false FROM expected_address_balances
UNION
SELECT address, 'movement', 'address', true, ms_range_id, partition_id, false FROM expected_address_movements
UNION
SELECT token_id, 'native_token', 'ledger', true, ms_range_id, partition_id, false FROM expected_native_token_updates;
