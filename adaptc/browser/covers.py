"""What lies over the text of a page on which no script runs: of its markup, and of what its scripts left of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from adaptc.browser.answers import Answer, Server
from adaptc.browser.evidence import HEIGHTS, WIDTHS, CoverSeen
from adaptc.browser.tab import Tab, script
from adaptc.core import media

_BOM = b"\xef\xbb\xbf"  # beats the encoding that the markup declares
_POLICY = "Content-Security-Policy"


@dataclass(frozen=True, slots=True)
class BarePage:
    """A page without its scripts: by width what covers it, or its markup after scripts; what it shows at 1,280.

    ``shown`` is the text of ``show.js``.
    """

    covers: Mapping[int, tuple[CoverSeen, ...]]
    shown: str


async def look_without_scripts(
    tab: Tab, server: Server, url: str, document: bytes, shown_with_scripts: str
) -> BarePage:
    """Look at a page, and at its markup after scripts (``document``), without scripts. Raises ``BrowserError``.

    ``tab`` has the width of a laptop; what scripts stored in it does not matter without them. Where
    the page shows the same as ``shown_with_scripts``, nothing is made of its markup after scripts.
    """
    covers: dict[int, dict[CoverSeen, None]] = {width: {} for width in WIDTHS}
    tab.serve(without_scripts(server, url), runs_scripts=False)
    await tab.load(url)
    shown = str(await tab.run(script("show")))
    await _note_covers(tab, covers)
    if shown != shown_with_scripts:
        tab.serve(without_scripts(server, url, document), runs_scripts=False)
        await tab.resize(WIDTHS[-1], HEIGHTS[WIDTHS[-1]])
        await tab.open(url)
        await tab.settle()
        await _note_covers(tab, covers)
    return BarePage({width: tuple(found) for width, found in covers.items()}, shown)


async def _note_covers(tab: Tab, covers: dict[int, dict[CoverSeen, None]]) -> None:
    """Add what covers a page at each width, the largest first."""
    for width in reversed(WIDTHS):
        await tab.resize(width, HEIGHTS[width])
        found = await tab.run(script("covers"))
        covers[width].update(dict.fromkeys(CoverSeen(**cover) for cover in found))


def without_scripts(server: Server, url: str, document: bytes | None = None) -> Server:
    """Return a server that forbids pages their scripts, and sends ``document`` (UTF-8), if any, for ``url``."""

    def answer(asked: str) -> Answer | None:
        found = server(asked) if document is None or asked != url else Answer(_BOM + document, media.HTML)
        if found is None:
            return None
        headers = dict(found.headers)
        policies = filter(None, (headers.get(_POLICY), "script-src 'none'"))
        return replace(found, headers=tuple({**headers, _POLICY: ", ".join(policies)}.items()))

    return answer
