"""Named queries: one function per query, each a bounded number of partition reads.

Input: a store and the query's parameters. Output: rows or values. Depends on no adapter.

Conventions: `get_` raises NotFound, `find_` may return None, `list_` returns a Page or an iterator. Ids and tags are
lowercase hex. An address is the hex of its serialized form.
"""
