"""Scripts, frames and hints of advertisers, trackers and social networks, by where they come from."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from adaptc.analyse.decorations.rules import Ads
from adaptc.html.edit import Editor
from adaptc.model import Action
from adaptc.passes.page import KEPT, PageContext, Report, stands_apart
from adaptc.passes.view import View
from adaptc.urls import Reach, join

if TYPE_CHECKING:
    from turbohtml import Element

_ADDRESSES = {"script": "src", "iframe": "src", "link": "href"}
# Links that open a connection, or load a file for the scripts that go; others are the site's own business
_HINTS = frozenset({"preconnect", "dns-prefetch", "preload", "prefetch", "modulepreload"})


def strip_parties(editor: Editor, page: PageContext, view: View, report: Report) -> None:
    """Remove scripts and hints of third parties by the rules' patterns; frames of theirs stay as empty boxes.

    Scripts stay where one of the page itself would fail without what they define.
    """
    ads = view.labelling.rules.ads
    found = [(element, host) for element in editor.tree.iter_elements(tuple(_ADDRESSES))
             if (host := _third_party(element, editor, page, view, ads))]  # fmt: skip
    needed = _needed(page, ads) if any(element.tag == "script" for element, _ in found) else ()
    for element, host in found:
        if element.tag == "script" and needed:
            report.actions.append(Action("strip", KEPT, host, f"a script of the page uses {min(needed)}"))
            continue
        if element.tag == "iframe":
            editor.remove_attribute(element, "src")
        else:
            editor.remove_element(element)
        report.actions.append(
            Action("strip", "stripped", host, f"<{element.tag}> of an advertiser, tracker or network")
        )


def _third_party(element: Element, editor: Editor, page: PageContext, view: View, ads: Ads) -> str | None:
    """Return the host that an element loads from, if it is one of those."""
    address = element.attr(_ADDRESSES[element.tag])
    if not address or (element.tag == "link" and _HINTS.isdisjoint((element.attr("rel") or "").lower().split())):
        return None
    if view.follow(page.base, address).target.reach is not Reach.EXTERNAL or stands_apart(element, editor.text):
        return None
    url = join(page.base, address) or address
    # a hint may name the host alone
    is_one = ads.urls.match(url) or ads.widgets.match(url) or ads.urls.match(f"{url}/")
    return url.partition("//")[2].partition("/")[0] if is_one else None


def _needed(page: PageContext, ads: Ads) -> frozenset[str]:
    """Return the names of third parties that scripts of the page use and do not define themselves."""
    return frozenset(name for script in page.scripts for name in _used(script, ads.globals))


@lru_cache(maxsize=512)
def _used(script: str | bytes, names: frozenset[str]) -> frozenset[str]:
    text = script if isinstance(script, str) else script.decode("utf-8", "replace")
    return frozenset(name for name in names if name in text and _relies_on(text, name))


def _relies_on(text: str, name: str) -> bool:
    """Whether ``name`` is called or looked into, and never given a value."""
    mine = rf"(?<![\w$.]){re.escape(name)}"
    given = rf"(?:{mine}|window\.{re.escape(name)})\s*=(?!=)|function\s+{re.escape(name)}\b"
    return re.search(rf"{mine}\s*[.(]", text) is not None and re.search(given, text) is None
