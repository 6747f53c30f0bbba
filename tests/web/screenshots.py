"""Writes the screenshots of docs/explorer.md while the demo runs.

    ./permanode demo &
    python -m tests.web.screenshots [--url http://127.0.0.1:8000]

The ids come from the samples, as those of the demo's example requests. Each file must be small: MAX_BYTES.
"""

import argparse
import asyncio
import sys
from pathlib import Path
from typing import NamedTuple

from playwright.async_api import Browser

from cli import demo
from tests.conftest import ROOT
from tests.web.browser import NARROW, Scheme, install_browser, launched

FOLDER = ROOT / "docs" / "images"

CACHE = ROOT / ".pytest_cache" / "d" / "clients"
"""The cache of the tests, which use the same browser."""

WIDTH, HEIGHT = 860, 540

MAX_BYTES = 100_000

SETTLED_MS = 1_000
"""Within which a chart is drawn on its canvas."""


class Shot(NamedTuple):
    """A picture of a page. `name`: of the file. `press`: a button to press first. `at`: what to scroll to."""

    name: str
    path: str
    width: int = WIDTH
    scheme: Scheme = "light"
    press: str = ""
    at: str = ""
    height: int = HEIGHT


def shots() -> list[Shot]:
    """The pictures, in the order of the page."""
    chrysalis, wormhole = dict(demo.chrysalis_requests()), dict(demo.wormhole_requests())
    block = dict(demo.stardust_requests())["a block"].rpartition("/")[2]
    address = chrysalis["outputs of an address"].split("/")[4]
    vaa = wormhole["a signed VAA, in the format of a guardian"].removeprefix("/v1/signed_vaa/")
    below = f"/{demo.CHRYSALIS.network}"
    return [
        Shot("explorer-home", "/"),
        Shot("explorer-address", f"{below}/address/{address}"),
        Shot(
            "explorer-proof",
            f"/{demo.STARDUST.network}/block/{block}",
            660,
            "dark",
            "#verify button",
            "#verify ol",
            440,
        ),
        Shot("explorer-coverage", f"{below}/coverage"),
        Shot("explorer-vaa", f"/{demo.WORMHOLE.network}/vaa/{vaa}", scheme="dark", at=".guardians"),
        Shot("explorer-phone", f"{below}/address/{address}", NARROW),
    ]


async def take(browser: Browser, base: str, shot: Shot) -> bytes:
    """Returns a picture as PNG. Raises RuntimeError for a page that is not there, or a picture that is too large."""
    size = {"width": shot.width, "height": shot.height}
    page = await browser.new_page(base_url=base, viewport=size, color_scheme=shot.scheme, locale="en-US")
    answer = await page.goto(shot.path, wait_until="networkidle")
    if answer is None or not answer.ok:
        raise RuntimeError(f"{shot.path}: not a page of this server")
    if shot.press:
        await page.click(shot.press)
        await page.wait_for_selector("[data-state]")
    if await page.locator(".plot").count():
        await page.wait_for_selector(".plot canvas")
        await page.wait_for_timeout(SETTLED_MS)
    if shot.at:
        await page.locator(shot.at).evaluate("(each) => each.scrollIntoView()")
    taken = await page.screenshot()
    await page.close()
    if len(taken) > MAX_BYTES:
        raise RuntimeError(f"{shot.name}: {len(taken):,} bytes, at most {MAX_BYTES:,} expected")
    return taken


async def main(base: str, folder: Path = FOLDER) -> None:
    """Takes all pictures."""
    folder.mkdir(exist_ok=True)
    async with launched(install_browser(CACHE)) as browser:
        for shot in shots():
            taken = await take(browser, base, shot)
            (folder / f"{shot.name}.png").write_bytes(taken)
            sys.stdout.write(f"{folder / shot.name}.png: {len(taken):,} bytes\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="where the demo is served")
    asyncio.run(main(parser.parse_args().url))
