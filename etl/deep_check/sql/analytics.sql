-- Analytics, for the milestones that were analysed.

-- table: date_cache
SELECT day_of(epoch_ms("timestamp")) AS date, min(milestone_index) AS start_ms, max(milestone_index) AS end_ms
FROM lake_milestones WHERE verified IS NOT NULL GROUP BY ALL;

-- view: analysed_cones
SELECT cones.*, octet_length(message) AS size, len("transaction".inputs) AS inputs, len("transaction".outputs) AS outputs
FROM cones JOIN analysed ON milestone_index BETWEEN first AND last
WHERE verified IS NOT NULL;

-- view: analytics_of_messages
SELECT milestone_index, max(ms_timestamp) AS ms_timestamp, count(*) AS message_count,
  count(*) FILTER (inclusion_state = 1) AS transaction_count,
  count(*) FILTER (inclusion_state = 2) AS conflicting_count,
  count(*) FILTER (inclusion_state = 0) AS no_transaction_count,
  count(*) FILTER (payload_kind IN (0, 6)) AS transaction_payload_count,
  count(*) FILTER (payload_kind = 4) AS treasury_transaction_payload_count,
  count(*) FILTER (payload_kind IN (1, 7)) AS milestone_payload_count,
  count(*) FILTER (payload_kind IN (2, 5)) AS tagged_data_payload_count,
  count(*) FILTER (payload_kind IS NULL) AS no_payload_count,
  sum(size) AS message_bytes,
  coalesce(sum(size) FILTER (payload_kind IN (0, 6)), 0) AS transaction_bytes,
  coalesce(sum(size) FILTER (payload_kind = 4), 0) AS treasury_transaction_bytes,
  coalesce(sum(size) FILTER (payload_kind IN (1, 7)), 0) AS milestone_bytes,
  coalesce(sum(size) FILTER (payload_kind IN (2, 5)), 0) AS tagged_data_bytes,
  count(*) FILTER (inclusion_state = 1 AND inputs = 1) AS inputs_1,
  count(*) FILTER (inclusion_state = 1 AND inputs = 2) AS inputs_2,
  count(*) FILTER (inclusion_state = 1 AND inputs = 3) AS inputs_3,
  count(*) FILTER (inclusion_state = 1 AND inputs = 4) AS inputs_4,
  count(*) FILTER (inclusion_state = 1 AND inputs = 5) AS inputs_5,
  count(*) FILTER (inclusion_state = 1 AND inputs = 6) AS inputs_6,
  count(*) FILTER (inclusion_state = 1 AND inputs = 7) AS inputs_7,
  count(*) FILTER (inclusion_state = 1 AND inputs BETWEEN 8 AND 15) AS inputs_small,
  count(*) FILTER (inclusion_state = 1 AND inputs BETWEEN 16 AND 31) AS inputs_medium,
  count(*) FILTER (inclusion_state = 1 AND inputs BETWEEN 32 AND 63) AS inputs_large,
  count(*) FILTER (inclusion_state = 1 AND inputs >= 64) AS inputs_huge,
  count(*) FILTER (inclusion_state = 1 AND outputs = 1) AS outputs_1,
  count(*) FILTER (inclusion_state = 1 AND outputs = 2) AS outputs_2,
  count(*) FILTER (inclusion_state = 1 AND outputs = 3) AS outputs_3,
  count(*) FILTER (inclusion_state = 1 AND outputs = 4) AS outputs_4,
  count(*) FILTER (inclusion_state = 1 AND outputs = 5) AS outputs_5,
  count(*) FILTER (inclusion_state = 1 AND outputs = 6) AS outputs_6,
  count(*) FILTER (inclusion_state = 1 AND outputs = 7) AS outputs_7,
  count(*) FILTER (inclusion_state = 1 AND outputs BETWEEN 8 AND 15) AS outputs_small,
  count(*) FILTER (inclusion_state = 1 AND outputs BETWEEN 16 AND 31) AS outputs_medium,
  count(*) FILTER (inclusion_state = 1 AND outputs BETWEEN 32 AND 63) AS outputs_large,
  count(*) FILTER (inclusion_state = 1 AND outputs >= 64) AS outputs_huge
FROM analysed_cones WHERE message_id IS NOT NULL GROUP BY milestone_index;

