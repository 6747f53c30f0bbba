-- Layout 3: unspent. Rendered from db/schema.py by `python -m db.migrations --write`.

CREATE TABLE IF NOT EXISTS ledger_updates_by_address (
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

CREATE TABLE IF NOT EXISTS unspent_outputs (
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

CREATE TABLE IF NOT EXISTS unspent_hints (
  lookup TEXT NOT NULL,
  output_kind TEXT NOT NULL,
  key TEXT NOT NULL,
  ms_range_id INTEGER NOT NULL,
  partition_id INTEGER NOT NULL,
  PRIMARY KEY (lookup, output_kind, key, ms_range_id DESC, partition_id DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS distribution (
  network TEXT NOT NULL,
  ledger_index INTEGER NOT NULL,
  power INTEGER NOT NULL,
  addresses INTEGER,
  amount INTEGER,
  PRIMARY KEY (network, ledger_index DESC, power DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS rich_list (
  network TEXT NOT NULL,
  ledger_index INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  address BLOB,
  balance INTEGER,
  PRIMARY KEY (network, ledger_index, rank)
) WITHOUT ROWID;
