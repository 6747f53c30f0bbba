"""The engine that runs the pipelines: Spark sessions, jars, the JVM and its options, progress.

Input: settings. Output: a session. Knows no ledger, no table and no store.
"""
