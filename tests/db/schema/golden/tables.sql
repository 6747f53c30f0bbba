CREATE TABLE messages (
  message_id BLOB NOT NULL,
  version INTEGER,
  message BLOB,
  milestone_index INTEGER,
  ms_timestamp INTEGER,
  white_flag_index INTEGER,
  inclusion_state INTEGER,
  conflict_reason INTEGER,
  PRIMARY KEY (message_id)
) WITHOUT ROWID;

CREATE TABLE messages_by_milestone (
  milestone_index INTEGER NOT NULL,
  white_flag_index INTEGER NOT NULL,
  message_id BLOB NOT NULL,
  payload_kind INTEGER,
  inclusion_state INTEGER,
  PRIMARY KEY (milestone_index, white_flag_index, message_id)
) WITHOUT ROWID;

CREATE TABLE message_proofs (
  message_id BLOB NOT NULL,
  milestone_index INTEGER,
  proof BLOB,
  PRIMARY KEY (message_id)
) WITHOUT ROWID;

CREATE TABLE parents (
  parent_id BLOB NOT NULL,
  milestone_index INTEGER NOT NULL,
  message_id BLOB NOT NULL,
  ms_timestamp INTEGER,
  inclusion_state INTEGER,
  PRIMARY KEY (parent_id, milestone_index DESC, message_id DESC)
) WITHOUT ROWID;

CREATE TABLE tags (
  tag BLOB NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  message_id BLOB NOT NULL,
  ms_timestamp INTEGER,
  inclusion_state INTEGER,
  PRIMARY KEY (tag, ms_range_id, partition_id, milestone_index DESC, message_id DESC)
) WITHOUT ROWID;

CREATE TABLE tag_hints (
  tag BLOB NOT NULL,
  table_kind TEXT NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  PRIMARY KEY (tag, table_kind, ms_range_id DESC, partition_id DESC)
) WITHOUT ROWID;

CREATE TABLE transactions (
  transaction_id BLOB NOT NULL,
  idx INTEGER NOT NULL,
  variant TEXT NOT NULL,
  message_id BLOB NOT NULL,
  data BLOB,
  milestone_index INTEGER,
  inclusion_state INTEGER,
  PRIMARY KEY (transaction_id, idx, variant, message_id)
) WITHOUT ROWID;

CREATE TABLE transactions_by_state (
  transaction_id BLOB NOT NULL,
  inclusion_state INTEGER NOT NULL,
  message_id BLOB NOT NULL,
  milestone_index INTEGER,
  PRIMARY KEY (transaction_id, inclusion_state, message_id)
) WITHOUT ROWID;

CREATE TABLE outputs (
  output_id BLOB NOT NULL,
  created_milestone_index INTEGER,
  created_white_flag_index INTEGER,
  created_message_id BLOB,
  output_kind TEXT,
  address BLOB,
  amount INTEGER,
  data BLOB,
  spent_milestone_index INTEGER,
  spent_white_flag_index INTEGER,
  spent_transaction_id BLOB,
  spent_message_id BLOB,
  PRIMARY KEY (output_id)
) WITHOUT ROWID;

CREATE TABLE booked_outputs (
  output_id BLOB NOT NULL,
  milestone_index INTEGER,
  ms_timestamp INTEGER,
  PRIMARY KEY (output_id)
) WITHOUT ROWID;

CREATE TABLE outputs_by_address (
  address BLOB NOT NULL,
  output_kind TEXT NOT NULL,
  variant TEXT NOT NULL,
  included INTEGER NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  output_id BLOB NOT NULL,
  message_id BLOB NOT NULL,
  ms_timestamp INTEGER,
  output_type INTEGER,
  amount INTEGER,
  sender BLOB,
  issuer BLOB,
  tag BLOB,
  state_controller BLOB,
  governor BLOB,
  storage_deposit_return BLOB,
  storage_deposit_return_amount INTEGER,
  timelock INTEGER,
  expiration INTEGER,
  expiration_return BLOB,
  native_tokens INTEGER,
  PRIMARY KEY (address, output_kind, variant, included, ms_range_id, partition_id, milestone_index DESC, output_id DESC, message_id DESC)
) WITHOUT ROWID;

