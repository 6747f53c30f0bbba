"""SQLite as a store: one directory, one file per generation. Implements the port of db/store.py.

Only this package imports apsw. Only db/connect.py imports this package.
"""
