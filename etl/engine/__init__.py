"""The engine that runs the pipelines: sessions, ordered rows, Delta tables, files, progress.

Input: settings. Output: a session, and functions for what a pipeline needs from the engine. The packages `spark` and
`sail` are its two adapters. Only this package and the cluster writers name Spark's session and context, py4j and jars.
Not allowed here: knowledge of a ledger, a table or a store.
"""
