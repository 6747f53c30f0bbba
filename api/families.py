"""Families that are put together from several packages. All other families compose themselves in their routes.py."""

from api.http.errors import grpc_error_body
from api.http.operations import Family
from api.http.responses import GRPC_ERRORS
from api.wormhole.missing import MISSING_IN_SCAN
from api.wormhole.ours.coverage_routes import COVERAGE
from api.wormhole.ours.routes import EXTENSIONS
from api.wormhole.scan.activity_routes import ACTIVITY
from api.wormhole.scan.observation_routes import OBSERVATIONS
from api.wormhole.scan.operation_routes import OPERATIONS
from api.wormhole.scan.period_routes import PERIODS
from api.wormhole.scan.routes import VAAS
from api.wormhole.scan.server_routes import SERVER
from api.wormhole.scan.token_routes import TOKENS

WORMHOLE_V1 = Family(
    "wormholescan",
    (
        *VAAS,
        *EXTENSIONS,
        *COVERAGE,
        *OBSERVATIONS,
        *OPERATIONS,
        *ACTIVITY,
        *TOKENS,
        *PERIODS,
        *SERVER,
        *MISSING_IN_SCAN,
    ),
    wrap=lambda value: value,
    error_body=grpc_error_body,
    errors=GRPC_ERRORS,
    takes_slash=True,
    empty_is_none=True,
)
"""wormholescan's API and its extensions, in the order of openapi.yaml."""
