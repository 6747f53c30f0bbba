-- Tables of a Wormhole network.

-- view: ids
SELECT DISTINCT emitter_chain, emitter_address, sequence_key, row_key FROM cells;

-- view: publications
-- What was written for an id, whatever its body.
SELECT row_key, numbers['version'] AS version, numbers['guardian_set_index'] AS guardian_set_index,
  numbers['published_at'] AS published_at, numbers['nonce'] AS nonce, texts['sequence'] AS "sequence",
  texts['emitter_chain_name'] AS emitter_chain_name, texts['initiating_tx_id'] AS initiating_tx_id,
  bytes['payload'] AS payload, texts['reporter_hostname'] AS reporter_hostname
FROM written_rows;

-- table: vaas
SELECT emitter_chain, emitter_address, sequence_key[:16] AS seq_range, sequence_key, digest, row_key, 1 AS version,
  vaa.guardian_set_index AS guardian_set_index, NULL AS published_at, vaa.nonce AS nonce,
  coalesce(nullif(ltrim(sequence_key, '0'), ''), '0') AS "sequence", NULL AS emitter_chain_name,
  NULL AS initiating_tx_id, NULL::BLOB AS payload, NULL AS reporter_hostname, value AS signed_vaa, observed_at,
  vaa."timestamp" AS "timestamp", vaa.consistency_level AS consistency_level, said.kind AS payload_kind, verified,
  vaa.fault AS fault, vaa.reason AS reason, vaa.expired AS expired, len(vaa.signatures) AS signature_count,
  vaa.valid_signatures AS valid_signatures, canonical, digests
FROM bodies
UNION ALL
SELECT emitter_chain, emitter_address, sequence_key[:16], sequence_key, ''::BLOB, row_key, version, guardian_set_index,
  published_at, nonce, "sequence", emitter_chain_name, initiating_tx_id, payload, reporter_hostname, NULL, NULL, NULL,
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM ids LEFT JOIN publications USING (row_key)
WHERE row_key IN (SELECT row_key FROM cells WHERE family <> 'QuorumState');

-- table: vaa_signatures
-- Signatures that were written alone: of each guardian the earliest, then the smallest.
WITH alone AS (
  SELECT row_key, unhex(qualifier) AS guardian_address, value AS signature, time_ms FROM cells WHERE family = 'Signatures'
),
of_bodies AS (
  SELECT row_key, digest, signed.signer AS guardian_address, min(signed.signature) AS signature,
    min(form.set_index) AS guardian_set_index
  FROM (SELECT row_key, digest, vaa.guardian_set_index AS set_index, unnest(vaa.signatures) AS signed FROM forms) AS form
  JOIN guardians ON guardians.set_index = form.set_index AND guardians.place = signed.place
    AND guardians.address = signed.signer
  GROUP BY row_key, digest, signed.signer
)
SELECT row_key, ''::BLOB AS digest, guardian_address, signature, NULL AS guardian_set_index, time_ms AS observed_at
FROM alone
QUALIFY row_number() OVER (PARTITION BY row_key, guardian_address ORDER BY time_ms NULLS LAST, signature) = 1
UNION ALL
SELECT row_key, digest, guardian_address, signature, any_value(guardian_set_index), min(time_ms)
FROM of_bodies LEFT JOIN alone USING (row_key, guardian_address, signature)
GROUP BY row_key, digest, guardian_address, signature;

-- table: vaa_states
SELECT row_key, coalesce(TRY_CAST(regexp_extract(qualifier, ':([0-9]+)$', 1) AS BIGINT), -1) AS guardian_set_index,
  coalesce(time_ms, 0) AS updated_at, CAST('0x' || hex(value[1:1]) AS INTEGER) AS signature_count,
  min(value) AS signatures
FROM cells WHERE family = 'VAAState' GROUP BY ALL;

-- table: vaa_payloads
SELECT contents.* EXCLUDE (kind), tokens AS details_amount, notional_usd AS details_notional_usd,
  token_symbol AS details_origin_symbol, token_name AS details_origin_name,
  native_token(transfer_origin_chain, transfer_origin_address) AS details_origin_token_address,
  token_decimals AS details_decimals, NULL AS details_notional_usd_str,
  CASE WHEN is_described THEN price_usd END AS details_token_price_usd, NULL AS details_token_price_usd_str,
  go_time(1000 * transfers.vaa."timestamp") AS details_transfer_timestamp,
  coin_gecko_id AS details_coin_gecko_coin_id, NULL AS details_target_symbol, NULL AS details_target_name,
  NULL AS asset_coin_gecko_coin_id, NULL AS chain_sender_address, token_symbol AS chain_resulting_token_symbol,
  CASE WHEN transfer_target_chain = transfer_origin_chain THEN token_name
    WHEN is_evm(transfer_target_chain) AND token_name <> '' THEN token_name || ' (Wormhole)' END
    AS chain_resulting_token_name
