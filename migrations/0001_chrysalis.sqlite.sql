-- Layout 1: chrysalis. Rendered from db/schema.py by `python -m db.migrations --write`.

CREATE TABLE IF NOT EXISTS migrations (
  network TEXT NOT NULL,
  name TEXT NOT NULL,
  checksum TEXT,
  applied_at INTEGER,
  PRIMARY KEY (network, name)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS messages (
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

CREATE TABLE IF NOT EXISTS messages_by_milestone (
  milestone_index INTEGER NOT NULL,
  white_flag_index INTEGER NOT NULL,
  message_id BLOB NOT NULL,
  payload_kind INTEGER,
  inclusion_state INTEGER,
  PRIMARY KEY (milestone_index, white_flag_index, message_id)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS parents (
  parent_id BLOB NOT NULL,
  milestone_index INTEGER NOT NULL,
  message_id BLOB NOT NULL,
  ms_timestamp INTEGER,
  inclusion_state INTEGER,
  PRIMARY KEY (parent_id, milestone_index DESC, message_id DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS tags (
  tag BLOB NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  message_id BLOB NOT NULL,
  ms_timestamp INTEGER,
  inclusion_state INTEGER,
  PRIMARY KEY (tag, ms_range_id, partition_id, milestone_index DESC, message_id DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS tag_hints (
  tag BLOB NOT NULL,
  table_kind TEXT NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  PRIMARY KEY (tag, table_kind, ms_range_id DESC, partition_id DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS transactions (
  transaction_id BLOB NOT NULL,
  idx INTEGER NOT NULL,
  variant TEXT NOT NULL,
  message_id BLOB NOT NULL,
  data BLOB,
  milestone_index INTEGER,
  inclusion_state INTEGER,
  PRIMARY KEY (transaction_id, idx, variant, message_id)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS transactions_by_state (
  transaction_id BLOB NOT NULL,
  inclusion_state INTEGER NOT NULL,
  message_id BLOB NOT NULL,
  milestone_index INTEGER,
  PRIMARY KEY (transaction_id, inclusion_state, message_id)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS outputs (
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

CREATE TABLE IF NOT EXISTS outputs_by_address (
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

CREATE TABLE IF NOT EXISTS addresses_hints (
  address BLOB NOT NULL,
  output_kind TEXT NOT NULL,
  variant TEXT NOT NULL,
  included INTEGER NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  PRIMARY KEY (address, output_kind, variant, included, ms_range_id DESC, partition_id DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS milestones (
  milestone_index INTEGER NOT NULL,
  message_id BLOB,
  milestone_id BLOB,
  timestamp INTEGER,
  payload BLOB,
  PRIMARY KEY (milestone_index)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS milestone_ids (
  milestone_id BLOB NOT NULL,
  milestone_index INTEGER,
  PRIMARY KEY (milestone_id)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS pending_messages (
  message_id BLOB NOT NULL,
  version INTEGER,
  message BLOB,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (message_id)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS pending (
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

CREATE TABLE IF NOT EXISTS pending_hints (
  lookup TEXT NOT NULL,
  key TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (lookup, key, bucket DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS date_cache (
  date TEXT NOT NULL,
  start_ms INTEGER,
  end_ms INTEGER,
  PRIMARY KEY (date)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS sync (
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

CREATE TABLE IF NOT EXISTS ranges (
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
