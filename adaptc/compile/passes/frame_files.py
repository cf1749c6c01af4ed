"""Files that the frames of a page load which are written in the page itself (``<iframe srcdoc>``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext
from adaptc.compile.view import View
from adaptc.formats.html.document import parse

if TYPE_CHECKING:
    from turbohtml import Document

__all__ = ["FRAMED", "framed_files"]

# The reason for an action
FRAMED = "a frame of the page loads it as well"


def framed_files(tree: Document, page: PageContext, view: View) -> frozenset[str]:
    """Return the paths of scripts and style sheets of such frames: a reader of the page fetches them anyway."""
    found = set()
    frames = tree.find_all("iframe")  # by tag alone: a selector goes through all elements
    for frame in (one for one in frames if "srcdoc" in one.attrs):
        for element in parse(frame.attr("srcdoc") or "").iter_elements(("script", "link")):
            url = element.attr("src") if element.tag == "script" else element.attr("href")
            found.add(view.follow(page.base, url).path if url else None)
    return frozenset(path for path in found if path is not None)
