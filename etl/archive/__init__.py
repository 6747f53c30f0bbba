"""Archive files: writing, validating, merging and exporting them. Spark is not allowed here, so the commands start
fast.

Input: files or a store. Output: files with checksums.
"""

MAX_FILE_BYTES = 1 << 32
"""Maximum size of a file; Chronicle's default."""

PENDING_FILE = "pending.jsonl"
"""File of the messages that no milestone references, next to the archive files."""