-- view: analytics_of_outputs
SELECT milestone_index,
  coalesce(sum(amount) FILTER (transaction_id IS NOT NULL), 0) AS transferred_tokens,
  count(*) FILTER (output_kind = 'legacy') AS legacy_created_count,
  count(*) FILTER (output_kind = 'basic') AS basic_created_count,
  count(*) FILTER (output_kind = 'alias') AS alias_created_count,
  count(*) FILTER (output_kind = 'foundry') AS foundry_created_count,
  count(*) FILTER (output_kind = 'nft') AS nft_created_count,
  coalesce(sum(amount) FILTER (output_kind = 'legacy'), 0) AS legacy_created_amount,
  coalesce(sum(amount) FILTER (output_kind = 'basic'), 0) AS basic_created_amount,
  coalesce(sum(amount) FILTER (output_kind = 'alias'), 0) AS alias_created_amount,
  coalesce(sum(amount) FILTER (output_kind = 'foundry'), 0) AS foundry_created_amount,
  coalesce(sum(amount) FILTER (output_kind = 'nft'), 0) AS nft_created_amount
FROM (SELECT *, kind_name(output_type) AS output_kind FROM attached_outputs WHERE included)
GROUP BY milestone_index;

-- view: later_changes
SELECT *, CASE WHEN is_spent THEN -1 ELSE 1 END AS sign, kind_name(output_type) AS output_kind,
  row_number() OVER () AS number
FROM changes WHERE milestone_index > genesis_index();

-- view: active_of_milestone
SELECT milestone_index, count(DISTINCT owner) AS active_addresses FROM later_changes GROUP BY milestone_index;

-- view: transferred_of_milestone
SELECT milestone_index, sum(gained) AS transferred_amount
FROM (
  SELECT milestone_index, transaction_id, sum(greatest(net, 0)) AS gained, sum(spent) AS spent
  FROM (
    SELECT milestone_index, transaction_id, owner, sum(sign * amount) AS net, count(*) FILTER (is_spent) AS spent
    FROM later_changes GROUP BY ALL
  )
  GROUP BY ALL
)
WHERE spent > 0 GROUP BY milestone_index;

-- view: chains_of_milestone
-- The state index of an alias follows its native tokens and its id.
SELECT milestone_index,
  count(*) FILTER (output_kind = 'alias' AND NOT was) AS alias_new_count,
  count(*) FILTER (output_kind = 'alias' AND was AND becomes AND old_state <> new_state) AS alias_state_changed_count,
  count(*) FILTER (output_kind = 'alias' AND was AND becomes AND old_governor <> new_governor)
    AS alias_governor_changed_count,
  count(*) FILTER (output_kind = 'alias' AND NOT becomes) AS alias_destroyed_count,
  count(*) FILTER (output_kind = 'foundry' AND NOT was) AS foundry_new_count,
  count(*) FILTER (output_kind = 'foundry' AND was AND becomes) AS foundry_transferred_count,
  count(*) FILTER (output_kind = 'foundry' AND NOT becomes) AS foundry_destroyed_count,
  count(*) FILTER (output_kind = 'nft' AND NOT was) AS nft_new_count,
  count(*) FILTER (output_kind = 'nft' AND was AND becomes) AS nft_transferred_count,
  count(*) FILTER (output_kind = 'nft' AND NOT becomes) AS nft_destroyed_count
FROM (
  SELECT milestone_index, transaction_id, output_kind, stardust.chain_id AS chain_id, bool_or(is_spent) AS was,
    bool_or(NOT is_spent) AS becomes,
    max(substr(hex(data), 85 + 140 * stardust.native_tokens, 8)) FILTER (is_spent) AS old_state,
    max(substr(hex(data), 85 + 140 * stardust.native_tokens, 8)) FILTER (NOT is_spent) AS new_state,
    max(stardust.governor) FILTER (is_spent) AS old_governor,
    max(stardust.governor) FILTER (NOT is_spent) AS new_governor
  FROM later_changes WHERE stardust.chain_id IS NOT NULL GROUP BY ALL
)
GROUP BY milestone_index;

