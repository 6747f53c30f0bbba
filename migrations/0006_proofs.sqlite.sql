-- Layout 6: proofs. Rendered from db/schema.py by `python -m db.migrations --write`.

CREATE TABLE IF NOT EXISTS proofs (
  network TEXT NOT NULL,
  ms_range_id INTEGER NOT NULL,
  levels TEXT,
  PRIMARY KEY (network, ms_range_id DESC)
) WITHOUT ROWID;
