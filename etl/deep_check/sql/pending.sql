-- Tables of pending messages. Their rows expire a day after a load received the message, so a row that expires during
-- the check may be missing.

-- view: waiting
SELECT *, epoch_ms("timestamp") // 1000 + 86400 AS expires_at, epoch_ms("timestamp") // 1000 + 86400 <= now_s() + 3600
  AS optional
FROM lake_pending WHERE epoch_ms("timestamp") // 1000 + 86400 > now_s();

-- table: pending_messages
SELECT message_id, any_value(version) AS version, any_value(message) AS message, bool_and(optional) AS optional
FROM waiting GROUP BY message_id;

-- view: waiting_outputs
SELECT message_id, optional, output.output_id AS output_id, output.stardust AS stardust, output.address AS address,
  kind_name(output.kind) AS output_kind
FROM (SELECT message_id, optional, unnest("transaction".outputs) AS output FROM waiting) WHERE output.kind <> 2;

-- view: waiting_keys
SELECT 'parents' AS lookup, hex_text(unnest(parents)) AS key, message_id AS row_id, message_id, optional FROM waiting
UNION ALL
SELECT 'tags', hex_text(coalesce(tagged_data.tag, "transaction".tagged_data.tag)), message_id, message_id, optional
FROM waiting WHERE coalesce(tagged_data.tag, "transaction".tagged_data.tag) IS NOT NULL
UNION ALL
SELECT 'transactions', hex_text("transaction".transaction_id), message_id, message_id, optional
FROM waiting WHERE "transaction".transaction_id IS NOT NULL
UNION ALL
SELECT 'outputs_by_address', hex_text(role.key) || ':' || output_kind || ':' || role.variant || ':false',
  output_id || message_id, message_id, optional
FROM (
  SELECT *, unnest(list_filter([
    {'variant': 'address', 'key': CASE WHEN output_kind <> 'alias' THEN address END},
    {'variant': 'sender', 'key': stardust.sender},
    {'variant': 'issuer', 'key': stardust.issuer},
    {'variant': 'state_controller', 'key': stardust.state_controller},
    {'variant': 'governor', 'key': stardust.governor},
    {'variant': 'storage_deposit_return', 'key': stardust.storage_deposit_return},
    {'variant': 'expiration_return', 'key': stardust.expiration_return}
  ], lambda role: role.key IS NOT NULL)) AS role FROM waiting_outputs
)
UNION ALL
SELECT 'outputs_by_tag', hex_text(stardust.tag) || ':' || output_kind || ':false', output_id || message_id, message_id,
  optional
FROM waiting_outputs WHERE output_kind IN ('basic', 'nft') AND stardust.tag IS NOT NULL
UNION ALL
SELECT output_kind || '_outputs', hex_text(stardust.chain_id), output_id || message_id, message_id, optional
FROM waiting_outputs WHERE stardust.chain_id IS NOT NULL;

-- view: estimates
-- The newest milestone when a message was received is not in the lake. All rows of a message have the same.
SELECT message_id, mode(est_milestone_index) AS est_milestone_index FROM stored_pending GROUP BY message_id;

-- table: pending
SELECT lookup, key, 2147483647 AS ms_range_id, est_milestone_index // 10 AS bucket, est_milestone_index, row_id,
  message_id, bool_and(optional) AS optional
FROM waiting_keys LEFT JOIN estimates USING (message_id) GROUP BY ALL;

-- table: pending_hints
SELECT lookup, key, bucket, bool_and(optional) AS optional FROM expected_pending GROUP BY ALL;