CREATE TABLE outputs_by_tag (
  tag BLOB NOT NULL,
  output_kind TEXT NOT NULL,
  included INTEGER NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  output_id BLOB NOT NULL,
  message_id BLOB NOT NULL,
  ms_timestamp INTEGER,
  output_type INTEGER,
  amount INTEGER,
  sender BLOB,
  issuer BLOB,
  state_controller BLOB,
  governor BLOB,
  storage_deposit_return BLOB,
  storage_deposit_return_amount INTEGER,
  timelock INTEGER,
  expiration INTEGER,
  expiration_return BLOB,
  native_tokens INTEGER,
  PRIMARY KEY (tag, output_kind, included, ms_range_id, partition_id, milestone_index DESC, output_id DESC, message_id DESC)
) WITHOUT ROWID;

CREATE TABLE alias_outputs (
  chain_id BLOB NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  white_flag_index INTEGER NOT NULL,
  output_id BLOB NOT NULL,
  ms_timestamp INTEGER,
  output_type INTEGER,
  amount INTEGER,
  sender BLOB,
  issuer BLOB,
  tag BLOB,
  state_controller BLOB,
  governor BLOB,
  storage_deposit_return BLOB,
  storage_deposit_return_amount INTEGER,
  timelock INTEGER,
  expiration INTEGER,
  expiration_return BLOB,
  native_tokens INTEGER,
  PRIMARY KEY (chain_id, ms_range_id, partition_id, milestone_index DESC, white_flag_index DESC, output_id DESC)
) WITHOUT ROWID;

CREATE TABLE nft_outputs (
  chain_id BLOB NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  white_flag_index INTEGER NOT NULL,
  output_id BLOB NOT NULL,
  ms_timestamp INTEGER,
  output_type INTEGER,
  amount INTEGER,
  sender BLOB,
  issuer BLOB,
  tag BLOB,
  state_controller BLOB,
  governor BLOB,
  storage_deposit_return BLOB,
  storage_deposit_return_amount INTEGER,
  timelock INTEGER,
  expiration INTEGER,
  expiration_return BLOB,
  native_tokens INTEGER,
  PRIMARY KEY (chain_id, ms_range_id, partition_id, milestone_index DESC, white_flag_index DESC, output_id DESC)
) WITHOUT ROWID;

CREATE TABLE foundry_outputs (
  chain_id BLOB NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  white_flag_index INTEGER NOT NULL,
  output_id BLOB NOT NULL,
  ms_timestamp INTEGER,
  output_type INTEGER,
  amount INTEGER,
  sender BLOB,
  issuer BLOB,
  tag BLOB,
  state_controller BLOB,
  governor BLOB,
  storage_deposit_return BLOB,
  storage_deposit_return_amount INTEGER,
  timelock INTEGER,
  expiration INTEGER,
  expiration_return BLOB,
  native_tokens INTEGER,
  PRIMARY KEY (chain_id, ms_range_id, partition_id, milestone_index DESC, white_flag_index DESC, output_id DESC)
) WITHOUT ROWID;

CREATE TABLE transactions_by_address (
  address BLOB NOT NULL,
  included INTEGER NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  transaction_id BLOB NOT NULL,
  message_id BLOB NOT NULL,
  ms_timestamp INTEGER,
  direction TEXT,
  received INTEGER,
  sent INTEGER,
  inputs_count INTEGER,
  outputs_count INTEGER,
  PRIMARY KEY (address, included, ms_range_id, partition_id, milestone_index DESC, transaction_id DESC, message_id DESC)
) WITHOUT ROWID;

CREATE TABLE addresses_hints (
  address BLOB NOT NULL,
  output_kind TEXT NOT NULL,
  variant TEXT NOT NULL,
  included INTEGER NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  PRIMARY KEY (address, output_kind, variant, included, ms_range_id DESC, partition_id DESC)
) WITHOUT ROWID;

CREATE TABLE milestones (
  milestone_index INTEGER NOT NULL,
  message_id BLOB,
  milestone_id BLOB,
  timestamp INTEGER,
  payload BLOB,
  PRIMARY KEY (milestone_index)
) WITHOUT ROWID;

CREATE TABLE milestone_ids (
  milestone_id BLOB NOT NULL,
  milestone_index INTEGER,
  PRIMARY KEY (milestone_id)
) WITHOUT ROWID;

CREATE TABLE ids_by_prefix (
  prefix BLOB NOT NULL,
  id BLOB NOT NULL,
  PRIMARY KEY (prefix, id)
) WITHOUT ROWID;

