"""Families that are put together from several packages. All other families compose themselves in their routes.py."""

from api.http.errors import grpc_error_body
from api.http.operations import Family
from api.http.responses import GRPC_ERRORS
from api.wormhole.ours.routes import EXTENSIONS
from api.wormhole.scan.activity_routes import ACTIVITY
from api.wormhole.scan.observation_routes import OBSERVATIONS
from api.wormhole.scan.operation_routes import OPERATIONS
from api.wormhole.scan.routes import VAAS

WORMHOLE_V1 = Family(
    "wormholescan",
    (*VAAS, *EXTENSIONS, *OBSERVATIONS, *OPERATIONS, *ACTIVITY),
    wrap=lambda value: value,
    error_body=grpc_error_body,
    errors=GRPC_ERRORS,
    takes_slash=True,
)
"""wormholescan's API and its extensions, in the order of openapi.yaml."""
