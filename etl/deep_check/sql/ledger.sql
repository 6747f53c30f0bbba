-- Tables of the ledger state.

-- table: ledger_frontier
-- Earlier steps depend on how milestones were loaded; the newest one does not.
SELECT network() AS network, milestone AS ledger_index, milestone < frontier() AS optional
FROM (SELECT unnest(range(genesis_index(), frontier() + 1)) AS milestone);

-- table: ledger_updates_by_milestone
SELECT milestone_index, output_id, is_spent, white_flag_index, idx, owner AS address, amount
FROM changes WHERE milestone_index > genesis_index();

-- table: address_balances
SELECT address, range_of(milestone_index) AS ms_range_id, milestone_index, balance, unspent_count, dust_allowance,
  dust_outputs
FROM balances;

-- table: ledger_updates_by_address
SELECT owner AS address, range_of(milestone_index) AS ms_range_id,
  partition_in(hot.first_milestones, milestone_index) AS partition_id, milestone_index, output_id, is_spent, amount,
  message_id, transaction_id, ms_timestamp
FROM changes
LEFT JOIN (SELECT * FROM hot_keys WHERE lookup = 'ledger_updates_by_address') AS hot
  ON hot.key = owner AND hot.ms_range_id = range_of(milestone_index)
WHERE milestone_index > genesis_index();

-- view: held_tokens
-- Native tokens follow type, amount and their number in the bytes of a Stardust output: 38 bytes of id, 32 of amount.
SELECT *, unhex(substr(digits, 21 + 140 * place, 76)) AS token_id,
  unhex(substr(digits, 97 + 140 * place, 64)) AS token_amount
FROM (
  SELECT *, hex(data) AS digits, unnest(range(stardust.native_tokens)) AS place
  FROM changes WHERE stardust.native_tokens > 0
);

-- table: native_token_updates
SELECT token_id, range_of(milestone_index) AS ms_range_id,
  partition_in(hot.first_milestones, milestone_index) AS partition_id, milestone_index, output_id, is_spent,
  owner AS address, token_amount, message_id, transaction_id, ms_timestamp
FROM held_tokens
LEFT JOIN (SELECT * FROM hot_keys WHERE lookup = 'native_token_updates') AS hot
  ON hot.key = token_id AND hot.ms_range_id = range_of(milestone_index);

-- table: address_movements
WITH parts AS (
  SELECT milestone_index, transaction_id, address,
    min(coalesce(white_flag_index, 2147483647)) AS white_flag_index, max(ms_timestamp) AS ms_timestamp,
    sum(CASE WHEN is_spent THEN -amount ELSE amount END) AS amount, bool_or(is_spent) AS has_spent,
    bool_or(NOT is_spent) AS has_received
  FROM changes WHERE is_owned(address) GROUP BY milestone_index, transaction_id, address
),
effects AS (
  SELECT milestone_index, transaction_id, min(white_flag_index) AS white_flag_index,
    max(ms_timestamp) AS ms_timestamp,
    coalesce(list(hex(address) ORDER BY address) FILTER (has_spent), []) AS senders,
    coalesce(list(hex(address) ORDER BY address) FILTER (has_received), []) AS recipients
  FROM parts GROUP BY milestone_index, transaction_id
)
SELECT address, range_of(milestone_index) AS ms_range_id,
  milestone_index - (milestone_index % chunk_size()) % CAST(ceil(chunk_size() / 100) AS INTEGER) AS partition_id,
  milestone_index, effects.white_flag_index, transaction_id,
  CASE WHEN len(senders) > 0 THEN 'transaction' WHEN milestone_index = genesis_index() THEN 'genesis'
    WHEN all_owned() OR transaction_id IN (SELECT milestone_id FROM lake_milestones WHERE receipt.payload IS NOT NULL)
      THEN 'migration' ELSE 'transaction' END AS kind,
  amount,
  unhex(coalesce(list_aggregate(
    list_filter(CASE WHEN amount > 0 THEN senders ELSE recipients END, lambda each: each <> hex(address)),
    'string_agg', ''), '')) AS counterparties,
  effects.ms_timestamp
FROM parts JOIN effects USING (milestone_index, transaction_id)
WHERE amount <> 0;

-- view: unspent_rows
SELECT made.*, spent.milestone_index AS spent_milestone_index, kind_name(made.output_type) AS output_kind,
  made.stardust.sender AS sender, made.stardust.issuer AS issuer, made.stardust.tag AS tag,
  made.stardust.state_controller AS state_controller, made.stardust.governor AS governor,
  made.stardust.storage_deposit_return AS storage_deposit_return,
  TRY_CAST(made.stardust.storage_deposit_return_amount AS BIGINT) AS storage_deposit_return_amount,
  made.stardust.timelock AS timelock, made.stardust.expiration AS expiration,
  made.stardust.expiration_return AS expiration_return, made.stardust.native_tokens AS native_tokens
FROM (SELECT * FROM changes WHERE NOT is_spent) AS made
LEFT JOIN (SELECT * FROM changes WHERE is_spent) AS spent USING (output_id);

