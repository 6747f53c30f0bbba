-- Layout 16: log. Rendered from db/schema.py by `python -m db.migrations --write`.

CREATE TABLE IF NOT EXISTS log_tiles (
  level INTEGER NOT NULL,
  number INTEGER NOT NULL,
  width INTEGER,
  data BLOB,
  PRIMARY KEY (level, number)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS log_heads (
  network TEXT NOT NULL,
  origin TEXT,
  size INTEGER,
  root BLOB,
  verifier TEXT,
  checkpoint TEXT,
  cosigned TEXT,
  PRIMARY KEY (network)
) WITHOUT ROWID;
