"""Static archives: a folder for any file host, from which etl/static_client.py answers queries by id.

Input: a lake. Output: content-addressed files and a manifest. A store and an engine are not used here, and nothing but
the manifest is ever changed (docs/static-archive.md, decision 0041).
"""
