"""Core API v2 of Stardust nodes (TIP-25)."""
