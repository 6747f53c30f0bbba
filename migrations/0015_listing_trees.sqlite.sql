-- Layout 15: listing_trees. Rendered from db/schema.py by `python -m db.migrations --write`.

CREATE TABLE IF NOT EXISTS milestone_roots (
  ms_range_id INTEGER NOT NULL,
  milestone_index INTEGER NOT NULL,
  log_id BLOB,
  timestamp INTEGER,
  message_count INTEGER,
  messages_root BLOB,
  changes_root BLOB,
  PRIMARY KEY (ms_range_id, milestone_index)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS interval_roots (
  ms_range_id INTEGER NOT NULL,
  last_milestone INTEGER NOT NULL,
  level INTEGER NOT NULL,
  key_count INTEGER,
  root BLOB,
  parts BLOB,
  PRIMARY KEY (ms_range_id, last_milestone, level)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS listing_tiles (
  level INTEGER NOT NULL,
  number INTEGER NOT NULL,
  part INTEGER NOT NULL,
  place BLOB NOT NULL,
  tile INTEGER,
  leaves BLOB,
  path BLOB,
  PRIMARY KEY (level, number, part, place)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS listing_parts (
  place BLOB NOT NULL,
  level INTEGER NOT NULL,
  number INTEGER NOT NULL,
  children BLOB,
  PRIMARY KEY (place, level, number)
) WITHOUT ROWID;
