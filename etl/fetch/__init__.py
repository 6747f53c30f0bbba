"""Milestones from nodes, or VAAs from guardians, or either from another permanode, into archive files; no Spark."""
