"""Cassandra or ScyllaDB as a store: one keyspace per network. Implements the port of db/store.py.

Only this package imports the drivers. Only db/connect.py imports its store.
"""
