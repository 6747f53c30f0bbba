-- Layout 12: native_tokens. Rendered from db/schema.py by `python -m db.migrations --write`.

CREATE TABLE IF NOT EXISTS native_token_updates (
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

ALTER TABLE unspent_outputs ADD COLUMN address BLOB;

ALTER TABLE unspent_outputs ADD COLUMN token_amount BLOB;