FROM contents LEFT JOIN transfers USING (row_key, digest)
UNION ALL BY NAME
SELECT row_key, ''::BLOB AS digest, numbers['transfer_payload_id'] AS transfer_payload_id,
  texts['transfer_amount'] AS transfer_amount, bytes['transfer_origin_address'] AS transfer_origin_address,
  numbers['transfer_origin_chain'] AS transfer_origin_chain,
  bytes['transfer_target_address'] AS transfer_target_address,
  numbers['transfer_target_chain'] AS transfer_target_chain,
  numbers['asset_payload_id'] AS asset_payload_id, bytes['asset_token_address'] AS asset_token_address,
  numbers['asset_token_chain'] AS asset_token_chain, numbers['asset_decimals'] AS asset_decimals,
  texts['asset_symbol'] AS asset_symbol, texts['asset_name'] AS asset_name,
  texts['asset_coin_gecko_coin_id'] AS asset_coin_gecko_coin_id,
  texts['asset_native_address'] AS asset_native_address, numbers['nft_payload_id'] AS nft_payload_id,
  bytes['nft_origin_address'] AS nft_origin_address, numbers['nft_origin_chain'] AS nft_origin_chain,
  texts['nft_symbol'] AS nft_symbol, texts['nft_name'] AS nft_name,
  texts['nft_token_id'] AS nft_token_id, texts['nft_uri'] AS nft_uri,
  bytes['nft_target_address'] AS nft_target_address, numbers['nft_target_chain'] AS nft_target_chain,
  texts['details_amount'] AS details_amount, texts['details_notional_usd'] AS details_notional_usd,
  texts['details_origin_symbol'] AS details_origin_symbol, texts['details_origin_name'] AS details_origin_name,
  texts['details_origin_token_address'] AS details_origin_token_address,
  numbers['details_decimals'] AS details_decimals, texts['details_notional_usd_str'] AS details_notional_usd_str,
  texts['details_token_price_usd'] AS details_token_price_usd,
  texts['details_token_price_usd_str'] AS details_token_price_usd_str,
  texts['details_transfer_timestamp'] AS details_transfer_timestamp,
  texts['details_coin_gecko_coin_id'] AS details_coin_gecko_coin_id,
  texts['details_target_symbol'] AS details_target_symbol, texts['details_target_name'] AS details_target_name,
  texts['chain_sender_address'] AS chain_sender_address,
  texts['chain_receiver_address'] AS chain_receiver_address,
  texts['chain_resulting_token_address'] AS chain_resulting_token_address,
  texts['chain_resulting_token_symbol'] AS chain_resulting_token_symbol,
  texts['chain_resulting_token_name'] AS chain_resulting_token_name
FROM written_rows WHERE is_about_payload;

-- view: lookup_places
SELECT kind, key, body_day AS day, vaa."timestamp" AS "timestamp", emitter_chain, emitter_address, sequence_key, digest,
  row_key, observed_at, verified, canonical, said.kind AS payload_kind,
  CASE WHEN said.kind IN ('token_transfer', 'token_transfer_with_payload', 'nft_transfer') THEN said.to_chain END
    AS target_chain
FROM listed_keys JOIN bodies USING (row_key, digest)
UNION ALL
SELECT kind, key, 0, 0, emitter_chain, emitter_address, sequence_key, ''::BLOB, row_key, NULL, false, false, NULL, NULL
FROM written_keys JOIN ids USING (row_key);

-- table: vaa_lookups
SELECT kind, place.key AS key, range_of(day) AS day_range, partition_in(hot.first_milestones, day) AS partition_id,
  place.* EXCLUDE (kind, key)
FROM lookup_places AS place
LEFT JOIN (
  SELECT key, ms_range_id, TRY_CAST(first_milestones AS INTEGER[]) AS first_milestones FROM stored_splits
  WHERE lookup = 'vaa_lookups'
) AS hot ON hot.key = place.kind || ':' || place.key AND hot.ms_range_id = range_of(place.day);

-- table: vaa_hints
SELECT DISTINCT kind, key, day_range, partition_id FROM expected_vaa_lookups;

