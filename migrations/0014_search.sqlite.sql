-- Layout 14: search. Rendered from db/schema.py by `python -m db.migrations --write`.

CREATE TABLE IF NOT EXISTS ids_by_prefix (
  prefix BLOB NOT NULL,
  id BLOB NOT NULL,
  PRIMARY KEY (prefix, id)
) WITHOUT ROWID;