CREATE TABLE receipts (
  network TEXT NOT NULL,
  migrated_at INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  payload BLOB,
  PRIMARY KEY (network, migrated_at DESC, milestone_index DESC)
) WITHOUT ROWID;

CREATE TABLE treasury (
  network TEXT NOT NULL,
  milestone_index INTEGER NOT NULL,
  milestone_id BLOB,
  amount INTEGER,
  PRIMARY KEY (network, milestone_index DESC)
) WITHOUT ROWID;

CREATE TABLE protocol_parameters (
  network TEXT NOT NULL,
  milestone_index INTEGER NOT NULL,
  announced_by INTEGER NOT NULL,
  protocol_version INTEGER,
  params BLOB,
  PRIMARY KEY (network, milestone_index DESC, announced_by DESC)
) WITHOUT ROWID;

CREATE TABLE ledger_frontier (
  network TEXT NOT NULL,
  ledger_index INTEGER NOT NULL,
  PRIMARY KEY (network, ledger_index DESC)
) WITHOUT ROWID;

CREATE TABLE ledger_updates_by_milestone (
  milestone_index INTEGER NOT NULL,
  output_id BLOB NOT NULL,
  is_spent INTEGER NOT NULL,
  white_flag_index INTEGER,
  idx INTEGER,
  address BLOB,
  amount INTEGER,
  PRIMARY KEY (milestone_index, output_id DESC, is_spent DESC)
) WITHOUT ROWID;

CREATE TABLE address_balances (
  address BLOB NOT NULL,
  ms_range_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  balance INTEGER,
  unspent_count INTEGER,
  dust_allowance INTEGER,
  dust_outputs INTEGER,
  PRIMARY KEY (address, ms_range_id, milestone_index DESC)
) WITHOUT ROWID;

CREATE TABLE ledger_updates_by_address (
  address BLOB NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  output_id BLOB NOT NULL,
  is_spent INTEGER NOT NULL,
  amount INTEGER,
  message_id BLOB,
  transaction_id BLOB,
  ms_timestamp INTEGER,
  PRIMARY KEY (address, ms_range_id, partition_id, milestone_index DESC, output_id DESC, is_spent DESC)
) WITHOUT ROWID;

CREATE TABLE native_token_updates (
  token_id BLOB NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  output_id BLOB NOT NULL,
  is_spent INTEGER NOT NULL,
  address BLOB,
  token_amount BLOB,
  message_id BLOB,
  transaction_id BLOB,
  ms_timestamp INTEGER,
  PRIMARY KEY (token_id, ms_range_id, partition_id, milestone_index DESC, output_id DESC, is_spent DESC)
) WITHOUT ROWID;

CREATE TABLE address_movements (
  address BLOB NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  white_flag_index INTEGER NOT NULL,
  transaction_id BLOB NOT NULL,
  kind TEXT,
  amount INTEGER,
  counterparties BLOB,
  ms_timestamp INTEGER,
  PRIMARY KEY (address, ms_range_id, partition_id, milestone_index, white_flag_index, transaction_id)
) WITHOUT ROWID;

CREATE TABLE unspent_outputs (
  lookup TEXT NOT NULL,
  output_kind TEXT NOT NULL,
  key TEXT NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  output_id BLOB NOT NULL,
  ms_timestamp INTEGER,
  spent_milestone_index INTEGER,
  output_type INTEGER,
  amount INTEGER,
  sender BLOB,
  issuer BLOB,
  tag BLOB,
  state_controller BLOB,
  governor BLOB,
  storage_deposit_return BLOB,
  storage_deposit_return_amount INTEGER,
  timelock INTEGER,
  expiration INTEGER,
  expiration_return BLOB,
  native_tokens INTEGER,
  address BLOB,
  token_amount BLOB,
  PRIMARY KEY (lookup, output_kind, key, ms_range_id, partition_id, milestone_index, output_id)
) WITHOUT ROWID;

CREATE TABLE unspent_hints (
  lookup TEXT NOT NULL,
  output_kind TEXT NOT NULL,
  key TEXT NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  PRIMARY KEY (lookup, output_kind, key, ms_range_id DESC, partition_id DESC)
) WITHOUT ROWID;

