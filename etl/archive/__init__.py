"""Archive files as we write them, and how any are validated and merged; no Spark, so all of it starts at once."""

MAX_FILE_BYTES = 1 << 32
"""Greatest size of a file, as Chronicle's default has it."""

PENDING_FILE = "pending.jsonl"
"""Messages that no milestone references, beside the archive files."""
