-- Layout 19: booked_outputs. Rendered from db/schema.py by `python -m db.migrations --write`.

CREATE TABLE IF NOT EXISTS booked_outputs (
  output_id BLOB NOT NULL,
  milestone_index INTEGER,
  ms_timestamp INTEGER,
  PRIMARY KEY (output_id)
) WITHOUT ROWID;