CREATE TABLE distribution (
  network TEXT NOT NULL,
  ledger_index INTEGER NOT NULL,
  power INTEGER NOT NULL,
  addresses INTEGER,
  amount INTEGER,
  PRIMARY KEY (network, ledger_index DESC, power DESC)
) WITHOUT ROWID;

CREATE TABLE rich_list (
  network TEXT NOT NULL,
  ledger_index INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  address BLOB,
  balance INTEGER,
  PRIMARY KEY (network, ledger_index, rank)
) WITHOUT ROWID;

CREATE TABLE pending_messages (
  message_id BLOB NOT NULL,
  version INTEGER,
  message BLOB,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (message_id)
) WITHOUT ROWID;

CREATE TABLE pending (
  lookup TEXT NOT NULL,
  key TEXT NOT NULL,
  ms_range_id INTEGER NOT NULL,
  bucket INTEGER NOT NULL,
  est_milestone_index INTEGER NOT NULL,
  row_id BLOB NOT NULL,
  message_id BLOB,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (lookup, key, ms_range_id, bucket, est_milestone_index DESC, row_id DESC)
) WITHOUT ROWID;

CREATE TABLE pending_hints (
  lookup TEXT NOT NULL,
  key TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (lookup, key, bucket DESC)
) WITHOUT ROWID;

CREATE TABLE date_cache (
  date TEXT NOT NULL,
  start_ms INTEGER,
  end_ms INTEGER,
  PRIMARY KEY (date)
) WITHOUT ROWID;

CREATE TABLE ms_analytics (
  ms_range_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  ms_timestamp INTEGER,
  message_count INTEGER,
  transaction_count INTEGER,
  transferred_tokens INTEGER,
  conflicting_count INTEGER,
  no_transaction_count INTEGER,
  transaction_payload_count INTEGER,
  treasury_transaction_payload_count INTEGER,
  milestone_payload_count INTEGER,
  tagged_data_payload_count INTEGER,
  no_payload_count INTEGER,
  message_bytes INTEGER,
  transaction_bytes INTEGER,
  treasury_transaction_bytes INTEGER,
  milestone_bytes INTEGER,
  tagged_data_bytes INTEGER,
  inputs_1 INTEGER,
  inputs_2 INTEGER,
  inputs_3 INTEGER,
  inputs_4 INTEGER,
  inputs_5 INTEGER,
  inputs_6 INTEGER,
  inputs_7 INTEGER,
  inputs_small INTEGER,
  inputs_medium INTEGER,
  inputs_large INTEGER,
  inputs_huge INTEGER,
  outputs_1 INTEGER,
  outputs_2 INTEGER,
  outputs_3 INTEGER,
  outputs_4 INTEGER,
  outputs_5 INTEGER,
  outputs_6 INTEGER,
  outputs_7 INTEGER,
  outputs_small INTEGER,
  outputs_medium INTEGER,
  outputs_large INTEGER,
  outputs_huge INTEGER,
  legacy_created_count INTEGER,
  basic_created_count INTEGER,
  alias_created_count INTEGER,
  foundry_created_count INTEGER,
  nft_created_count INTEGER,
  legacy_created_amount INTEGER,
  basic_created_amount INTEGER,
  alias_created_amount INTEGER,
  foundry_created_amount INTEGER,
  nft_created_amount INTEGER,
  active_addresses INTEGER,
  transferred_amount INTEGER,
  alias_new_count INTEGER,
  alias_state_changed_count INTEGER,
  alias_governor_changed_count INTEGER,
  alias_destroyed_count INTEGER,
  foundry_new_count INTEGER,
  foundry_transferred_count INTEGER,
  foundry_destroyed_count INTEGER,
  nft_new_count INTEGER,
  nft_transferred_count INTEGER,
  nft_destroyed_count INTEGER,
  native_tokens_minted_count INTEGER,
  native_tokens_transferred_count INTEGER,
  native_tokens_burned_count INTEGER,
  holders INTEGER,
  legacy_count INTEGER,
  basic_count INTEGER,
  alias_count INTEGER,
  foundry_count INTEGER,
  nft_count INTEGER,
  legacy_amount INTEGER,
  basic_amount INTEGER,
  alias_amount INTEGER,
  foundry_amount INTEGER,
  nft_amount INTEGER,
  key_bytes INTEGER,
  data_bytes INTEGER,
  unclaimed_count INTEGER,
  unclaimed_amount INTEGER,
  expiration_count INTEGER,
  expiration_amount INTEGER,
  timelock_count INTEGER,
  timelock_amount INTEGER,
  storage_deposit_return_count INTEGER,
  storage_deposit_return_amount INTEGER,
  storage_deposit_owed INTEGER,
  day_addresses INTEGER,
  week_addresses INTEGER,
  month_addresses INTEGER,
  year_addresses INTEGER,
  PRIMARY KEY (ms_range_id, milestone_index DESC)
) WITHOUT ROWID;

