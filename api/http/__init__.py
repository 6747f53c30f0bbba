"""Transport for all API families: operations, routing, middleware, errors, OpenAPI.

Input: ASGI scopes. Output: ASGI messages. Not allowed: knowledge of a ledger, queries, adapters.
"""
