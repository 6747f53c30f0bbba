"""Chromium and axe-core, installed from npm, and pages that report their problems.

The package @sparticuz/chromium contains the browser, compressed; nothing else is downloaded. It runs on Linux x86-64.
"""

import json
import os
import platform
import tarfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import brotli
from playwright.async_api import Browser, CDPSession, ConsoleMessage, Page, Request, Response, async_playwright

from tests.clients.installs import install_node, kept

HERE = Path(__file__).parent

WIDE, NARROW = 1280, 390
"""Widths of the viewport in CSS pixels: a laptop, a phone."""

HEIGHTS = {WIDE: 800, NARROW: 844}

STEP_MS = 120_000
"""Maximum of a step and of a condition on a page. A proof that a page checks takes long on a busy machine."""

Scheme = Literal["light", "dark"]

SCHEMES: tuple[Scheme, ...] = ("light", "dark")

WATCH_CSP = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
    window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
});
"""

WIDER = """(() => {
    const root = document.scrollingElement;
    if (root.scrollWidth <= root.clientWidth) return [];
    const wide = [...document.querySelectorAll("body *")].filter(
        (each) => each.getBoundingClientRect().right > root.clientWidth + 0.5);
    return [`${root.scrollWidth} > ${root.clientWidth}`, ...wide.slice(0, 5).map(
        (each) => `${each.tagName.toLowerCase()}.${each.className}`)];
})()"""

AXE_RUN = """axe.run(document, {resultTypes: ["violations"], runOnly: %s}).then(({violations}) => violations.flatMap(
    ({id, nodes}) => nodes.map(({target, any, all, none}) =>
        `${id}: ${target.join(" ")}: ${[...any, ...all, ...none].map(({message}) => message).join("; ")}`)))"""

ELEMENTS = """[...document.querySelectorAll("body, body *")].reduce((found, each) => {
    const name = `${each.tagName}.${each.className?.baseVal ?? each.className}`;
    const place = `${found.get(each.parentElement) ?? ""}>${name}`;
    return found.set(each, place);
}, new Map()).entries().map(([each, place]) => [place, each.getAttributeNames().sort(), each.getAttribute("role"),
    Boolean(each.textContent.trim())].join(" "))"""
"""For each element: the tags and classes of its ancestors and itself, the names of its attributes, its role, and if it
has text.
"""

RULES = {
    "light": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
    "dark": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
}
"""The rules that axe checks by scheme: only colours differ between the two."""


@dataclass(frozen=True)
class Programs:
    """The installed browser and the source of axe-core."""

    chromium: Path
    libraries: Path
    axe: str


def why_not() -> str | None:
    """Why the browser cannot run on this machine; None if it can."""
    kind = platform.system(), platform.machine()
    return None if kind == ("Linux", "x86_64") else f"Chromium of npm runs on Linux x86_64, this is {' '.join(kind)}"


def install_browser(cache: Path) -> Programs:
    """Installs the browser and axe-core of package-lock.json into the cache, unless they are there."""
    modules = install_node(cache, "browser", HERE).modules
    packed = modules / "@sparticuz" / "chromium" / "bin"

    def unpack(folder: Path) -> None:
        (folder / "chromium").write_bytes(brotli.decompress((packed / "chromium.br").read_bytes()))
        (folder / "chromium").chmod(0o755)
        data = brotli.decompress((packed / "al2023.tar.br").read_bytes())
        with tarfile.open(fileobj=BytesIO(data)) as libraries:
            # Python 3.11.3 and older have no filters.
            libraries.extraction_filter = getattr(tarfile, "data_filter", None)
            libraries.extractall(folder)  # noqa: S202  (of a package with a checksum)

    folder = kept(cache, "chromium", (HERE / "package-lock.json").read_text("utf-8"), unpack)
    axe = (modules / "axe-core" / "axe.min.js").read_text("utf-8")
    return Programs(folder / "chromium", folder / "lib", axe)


@asynccontextmanager
async def launched(programs: Programs, *arguments: str) -> AsyncIterator[Browser]:
    """Runs the browser during the block. Its libraries are those of its package."""
    async with async_playwright() as playwright:
        environment: dict[str, str | float | bool] = {**os.environ, "LD_LIBRARY_PATH": str(programs.libraries)}
        browser = await playwright.chromium.launch(
            executable_path=programs.chromium, args=list(arguments), env=environment
        )
        try:
            yield browser
        finally:
            await browser.close()


class Watched:
    """A page that collects what goes wrong: console errors, exceptions, failed requests and those to other hosts.

    `page` is in a context of its own, with its Content-Security-Policy in force.
    """

    def __init__(self, page: Page, session: CDPSession, programs: Programs, base: str, scheme: Scheme) -> None:
        self.page = page
        self._session, self._axe, self._scheme = session, programs.axe, scheme
        self.host = urlsplit(base).netloc
        self.base = base
        self._seen: list[str] = []
        self._elements: set[str] = set()
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._seen.append(f"exception: {error}"))
        page.on("requestfailed", self._failed)
        page.on("request", self._request)
        page.on("response", self._response)

    @classmethod
    async def open(
        cls, browser: Browser, programs: Programs, base: str, width: int, scheme: Scheme, *, scripts: bool = True
    ) -> "Watched":
        """A page of a new context. `scripts`: whether the browser runs JavaScript."""
        context = await browser.new_context(
            viewport={"width": width, "height": HEIGHTS[width]},
            color_scheme=scheme,
            base_url=base,
            java_script_enabled=scripts,
            locale="en-US",
            timezone_id="UTC",
        )
        if scripts:
            await context.add_init_script(WATCH_CSP)
        page = await context.new_page()
        page.set_default_timeout(STEP_MS)
        return cls(page, await context.new_cdp_session(page), programs, base, scheme)

    async def close(self) -> None:
        """Closes the page and its context."""
        await self.page.context.close()

    async def goto(self, path: str, status: int = 200) -> None:
        """Opens a page of the server. Another status is a problem. Forgets the problems of earlier pages."""
        self._seen.clear()
        found = await self.page.goto(path, wait_until="load")
        assert found is not None
        if found.status != status:
            self._seen.append(f"status {found.status}, expected {status}: {await self.page.inner_text('body')}"[:1000])

    async def problems(self, *, axe: bool = True) -> list[str]:
        """The problems since the page was opened; with `axe`, also the violations of accessibility rules."""
        found = list(self._seen)
        found += [f"content security policy: {each}" for each in await self.evaluate("window.violations || []")]
        if wider := await self.evaluate(WIDER):
            found.append(f"scrolls horizontally: {', '.join(wider)}")
        if axe:
            await self.evaluate(f"{self._axe}; 0")
            rules = json.dumps(RULES[self._scheme])
            found += [f"axe: {each}" for each in await self.evaluate(AXE_RUN % rules)]
        return found

    async def has_new_elements(self) -> bool:
        """Whether the page has an element with ancestors, classes or attributes that no earlier page had for which this
        was requested. The rules of accessibility and the colours depend on these.
        """
        found = set(await self.evaluate(f"[...new Set({ELEMENTS})]"))
        is_new = not found <= self._elements
        self._elements |= found
        return is_new

    async def evaluate(self, expression: str) -> Any:
        """The value of an expression. The debugger evaluates it, so no policy of the page is relaxed."""
        options = {"awaitPromise": True, "returnByValue": True}
        done = await self._session.send("Runtime.evaluate", {"expression": expression, **options})
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def _console(self, message: ConsoleMessage) -> None:
        # The browser logs the status of the page itself, which `goto` compares.
        own = "Failed to load resource" in message.text and message.location["url"] == self.page.url
        if message.type in ("error", "warning") and not own:
            self._seen.append(f"console {message.type}: {message.text}")

    def _failed(self, request: Request) -> None:
        # Leaving a page cancels its streams.
        if request.failure != "net::ERR_ABORTED":
            self._seen.append(f"failed: {request.url} {request.failure}")

    def _request(self, request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme not in ("data", "blob") and url.netloc != self.host:
            self._seen.append(f"another host: {request.url}")

    def _response(self, response: Response) -> None:
        if response.status >= 400 and not response.request.is_navigation_request():
            self._seen.append(f"status {response.status}: {response.url}")


def report(problems: Sequence[tuple[str, Sequence[str]]]) -> str:
    """The problems of each page as text; empty if there are none."""
    return "\n".join(f"{place}\n  " + "\n  ".join(dict.fromkeys(found)) for place, found in problems if found)