-- view: tokens_of_milestone
-- Amounts have 256 bits, little-endian. They are summed in eight parts of 32 bits, those in three numbers, and carried:
-- then the highest number has the sign of the sum.
WITH parts AS (
  SELECT milestone_index, transaction_id, token_id, is_spent, CASE WHEN is_spent THEN -1 ELSE 1 END AS sign,
    list_transform(range(8), lambda part: CAST('0x' || substr(digits, 8 * part + 7, 2) || substr(digits, 8 * part + 5, 2)
      || substr(digits, 8 * part + 3, 2) || substr(digits, 8 * part + 1, 2) AS BIGINT)) AS parts
  FROM (SELECT * EXCLUDE (digits), hex(token_amount) AS digits FROM held_tokens WHERE milestone_index > genesis_index())
),
sums AS (
  SELECT milestone_index, transaction_id, token_id, bool_or(is_spent) AS was, bool_or(NOT is_spent) AS becomes,
    sum(sign * (parts[1] + two_to_32() * (parts[2] + two_to_32() * parts[3]))) AS low,
    sum(sign * (parts[4] + two_to_32() * (parts[5] + two_to_32() * parts[6]))) AS middle,
    sum(sign * (parts[7] + two_to_32() * parts[8])) AS high
  FROM parts GROUP BY milestone_index, transaction_id, token_id
),
carried AS (
  SELECT *, middle + carry(low) AS middle_carried FROM sums
),
signed AS (
  SELECT *, high + carry(middle_carried) AS top,
    rest(low) = 0 AND rest(middle_carried) = 0 AS is_round FROM carried
)
SELECT milestone_index,
  count(*) FILTER (top >= 0 AND NOT (top = 0 AND is_round)) AS native_tokens_minted_count,
  count(*) FILTER (was AND becomes) AS native_tokens_transferred_count,
  count(*) FILTER (top < 0) AS native_tokens_burned_count
FROM signed GROUP BY milestone_index;

-- view: state_of_milestone
-- What each milestone adds to the unspent outputs.
SELECT milestone_index,
  sum(sign) FILTER (output_kind = 'legacy') AS legacy_count, sum(sign) FILTER (output_kind = 'basic') AS basic_count,
  sum(sign) FILTER (output_kind = 'alias') AS alias_count, sum(sign) FILTER (output_kind = 'foundry') AS foundry_count,
  sum(sign) FILTER (output_kind = 'nft') AS nft_count,
  sum(value) FILTER (output_kind = 'legacy') AS legacy_amount, sum(value) FILTER (output_kind = 'basic') AS basic_amount,
  sum(value) FILTER (output_kind = 'alias') AS alias_amount,
  sum(value) FILTER (output_kind = 'foundry') AS foundry_amount, sum(value) FILTER (output_kind = 'nft') AS nft_amount,
  34 * sum(sign) FILTER (stardust IS NOT NULL) AS key_bytes,
  sum(sign * (40 + octet_length(data))) FILTER (stardust IS NOT NULL) AS data_bytes,
  sum(sign) FILTER (is_unclaimed) AS unclaimed_count,
  sum(value) FILTER (is_unclaimed) AS unclaimed_amount,
  sum(sign) FILTER (stardust.expiration IS NOT NULL) AS expiration_count,
  sum(value) FILTER (stardust.expiration IS NOT NULL) AS expiration_amount,
  sum(sign) FILTER (stardust.timelock IS NOT NULL) AS timelock_count,
  sum(value) FILTER (stardust.timelock IS NOT NULL) AS timelock_amount,
  sum(sign) FILTER (stardust.storage_deposit_return IS NOT NULL) AS storage_deposit_return_count,
  sum(value) FILTER (stardust.storage_deposit_return IS NOT NULL) AS storage_deposit_return_amount,
  sum(sign * stardust.storage_deposit_return_amount) AS storage_deposit_owed
FROM (
  SELECT *, sign * amount AS value
  FROM (SELECT *, CASE WHEN is_spent THEN -1 ELSE 1 END AS sign, kind_name(output_type) AS output_kind FROM changes)
)
GROUP BY milestone_index;

-- view: holders_of_milestone
SELECT milestone_index, sum(CAST(balance > 0 AS INTEGER) - CAST(balance - gained > 0 AS INTEGER)) AS holders
FROM balances GROUP BY milestone_index;

