"""Transport, the same for every API family: operations, routing, middleware, errors, documents.

Input: ASGI scopes. Output: ASGI messages. Knows no ledger, runs no query.
"""
