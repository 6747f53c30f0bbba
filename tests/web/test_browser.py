"""The checks of `Watched.problems` themselves: a page with one fault of each kind has exactly these problems."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.async_api import Browser

from tests.web.browser import NARROW, SCHEMES, WIDE, Programs, Watched, report

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

POLICY = "default-src 'self'; img-src 'self' data: http://127.0.0.2:9"

PAGE = """<!DOCTYPE html><html lang="en"><head><title>A page</title><link rel="icon" href="data:,">{head}</head>
<body><main><h1>A page</h1>{body}</main></body></html>"""

GOOD = PAGE.format(head="", body="<p>Some text</p>")

FAULTS = {
    "console error: a fault": ('<script src="/log.js"></script>', ""),
    "exception: thrown": ('<script src="/throw.js"></script>', ""),
    "status 404: ": ('<script src="/missing.js"></script>', ""),
    "another host: http://127.0.0.2:9/x.png": ("", '<img alt="x" src="http://127.0.0.2:9/x.png">'),
    "failed: http://127.0.0.2:9/x.png": ("", '<img alt="x" src="http://127.0.0.2:9/x.png">'),
    "content security policy: script-src-elem inline": ("<script>1</script>", ""),
    "content security policy: style-src-attr inline": ("", '<p style="color: red">x</p>'),
    "scrolls horizontally: ": ("", f"<p>{'wide' * 200}</p>"),
    "axe: image-alt": ("", '<img src="/image.svg">'),
    "axe: color-contrast": ('<link rel="stylesheet" href="/pale.css">', "<p>pale</p>"),
}
"""The beginning of a problem → the contents of head and body that cause it."""

FILES = {
    "/log.js": "console.error('a fault')",
    "/throw.js": "throw new Error('thrown')",
    "/image.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
    "/pale.css": "p { color: #ddd; background: #fff }",
}

TYPES = {"js": "text/javascript", "svg": "image/svg+xml", "css": "text/css"}


@contextmanager
def serving(page: str) -> Iterator[str]:
    """Serves that page, and FILES; yields its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = page if self.path == "/" else FILES.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("content-type", TYPES.get(self.path.rpartition(".")[2], "text/html"))
            self.send_header("content-security-policy", POLICY)
            self.end_headers()
            self.wfile.write((body or "").encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


async def problems(browser: Browser, programs: Programs, page: str, width: int = WIDE) -> list[str]:
    with serving(page) as url:
        watched = await Watched.open(browser, programs, url, width, SCHEMES[0])
        try:
            await watched.goto("/")
            return await watched.problems()
        finally:
            await watched.close()


@pytest.mark.parametrize("width", [WIDE, NARROW])
async def test_a_good_page_has_no_problems(browser: Browser, programs: Programs, width: int) -> None:
    assert await problems(browser, programs, GOOD, width) == []
    assert report([("/", [])]) == ""


PLAIN = "<p>Some text</p>"


@pytest.mark.parametrize(
    ("body", "is_new"),
    [
        ("<p>Another text</p>", False),
        (PLAIN * 3, False),
        ("", False),
        ("<p></p>", True),
        ('<p class="pale">Some text</p>', True),
        ('<p role="note">Some text</p>', True),
        ("<ul><li>Some text</li></ul>", True),
        (f"<div>{PLAIN}</div>", True),
    ],
)
async def test_new_elements_are_found(browser: Browser, programs: Programs, body: str, is_new: bool) -> None:
    with serving(PAGE.format(head="", body=PLAIN)) as first, serving(PAGE.format(head="", body=body)) as second:
        watched = await Watched.open(browser, programs, first, WIDE, SCHEMES[0])
        await watched.goto("/")
        assert await watched.has_new_elements()
        await watched.goto(f"{second}/")
        assert await watched.has_new_elements() == is_new
        await watched.close()


@pytest.mark.parametrize("expected", FAULTS)
async def test_each_fault_is_a_problem(browser: Browser, programs: Programs, expected: str) -> None:
    head, body = FAULTS[expected]
    found = await problems(browser, programs, PAGE.format(head=head, body=body))
    assert [each for each in found if each.startswith(expected)], found
    assert report([("/", found)]).startswith(f"/\n  {found[0]}")
