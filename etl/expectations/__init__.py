"""What a load must write, computed without the engine: rows, sums and hashes of each table from decoded messages.

Input: Arrow batches, of decoded messages and of rows for a store. Output: fingerprints, and an error where they differ.
Not allowed here: frames of the engine, and code that etl/tables shares, because both would be wrong together.
"""
