"""Indexer API v1 (TIP-26) over the whole history."""
