"""What lies over the text of a page on which no script runs: of its markup, and of what its scripts left of it."""

from __future__ import annotations

from dataclasses import replace

from adaptc.browser.answers import Answer, Server
from adaptc.browser.chromium import Chromium
from adaptc.browser.evidence import HEIGHTS, WIDTHS, CoverSeen
from adaptc.browser.tab import PHONE, script
from adaptc.core import media

_BOM = b"\xef\xbb\xbf"  # beats the encoding that the markup declares


async def covers_without_scripts(
    browser: Chromium, server: Server, url: str, document: bytes
) -> dict[int, tuple[CoverSeen, ...]]:
    """Return by width what covers a page, or its markup after scripts (``document``). Raises ``BrowserError``."""
    covers: dict[int, dict[CoverSeen, None]] = {width: {} for width in WIDTHS}
    for version in (None, document):
        async with browser.tab(without_scripts(server, url, version), WIDTHS[-1], HEIGHTS[WIDTHS[-1]]) as tab:
            await tab.open(url)
            await tab.settle()
            for width in reversed(WIDTHS):
                size = {"width": width, "height": HEIGHTS[width], "deviceScaleFactor": 1, "mobile": width < PHONE}
                await tab.send("Emulation.setDeviceMetricsOverride", size)
                found = await tab.run(script("covers"))
                covers[width].update(dict.fromkeys(CoverSeen(**cover) for cover in found))
    return {width: tuple(found) for width, found in covers.items()}


def without_scripts(server: Server, url: str, document: bytes | None = None) -> Server:
    """Return a server that forbids pages their scripts, and sends ``document`` (UTF-8), if any, for ``url``."""

    def answer(asked: str) -> Answer | None:
        found = server(asked) if document is None or asked != url else Answer(_BOM + document, media.HTML)
        return found and replace(found, headers=(*found.headers, ("Content-Security-Policy", "script-src 'none'")))

    return answer
