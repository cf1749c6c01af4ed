"""What the scripts of a page are likely to bring into it: their own names, and those of files that they write out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adaptc.compile.page.context import HANDLERS, PageContext, script_source
from adaptc.core import media
from adaptc.core.facts import FactKind
from adaptc.core.urls import join
from adaptc.formats.script.facts import SCRIPT, ScriptFacts
from adaptc.formats.script.inert import are_inert
from adaptc.formats.script.lexer import unescape
from adaptc.formats.script.names import Names, names_of_text

if TYPE_CHECKING:
    from turbohtml import Document

    from adaptc.compile.view import View


@dataclass(slots=True)
class ScriptReach:
    """The scripts that are likely to run in a page, and the names in data (JSON, markup, attributes).

    ``is_inert`` says that there are no others, and that none can bring a name into the page but these.
    """

    scripts: dict[str | bytes, ScriptFacts] = field(default_factory=dict)
    data: list[Names] = field(default_factory=list)
    is_inert: bool = False

    @property
    def names(self) -> tuple[Names, ...]:
        """The names of all texts."""
        return (*(script.names for script in self.scripts.values()), *self.data)


def script_reach(tree: Document, page: PageContext, view: View) -> ScriptReach:
    """Return what the scripts of a page in its present state are likely to bring in."""
    reach = ScriptReach(data=[_held_names(tree, page.page.text)])
    elements = [(script_source(each, page.base, view), each.attr("src")) for each in tree.iter_elements("script")]
    pending = [(source, join(page.base, url or "") or page.base) for source, url in elements if source]
    pending += [(source, page.base) for source in page.scripts]  # handlers, and what is an address now
    seen: set[str] = set()
    while pending:
        source, url = pending.pop()
        if source in reach.scripts:
            continue
        reach.scripts[source] = facts = view.facts(SCRIPT, source)
        for path in _files(facts.files, (url, page.base), view):
            if path not in seen and path != page.path:
                seen.add(path)
                kind = view.media_type(path)
                if kind == media.JS:
                    pending.append((view.artifact(path), join(page.base, view.url_of(path)) or page.base))
                else:
                    names = _PAGE_NAMES if kind == media.HTML else _DATA_NAMES
                    reach.data.append(view.facts(names, view.read(path)))
    is_closed = not page.unseen_scripts and tree.select_one(_LIVE) is None and not runs_other_code(page.page.text)
    reach.is_inert = is_closed and are_inert([script.inertness for script in reach.scripts.values()])
    return reach


# What has scripts, or markup for them, of its own
_LIVE = "iframe, frame, object, embed, template, animate, set"
_CODE_ADDRESS = re.compile(r"javascript:(?!\s*(?:void\s*\(?0\)?|[;\"'>]|//))", re.IGNORECASE)
_HANDLER = re.compile(r"\son([a-z]+)\s*=", re.IGNORECASE)


def runs_other_code(text: str) -> bool:
    """Whether a page runs code that its scripts and known handlers do not hold: in addresses, in other handlers."""
    return _CODE_ADDRESS.search(text) is not None or any(
        name.lower() not in HANDLERS for name in _HANDLER.findall(text)
    )


def _files(addresses: Iterable[str], bases: Iterable[str], view: View) -> Iterable[str]:
    """Return the files of the site that addresses lead to, relative to a script or to its page."""
    paths = (view.follow(base, address).path for address in sorted(addresses) for base in dict.fromkeys(bases))
    return filter(None, paths)


# Attributes whose values are for browsers
_PLAIN = frozenset({
    "alt", "class", "content", "d", "height", "href", "id", "points", "sizes", "src", "srcdoc", "srcset", "style",
    "viewBox", "width",
})  # fmt: skip
# Data blocks and inert markup
_INERT = re.compile(r"<(script|template|textarea|noscript)\b[\s\S]*?</\1", re.IGNORECASE)
# A script element that holds code, which counts by what it does
_CODE = re.compile(
    r"""\A(<script\b(?![^>]*\stype\s*=(?!\s*(?:["']?(?:module\b|[\w/]*(?:java|ecma)script\b)|""|''|[\s>])))[^>]*>)[\s\S]*""",
    re.IGNORECASE,
)


def _held_names(tree: Document, text: str) -> Names:
    """Return the names in what a page holds for its scripts: attributes, data blocks, inert markup."""
    values = {
        str(value)
        for element in tree.iter_elements()
        for name, value in element.attrs.items()
        if name not in _PLAIN and value
    }
    inert = (_CODE.sub("", match[0]) for match in _INERT.finditer(text))
    return names_of_text("\n".join((*sorted(values), *inert)))


def _names_of_data(text: str) -> Names:
    return names_of_text(unescape(text))


def _names_of_page(text: str) -> Names:
    return names_of_text("\n".join(_TAG.findall(text)))


_TAG = re.compile(r"<[A-Za-z][^<>]*>")
_DATA_NAMES = FactKind("names of data", _names_of_data, Names())
_PAGE_NAMES = FactKind("names of a page", _names_of_page, Names())