-- view: calendar_of_milestone
-- An address counts at the first milestone of an interval in which it was active.
SELECT milestone_index, count(*) FILTER (unit = 'day') AS day_addresses, count(*) FILTER (unit = 'week') AS week_addresses,
  count(*) FILTER (unit = 'month') AS month_addresses, count(*) FILTER (unit = 'year') AS year_addresses
FROM (
  SELECT unit, date_trunc(unit, day) AS begins, owner, min(first) AS milestone_index
  FROM (
    SELECT owner, day_of(ms_timestamp) AS day, min(milestone_index) AS first FROM later_changes GROUP BY ALL
  ), (SELECT unnest(['day', 'week', 'month', 'year']) AS unit)
  GROUP BY ALL
)
GROUP BY milestone_index;

-- view: ledger_milestones
-- Milestones of which the measures of the ledger state are known, with their times.
SELECT milestone_index, max(epoch_ms("timestamp")) AS ms_timestamp
FROM (
  SELECT milestone_index, "timestamp" FROM lake_milestones WHERE verified IS NOT NULL
  UNION ALL
  SELECT genesis_index(), NULL
)
WHERE milestone_index BETWEEN genesis_index() AND least(frontier(), analysed_to()) GROUP BY milestone_index;

-- view: analytics_of_ledger
-- Genesis has only the state. A milestone without changes has the state of the one before.
SELECT milestone_index, ms_timestamp,
  CASE WHEN milestone_index > genesis_index() THEN coalesce(active_addresses, 0) END AS active_addresses,
  CASE WHEN milestone_index > genesis_index() THEN coalesce(transferred_amount, 0) END AS transferred_amount,
  CASE WHEN milestone_index > genesis_index() THEN coalesce(alias_new_count, 0) END AS alias_new_count,
  CASE WHEN milestone_index > genesis_index() THEN coalesce(alias_state_changed_count, 0) END AS alias_state_changed_count,
  CASE WHEN milestone_index > genesis_index() THEN coalesce(alias_governor_changed_count, 0) END AS alias_governor_changed_count,
  CASE WHEN milestone_index > genesis_index() THEN coalesce(alias_destroyed_count, 0) END AS alias_destroyed_count,
  CASE WHEN milestone_index > genesis_index() THEN coalesce(foundry_new_count, 0) END AS foundry_new_count,
  CASE WHEN milestone_index > genesis_index() THEN coalesce(foundry_transferred_count, 0) END AS foundry_transferred_count,
  CASE WHEN milestone_index > genesis_index() THEN coalesce(foundry_destroyed_count, 0) END AS foundry_destroyed_count,
  CASE WHEN milestone_index > genesis_index() THEN coalesce(nft_new_count, 0) END AS nft_new_count,
  CASE WHEN milestone_index > genesis_index() THEN coalesce(nft_transferred_count, 0) END AS nft_transferred_count,
  CASE WHEN milestone_index > genesis_index() THEN coalesce(nft_destroyed_count, 0) END AS nft_destroyed_count,
  CASE WHEN milestone_index > genesis_index() THEN coalesce(native_tokens_minted_count, 0) END AS native_tokens_minted_count,
  CASE WHEN milestone_index > genesis_index() THEN coalesce(native_tokens_transferred_count, 0) END AS native_tokens_transferred_count,
  CASE WHEN milestone_index > genesis_index() THEN coalesce(native_tokens_burned_count, 0) END AS native_tokens_burned_count,
  coalesce(sum(holders) OVER total, 0) AS holders,
  coalesce(sum(legacy_count) OVER total, 0) AS legacy_count,
  coalesce(sum(basic_count) OVER total, 0) AS basic_count,
  coalesce(sum(alias_count) OVER total, 0) AS alias_count,
  coalesce(sum(foundry_count) OVER total, 0) AS foundry_count,
  coalesce(sum(nft_count) OVER total, 0) AS nft_count,
  coalesce(sum(legacy_amount) OVER total, 0) AS legacy_amount,
  coalesce(sum(basic_amount) OVER total, 0) AS basic_amount,
  coalesce(sum(alias_amount) OVER total, 0) AS alias_amount,
  coalesce(sum(foundry_amount) OVER total, 0) AS foundry_amount,
  coalesce(sum(nft_amount) OVER total, 0) AS nft_amount,
  coalesce(sum(key_bytes) OVER total, 0) AS key_bytes,
  coalesce(sum(data_bytes) OVER total, 0) AS data_bytes,
  coalesce(sum(unclaimed_count) OVER total, 0) AS unclaimed_count,
  coalesce(sum(unclaimed_amount) OVER total, 0) AS unclaimed_amount,
  coalesce(sum(expiration_count) OVER total, 0) AS expiration_count,
  coalesce(sum(expiration_amount) OVER total, 0) AS expiration_amount,
  coalesce(sum(timelock_count) OVER total, 0) AS timelock_count,
  coalesce(sum(timelock_amount) OVER total, 0) AS timelock_amount,
  coalesce(sum(storage_deposit_return_count) OVER total, 0) AS storage_deposit_return_count,
  coalesce(sum(storage_deposit_return_amount) OVER total, 0) AS storage_deposit_return_amount,
  coalesce(sum(storage_deposit_owed) OVER total, 0) AS storage_deposit_owed,
  coalesce(sum(day_addresses) OVER (PARTITION BY date_trunc('day', day_of(ms_timestamp)) ORDER BY milestone_index), 0)
    AS day_addresses,
  coalesce(sum(week_addresses) OVER (PARTITION BY date_trunc('week', day_of(ms_timestamp)) ORDER BY milestone_index), 0)
    AS week_addresses,
  coalesce(sum(month_addresses) OVER (PARTITION BY date_trunc('month', day_of(ms_timestamp)) ORDER BY milestone_index), 0)
    AS month_addresses,
  coalesce(sum(year_addresses) OVER (PARTITION BY date_trunc('year', day_of(ms_timestamp)) ORDER BY milestone_index), 0)
    AS year_addresses
