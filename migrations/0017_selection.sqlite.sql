-- Layout 17: selection. Rendered from db/schema.py by `python -m db.migrations --write`.

CREATE TABLE IF NOT EXISTS message_proofs (
  message_id BLOB NOT NULL,
  milestone_index INTEGER,
  proof BLOB,
  PRIMARY KEY (message_id)
) WITHOUT ROWID;
