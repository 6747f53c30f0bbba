"""Proof of inclusion API v1: create and validate."""
