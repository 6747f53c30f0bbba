-- Layout 10: calendar. Rendered from db/schema.py by `python -m db.migrations --write`.

ALTER TABLE ms_analytics ADD COLUMN day_addresses INTEGER;

ALTER TABLE ms_analytics ADD COLUMN week_addresses INTEGER;

ALTER TABLE ms_analytics ADD COLUMN month_addresses INTEGER;

ALTER TABLE ms_analytics ADD COLUMN year_addresses INTEGER;
