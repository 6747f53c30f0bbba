"""/docs: every operation with a form to try it. The page loads nothing from other servers.

Swagger UI and its style sheet are the copies in fastapi-offline; STYLE follows that sheet. The families start
collapsed. Swagger UI's own filter compares tags only, so SCRIPT replaces it: the box finds paths, aliases, names and
summaries, and opens the families that have a match.
"""

from functools import partial
from html import escape
from importlib.resources import files
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

CACHED = {"cache-control": "public, max-age=86400"}

ASSETS = ("swagger-ui-bundle.js", "swagger-ui.css", "favicon.png")

STYLE = """
.swagger-ui .wrapper { max-width: 1100px; }
.swagger-ui .scheme-container { display: none; }
.swagger-ui .filter-container { padding-top: 12px; }
.swagger-ui .filter-container .col { width: 100%; max-width: none; }
.swagger-ui .filter .operation-filter-input { box-sizing: border-box; margin: 0; border-width: 1px; }
.swagger-ui .parameters td { overflow-wrap: anywhere; }
.swagger-ui .parameters :is(input, select, textarea) { max-width: 100%; min-width: 0; }
.swagger-ui .parameter__extension { display: none; }
.swagger-ui .renderedMarkdown table { display: block; overflow-x: auto; }
.swagger-ui .renderedMarkdown :is(th, td) { padding: 4px 12px 4px 0; text-align: left; }
.swagger-ui .renderedMarkdown code { padding: 1px 4px; font-size: 13px; overflow-wrap: anywhere; }
.swagger-ui .parameters .parameters-col_name { min-width: 110px; overflow-wrap: normal; }
.swagger-ui .response-col_links { display: none; }
.swagger-ui .info { margin: 24px 0; }
@media (max-width: 640px) {
    .swagger-ui .wrapper { padding: 0 8px; }
    .swagger-ui .opblock-tag { flex-wrap: wrap; font-size: 18px; }
    .swagger-ui .opblock-tag small { flex-basis: 80%; order: 1; padding: 0; }
    .swagger-ui .opblock .opblock-section-header { padding: 8px; }
    .swagger-ui .opblock-body .responses-inner, .swagger-ui .table-container { padding: 8px; }
    .swagger-ui .opblock-summary-method { min-width: 48px; }
}
"""
"""Long patterns, paths and tables must not make the page wider than a phone's screen."""

SCRIPT = """
const contains = (value, phrase) => String(value || "").toLowerCase().includes(phrase);
const matches = (each, phrase) => {
    const operation = each.get("operation");
    const aliases = operation.get("x-aliases");
    const texts = [each.get("path"), operation.get("operationId"), operation.get("summary")];
    return [...texts, ...(aliases ? aliases.toJS() : [])].some((text) => contains(text, phrase));
};
const filterOperations = (tags, text) => {
    const phrase = text.trim().toLowerCase();
    const matching = (operations) => operations.filter((each) => matches(each, phrase));
    return tags
        .map((tag, name) => (contains(name, phrase) ? tag : tag.update("operations", matching)))
        .filter((tag) => tag.get("operations").size > 0);
};
const OpenMatches = (system) => ({
    fn: { opsFilter: filterOperations },
    statePlugins: { layout: { wrapSelectors: { isShown: (original) => (state, thing, byDefault) => {
        const filter = state.get("filter");
        const searching = typeof filter === "string" && filter.trim() !== "";
        return original(thing, byDefault || (searching && thing[0] === "operations-tag"));
    } } } },
});
const ui = SwaggerUIBundle({
    url: document.currentScript.dataset.url,
    dom_id: "#swagger-ui",
    plugins: [OpenMatches],
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
    deepLinking: true,
    docExpansion: "none",
    filter: true,
    defaultModelsExpandDepth: -1,
    tryItOutEnabled: true,
    onComplete: () => {
        const box = document.querySelector(".operation-filter-input");
        box.placeholder = "Filter by path, name or summary";
        box.setAttribute("aria-label", box.placeholder);
    },
});
"""

FOLDER = Path(str(files("fastapi_offline"))) / "static"


def docs_routes(title: str, openapi_url: str) -> list[Route]:
    """The page and the files that it loads."""
    script, style, icon = ASSETS
    assets = {name: partial(_asset, FOLDER / name) for name in (script, icon)}
    assets[style] = partial(_style, FOLDER / style)
    page = Route("/docs", partial(_page, title, openapi_url), methods=["GET"])
    return [page, *(Route(f"/docs/{name}", asset, methods=["GET"]) for name, asset in assets.items())]


async def _page(title: str, openapi_url: str, request: Request) -> Response:
    root = request.scope.get("root_path", "")
    script, style, icon = (escape(f"{root}/docs/{name}") for name in ASSETS)
    return HTMLResponse(f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="{icon}">
<link rel="stylesheet" href="{style}">
</head>
<body>
<div id="swagger-ui"></div>
<script src="{script}"></script>
<script data-url="{escape(root + openapi_url)}">{SCRIPT}</script>
</body>
</html>
""")


async def _asset(path: Path, _: Request) -> Response:
    return FileResponse(path, headers=CACHED)


async def _style(path: Path, _: Request) -> Response:
    return Response(path.read_text("utf-8") + STYLE, media_type="text/css", headers=CACHED)
