"""The name of a site, as its home page says it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from adaptc.formats.html.document import Irreversible, parse_bare, read_page
from adaptc.formats.html.visible_text import fold_space

__all__ = ["site_name"]

# A home page says its name in its head: so many bytes are read
_HEAD = 1 << 16
# What says it, the best first: the Open Graph protocol, HTML (4.2.5.1 Standard metadata names), and the title
_NAMES = ('meta[property="og:site_name"]', 'meta[name="application-name"]', "head > title")
_MOST = 120


def site_name(docroot: Path, home_pages: Iterable[str]) -> str | None:
    """Return the name that the first of ``home_pages`` (paths in ``docroot``) has for its site, None if none has.

    A page that cannot be read has none: whoever reads all pages says why.
    """
    return next((name for path in home_pages for name in _names(docroot / path)), None)


def _names(file: Path) -> Iterator[str]:
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEAD)
        tree = parse_bare(read_page(head[: head.rfind(b">") + 1]).text)
    except (OSError, Irreversible):
        return
    for selector in _NAMES:
        element = tree.select_one(selector)
        if element is not None:
            name = fold_space(element.attr("content") or "" if element.tag == "meta" else element.text)
            if name:
                yield name if len(name) <= _MOST else f"{name[: _MOST - 1].rstrip()}…"
