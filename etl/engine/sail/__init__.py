"""The adapter of Sail, the embedded engine: its session, rows in this process, Delta tables through delta-rs.

Input and output: those of `etl/engine`, which alone imports this package. Not allowed here: py4j, jars and a JVM.
"""
