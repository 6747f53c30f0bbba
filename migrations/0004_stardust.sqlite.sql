-- Layout 4: stardust. Rendered from db/schema.py by `python -m db.migrations --write`.

CREATE TABLE IF NOT EXISTS protocol_parameters (
  network TEXT NOT NULL,
  milestone_index INTEGER NOT NULL,
  announced_by INTEGER NOT NULL,
  protocol_version INTEGER,
  params BLOB,
  PRIMARY KEY (network, milestone_index DESC, announced_by DESC)
) WITHOUT ROWID;
