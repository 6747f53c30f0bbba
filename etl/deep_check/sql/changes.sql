-- Changes of the ledger up to its index: a row for each created output and for each spent one. `address` is the owner
-- that the output names, `owner` the one at that time: after its expiration the return address.

CREATE TABLE changes AS
SELECT milestone_index, ms_timestamp, white_flag_index, idx, output_id[1:32] AS transaction_id, message_id,
  NULL::BLOB AS signer, false AS is_spent, output_id, output_type, address, address AS owner, amount, data, stardust,
  milestone_index AS created_in, is_unclaimed
FROM ledger_outputs WHERE milestone_index <= frontier()
UNION ALL
SELECT spent.milestone_index, spent.ms_timestamp, spent.white_flag_index, spent.idx, spent.transaction_id,
  spent.message_id, spent.signer, true, spent.output_id, made.output_type, made.address,
  CASE WHEN made.stardust.expiration <= spent.ms_timestamp // 1000 THEN made.stardust.expiration_return
    ELSE made.address END,
  made.amount, made.data, made.stardust, made.milestone_index, made.is_unclaimed
FROM attached_inputs AS spent LEFT JOIN ledger_outputs AS made ON made.output_id = spent.output_id
WHERE spent.inclusion_state = 1 AND spent.kind = 0 AND spent.milestone_index <= frontier()
  AND spent.milestone_index > genesis_index() AND (made.output_id IS NOT NULL OR all_owned());

-- Addresses after each milestone that changed them.
CREATE TABLE balances AS
SELECT address, milestone_index, sum(balance) OVER so_far AS balance, sum(unspent_count) OVER so_far AS unspent_count,
  sum(dust_allowance) OVER so_far AS dust_allowance, sum(dust_outputs) OVER so_far AS dust_outputs,
  coalesce(lag(0) OVER so_far, 1) AS is_first, balance AS gained
FROM (
  SELECT address, milestone_index, sum(sign * amount) AS balance, sum(sign) AS unspent_count,
    sum(CASE WHEN output_type = 1 THEN sign * amount ELSE 0 END) AS dust_allowance,
    sum(CASE WHEN output_type = 0 AND amount < 1000000 THEN sign ELSE 0 END) AS dust_outputs
  FROM (SELECT *, CASE WHEN is_spent THEN -1 ELSE 1 END AS sign FROM changes WHERE is_owned(address))
  GROUP BY address, milestone_index
)
WINDOW so_far AS (PARTITION BY address ORDER BY milestone_index);
