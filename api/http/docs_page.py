"""/docs: every endpoint with a form to try it. All of it comes from here, as an archive may stand where no CDN is.

Rules of this file: Swagger UI and its style sheet are fastapi-offline's copies; what STYLE says comes behind the sheet.
"""

from functools import partial
from importlib.resources import files
from pathlib import Path

from fastapi.openapi.docs import get_swagger_ui_html
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

CACHED = {"cache-control": "public, max-age=86400"}

ASSETS = ("swagger-ui-bundle.js", "swagger-ui.css", "favicon.png")

STYLE = """
.swagger-ui .parameters td { overflow-wrap: anywhere; }
.swagger-ui .parameters :is(input, select, textarea) { max-width: 100%; min-width: 0; }
.swagger-ui .parameter__extension { max-height: 7em; overflow-y: auto; }
"""
"""A pattern of all measures has no blank to break at, and made the form wider than any screen."""

FOLDER = Path(str(files("fastapi_offline"))) / "static"


def docs_routes(title: str, openapi_url: str) -> list[Route]:
    """The page and what it loads."""
    script, style, icon = ASSETS
    assets = {name: partial(_asset, FOLDER / name) for name in (script, icon)}
    assets[style] = partial(_style, FOLDER / style)
    page = Route("/docs", partial(_page, title, openapi_url), methods=["GET"])
    return [page, *(Route(f"/docs/{name}", asset, methods=["GET"]) for name, asset in assets.items())]


async def _page(title: str, openapi_url: str, request: Request) -> Response:
    root = request.scope.get("root_path", "")
    script, style, icon = (f"{root}/docs/{name}" for name in ASSETS)
    return get_swagger_ui_html(
        openapi_url=f"{root}{openapi_url}",
        title=title,
        swagger_js_url=script,
        swagger_css_url=style,
        swagger_favicon_url=icon,
        # Some fifty operations: a list to choose from first.
        swagger_ui_parameters={"docExpansion": "list", "defaultModelsExpandDepth": -1, "tryItOutEnabled": True},
    )


async def _asset(path: Path, _: Request) -> Response:
    return FileResponse(path, headers=CACHED)


async def _style(path: Path, _: Request) -> Response:
    return Response(path.read_text("utf-8") + STYLE, media_type="text/css", headers=CACHED)