-- table: sequence_hints
SELECT DISTINCT emitter_chain, emitter_address, sequence_key[:16] AS seq_range FROM ids;

-- table: emitters
SELECT DISTINCT emitter_chain, emitter_address FROM ids;

-- table: guardian_sets
SELECT network() AS network, own.set_index AS guardian_set_index, own.addresses AS addresses, own.since AS since,
  own.named_by AS named_by, CASE WHEN following.since <> 0 THEN following.since + 86400 END AS expires_at_s
FROM (
  SELECT set_index, '[' || string_agg('"' || hex_text(address) || '"', ', ' ORDER BY place) || ']' AS addresses,
    any_value(since) AS since, any_value(named_by) AS named_by
  FROM guardians GROUP BY set_index
) AS own
LEFT JOIN (SELECT DISTINCT set_index, since FROM guardians) AS following ON following.set_index = own.set_index + 1;

-- table: tokens
SELECT token_key, decimals, symbol, name, digest, coin_gecko_id FROM described_tokens;

-- table: prices
SELECT token_key, day, price_usd FROM lake_prices;

-- view: counted
-- Verified messages that are returned for their id. Details that were written have the prices of their time.
SELECT body.counted_day AS day, body.emitter_chain AS emitter_chain, body.emitter_address AS emitter_address,
  body.said.kind AS kind, transfers.row_key IS NOT NULL AS moves, body.said.to_chain AS to_chain,
  transfers.token_key AS token, hex_text(body.said.to_address) AS recipient,
  coalesce(details.amount, transfers.tokens) AS amount, coalesce(details.notional_usd, transfers.notional_usd) AS notional_usd
FROM (SELECT * FROM bodies WHERE canonical AND verified) AS body
LEFT JOIN transfers USING (row_key, digest)
LEFT JOIN (
  SELECT row_key, texts['details_amount'] AS amount, texts['details_notional_usd'] AS notional_usd
  FROM written_rows
) AS details ON details.row_key = body.row_key;

-- table: vaa_daily
SELECT measure, day, emitter_chain, emitter_address, target_chain, token_key, address, message_count,
  sum_text(whole, fraction) AS amount, sum_text(whole_usd, fraction_usd) AS notional_usd
FROM (
  SELECT measure, day, emitter_chain, emitter_address, target_chain, token_key, address, count(*) AS message_count,
    sum(whole_part(amount)) AS whole, sum(fraction_part(amount)) AS fraction,
    sum(whole_part(notional_usd)) AS whole_usd, sum(fraction_part(notional_usd)) AS fraction_usd
  FROM (
    SELECT 'totals' AS measure, day, emitter_chain, emitter_address, 0 AS target_chain, '' AS token_key, '' AS address,
      NULL::VARCHAR AS amount, NULL::VARCHAR AS notional_usd
    FROM counted
    UNION ALL
    SELECT 'nfts', day, emitter_chain, emitter_address, 0, '', '', NULL, NULL FROM counted WHERE kind = 'nft_transfer'
    UNION ALL
    SELECT 'transfers', day, emitter_chain, emitter_address, to_chain, token, '', amount, notional_usd
    FROM counted WHERE moves
    UNION ALL
    SELECT 'addresses', day, emitter_chain, emitter_address, to_chain, '', recipient, NULL, notional_usd
    FROM counted WHERE moves
  )
  GROUP BY ALL
);

-- table: vaa_days
SELECT DISTINCT measure, day
FROM (
  SELECT day, unnest(CASE WHEN moves THEN ['totals', 'transfers', 'addresses'] WHEN kind = 'nft_transfer' THEN
    ['totals', 'nfts'] ELSE ['totals'] END) AS measure
  FROM counted
);

-- table: rejects
SELECT DISTINCT milestone_index, file, line, item, reason FROM lake_rejects;

-- table: splits
-- A split must name a key that has rows, and days of its range in ascending order.
SELECT lookup, ms_range_id, key, first_milestones, open_count, counted_to
FROM stored_splits AS splits
WHERE lookup = 'vaa_lookups'
  AND EXISTS (
    SELECT 1 FROM lookup_places AS held
    WHERE range_of(held.day) = splits.ms_range_id AND held.kind || ':' || held.key = splits.key
  )
  AND list_sort(TRY_CAST(first_milestones AS INTEGER[])) = TRY_CAST(first_milestones AS INTEGER[])
  AND len(list_filter(TRY_CAST(first_milestones AS INTEGER[]), lambda each: range_of(each) <> splits.ms_range_id)) = 0;
