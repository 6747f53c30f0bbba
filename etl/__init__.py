"""The pipelines and their stages, in PySpark: archive files in, tables out.

Input: archive files or node APIs. Output: rows in a store. Nothing here depends on HTTP responses of the server.
"""
