"""The HTTP API: networks and API families become one ASGI application.

Input: settings and open stores. Output: responses. Not allowed: imports of an adapter.
"""