-- view: unspent_keys
SELECT unnest(list_filter([
    {'lookup': 'address', 'key': CASE WHEN output_kind <> 'alias' THEN address END},
    {'lookup': 'sender', 'key': sender},
    {'lookup': 'issuer', 'key': issuer},
    {'lookup': 'state_controller', 'key': state_controller},
    {'lookup': 'governor', 'key': governor},
    {'lookup': 'storage_deposit_return', 'key': storage_deposit_return},
    {'lookup': 'expiration_return', 'key': expiration_return},
    {'lookup': 'tag', 'key': CASE WHEN output_kind IN ('basic', 'nft') THEN tag END},
    {'lookup': 'chain', 'key': stardust.chain_id}
  ], lambda role: role.key IS NOT NULL)) AS role, NULL::BLOB AS token_amount, *
FROM unspent_rows
UNION ALL
SELECT {'lookup': 'native_token', 'key': unhex(substr(hex(data), 21 + 140 * place, 76))},
  unhex(substr(hex(data), 97 + 140 * place, 64)), * EXCLUDE (place)
FROM (SELECT *, unnest(range(stardust.native_tokens)) AS place FROM unspent_rows WHERE stardust.native_tokens > 0)
UNION ALL
SELECT {'lookup': '', 'key': CASE WHEN milestone_index = genesis_index() THEN output_id[1:1] ELSE ''::BLOB END}, NULL, *
FROM unspent_rows;

-- table: unspent_outputs
-- Rows that were spent up to unspent_from may have been removed.
SELECT role.lookup AS lookup, output_kind, hex_text(role.key) AS key, range_of(milestone_index) AS ms_range_id,
  partition_in(hot.first_milestones, milestone_index) AS partition_id, milestone_index, output_id, ms_timestamp,
  spent_milestone_index, output_type, amount, sender, issuer, tag, state_controller, governor, storage_deposit_return,
  storage_deposit_return_amount, timelock, expiration, expiration_return, native_tokens,
  CASE WHEN native_tokens > 0 THEN address END AS address, token_amount,
  coalesce(spent_milestone_index <= unspent_from(), false) AS optional
FROM unspent_keys
LEFT JOIN (
  SELECT parts[1] AS lookup, parts[2] AS kind, parts[3] AS key, ms_range_id, first_milestones
  FROM hot_keys WHERE lookup = 'unspent_outputs'
) AS hot ON hot.lookup = role.lookup AND hot.kind = output_kind AND hot.key = hex_text(role.key)
  AND hot.ms_range_id = range_of(milestone_index);

-- table: unspent_hints
SELECT lookup, output_kind, key, ms_range_id, partition_id, bool_and(optional) AS optional
FROM expected_unspent_outputs GROUP BY ALL;

-- view: wealth_steps
-- Ledger indexes of which the list is kept: the newest one, the last milestone of each day, and others that are stored.
SELECT frontier() AS ledger_index WHERE frontier() IS NOT NULL
UNION
SELECT max(milestone_index) FROM lake_milestones WHERE verified IS NOT NULL
GROUP BY day_of(epoch_ms("timestamp")) HAVING max(milestone_index) BETWEEN genesis_index() AND frontier()
UNION
SELECT ledger_index FROM stored_steps WHERE ledger_index BETWEEN genesis_index() AND frontier();

-- view: powers
-- What each milestone adds to the number and the sum of balances with that many digits.
SELECT milestone_index, length(CAST(balance AS VARCHAR)) - 1 AS power, 1 AS addresses, balance AS amount
FROM balances WHERE balance > 0
UNION ALL
SELECT milestone_index, length(CAST(balance - gained AS VARCHAR)) - 1, -1, gained - balance
FROM balances WHERE balance - gained > 0;

-- table: distribution
SELECT network() AS network, ledger_index, power, sum(addresses) AS addresses, sum(amount) AS amount
FROM wealth_steps JOIN (
  SELECT milestone_index, power, sum(addresses) AS addresses, sum(amount) AS amount FROM powers GROUP BY ALL
) ON milestone_index <= ledger_index
WHERE all_owned()
GROUP BY ledger_index, power HAVING sum(addresses) <> 0;

-- table: rich_list
-- Complete down to its last row, with at least as many rows as are shown. Balances with fewer digits cannot be listed.
WITH floors AS (
  SELECT ledger_index, max(power) FILTER (above >= 2 * shown()) AS least_power
  FROM (
    SELECT ledger_index, power, sum(addresses) OVER (PARTITION BY ledger_index ORDER BY power DESC) AS above
    FROM expected_distribution
  )
  GROUP BY ledger_index
),
held AS (
  SELECT address, balance, milestone_index AS first,
    coalesce(lead(milestone_index) OVER (PARTITION BY address ORDER BY milestone_index), 2147483647) AS until
  FROM balances
),
ranked AS (
  SELECT ledger_index, row_number() OVER (PARTITION BY ledger_index ORDER BY balance DESC, address) AS rank, address,
    balance
  FROM floors JOIN held ON first <= ledger_index AND ledger_index < until
    AND balance >= CAST(pow(10, coalesce(least_power, 0)) AS BIGINT)
)
SELECT network() AS network, ledger_index, CAST(ranked.rank AS INTEGER) AS rank, address, balance,
  ranked.rank > greatest(shown(), coalesce(stored.rank, 0)) AS optional
FROM ranked LEFT JOIN (SELECT ledger_index, max(rank) AS rank FROM stored_rich_list GROUP BY ledger_index) AS stored
  USING (ledger_index)
WHERE ranked.rank <= 2 * shown();
