-- Tables that follow from messages alone.

-- table: messages
-- Reasons that the files do not contain: the first input decides that was spent before (1), in the same milestone (2), or
-- did not exist (3). Others follow from sums and signatures, and must only be none of these. An input that was created
-- and spent up to genesis is known (1) only if those milestones were loaded before the message.
WITH spenders AS (
  SELECT output_id, milestone_index, white_flag_index FROM attached_inputs WHERE inclusion_state = 1 AND kind = 0
),
inputs AS (
  SELECT own.message_id AS message_id, own.idx AS idx,
    CASE
      WHEN made.output_id IS NULL OR made.milestone_index > own.milestone_index
        OR made.milestone_index = own.milestone_index AND made.white_flag_index > own.white_flag_index THEN 3
      WHEN spender.milestone_index < own.milestone_index THEN 1
      WHEN spender.milestone_index = own.milestone_index AND spender.white_flag_index < own.white_flag_index THEN 2
    END AS reason,
    coalesce(spender.milestone_index <= genesis_index(), false) AS is_before
  FROM attached_inputs AS own
  LEFT JOIN spenders AS spender ON spender.output_id = own.output_id
  LEFT JOIN created_outputs AS made ON made.output_id = own.output_id
  WHERE own.inclusion_state = 2 AND own.kind = 0 AND own.milestone_index > genesis_index()
    AND own.milestone_index <= frontier() AND all_owned()
),
decided AS (
  SELECT message_id, true AS is_decided, arg_min(reason, idx) FILTER (reason IS NOT NULL) AS reason,
    arg_min(is_before, idx) FILTER (reason IS NOT NULL) AS is_before
  FROM inputs GROUP BY message_id
)
SELECT message_id, version, message, milestone_index, ms_timestamp, white_flag_index, inclusion_state,
  CASE
    WHEN conflict_reason IS NOT NULL THEN conflict_reason
    WHEN decided.is_before AND stored.reason IN (1, 3) THEN stored.reason
    WHEN decided.reason IS NOT NULL THEN decided.reason
    WHEN is_decided AND stored.reason NOT IN (1, 2, 3) THEN stored.reason
  END AS conflict_reason
FROM cones LEFT JOIN decided USING (message_id) LEFT JOIN stored_reasons AS stored USING (message_id)
WHERE message_id IS NOT NULL;

-- table: message_proofs
SELECT message_id, milestone_index, proof FROM cones WHERE proof IS NOT NULL;

-- table: messages_by_milestone
SELECT milestone_index, white_flag_index, message_id, payload_kind, inclusion_state
FROM cones WHERE message_id IS NOT NULL AND white_flag_index IS NOT NULL;

-- table: parents
SELECT unnest(parents) AS parent_id, milestone_index, message_id, ms_timestamp, inclusion_state
FROM cones WHERE message_id IS NOT NULL;

-- table: tags
SELECT tag, range_of(milestone_index) AS ms_range_id, partition_in(hot.first_milestones, milestone_index)
  AS partition_id, milestone_index, message_id, ms_timestamp, inclusion_state,
  is_uncovered(milestone_index, kept.spans) AS optional
FROM (
  SELECT *, coalesce(tagged_data.tag, "transaction".tagged_data.tag) AS tag FROM cones
) AS tagged
LEFT JOIN (SELECT * FROM hot_keys WHERE lookup = 'tags') AS hot
  ON hot.key = tag AND hot.ms_range_id = range_of(milestone_index)
LEFT JOIN kept_keys AS kept ON kept.kind = 'tag' AND kept.key = tag
WHERE tag IS NOT NULL;

-- table: transactions
-- Selective stores have no rows. Those of earlier versions may have some.
SELECT transaction_id, idx, 'input' AS variant, message_id,
  CASE WHEN kind = 0 THEN unhex('00') ELSE unhex('01') END || output_id || unlock_bytes AS data, milestone_index,
  inclusion_state, NOT all_owned() AS optional
FROM attached_inputs
UNION ALL
SELECT output_id[1:32], output_index(output_id), 'unlock', message_id,
  transaction_id || u16_bytes(idx) || unlock_bytes, milestone_index, inclusion_state, NOT all_owned()
FROM attached_inputs WHERE kind = 0
UNION ALL
SELECT transaction_id, idx, 'output', message_id, output.data, milestone_index, inclusion_state, NOT all_owned()
FROM (
  SELECT "transaction".transaction_id AS transaction_id, message_id, milestone_index, inclusion_state,
    unnest("transaction".outputs) AS output, generate_subscripts("transaction".outputs, 1) - 1 AS idx
  FROM cones WHERE "transaction".transaction_id IS NOT NULL
);

-- table: transactions_by_state
SELECT "transaction".transaction_id AS transaction_id, inclusion_state, message_id, milestone_index
FROM cones WHERE "transaction".transaction_id IS NOT NULL AND inclusion_state IS NOT NULL;

