-- Tables of outputs by their id and by their roles.

-- table: outputs
WITH spent AS (
  SELECT output_id, milestone_index, white_flag_index, transaction_id, message_id
  FROM attached_inputs WHERE inclusion_state = 1 AND kind = 0
)
SELECT output_id, created.milestone_index AS created_milestone_index,
  created.white_flag_index AS created_white_flag_index, created.message_id AS created_message_id,
  kind_name(output_type) AS output_kind, address, amount, data, spent.milestone_index AS spent_milestone_index,
  spent.white_flag_index AS spent_white_flag_index, spent.transaction_id AS spent_transaction_id,
  spent.message_id AS spent_message_id
FROM created_outputs AS created FULL JOIN spent USING (output_id);

-- table: booked_outputs
SELECT output_id, booked_milestone_index AS milestone_index, booked_ms_timestamp AS ms_timestamp
FROM genesis_outputs WHERE milestone_index > 0 AND booked_milestone_index IS NOT NULL;

-- view: listed_outputs
SELECT *, stardust.sender AS sender, stardust.issuer AS issuer, stardust.tag AS tag,
  stardust.state_controller AS state_controller, stardust.governor AS governor,
  stardust.storage_deposit_return AS storage_deposit_return,
  TRY_CAST(stardust.storage_deposit_return_amount AS BIGINT) AS storage_deposit_return_amount,
  stardust.timelock AS timelock, stardust.expiration AS expiration, stardust.expiration_return AS expiration_return,
  stardust.native_tokens AS native_tokens, kind_name(output_type) AS output_kind
FROM (
  SELECT milestone_index, ms_timestamp, white_flag_index, message_id, included, output_id, output_type, address,
    amount, data, stardust, true AS is_other_message, true AS is_other_position
  FROM attached_outputs
  UNION ALL
  -- The milestone of genesis may be in the lake, too. Then rows of genesis may have the keys of rows of its messages.
  SELECT milestone_index, ms_timestamp, 0, own.message_id, true, output_id, output_type, address, amount, data,
    stardust, made.message_id IS DISTINCT FROM own.message_id, made.white_flag_index IS DISTINCT FROM 0
  FROM genesis_outputs AS own LEFT JOIN (
    SELECT output_id, message_id, white_flag_index FROM attached_outputs
    WHERE included AND milestone_index = genesis_index()
  ) AS made USING (output_id)
);

-- view: outputs_in_roles
-- Each address that an output names, by its role.
SELECT unnest(list_filter([
    {'variant': 'address', 'key': CASE WHEN output_kind <> 'alias' THEN address END},
    {'variant': 'sender', 'key': sender},
    {'variant': 'issuer', 'key': issuer},
    {'variant': 'state_controller', 'key': state_controller},
    {'variant': 'governor', 'key': governor},
    {'variant': 'storage_deposit_return', 'key': storage_deposit_return},
    {'variant': 'expiration_return', 'key': expiration_return}
  ], lambda role: role.key IS NOT NULL)) AS role, *
FROM listed_outputs;

-- table: outputs_by_address
SELECT role.key AS address, output_kind, role.variant AS variant, included, range_of(milestone_index) AS ms_range_id,
  partition_in(hot.first_milestones, milestone_index) AS partition_id, milestone_index, output_id, message_id,
  ms_timestamp, output_type, amount, sender, issuer, tag, state_controller, governor, storage_deposit_return,
  storage_deposit_return_amount, timelock, expiration, expiration_return, native_tokens,
  is_uncovered(milestone_index, kept.spans) AS optional
FROM outputs_in_roles
LEFT JOIN kept_keys AS kept ON kept.kind = 'address' AND kept.key = role.key
LEFT JOIN (
  SELECT key, parts[2] AS kind, parts[3] AS variant, parts[4] = 'true' AS is_included, ms_range_id,
    first_milestones
  FROM hot_keys WHERE lookup = 'outputs_by_address'
) AS hot ON hot.key = role.key AND hot.kind = output_kind AND hot.variant = role.variant
  AND hot.is_included = included AND hot.ms_range_id = range_of(milestone_index)
WHERE is_other_message;

-- table: outputs_by_tag
SELECT tag, output_kind, included, range_of(milestone_index) AS ms_range_id,
  partition_in(hot.first_milestones, milestone_index) AS partition_id, milestone_index, output_id, message_id,
  ms_timestamp, output_type, amount, sender, issuer, state_controller, governor, storage_deposit_return,
  storage_deposit_return_amount, timelock, expiration, expiration_return, native_tokens,
  is_uncovered(milestone_index, kept.spans) AS optional
FROM listed_outputs
LEFT JOIN kept_keys AS kept ON kept.kind = 'tag' AND kept.key = tag
LEFT JOIN (
  SELECT key, parts[2] AS kind, ms_range_id, first_milestones
  FROM hot_keys WHERE lookup = 'outputs_by_tag'
) AS hot ON hot.key = tag AND hot.kind = output_kind AND hot.ms_range_id = range_of(milestone_index)
WHERE tag IS NOT NULL AND output_kind IN ('basic', 'nft') AND is_other_message;

-- view: chain_states
SELECT stardust.chain_id AS chain_id, range_of(milestone_index) AS ms_range_id,
  partition_in(hot.first_milestones, milestone_index) AS partition_id, milestone_index, white_flag_index, output_id,
  ms_timestamp, output_type, amount, sender, issuer, tag, state_controller, governor, storage_deposit_return,
  storage_deposit_return_amount, timelock, expiration, expiration_return, native_tokens, output_kind
FROM listed_outputs
LEFT JOIN (
  SELECT key, lookup, ms_range_id, first_milestones FROM hot_keys
) AS hot ON hot.key = stardust.chain_id AND hot.lookup = output_kind || '_outputs'
  AND hot.ms_range_id = range_of(milestone_index)
WHERE included AND white_flag_index IS NOT NULL AND stardust.chain_id IS NOT NULL AND is_other_position;

-- table: alias_outputs
SELECT * EXCLUDE (output_kind) FROM chain_states WHERE output_kind = 'alias';

-- table: nft_outputs
SELECT * EXCLUDE (output_kind) FROM chain_states WHERE output_kind = 'nft';

-- table: foundry_outputs
SELECT * EXCLUDE (output_kind) FROM chain_states WHERE output_kind = 'foundry';
