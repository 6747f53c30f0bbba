"""Recomputes every served row from the lake with a second engine: DuckDB, and SQL written from docs/schema.md.

Input: the files of a lake and the rows of a store. Output: rows that are wrong, missing or extra. It shares no
expression with the pipeline: not allowed here are imports of the packages that compute rows (`etl.tables`,
`etl.ledger_state`, `etl.analytics`, `etl.completeness`, `etl.expectations`, `etl.wormhole`, `etl.writers`), and writes
to store or lake. Functions that SQL calls for hashes, signatures and addresses are those of `ledger`.
"""