-- table: transactions_by_address
WITH concerned AS (
  SELECT milestone_index, ms_timestamp, coalesce(message_id, zeros()) AS message_id,
    coalesce("transaction".transaction_id, milestone.receipt.treasury_input) AS transaction_id,
    "transaction".transaction_id IS NULL AS is_migration,
    "transaction".transaction_id IS NULL OR inclusion_state IS NOT DISTINCT FROM 1 AS included,
    coalesce("transaction".outputs, milestone.receipt.funds) AS outputs, "transaction".unlocks AS unlocks,
    CASE WHEN "transaction".transaction_id IS NULL THEN 1 ELSE len("transaction".inputs) END AS inputs_count
  FROM cones WHERE "transaction".transaction_id IS NOT NULL OR milestone.receipt.payload IS NOT NULL
),
parts AS (
  SELECT milestone_index, transaction_id, message_id, included, unnest(outputs).address AS address,
    unnest(outputs).amount AS amount, false AS is_signer
  FROM concerned
  UNION ALL
  SELECT milestone_index, transaction_id, message_id, included, unnest(unlocks).address, NULL, true FROM concerned
),
sums AS (
  SELECT address, milestone_index, transaction_id, message_id, included, sum(amount) AS received,
    bool_or(is_signer) AS has_signed, bool_or(NOT is_signer) AS is_paid
  FROM parts WHERE address IS NOT NULL GROUP BY ALL
),
spent AS (
  SELECT owner AS address, milestone_index, transaction_id, message_id, sum(amount) AS sent
  FROM changes WHERE is_spent AND signer = owner GROUP BY ALL
)
SELECT address, included, range_of(milestone_index) AS ms_range_id,
  partition_in(hot.first_milestones, milestone_index) AS partition_id, milestone_index, transaction_id, message_id,
  concerned.ms_timestamp,
  CASE WHEN is_migration THEN 'migrated' WHEN has_signed AND is_paid THEN 'both' WHEN has_signed THEN 'sent'
    ELSE 'received' END AS direction,
  TRY_CAST(coalesce(received, 0) AS BIGINT) AS received,
  CASE WHEN included AND NOT is_migration THEN spent.sent END AS sent, inputs_count,
  len(outputs) AS outputs_count, is_uncovered(milestone_index, kept.spans) AS optional
FROM sums JOIN concerned USING (milestone_index, transaction_id, message_id, included)
LEFT JOIN spent USING (address, milestone_index, transaction_id, message_id)
LEFT JOIN (
  SELECT key, parts[2] = 'true' AS is_included, ms_range_id, first_milestones
  FROM hot_keys WHERE lookup = 'transactions_by_address'
) AS hot ON hot.key = address AND hot.is_included = included AND hot.ms_range_id = range_of(milestone_index)
LEFT JOIN kept_keys AS kept ON kept.kind = 'address' AND kept.key = address;

-- table: milestones
SELECT milestone_index, message_id, milestone_id, seconds AS "timestamp", payload
FROM lake_milestones WHERE milestone_id IS NOT NULL;

-- table: milestone_ids
SELECT milestone_id, milestone_index FROM lake_milestones WHERE milestone_id IS NOT NULL;

-- table: ids_by_prefix
SELECT DISTINCT id[1:2] AS prefix, id
FROM (
  SELECT message_id AS id FROM cones
  UNION ALL
  SELECT "transaction".transaction_id FROM cones
  UNION ALL
  SELECT milestone_id FROM lake_milestones
  UNION ALL
  SELECT stardust.chain_id FROM attached_outputs
  WHERE included AND transaction_id IS NOT NULL AND white_flag_index IS NOT NULL
  UNION ALL
  SELECT unnest([output_id, stardust.chain_id]) FROM genesis_outputs
)
WHERE id IS NOT NULL;

-- table: receipts
SELECT network() AS network, receipt.migrated_at AS migrated_at, milestone_index, receipt.payload AS payload
FROM lake_milestones WHERE receipt.payload IS NOT NULL;

-- table: treasury
SELECT network() AS network, milestone_index, milestone_id, TRY_CAST(receipt.treasury_amount AS BIGINT) AS amount
FROM lake_milestones WHERE receipt.payload IS NOT NULL
UNION ALL
SELECT network(), milestone_index, output_id, amount FROM lake_genesis
WHERE kind = 2 AND frontier() IS NOT NULL
  AND milestone_index NOT IN (SELECT milestone_index FROM lake_milestones WHERE receipt.payload IS NOT NULL);

-- table: protocol_parameters
SELECT network() AS network, parameters.target_milestone_index AS milestone_index, milestone_index AS announced_by,
  parameters.protocol_version AS protocol_version, parameters.params AS params
FROM lake_milestones WHERE parameters.params IS NOT NULL;
