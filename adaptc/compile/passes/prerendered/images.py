"""Images that wait for hydration, with a copy in ``<noscript>``: those of Next.js 10 to 12, Gatsby, Nuxt Image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adaptc.formats.html.edit import Editor

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["show_images"]


def show_images(editor: Editor, roots: Sequence[Element]) -> int:
    """Put the copies in the place of images that show nothing; returns their number."""
    count = 0
    for noscript in (each for root in roots for each in root.select("noscript")):
        waiting = _previous_image(noscript)
        if waiting is None or noscript.select_one("img") is None:
            continue
        if (waiting.attr("src") or "").startswith("data:") and "data-src" not in waiting.attrs:
            editor.remove_element(waiting)
            editor.replace_element(noscript, noscript.inner_html)
            count += 1
    return count


def _previous_image(noscript: Element) -> Element | None:
    from turbohtml import Element

    previous = next((each for each in noscript.previous_siblings if isinstance(each, Element)), None)
    return previous if previous is not None and previous.tag == "img" else None
