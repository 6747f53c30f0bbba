-- Layout 18: days. Rendered from db/schema.py by `python -m db.migrations --write`.

CREATE TABLE IF NOT EXISTS vaa_days (
  measure TEXT NOT NULL,
  day INTEGER NOT NULL,
  PRIMARY KEY (measure, day)
) WITHOUT ROWID;