FROM ledger_milestones
LEFT JOIN active_of_milestone USING (milestone_index) LEFT JOIN transferred_of_milestone USING (milestone_index)
LEFT JOIN chains_of_milestone USING (milestone_index) LEFT JOIN tokens_of_milestone USING (milestone_index)
LEFT JOIN state_of_milestone USING (milestone_index) LEFT JOIN holders_of_milestone USING (milestone_index)
LEFT JOIN calendar_of_milestone USING (milestone_index)
WINDOW total AS (ORDER BY milestone_index);

-- table: ms_analytics
SELECT range_of(milestone_index) AS ms_range_id, milestone_index,
  coalesce(of_messages.ms_timestamp, of_ledger.ms_timestamp) AS ms_timestamp,
  of_messages.* EXCLUDE (milestone_index, ms_timestamp), of_ledger.* EXCLUDE (milestone_index, ms_timestamp)
FROM (
  SELECT counted.*, coalesce(transferred_tokens, 0) AS transferred_tokens,
    coalesce(legacy_created_count, 0) AS legacy_created_count,
    coalesce(basic_created_count, 0) AS basic_created_count,
    coalesce(alias_created_count, 0) AS alias_created_count,
    coalesce(foundry_created_count, 0) AS foundry_created_count,
    coalesce(nft_created_count, 0) AS nft_created_count,
    coalesce(legacy_created_amount, 0) AS legacy_created_amount,
    coalesce(basic_created_amount, 0) AS basic_created_amount,
    coalesce(alias_created_amount, 0) AS alias_created_amount,
    coalesce(foundry_created_amount, 0) AS foundry_created_amount,
    coalesce(nft_created_amount, 0) AS nft_created_amount
  FROM analytics_of_messages AS counted LEFT JOIN analytics_of_outputs USING (milestone_index)
) AS of_messages
FULL JOIN analytics_of_ledger AS of_ledger USING (milestone_index);

-- table: analytics_ranges
-- Consecutive milestones, split at multiples of 10,000.
WITH summed AS (
  SELECT milestone_index, message_count, transaction_count, transferred_tokens,
    milestone_index // 10000 AS piece, milestone_index - row_number() OVER (ORDER BY milestone_index) AS run
  FROM expected_ms_analytics WHERE message_count IS NOT NULL
),
runs AS (
  SELECT range_of(milestone_index) AS ms_range_id, min(milestone_index) AS first,
    '[' || concat_ws(',', min(milestone_index), max(milestone_index), sum(message_count), sum(transaction_count),
      sum(transferred_tokens)) || ']' AS text
  FROM summed GROUP BY range_of(milestone_index), piece, run
)
SELECT network() AS network, ms_range_id, '[' || string_agg(text, ',' ORDER BY first) || ']' AS runs
FROM runs GROUP BY ms_range_id;

