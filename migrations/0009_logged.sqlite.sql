-- Layout 9: logged. Rendered from db/schema.py by `python -m db.migrations --write`.

ALTER TABLE ranges ADD COLUMN logged TEXT;
