-- Layout 8: wormhole. Rendered from db/schema.py by `python -m db.migrations --write`.

CREATE TABLE IF NOT EXISTS migrations (
  network TEXT NOT NULL,
  name TEXT NOT NULL,
  checksum TEXT,
  applied_at INTEGER,
  PRIMARY KEY (network, name)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS vaas (
  emitter_chain INTEGER NOT NULL,
  emitter_address BLOB NOT NULL,
  seq_range TEXT NOT NULL,
  sequence_key TEXT NOT NULL,
  digest BLOB NOT NULL,
  row_key TEXT,
  version INTEGER,
  guardian_set_index INTEGER,
  published_at INTEGER,
  nonce INTEGER,
  sequence TEXT,
  emitter_chain_name TEXT,
  initiating_tx_id TEXT,
  payload BLOB,
  reporter_hostname TEXT,
  signed_vaa BLOB,
  observed_at INTEGER,
  timestamp INTEGER,
  consistency_level INTEGER,
  payload_kind TEXT,
  verified INTEGER,
  fault TEXT,
  reason TEXT,
  expired INTEGER,
  signature_count INTEGER,
  valid_signatures INTEGER,
  canonical INTEGER,
  digests INTEGER,
  PRIMARY KEY (emitter_chain, emitter_address, seq_range, sequence_key DESC, digest DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS vaa_signatures (
  row_key TEXT NOT NULL,
  digest BLOB NOT NULL,
  guardian_address BLOB NOT NULL,
  signature BLOB,
  guardian_set_index INTEGER,
  observed_at INTEGER,
  PRIMARY KEY (row_key, digest, guardian_address)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS vaa_states (
  row_key TEXT NOT NULL,
  guardian_set_index INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  signature_count INTEGER NOT NULL,
  signatures BLOB,
  PRIMARY KEY (row_key, guardian_set_index, updated_at, signature_count)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS vaa_payloads (
  row_key TEXT NOT NULL,
  digest BLOB NOT NULL,
  transfer_payload_id INTEGER,
  transfer_amount TEXT,
  transfer_origin_address BLOB,
  transfer_origin_chain INTEGER,
  transfer_target_address BLOB,
  transfer_target_chain INTEGER,
  asset_payload_id INTEGER,
  asset_token_address BLOB,
  asset_token_chain INTEGER,
  asset_decimals INTEGER,
  asset_symbol TEXT,
  asset_name TEXT,
  asset_coin_gecko_coin_id TEXT,
  asset_native_address TEXT,
  nft_payload_id INTEGER,
  nft_origin_address BLOB,
  nft_origin_chain INTEGER,
  nft_symbol TEXT,
  nft_name TEXT,
  nft_token_id TEXT,
  nft_uri TEXT,
  nft_target_address BLOB,
  nft_target_chain INTEGER,
  details_amount TEXT,
  details_notional_usd TEXT,
  details_origin_symbol TEXT,
  details_origin_name TEXT,
  details_origin_token_address TEXT,
  details_decimals INTEGER,
  details_notional_usd_str TEXT,
  details_token_price_usd TEXT,
  details_token_price_usd_str TEXT,
  details_transfer_timestamp TEXT,
  details_coin_gecko_coin_id TEXT,
  details_target_symbol TEXT,
  details_target_name TEXT,
  chain_sender_address TEXT,
  chain_receiver_address TEXT,
  chain_resulting_token_address TEXT,
  chain_resulting_token_symbol TEXT,
  chain_resulting_token_name TEXT,
  transfer_fee TEXT,
  transfer_from_address BLOB,
  transfer_payload BLOB,
  PRIMARY KEY (row_key, digest)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS vaa_lookups (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  day_range INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  day INTEGER NOT NULL,
  timestamp INTEGER NOT NULL,
  emitter_chain INTEGER NOT NULL,
  emitter_address BLOB NOT NULL,
  sequence_key TEXT NOT NULL,
  digest BLOB NOT NULL,
  row_key TEXT,
  observed_at INTEGER,
  verified INTEGER,
  canonical INTEGER,
  payload_kind TEXT,
  target_chain INTEGER,
  PRIMARY KEY (kind, key, day_range, partition_id, day DESC, timestamp DESC, emitter_chain DESC, emitter_address DESC, sequence_key DESC, digest DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS vaa_hints (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  day_range INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  PRIMARY KEY (kind, key, day_range DESC, partition_id DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS sequence_hints (
  emitter_chain INTEGER NOT NULL,
  emitter_address BLOB NOT NULL,
  seq_range TEXT NOT NULL,
  PRIMARY KEY (emitter_chain, emitter_address, seq_range DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS emitters (
  emitter_chain INTEGER NOT NULL,
  emitter_address BLOB NOT NULL,
  PRIMARY KEY (emitter_chain, emitter_address)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS guardian_sets (
  network TEXT NOT NULL,
  guardian_set_index INTEGER NOT NULL,
  addresses TEXT,
  since INTEGER,
  named_by BLOB,
  expires_at_s INTEGER,
  PRIMARY KEY (network, guardian_set_index DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS tokens (
  token_key TEXT NOT NULL,
  decimals INTEGER,
  symbol TEXT,
  name TEXT,
  digest BLOB,
  PRIMARY KEY (token_key)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS prices (
  token_key TEXT NOT NULL,
  day INTEGER NOT NULL,
  price_usd TEXT,
  PRIMARY KEY (token_key, day DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS vaa_daily (
  measure TEXT NOT NULL,
  day INTEGER NOT NULL,
  emitter_chain INTEGER NOT NULL,
  emitter_address BLOB NOT NULL,
  target_chain INTEGER NOT NULL,
  token_key TEXT NOT NULL,
  address TEXT NOT NULL,
  message_count INTEGER,
  amount TEXT,
  notional_usd TEXT,
  PRIMARY KEY (measure, day, emitter_chain, emitter_address, target_chain, token_key, address)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS splits (
  lookup TEXT NOT NULL,
  ms_range_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  first_milestones TEXT,
  open_count INTEGER,
  counted_to INTEGER,
  PRIMARY KEY (lookup, ms_range_id, key)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS tails (
  lookup TEXT NOT NULL,
  ms_range_id INTEGER NOT NULL,
  milestone_index INTEGER,
  PRIMARY KEY (lookup, ms_range_id DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS rejects (
  milestone_index INTEGER NOT NULL,
  file TEXT NOT NULL,
  line INTEGER NOT NULL,
  item TEXT NOT NULL,
  reason TEXT,
  PRIMARY KEY (milestone_index, file, line, item)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS keyspace_info (
  name TEXT NOT NULL,
  value TEXT,
  PRIMARY KEY (name)
) WITHOUT ROWID;
