"""HTTP: networks and API families become one ASGI application.

Input: settings and open stores. Output: responses. Never imports an adapter; families never import each other.
"""
