"""Milestones out of the REST API of a node, or of another permanode, into archive files; no Spark."""
