-- Whose balances are in the ledger state: those of all addresses, or of the addresses that a lake keeps. And which outputs:
-- those that these addresses own, govern, or get back after their expiration.
CREATE MACRO all_owned() AS (SELECT count(*) = 0 FROM lake_selection);
CREATE MACRO is_owned(address) AS
  all_owned() OR ('address:0x' || hex_text(address)) IN (SELECT filter FROM lake_selection);
CREATE MACRO is_held(address, stardust) AS
  is_owned(address) OR is_owned(stardust.governor) OR is_owned(stardust.expiration_return);

-- Keys that the filters of a lake name, with the milestones that they cover and genesis. Those that are kept as a whole.
CREATE TABLE kept_keys AS
SELECT split_part(filter, ':', 1) AS kind, unhex(split_part(filter, ':0x', 2)) AS key,
  list_append(CAST(milestones AS INTEGER[][]), [genesis_index(), genesis_index()]) AS spans
FROM lake_selection WHERE filter LIKE 'address:%' OR filter LIKE 'tag:%';
CREATE MACRO is_within(milestone, spans) AS
  len(list_filter(spans, lambda span: span[1] <= milestone AND milestone <= span[2])) > 0;
CREATE TABLE kept_wholly AS
SELECT list([greatest(span[1], first), least(span[2], behind - 1)]) AS spans
FROM (
  SELECT unnest(CAST(milestones AS INTEGER[][])) AS span, CAST(split_part(filter, ':', 2) AS INTEGER) AS first,
    CAST(split_part(filter, ':', 3) AS INTEGER) AS behind
  FROM lake_selection WHERE filter LIKE 'milestones:%'
);
-- Whether a lookup of a selective store may do without a row: no filter covers its key in its milestone.
CREATE MACRO is_uncovered(milestone, spans) AS
  NOT all_owned() AND NOT coalesce(is_within(milestone, spans), false)
  AND NOT coalesce(is_within(milestone, (SELECT spans FROM kept_wholly)), false);

-- Messages of the lake with the columns that several queries read. A Stardust milestone has a row without message_id.
CREATE VIEW cones AS
SELECT *, epoch_ms("timestamp") AS ms_timestamp FROM lake_messages;

-- Splits of hot keys with their parts: (lookup, range) and the parts of the key.
CREATE VIEW hot_keys AS
SELECT lookup, ms_range_id, string_split(key, ':') AS parts,
  CASE WHEN lookup <> 'unspent_outputs' THEN unhex(string_split(key, ':')[1]) END AS key, TRY_CAST(first_milestones AS INTEGER[]) AS first_milestones
FROM stored_splits;

-- Every output of a transaction, included or not, and of a receipt. Treasury outputs belong to no address.
CREATE VIEW attached_outputs AS
SELECT milestone_index, ms_timestamp, white_flag_index, coalesce(message_id, zeros()) AS message_id, transaction_id,
  included, idx, output.output_id, output.kind AS output_type, output.address,
  TRY_CAST(output.amount AS BIGINT) AS amount, output.data, output.stardust
FROM (
  SELECT milestone_index, ms_timestamp, white_flag_index, message_id, "transaction".transaction_id AS transaction_id,
    inclusion_state IS NOT DISTINCT FROM 1 AS included, unnest("transaction".outputs) AS output,
    generate_subscripts("transaction".outputs, 1) - 1 AS idx
  FROM cones WHERE "transaction".transaction_id IS NOT NULL
  UNION ALL
  SELECT milestone_index, ms_timestamp, white_flag_index, message_id, NULL, true, unnest(milestone.receipt.funds),
    generate_subscripts(milestone.receipt.funds, 1) - 1
  FROM cones WHERE milestone.receipt.payload IS NOT NULL
)
WHERE output.kind <> 2;

-- Outputs of genesis, once they were applied.
CREATE VIEW genesis_outputs AS
SELECT milestone_index, ms_timestamp, output_id, message_id, kind AS output_type, address, amount, data, stardust,
  booked_milestone_index, booked_ms_timestamp
FROM lake_genesis WHERE kind <> 2 AND frontier() IS NOT NULL AND is_held(address, stardust);

-- Every input of a transaction with the bytes of its unlock and the address that signed it.
CREATE VIEW attached_inputs AS
SELECT * EXCLUDE (unlocks, unlock),
  CASE WHEN unlock.kind = 0 THEN unhex('0000') || unlock.public_key || unlock.signature
    ELSE unhex(printf('%02x', unlock.kind)) || u16_bytes(unlock.reference) END AS unlock_bytes,
  coalesce(unlock.address, unlocks[unlock.reference + 1].address) AS signer
FROM (
  SELECT milestone_index, ms_timestamp, white_flag_index, message_id, inclusion_state, transaction_id, idx,
    input.kind AS kind, input.output_id AS output_id, unlocks, unlocks[idx + 1] AS unlock
  FROM (
    SELECT milestone_index, ms_timestamp, white_flag_index, message_id, inclusion_state,
      "transaction".transaction_id AS transaction_id, "transaction".unlocks AS unlocks,
      unnest("transaction".inputs) AS input, generate_subscripts("transaction".inputs, 1) - 1 AS idx
    FROM cones WHERE "transaction".transaction_id IS NOT NULL
  )
);

-- Every output with the message that created it. Outputs of genesis may have been created in an earlier milestone of the
-- lake, or in that of genesis.
CREATE VIEW created_outputs AS
SELECT output_id, milestone_index, white_flag_index, message_id, output_type, address, amount, data
FROM attached_outputs WHERE included
UNION ALL
SELECT output_id, milestone_index, NULL, message_id, output_type, address, amount, data
FROM genesis_outputs
WHERE output_id NOT IN (SELECT output_id FROM attached_outputs WHERE included AND milestone_index <= genesis_index());

-- Outputs of the ledger, in order of their creation: of genesis, and of later included transactions and receipts.
CREATE VIEW ledger_outputs AS
SELECT milestone_index, ms_timestamp, white_flag_index, message_id, idx, output_id, output_type, address, amount,
  CASE WHEN stardust IS NOT NULL THEN data END AS data, stardust, false AS is_unclaimed
FROM attached_outputs WHERE included AND is_held(address, stardust) AND milestone_index > genesis_index()
UNION ALL
SELECT milestone_index, ms_timestamp, NULL, message_id, NULL, output_id, output_type, address, amount,
  CASE WHEN stardust IS NOT NULL THEN data END, stardust, coalesce(booked_milestone_index, 0) = 0
FROM genesis_outputs;