-- table: address_analytics
SELECT owner AS address, range_of(milestone_index) AS ms_range_id, milestone_index, max(ms_timestamp) AS ms_timestamp,
  coalesce(sum(amount) FILTER (is_spent), 0) AS sent_tokens,
  coalesce(sum(amount) FILTER (NOT is_spent), 0) AS recv_tokens
FROM later_changes WHERE milestone_index <= analysed_to() GROUP BY owner, milestone_index;

-- view: cones_of_days
-- All complete milestones of the days that were analysed as a whole.
SELECT cones.*, day_of(ms_timestamp) AS date, inclusion_state IS NOT DISTINCT FROM 1 AS included
FROM cones WHERE verified IS NOT NULL AND day_of(ms_timestamp) IN (SELECT date FROM analysed_days);

-- view: counts_of_days
SELECT date, 'address' AS variant, value, count(*) FILTER (is_named) AS named, count(*) FILTER (is_paid) AS received,
  count(*) FILTER (has_signed) AS sent, 0 AS used, sum(moved) AS moved
FROM (
  SELECT date, output.address AS value, true AS is_named, included AND output.kind NOT IN (1, 2) AS is_paid,
    false AS has_signed, CASE WHEN included THEN output.amount END AS moved
  FROM (SELECT date, included, unnest("transaction".outputs) AS output FROM cones_of_days)
  UNION ALL
  SELECT date, unlock.address, false, false, true, NULL
  FROM (SELECT date, unnest("transaction".unlocks) AS unlock FROM cones_of_days WHERE included)
  WHERE unlock.address IS NOT NULL
)
GROUP BY date, value
UNION ALL
SELECT date, 'index', tag, 0, 0, 0, count(*), NULL
FROM (SELECT date, coalesce(tagged_data.tag, "transaction".tagged_data.tag) AS tag FROM cones_of_days)
WHERE tag IS NOT NULL GROUP BY date, tag;

-- table: metrics_cache
SELECT date, variant, metric, value, metric_value
FROM (
  SELECT date, variant, value, unnest(['sent', 'received', 'sent_or_received', 'used']) AS metric,
    unnest([sent, received, sent + received, used]) AS metric_value
  FROM counts_of_days
)
WHERE metric_value > 0;

-- table: daily_analytics
WITH values_of_day AS (
  SELECT date, count(*) FILTER (sent + received > 0) AS total_addresses, count(*) FILTER (sent > 0) AS send_addresses,
    count(*) FILTER (received > 0) AS recv_addresses, count(*) FILTER (used > 0) AS used_indexes,
    count(*) FILTER (named > 0) AS output_addresses, sum(named) AS output_count, max(named) AS max_outputs,
    sum(moved) AS moved
  FROM counts_of_days GROUP BY date
),
milestones_of_day AS (
  SELECT date, count(DISTINCT milestone_index) AS milestone_count, count(message_id) AS message_count,
    count(*) FILTER (inclusion_state = 1) AS transaction_count,
    count(*) FILTER (inclusion_state = 2) AS conflicting_count,
    count("transaction".transaction_id) AS transaction_payload_count
  FROM cones_of_days GROUP BY date
)
SELECT CAST(year(date) AS INTEGER) AS year, date, coalesce(total_addresses, 0) AS total_addresses,
  coalesce(send_addresses, 0) AS send_addresses, coalesce(recv_addresses, 0) AS recv_addresses,
  coalesce(used_indexes, 0) AS used_indexes, coalesce(output_addresses, 0) AS output_addresses,
  coalesce(output_count, 0) AS output_count, coalesce(max_outputs, 0) AS max_outputs, milestone_count, message_count,
  transaction_count, conflicting_count, transaction_payload_count,
  TRY_CAST(coalesce(moved, 0) AS BIGINT) AS transferred_tokens
FROM milestones_of_day LEFT JOIN values_of_day USING (date);
