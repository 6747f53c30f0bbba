-- Layout 11: token_list. Rendered from db/schema.py by `python -m db.migrations --write`.

ALTER TABLE tokens ADD COLUMN coin_gecko_id TEXT;