CREATE TABLE analytics_ranges (
  network TEXT NOT NULL,
  ms_range_id INTEGER NOT NULL,
  runs TEXT,
  PRIMARY KEY (network, ms_range_id DESC)
) WITHOUT ROWID;

CREATE TABLE daily_analytics (
  year INTEGER NOT NULL,
  date TEXT NOT NULL,
  total_addresses INTEGER,
  send_addresses INTEGER,
  recv_addresses INTEGER,
  used_indexes INTEGER,
  output_addresses INTEGER,
  output_count INTEGER,
  max_outputs INTEGER,
  milestone_count INTEGER,
  message_count INTEGER,
  transaction_count INTEGER,
  conflicting_count INTEGER,
  transaction_payload_count INTEGER,
  transferred_tokens INTEGER,
  PRIMARY KEY (year, date DESC)
) WITHOUT ROWID;

CREATE TABLE address_analytics (
  address BLOB NOT NULL,
  ms_range_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  ms_timestamp INTEGER,
  sent_tokens INTEGER,
  recv_tokens INTEGER,
  PRIMARY KEY (address, ms_range_id, milestone_index DESC)
) WITHOUT ROWID;

CREATE TABLE metrics_cache (
  date TEXT NOT NULL,
  variant TEXT NOT NULL,
  metric TEXT NOT NULL,
  value BLOB NOT NULL,
  metric_value INTEGER,
  PRIMARY KEY (date, variant, metric, value)
) WITHOUT ROWID;

CREATE TABLE milestone_roots (
  ms_range_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  log_id BLOB,
  timestamp INTEGER,
  message_count INTEGER,
  messages_root BLOB,
  changes_root BLOB,
  PRIMARY KEY (ms_range_id, milestone_index)
) WITHOUT ROWID;

CREATE TABLE interval_roots (
  ms_range_id INTEGER NOT NULL,
  last_milestone INTEGER NOT NULL,
  level INTEGER NOT NULL,
  key_count INTEGER,
  root BLOB,
  parts BLOB,
  PRIMARY KEY (ms_range_id, last_milestone, level)
) WITHOUT ROWID;

CREATE TABLE listing_tiles (
  level INTEGER NOT NULL,
  number INTEGER NOT NULL,
  part INTEGER NOT NULL,
  place BLOB NOT NULL,
  tile INTEGER,
  leaves BLOB,
  path BLOB,
  PRIMARY KEY (level, number, part, place)
) WITHOUT ROWID;

CREATE TABLE listing_parts (
  place BLOB NOT NULL,
  level INTEGER NOT NULL,
  number INTEGER NOT NULL,
  children BLOB,
  PRIMARY KEY (place, level, number)
) WITHOUT ROWID;

CREATE TABLE sync (
  ms_range_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  ms_timestamp INTEGER,
  synced_by INTEGER,
  logged_by INTEGER,
  message_count INTEGER,
  verified TEXT,
  layout INTEGER,
  PRIMARY KEY (ms_range_id, milestone_index DESC)
) WITHOUT ROWID;

CREATE TABLE ranges (
  network TEXT NOT NULL,
  ms_range_id INTEGER NOT NULL,
  complete TEXT,
  incomplete TEXT,
  milestone_count INTEGER,
  message_count INTEGER,
  min_timestamp INTEGER,
  max_timestamp INTEGER,
  rising INTEGER,
  layout INTEGER,
  logged TEXT,
  PRIMARY KEY (network, ms_range_id DESC)
) WITHOUT ROWID;

CREATE TABLE proofs (
  network TEXT NOT NULL,
  ms_range_id INTEGER NOT NULL,
  levels TEXT,
  PRIMARY KEY (network, ms_range_id DESC)
) WITHOUT ROWID;

CREATE TABLE splits (
  lookup TEXT NOT NULL,
  ms_range_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  first_milestones TEXT,
  open_count INTEGER,
  counted_to INTEGER,
  PRIMARY KEY (lookup, ms_range_id, key)
) WITHOUT ROWID;

