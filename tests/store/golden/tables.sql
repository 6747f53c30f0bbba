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
  PRIMARY KEY (address, output_kind, variant, included, ms_range_id, partition_id, milestone_index DESC, output_id DESC, message_id DESC)
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
