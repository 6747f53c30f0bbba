-- Layout 2: ledger. Rendered from db/schema.py by `python -m db.migrations --write`.

CREATE TABLE IF NOT EXISTS transactions_by_address (
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

CREATE TABLE IF NOT EXISTS receipts (
  network TEXT NOT NULL,
  migrated_at INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  payload BLOB,
  PRIMARY KEY (network, migrated_at DESC, milestone_index DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS treasury (
  network TEXT NOT NULL,
  milestone_index INTEGER NOT NULL,
  milestone_id BLOB,
  amount INTEGER,
  PRIMARY KEY (network, milestone_index DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS ledger_frontier (
  network TEXT NOT NULL,
  ledger_index INTEGER NOT NULL,
  PRIMARY KEY (network, ledger_index DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS ledger_updates_by_milestone (
  milestone_index INTEGER NOT NULL,
  output_id BLOB NOT NULL,
  is_spent INTEGER NOT NULL,
  white_flag_index INTEGER,
  idx INTEGER,
  address BLOB,
  amount INTEGER,
  PRIMARY KEY (milestone_index, output_id DESC, is_spent DESC)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS address_balances (
  address BLOB NOT NULL,
  ms_range_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  balance INTEGER,
  unspent_count INTEGER,
  dust_allowance INTEGER,
  dust_outputs INTEGER,
  PRIMARY KEY (address, ms_range_id, milestone_index DESC)
) WITHOUT ROWID;