CREATE TABLE tails (
  lookup TEXT NOT NULL,
  ms_range_id INTEGER NOT NULL,
  milestone_index INTEGER,
  PRIMARY KEY (lookup, ms_range_id DESC)
) WITHOUT ROWID;

CREATE TABLE rejects (
  milestone_index INTEGER NOT NULL,
  file TEXT NOT NULL,
  line INTEGER NOT NULL,
  item TEXT NOT NULL,
  reason TEXT,
  PRIMARY KEY (milestone_index, file, line, item)
) WITHOUT ROWID;

CREATE TABLE log_tiles (
  level INTEGER NOT NULL,
  number INTEGER NOT NULL,
  width INTEGER,
  data BLOB,
  PRIMARY KEY (level, number)
) WITHOUT ROWID;

CREATE TABLE log_heads (
  network TEXT NOT NULL,
  origin TEXT,
  size INTEGER,
  root BLOB,
  verifier TEXT,
  checkpoint TEXT,
  cosigned TEXT,
  PRIMARY KEY (network)
) WITHOUT ROWID;

CREATE TABLE keyspace_info (
  name TEXT NOT NULL,
  value TEXT,
  PRIMARY KEY (name)
) WITHOUT ROWID;

CREATE TABLE migrations (
  network TEXT NOT NULL,
  name TEXT NOT NULL,
  checksum TEXT,
  applied_at INTEGER,
  PRIMARY KEY (network, name)
) WITHOUT ROWID;

CREATE TABLE lease (
  name TEXT NOT NULL,
  owner TEXT,
  run TEXT,
  expires_at INTEGER,
  PRIMARY KEY (name)
) WITHOUT ROWID;

CREATE TABLE vaas (
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

CREATE TABLE vaa_signatures (
  row_key TEXT NOT NULL,
  digest BLOB NOT NULL,
  guardian_address BLOB NOT NULL,
  signature BLOB,
  guardian_set_index INTEGER,
  observed_at INTEGER,
  PRIMARY KEY (row_key, digest, guardian_address)
) WITHOUT ROWID;

CREATE TABLE vaa_states (
  row_key TEXT NOT NULL,
  guardian_set_index INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  signature_count INTEGER NOT NULL,
  signatures BLOB,
  PRIMARY KEY (row_key, guardian_set_index, updated_at, signature_count)
) WITHOUT ROWID;

CREATE TABLE vaa_payloads (
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

CREATE TABLE vaa_lookups (
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

CREATE TABLE vaa_hints (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  day_range INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  PRIMARY KEY (kind, key, day_range DESC, partition_id DESC)
) WITHOUT ROWID;

CREATE TABLE sequence_hints (
  emitter_chain INTEGER NOT NULL,
  emitter_address BLOB NOT NULL,
  seq_range TEXT NOT NULL,
  PRIMARY KEY (emitter_chain, emitter_address, seq_range DESC)
) WITHOUT ROWID;

CREATE TABLE emitters (
  emitter_chain INTEGER NOT NULL,
  emitter_address BLOB NOT NULL,
  PRIMARY KEY (emitter_chain, emitter_address)
) WITHOUT ROWID;

CREATE TABLE guardian_sets (
  network TEXT NOT NULL,
  guardian_set_index INTEGER NOT NULL,
  addresses TEXT,
  since INTEGER,
  named_by BLOB,
  expires_at_s INTEGER,
  PRIMARY KEY (network, guardian_set_index DESC)
) WITHOUT ROWID;

CREATE TABLE tokens (
  token_key TEXT NOT NULL,
  decimals INTEGER,
  symbol TEXT,
  name TEXT,
  digest BLOB,
  coin_gecko_id TEXT,
  PRIMARY KEY (token_key)
) WITHOUT ROWID;

CREATE TABLE prices (
  token_key TEXT NOT NULL,
  day INTEGER NOT NULL,
  price_usd TEXT,
  PRIMARY KEY (token_key, day DESC)
) WITHOUT ROWID;

CREATE TABLE vaa_daily (
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

CREATE TABLE vaa_days (
  measure TEXT NOT NULL,
  day INTEGER NOT NULL,
  PRIMARY KEY (measure, day)
) WITHOUT ROWID;
