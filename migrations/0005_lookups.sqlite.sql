-- Layout 5: lookups. Rendered from db/schema.py by `python -m db.migrations --write`.

CREATE TABLE IF NOT EXISTS outputs_by_tag (
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

CREATE TABLE IF NOT EXISTS alias_outputs (
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

CREATE TABLE IF NOT EXISTS nft_outputs (
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

CREATE TABLE IF NOT EXISTS foundry_outputs (
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

ALTER TABLE outputs_by_address ADD COLUMN sender BLOB;

ALTER TABLE outputs_by_address ADD COLUMN issuer BLOB;

ALTER TABLE outputs_by_address ADD COLUMN tag BLOB;

ALTER TABLE outputs_by_address ADD COLUMN state_controller BLOB;

ALTER TABLE outputs_by_address ADD COLUMN governor BLOB;

ALTER TABLE outputs_by_address ADD COLUMN storage_deposit_return BLOB;

ALTER TABLE outputs_by_address ADD COLUMN storage_deposit_return_amount INTEGER;

ALTER TABLE outputs_by_address ADD COLUMN timelock INTEGER;

ALTER TABLE outputs_by_address ADD COLUMN expiration INTEGER;

ALTER TABLE outputs_by_address ADD COLUMN expiration_return BLOB;

ALTER TABLE outputs_by_address ADD COLUMN native_tokens INTEGER;

ALTER TABLE unspent_outputs ADD COLUMN sender BLOB;

ALTER TABLE unspent_outputs ADD COLUMN issuer BLOB;

ALTER TABLE unspent_outputs ADD COLUMN tag BLOB;

ALTER TABLE unspent_outputs ADD COLUMN state_controller BLOB;

ALTER TABLE unspent_outputs ADD COLUMN governor BLOB;

ALTER TABLE unspent_outputs ADD COLUMN storage_deposit_return BLOB;

ALTER TABLE unspent_outputs ADD COLUMN storage_deposit_return_amount INTEGER;

ALTER TABLE unspent_outputs ADD COLUMN timelock INTEGER;

ALTER TABLE unspent_outputs ADD COLUMN expiration INTEGER;

ALTER TABLE unspent_outputs ADD COLUMN expiration_return BLOB;

ALTER TABLE unspent_outputs ADD COLUMN native_tokens INTEGER;
