"""Wormholescan's API v1: VAAs, observations, operations, activity."""
