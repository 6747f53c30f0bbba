"""Archive files in, tables out: the pipelines and their stages, in PySpark.

Input: archive files or node APIs. Output: rows in a store. Knows nothing of HTTP answers.
"""
