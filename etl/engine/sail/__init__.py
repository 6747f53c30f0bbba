"""The adapter of Sail, the embedded engine: its session, and rows in this process.

Input and output: those of `etl/engine`, which alone imports this package. Not allowed here: py4j, jars and a JVM.
"""
