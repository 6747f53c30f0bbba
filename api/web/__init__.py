"""The web explorer: pages for people, rendered on the server.

Input: requests of browsers for /, /search and /{network}/…, and the JSON of this server's own operations, which are
called in the process. Output: HTML that works without JavaScript.

A view (`views/`) is a function from a Visit to a Page: it gets the JSON that the page shows, and names a template and
its values. `explorer.py` finds the view of a path and renders what it returns, `visit.py` calls the operations,
`formats.py` writes values as text.

Not allowed here: parsing ledgers, reading stores except through queries, scripts or styles inside a page, files of
other hosts, values that are not escaped.
"""
