-- What a store says about its milestones.

-- view: proved_milestones
-- The lake has levels up to `signed`: a milestone is `full` if the store says so and the ledger, which is computed here,
-- includes it. `sync` and `proofs` must agree.
SELECT * REPLACE (
  CASE WHEN verified = 'signed' AND milestone_index > genesis_index() AND milestone_index <= frontier()
    AND milestone_index IN (SELECT milestone_index FROM stored_sync WHERE verified = 'full')
  THEN 'full' ELSE verified END AS verified
)
FROM lake_milestones;

-- table: sync
-- Which milestones are in archive files is not in the lake; `sync` and `ranges` must agree.
SELECT range_of(milestone_index) AS ms_range_id, milestone_index, epoch_ms("timestamp") AS ms_timestamp,
  CASE WHEN verified IS NOT NULL THEN 0 END AS synced_by,
  CASE WHEN EXISTS (SELECT 1 FROM stored_logged WHERE milestone_index BETWEEN first AND last) THEN 0 END AS logged_by,
  message_count, verified, CASE WHEN verified IS NOT NULL THEN layout() END AS layout
FROM proved_milestones;

-- view: milestone_states
SELECT milestone_index, range_of(milestone_index) AS ms_range_id, epoch_ms("timestamp") AS ms_timestamp, message_count,
  verified, logged.milestone_index IS NOT NULL AS is_logged,
  lag(epoch_ms("timestamp")) OVER (PARTITION BY range_of(milestone_index), verified IS NOT NULL ORDER BY milestone_index)
    AS before
FROM proved_milestones LEFT JOIN (SELECT DISTINCT milestone_index FROM stored_sync WHERE logged_by IS NOT NULL) AS logged
  USING (milestone_index);

-- view: runs_of_states
-- Consecutive milestones in the same state, as [first, last].
SELECT ms_range_id, state, list([first, last] ORDER BY first) AS pairs
FROM (
  SELECT ms_range_id, state, min(milestone_index) AS first, max(milestone_index) AS last
  FROM (
    SELECT *, milestone_index - row_number() OVER (PARTITION BY ms_range_id, state ORDER BY milestone_index) AS run
    FROM (
      SELECT ms_range_id, milestone_index, unnest(list_filter([
        CASE WHEN verified IS NOT NULL THEN 'complete' ELSE 'incomplete' END, verified,
        CASE WHEN is_logged THEN 'logged' END
      ], lambda each: each IS NOT NULL)) AS state
      FROM milestone_states
    )
  )
  GROUP BY ms_range_id, state, run
)
GROUP BY ms_range_id, state;

-- table: ranges
SELECT network() AS network, ms_range_id,
  coalesce(max(text) FILTER (state = 'complete'), '[]') AS complete,
  coalesce(max(text) FILTER (state = 'incomplete'), '[]') AS incomplete,
  any_value(milestone_count) AS milestone_count, any_value(message_count) AS message_count,
  any_value(min_timestamp) AS min_timestamp, any_value(max_timestamp) AS max_timestamp, any_value(rising) AS rising,
  layout() AS layout, coalesce(max(text) FILTER (state = 'logged'), '[]') AS logged
FROM (SELECT ms_range_id, state, pairs_text(pairs) AS text FROM runs_of_states)
JOIN (
  SELECT ms_range_id, count(verified) AS milestone_count,
    coalesce(sum(message_count) FILTER (verified IS NOT NULL), 0) AS message_count,
    min(ms_timestamp) FILTER (verified IS NOT NULL) AS min_timestamp,
    max(ms_timestamp) FILTER (verified IS NOT NULL) AS max_timestamp,
    coalesce(bool_and(before <= ms_timestamp) FILTER (verified IS NOT NULL AND before IS NOT NULL), true) AS rising
  FROM milestone_states GROUP BY ms_range_id
) USING (ms_range_id)
GROUP BY ms_range_id;

-- table: proofs
SELECT network() AS network, ms_range_id,
  '{' || coalesce(string_agg('"' || state || '":' || pairs_text(pairs), ',' ORDER BY list_position(
    ['believed', 'merkle', 'signed', 'full'], state)), '') || '}' AS levels
FROM runs_of_states WHERE state IN ('believed', 'merkle', 'signed', 'full') GROUP BY ms_range_id;

-- table: rejects
SELECT DISTINCT milestone_index, file, line, item, reason FROM lake_rejects;

-- view: lookup_rows
-- The milestones of rows by lookup and key, as splits name it.
SELECT 'tags' AS lookup, ms_range_id, hex_text(tag) AS key, milestone_index, partition_id FROM expected_tags
UNION ALL
SELECT 'outputs_by_address', ms_range_id, hex_text(address) || ':' || output_kind || ':' || variant || ':' || included,
  milestone_index, partition_id
FROM expected_outputs_by_address
UNION ALL
SELECT 'transactions_by_address', ms_range_id, hex_text(address) || ':' || included, milestone_index, partition_id
FROM expected_transactions_by_address
UNION ALL
SELECT 'outputs_by_tag', ms_range_id, hex_text(tag) || ':' || output_kind, milestone_index, partition_id
FROM expected_outputs_by_tag
UNION ALL
SELECT output_kind || '_outputs', ms_range_id, hex_text(chain_id), milestone_index, partition_id FROM chain_states
UNION ALL
SELECT 'ledger_updates_by_address', ms_range_id, hex_text(address), milestone_index, partition_id
FROM expected_ledger_updates_by_address
UNION ALL
SELECT 'unspent_outputs', ms_range_id, lookup || ':' || output_kind || ':' || key, milestone_index, partition_id
FROM expected_unspent_outputs
UNION ALL
SELECT 'native_token_updates', ms_range_id, hex_text(token_id), milestone_index, partition_id
FROM expected_native_token_updates;

-- table: splits
-- Where partitions begin depends on how milestones were loaded. A split must name a key that has rows, and milestones of
-- its range in ascending order. Rows in other partitions than these are wrong rows of their tables.
SELECT splits.lookup, splits.ms_range_id, splits.key, first_milestones, open_count, counted_to
FROM stored_splits AS splits
WHERE EXISTS (
    SELECT 1 FROM lookup_rows AS held
    WHERE held.lookup = splits.lookup AND held.ms_range_id = splits.ms_range_id AND held.key = splits.key
  )
  AND list_sort(TRY_CAST(first_milestones AS INTEGER[])) = TRY_CAST(first_milestones AS INTEGER[])
  AND len(list_filter(TRY_CAST(first_milestones AS INTEGER[]), lambda each: range_of(each) <> splits.ms_range_id)) = 0;
