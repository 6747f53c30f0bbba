-- Layout 13: movements. Rendered from db/schema.py by `python -m db.migrations --write`.

CREATE TABLE IF NOT EXISTS address_movements (
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
