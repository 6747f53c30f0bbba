"""The adapter of Spark: its session and options, jars, the JVM and its tuning, executors' packages.

Input and output: those of `etl/engine`. Besides it, only the cluster writers import this package. Not allowed here:
knowledge of a ledger, a table or a store.
"""
