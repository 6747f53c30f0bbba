-- Cells of the event tables with the row key of their message.
CREATE VIEW cells AS
SELECT emitter_chain, emitter_address, sequence_key, row_key_of(emitter_chain, emitter_address, sequence_key) AS row_key,
  family, qualifier, time_ms, value
FROM lake_vaas;

-- Every VAA that was published, with the earliest time of its cells.
CREATE TABLE published AS
SELECT *, read_vaa(value) AS vaa
FROM (
  SELECT emitter_chain, emitter_address, sequence_key, row_key, value, min(time_ms) AS observed_at
  FROM cells WHERE family = 'QuorumState' GROUP BY ALL
);

-- Signatures that were written without their body. A list in VAAState is a number, then index and signature each.
CREATE VIEW written_signatures AS
SELECT row_key, value AS signature FROM cells WHERE family = 'Signatures'
UNION
SELECT row_key, value[3 + 66 * place : 67 + 66 * place]
FROM (SELECT row_key, value, unnest(range((octet_length(value) - 1) // 66)) AS place FROM cells WHERE family = 'VAAState');

-- A body of which no VAA has a quorum gets one with all known signatures of a guardian set that one of its VAAs names:
-- the set with most of them, then the older one.
CREATE TABLE assembled AS
WITH weak AS (
  SELECT row_key, vaa.digest AS digest, any_value(vaa.body) AS body FROM published
  GROUP BY row_key, vaa.digest HAVING count(*) FILTER (vaa.valid_signatures >= vaa.quorum) = 0
),
of_weak AS (
  SELECT weak.row_key AS row_key, weak.digest AS digest, published.vaa AS vaa
  FROM weak JOIN published ON published.row_key = weak.row_key AND published.vaa.digest = weak.digest
),
known AS (
  SELECT row_key, digest, signed.signer AS signer, signed.signature AS signature
  FROM (SELECT row_key, digest, unnest(vaa.signatures) AS signed FROM of_weak)
  UNION
  SELECT row_key, digest, signer_of(digest, signature), signature FROM weak JOIN written_signatures USING (row_key)
),
members AS (
  SELECT row_key, digest, set_index, place, quorum, min(signature) AS signature
  FROM (SELECT DISTINCT row_key, digest, vaa.guardian_set_index AS set_index FROM of_weak)
  JOIN guardians USING (set_index) JOIN known USING (row_key, digest)
  WHERE known.signer = guardians.address AND guardians.is_first
  GROUP BY ALL
),
reached AS (
  SELECT row_key, digest, set_index, printf('%02x', count(*)) AS signature_count,
    string_agg(printf('%02x', place) || hex(signature), '' ORDER BY place) AS signatures
  FROM members GROUP BY row_key, digest, set_index HAVING count(*) >= any_value(quorum)
  QUALIFY row_number() OVER (PARTITION BY row_key, digest ORDER BY count(*) DESC, set_index) = 1
)
SELECT row_key, unhex('01' || printf('%08x', set_index) || signature_count || signatures || hex(body)) AS value
FROM reached JOIN weak USING (row_key, digest);

-- Every VAA of a body, with those that were assembled.
CREATE TABLE forms AS
SELECT *, vaa.digest AS digest FROM published
UNION ALL
SELECT message.*, value, NULL, vaa, vaa.digest
FROM (SELECT row_key, value, read_vaa(value) AS vaa FROM assembled)
JOIN (SELECT DISTINCT ON (row_key) emitter_chain, emitter_address, sequence_key, row_key FROM published) AS message
  USING (row_key);

-- A row for each body: the VAA that is returned, and whether it is the one of its id. A verified VAA comes first, then
-- the one with most signatures, then the smallest bytes; of bodies a verified one, then the one that was seen first,
-- then the smaller digest.
CREATE TABLE bodies AS
SELECT *, payload_of(value) AS said, vaa.verified AS verified, day_of_seconds(vaa."timestamp") AS body_day,
  coalesce(CAST(observed_at // 86400000 AS INTEGER), day_of_seconds(vaa."timestamp")) AS counted_day,
  row_number() OVER (
    PARTITION BY row_key ORDER BY vaa.verified DESC, observed_at NULLS LAST, digest) = 1 AS canonical,
  CASE WHEN bool_or(vaa.verified) OVER of_id THEN count(*) FILTER (vaa.verified) OVER of_id ELSE count(*) OVER of_id END
    AS digests
FROM (
  SELECT * REPLACE (min(observed_at) OVER (PARTITION BY row_key, digest) AS observed_at) FROM forms
  QUALIFY row_number() OVER (
    PARTITION BY row_key, digest ORDER BY vaa.verified DESC, len(vaa.signatures) DESC, value) = 1
)
WINDOW of_id AS (PARTITION BY row_key);

-- Values of cells in columns of the event plans, as values of the columns here.
CREATE TABLE values_of_cells AS
SELECT row_key, family, qualifier, "column", form, time_ms, value,
  CASE form WHEN 'text' THEN text
    WHEN 'amount' THEN CASE WHEN regexp_full_match(hex(value), '(3[0-9]){1,78}')
      THEN coalesce(nullif(ltrim(text, '0'), ''), '0') ELSE number_of_limbs(value) END
    WHEN 'token_id' THEN number_of_limbs(value)
    WHEN 'float' THEN number_of_float(value) END AS text,
  CASE form WHEN 'number' THEN TRY_CAST(text AS BIGINT) WHEN 'time' THEN ms_of_go_time(text) END AS number,
  CASE form WHEN 'hex' THEN unhex(regexp_replace(text, '^0x', '')) WHEN 'bytes' THEN value END AS data
FROM (SELECT *, CASE WHEN form NOT IN ('bytes', 'float', 'token_id') THEN text_of(value) END AS text
  FROM cells JOIN event_columns USING (family, qualifier));

-- The one that counts of each column: the earliest, then the smallest value.
CREATE TABLE written AS
SELECT * FROM values_of_cells WHERE "column" <> 'emitter'
QUALIFY row_number() OVER (PARTITION BY row_key, "column" ORDER BY time_ms NULLS LAST, value) = 1;

-- The same, a row for each id: columns and their values.
CREATE TABLE written_rows AS
SELECT row_key, map(list("column"), list(text)) AS texts, map(list("column"), list(number)) AS numbers,
  map(list("column"), list(data)) AS bytes, bool_or(family <> 'MessagePublication') AS is_about_payload
FROM written GROUP BY row_key;

-- Tokens: what the first verified AssetMeta says, completed by the token list.
CREATE TABLE described_tokens AS
SELECT token_key, coalesce(own.decimals, listed.decimals) AS decimals,
  coalesce(nullif(own.symbol, ''), listed.symbol, own.symbol) AS symbol,
  coalesce(nullif(own.name, ''), listed.name, own.name) AS name, own.digest AS digest, listed.coin_gecko_id AS coin_gecko_id
FROM (
  SELECT said.token_chain || '/' || hex_text(said.token_address) AS token_key, said.decimals AS decimals,
    said.symbol AS symbol, said.name AS name, digest
  FROM (SELECT digest, vaa."timestamp" AS seconds, payload_of(value) AS said FROM forms WHERE vaa.verified)
  WHERE said.kind = 'asset_meta'
  QUALIFY row_number() OVER (PARTITION BY token_key ORDER BY seconds, digest) = 1
) AS own
FULL JOIN lake_token_list AS listed USING (token_key);

-- Transfers of tokens with the facts about the token, if the message has no other body with a greater token, and with
-- the last price up to that day, or else the first one: the token's own, or that of its symbol.
CREATE TABLE transfers AS
WITH moved AS (
  SELECT *, said.token_chain || '/' || hex_text(said.token_address) AS token_key
  FROM bodies WHERE said.kind IN ('token_transfer', 'token_transfer_with_payload')
),
named AS (
  SELECT moved.*, token.decimals AS token_decimals, token.symbol AS token_symbol, token.name AS token_name,
    token.coin_gecko_id AS coin_gecko_id,
    CASE WHEN token.token_key IS NULL THEN NULL
      WHEN moved.token_key IN (SELECT token_key FROM lake_prices) THEN moved.token_key
      ELSE symbol_key(token.symbol) END AS price_key,
    token.token_key IS NOT NULL AS is_described
  FROM (SELECT *, max(token_key) OVER (PARTITION BY row_key) AS token_of_id FROM moved) AS moved
  LEFT JOIN described_tokens AS token ON token.token_key = moved.token_key AND token.token_key = moved.token_of_id
),
priced AS (
  SELECT named.*, coalesce(until.price_usd, since.price_usd) AS price_usd
  FROM named
  ASOF LEFT JOIN lake_prices AS until ON until.token_key = named.price_key AND until.day <= named.counted_day
  LEFT JOIN (SELECT token_key, arg_min(price_usd, day) AS price_usd FROM lake_prices GROUP BY token_key) AS since
    ON since.token_key = named.price_key
)
SELECT *, CASE WHEN is_described THEN scaled(said.amount, CAST(least(token_decimals, 8) AS INTEGER)) END AS tokens,
  CASE WHEN is_described THEN
    notional_of(scaled(said.amount, CAST(least(token_decimals, 8) AS INTEGER)), price_usd) END AS notional_usd
FROM priced;

-- What follows from the payload of a body, in the columns of `vaa_payloads`. Null for a payload of another kind.
CREATE TABLE contents AS
SELECT row_key, digest, said.kind AS kind,
  CASE WHEN moves THEN said.payload_id END AS transfer_payload_id, CASE WHEN moves THEN said.amount END AS transfer_amount,
  CASE WHEN moves THEN said.token_address END AS transfer_origin_address,
  CASE WHEN moves THEN said.token_chain END AS transfer_origin_chain,
  CASE WHEN moves THEN said.to_address END AS transfer_target_address,
  CASE WHEN moves THEN said.to_chain END AS transfer_target_chain,
  CASE WHEN attests THEN said.payload_id END AS asset_payload_id,
  CASE WHEN attests THEN said.token_address END AS asset_token_address,
  CASE WHEN attests THEN said.token_chain END AS asset_token_chain,
  CASE WHEN attests THEN said.decimals END AS asset_decimals, CASE WHEN attests THEN said.symbol END AS asset_symbol,
  CASE WHEN attests THEN said.name END AS asset_name,
  CASE WHEN attests THEN native_token(said.token_chain, said.token_address) END AS asset_native_address,
  CASE WHEN is_nft THEN said.payload_id END AS nft_payload_id,
  CASE WHEN is_nft THEN said.token_address END AS nft_origin_address,
  CASE WHEN is_nft THEN said.token_chain END AS nft_origin_chain, CASE WHEN is_nft THEN said.symbol END AS nft_symbol,
  CASE WHEN is_nft THEN said.name END AS nft_name, said.token_id AS nft_token_id, said.uri AS nft_uri,
  CASE WHEN is_nft THEN said.to_address END AS nft_target_address,
  CASE WHEN is_nft THEN said.to_chain END AS nft_target_chain,
  native_address(said.to_chain, said.to_address) AS chain_receiver_address,
  CASE WHEN moves AND said.to_chain = said.token_chain THEN native_token(said.token_chain, said.token_address)
    WHEN moves THEN native_token(said.to_chain, wrapped_token(said.to_chain, said.token_chain, said.token_address)) END
    AS chain_resulting_token_address,
  said.fee AS transfer_fee, said.from_address AS transfer_from_address, said.payload AS transfer_payload
FROM (
  SELECT *, said.kind IN ('token_transfer', 'token_transfer_with_payload') AS moves, said.kind = 'asset_meta' AS attests,
    said.kind = 'nft_transfer' AS is_nft FROM bodies
)
WHERE moves OR attests OR is_nft;

-- Keys of values: of all that were written for an id, and of those that follow from a payload, unless they have a kind
-- of lookup of their own.
CREATE TABLE value_keys AS
SELECT DISTINCT row_key, NULL::BLOB AS digest,
  value_key(family, qualifier, CASE form WHEN 'time' THEN go_time(number) WHEN 'number' THEN CAST(number AS VARCHAR)
    WHEN 'hex' THEN hex_text(data) WHEN 'bytes' THEN to_base64(data) ELSE text END) AS key
FROM values_of_cells
UNION
SELECT row_key, NULL, value_key(family, qualifier, hex_text(value)) FROM cells WHERE family IN ('Signatures', 'VAAState')
UNION
SELECT row_key, digest, value_key(field.family, field.qualifier, field.text)
FROM (
  SELECT row_key, digest, unnest([
    {'family': 'TokenTransferPayload', 'qualifier': 'PayloadId', 'text': CAST(transfer_payload_id AS VARCHAR)},
    {'family': 'TokenTransferPayload', 'qualifier': 'Amount', 'text': transfer_amount},
    {'family': 'TokenTransferPayload', 'qualifier': 'OriginChain', 'text': CAST(transfer_origin_chain AS VARCHAR)},
    {'family': 'TokenTransferPayload', 'qualifier': 'TargetChain', 'text': CAST(transfer_target_chain AS VARCHAR)},
    {'family': 'AssetMetaPayload', 'qualifier': 'PayloadId', 'text': CAST(asset_payload_id AS VARCHAR)},
    {'family': 'AssetMetaPayload', 'qualifier': 'TokenChain', 'text': CAST(asset_token_chain AS VARCHAR)},
    {'family': 'AssetMetaPayload', 'qualifier': 'Decimals', 'text': CAST(asset_decimals AS VARCHAR)},
    {'family': 'AssetMetaPayload', 'qualifier': 'Symbol', 'text': asset_symbol},
    {'family': 'AssetMetaPayload', 'qualifier': 'Name', 'text': asset_name},
    {'family': 'AssetMetaPayload', 'qualifier': 'NativeAddress', 'text': asset_native_address},
    {'family': 'NFTTransferPayload', 'qualifier': 'PayloadId', 'text': CAST(nft_payload_id AS VARCHAR)},
    {'family': 'NFTTransferPayload', 'qualifier': 'OriginChain', 'text': CAST(nft_origin_chain AS VARCHAR)},
    {'family': 'NFTTransferPayload', 'qualifier': 'Symbol', 'text': nft_symbol},
    {'family': 'NFTTransferPayload', 'qualifier': 'Name', 'text': nft_name},
    {'family': 'NFTTransferPayload', 'qualifier': 'TokenId', 'text': nft_token_id},
    {'family': 'NFTTransferPayload', 'qualifier': 'URI', 'text': nft_uri},
    {'family': 'NFTTransferPayload', 'qualifier': 'TargetChain', 'text': CAST(nft_target_chain AS VARCHAR)},
    {'family': 'ChainDetails', 'qualifier': 'ResultingTokenAddress', 'text': chain_resulting_token_address}
  ]) AS field FROM contents
)
WHERE field.text IS NOT NULL;

-- Transactions, senders and recipients that were ever written for an id.
CREATE VIEW named_for_ids AS
SELECT DISTINCT row_key, "column", text FROM values_of_cells
WHERE "column" IN ('initiating_tx_id', 'chain_sender_address', 'chain_receiver_address');

-- The keys under which each body is listed.
CREATE TABLE listed_keys AS
WITH listed AS (
  SELECT row_key, digest, emitter_chain, emitter_address, said,
    said.kind IN ('token_transfer', 'token_transfer_with_payload', 'nft_transfer') AS moves
  FROM bodies
)
SELECT row_key, digest, 'recent' AS kind, '' AS key FROM listed WHERE emitter_chain <> 26
UNION
SELECT row_key, digest, 'chain', CAST(emitter_chain AS VARCHAR) FROM listed
UNION
SELECT row_key, digest, 'emitter', emitter_chain || '/' || hex_text(emitter_address) FROM listed
UNION
SELECT row_key, digest, 'id', hex_text(digest)[:8] FROM listed
UNION
SELECT row_key, digest, 'recipient', hex_text(said.to_address) FROM listed WHERE moves
UNION
SELECT row_key, digest, 'token', said.token_chain || '/' || hex_text(said.token_address) FROM listed
WHERE said.token_address IS NOT NULL
UNION
SELECT row_key, digest, 'sender', hex_text(said.from_address) FROM listed WHERE said.from_address IS NOT NULL
UNION
SELECT row_key, digest, 'transaction', transaction_key(text) FROM listed JOIN named_for_ids USING (row_key)
WHERE "column" = 'initiating_tx_id'
UNION
SELECT row_key, digest, 'sender', address_key(emitter_chain, text) FROM listed JOIN named_for_ids USING (row_key)
WHERE "column" = 'chain_sender_address'
UNION
SELECT row_key, digest, 'recipient', address_key(said.to_chain, text) FROM listed JOIN named_for_ids USING (row_key)
WHERE "column" = 'chain_receiver_address' AND moves
UNION
SELECT listed.row_key, listed.digest, 'value', value_keys.key FROM listed JOIN value_keys
  ON value_keys.row_key = listed.row_key AND coalesce(value_keys.digest, listed.digest) = listed.digest;

-- Keys by which an id is found whatever its body.
CREATE TABLE written_keys AS
WITH transactions AS (
  SELECT row_key, transaction_key(text) AS key FROM named_for_ids WHERE "column" = 'initiating_tx_id'
)
SELECT row_key, 'value' AS kind, key FROM value_keys WHERE digest IS NULL
UNION
SELECT row_key, 'transaction', key FROM transactions
UNION
SELECT row_key, 'id', key[:8] FROM transactions WHERE length(key) >= 8;
