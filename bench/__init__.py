"""Benchmarks, one module per measurement: `python -m bench.NAME`.

Most compare the project with a peer in the same run and return 1 if a bar is missed. Only tests import this package.
"""
