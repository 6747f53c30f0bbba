"""What a page shows, read from its HTML."""

import re
from datetime import UTC, datetime
from html import unescape

import httpx


def facts_of(html: str) -> dict[str, str]:
    """The names and values (as HTML) of all facts on a page."""
    return dict(re.findall(r"<div><dt>([^<]*)</dt><dd[^>]*>(.*?)</dd></div>", html, re.DOTALL))


def links_of(html: str, kind: str) -> list[str]:
    """The ids in links to pages of a kind, in order."""
    return re.findall(rf'href="/[^/"]+/{kind}/([^"/#]+)"', html)


def amounts_of(html: str) -> list[int]:
    """All amounts, in the smallest unit."""
    return [int(each) for each in re.findall(r'class="amount" value="(-?\d+)"', html)]


def section(html: str, name: str) -> str:
    """A part of a page, from the heading with this id to the next heading."""
    return html.partition(f'id="{name}"')[2].partition("<h2")[0]


async def page_of(pages: httpx.AsyncClient, path: str) -> str:
    """The HTML of a page that exists at this very path."""
    answer = await pages.get(path)
    assert answer.status_code == 200, (path, answer.status_code)
    return answer.text


async def whole_list(pages: httpx.AsyncClient, path: str, rows: str, name: str) -> str:
    """All rows of a list of a page, as HTML, over all its parts."""
    found, url = "", path
    while url:
        html = await page_of(pages, url)
        found += html.partition(f'id="{rows}">')[2].partition("</tbody>")[0]
        more = re.search(rf'id="{rows}-more">\s*<a href="([^"]*{name}=[^"]*)"', html)
        url = unescape(more[1]) if more else ""
    return found


def utc(seconds: int) -> str:
    """A time as machines read it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
