"""/docs: every endpoint with a form to try it. All of it comes from here, as an archive may stand where no CDN is.

Rules of this file: Swagger UI and its style sheet are fastapi-offline's copies, unchanged.
"""

from functools import partial
from importlib.resources import files
from pathlib import Path

from fastapi.openapi.docs import get_swagger_ui_html
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

ASSETS = ("swagger-ui-bundle.js", "swagger-ui.css", "favicon.png")

FOLDER = Path(str(files("fastapi_offline"))) / "static"


def docs_routes(title: str, openapi_url: str) -> list[Route]:
    """The page and what it loads."""
    assets = [Route(f"/docs/{name}", partial(_asset, FOLDER / name), methods=["GET"]) for name in ASSETS]
    return [Route("/docs", partial(_page, title, openapi_url), methods=["GET"]), *assets]


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
    return FileResponse(path, headers={"cache-control": "public, max-age=86400"})
