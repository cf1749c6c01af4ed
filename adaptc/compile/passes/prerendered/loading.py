"""What scripts bring into a page: images as they come into view, lists that they fetch, and whole applications."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING

from turbohtml import Element, Text

from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import rel_tokens
from adaptc.formats.html.syntax import attribute_markup, class_names, class_words
from adaptc.formats.html.visible_text import fold_space

if TYPE_CHECKING:
    from turbohtml import Document


# What shows nothing, and class names of images that a script loads, whatever they show until then
_PLACEHOLDER = re.compile(
    r"(?:^$|^data:|(?:^|[/_.-])(?:blank|placeholder|spacer|loading|loader|transparent|lazy|pixel|empty|dummy|gr[ae]y|1x1)"
    r"[^/]*\.(?:gif|png|svg|webp|jpe?g)$)",
    re.IGNORECASE,
)
_LAZY_NAMES = frozenset({"lazy", "lazyload", "lazyloading", "lazyloaded", "lozad", "unveil", "defer", "deferred"})


def load_lazy_images(editor: Editor) -> int:
    """Give each lazy image its source, from ``data-src`` and ``data-srcset``; returns their number."""
    count = 0
    for image in editor.tree.iter_elements(("img", "source")):
        shown = image.attr("srcset" if image.tag == "source" else "src") or ""
        is_lazy = _PLACEHOLDER.search(shown.partition("?")[0].strip()) or not _LAZY_NAMES.isdisjoint(class_words(image))
        sources = {name: (image.attr(f"data-{name}") or "").strip() for name in ("src", "srcset")}
        if is_lazy and any("." in each and each[0] not in "{[<#" for each in sources.values()):
            for name, value in sources.items():
                if value:
                    editor.set_attribute(image, name, value)
                elif name in image.attrs:
                    editor.remove_attribute(image, name)
            count += 1
    return count


# ---- What scripts write, as a browser saw it: a page shows it before they run, and then has its own markup

# What the markup after scripts lacks; what tells screen readers that the route changed is no part of a page either
_LEFT_OUT = frozenset({"script", "noscript", "canvas"})
_EARLY = frozenset({"modulepreload", "preload", "prefetch"})
# What cannot be written twice; what a parser moves, or has text alone
_SINGLE = "script, noscript, link, canvas, iframe, object, embed, video, audio, template, form"
_STRICT = frozenset(
    {"table", "thead", "tbody", "tfoot", "tr", "colgroup", "select", "optgroup", "option", "textarea", "p"}
)
# The day on which pages are looked at (``freeze.js``), its year alone, and what shows the year of today
_YEAR = re.compile(r"(?<!\d)2023(?!\d)")
_DAY = re.compile(r"(?<!\d)14(?!\d)|\bNov")
_DATED = re.compile(r"\b1?1[./-]14\b|\b14[./-]11\b")
_NOTICE = re.compile(r"©|\(c\)|\bcopyright\b", re.IGNORECASE)
_HERE, _THIS_YEAR = "adaptc-this-year", "<script>document.currentScript.replaceWith((new Date).getFullYear())</script>"
# A script in these is text
_WITHOUT_SCRIPTS = frozenset({"option", "textarea"})


def find_written(tree: Document, after: Document) -> dict[Element, Element]:
    """Return the elements that scripts fill, each with what it is in the page ``after`` them.

    There are none where scripts change anything else, or write what may be another thing tomorrow.
    """
    heads, bodies = (tuple(filter(None, (tree.select_one(tag), after.select_one(tag)))) for tag in ("head", "body"))
    if len(heads) < 2 or len(bodies) < 2 or not _is_classed(*bodies):
        return {}
    waiting = [bodies] if _added_to_head(*heads) is not None else [heads, bodies]
    found: dict[Element, Element] = {}
    while waiting:
        own, other = waiting.pop()
        pairs, is_body = list(zip_longest(_content(own), _content(other))), own is bodies[0]
        alike = (_is_like(*pair) or _is_mounted(*pair) or (is_body and _is_place(*pair)) for pair in pairs)
        if (is_body or _is_like(own, other)) and all(alike):
            waiting += [(one, two) for one, two in pairs if isinstance(one, Element) and isinstance(two, Element)]
            continue
        while own.tag in _STRICT and isinstance(own.parent, Element) and isinstance(other.parent, Element):
            own, other = own.parent, other.parent
        found[own] = other
    outermost = {own: other for own, other in found.items() if found.keys().isdisjoint(own.ancestors)}
    return outermost if all(_may_be_written(*pair) for pair in outermost.items()) else {}


# What is seen without text, and what a link may lead to
_SHOWN = (
    "[id], img, svg, video, audio, canvas, iframe, object, embed, input, button, select, textarea, hr, progress, meter"
)
# Where classes say what the device of a visitor is, they were those of the browser that looked
_DEVICES = frozenset(
    {"desktop", "mobile", "touch", "phone", "tablet", "ios", "android", "mac", "windows", "win", "linux"}
)


def _is_classed(own: Element, other: Element) -> bool:
    """Whether two bodies have the same attributes, but for classes that scripts add (``chakra-ui-light``)."""
    added = frozenset(class_words(other)) - frozenset(class_words(own))
    same = {**_attributes(own), "class": None} == {**_attributes(other), "class": None}
    return same and frozenset(class_names(own)) <= frozenset(class_names(other)) and added.isdisjoint(_DEVICES)


def _added_to_head(own: Element, other: Element) -> list[tuple[Element | None, Element]] | None:
    """Return what scripts add to a head, each with the own sheet after it, if that is sheets, ``<meta>`` and a title.

    ``other`` is the head after them. Elements other than sheets may be in any order: React puts its own where it likes.
    """
    (sheets, rest), (other_sheets, other_rest) = _head_elements(own), _head_elements(other)
    counts, other_counts = (Counter(each.html for each in elements) for elements in (rest, other_rest))
    lost = [each for each in rest if each.html not in other_counts and each.tag != "title"]
    added: list[tuple[Element | None, Element]] = [(None, each) for each in other_rest if each.html not in counts]
    if lost or not all(_may_be_added(each) for _, each in added):
        return None
    at = 0
    for sheet in other_sheets:
        if at < len(sheets) and sheets[at].html == sheet.html:
            at += 1
        elif sheet.tag == "style":
            added.append((sheets[at] if at < len(sheets) else None, sheet))
        else:
            return None
    return added if at == len(sheets) else None


def _may_be_added(element: Element) -> bool:
    is_known = element.tag == "title" or (element.tag == "meta" and element.attr("http-equiv") is None)
    return is_known and not _YEAR.search(element.html) and not _DATED.search(element.html)


def _head_elements(head: Element) -> tuple[list[Element], list[Element]]:
    """Return the sheets of a head, and all else that counts."""
    found = [each for each in head.children if isinstance(each, Element) and not _is_left_out(each)]
    sheets = [each for each in found if each.tag == "style" or "stylesheet" in rel_tokens(each)]
    return sheets, [each for each in found if each not in sheets]


def _content(element: Element) -> list[Element | str]:
    """Return the elements and texts in an element that both versions of a page have."""
    found, text = list[Element | str](), ""
    for node in element.children:
        if isinstance(node, Text):
            text += node.data
        elif isinstance(node, Element) and not _is_left_out(node):
            found += [text, node]
            text = ""
    folded = (each if isinstance(each, Element) else fold_space(each).strip() for each in (*found, text))
    return [each for each in folded if each != ""]


def _is_left_out(element: Element) -> bool:
    is_early = element.tag == "link" and not _EARLY.isdisjoint(rel_tokens(element))
    return is_early or element.tag in _LEFT_OUT or "aria-live" in element.attrs or element.tag.endswith("-announcer")


def _is_like(own: Element | str | None, other: Element | str | None) -> bool:
    if isinstance(own, Element) and isinstance(other, Element):
        return own.tag == other.tag and _attributes(own) == _attributes(other)
    return own == other


def _is_mounted(own: Element | str | None, other: Element | str | None) -> bool:
    """Whether an empty element has what an application writes, and its marks: ``data-v-app`` of Vue, ``ng-version``."""
    if not (isinstance(own, Element) and isinstance(other, Element)) or own.tag != other.tag or own.text.strip():
        return False
    before, now = _attributes(own), _attributes(other)
    return before.items() <= now.items() and all("-" in name for name in now.keys() - before.keys())


def _is_place(own: Element | str | None, other: Element | str | None) -> bool:
    """Whether scripts add an element that shows nothing and has no name, as a place for what opens later."""
    return own is None and isinstance(other, Element) and not other.text.strip() and other.select_one(_SHOWN) is None


def _attributes(element: Element) -> dict[str, object]:
    """Return the attributes of an element; its style without spaces and a last ``;``, as scripts that set it do."""
    style = element.attr("style") or ""
    for mark in ",:;":
        style = mark.join(part.strip() for part in style.split(mark))
    return {**element.attrs, "style": style.rstrip(";")}


def _may_be_written(own: Element, other: Element) -> bool:
    is_single = own.select_one(_SINGLE) is not None or other.select_one(_SINGLE) is not None
    return not is_single and own.closest("body") not in (None, own) and not _is_dated(other)


def _is_dated(element: Element) -> bool:
    """Whether an element shows the day on which it was looked at, other than by the year of a copyright notice."""
    texts = _years(element)
    shown = (each for each in element.select("*") if each.closest("svg") is None)
    named = (value for each in shown for value in each.attrs.values() if isinstance(value, str))
    if any(_YEAR.search(value) for value in named if not value.startswith("data:")) or _DATED.search(element.text):
        return True
    return not all(isinstance(text.parent, Element) and _is_notice(text.parent) for text in texts)


def _years(element: Element) -> list[Text]:
    return [node for node in element.descendants if isinstance(node, Text) and _YEAR.search(node.data)]


def _is_notice(element: Element) -> bool:
    text = element.text
    return _NOTICE.search(text) is not None and _DAY.search(text) is None and element.tag not in _WITHOUT_SCRIPTS


def write_frame(editor: Editor, after: Document, mark: str) -> None:
    """Write what scripts give to a page, which is ``after`` then, around what they write in it.

    These are attributes of ``<html>``, unless a script in the page may set them, classes of the body, the title, and
    what is in the head. Neither sheets nor ``<meta>`` have the attributes by which scripts know them there. Sheets have
    ``mark``, and go once scripts have added theirs.
    """
    root, head, body = (editor.tree.select(tag)[0] for tag in ("html", "head", "body"))
    new_root, new_head, new_body = (after.select(tag)[0] for tag in ("html", "head", "body"))
    is_set = any("documentElement" in script.text for script in editor.tree.select("script:not([src])"))
    names = [(root, new_root, name) for name in new_root.attrs if not is_set] + [(body, new_body, "class")]
    for element, now, name in names:
        if now.attr(name) != element.attr(name):
            editor.set_attribute(element, name, now.attr(name))
    for following, element in _added_to_head(head, new_head) or ():
        if following is not None:
            editor.insert_before(following, _plain(element, mark))
        else:
            editor.append(head, _plain(element, mark))


_PLAIN = frozenset({"name", "property", "itemprop", "content", "media"})


def _plain(element: Element, mark: str) -> str:
    attributes = "".join(
        f" {attribute_markup(name, element.attr(name) or '')}" for name in element.attrs if name in _PLAIN
    )
    if element.tag == "meta":
        return f"<meta{attributes}>"
    if element.tag == "title":  # that of the source stays, for browsers without scripts
        title = json.dumps(element.text).replace("<", "\\u003c")
        return f"<script>document.title={title}</script>"
    return f"<{element.tag} {mark}{attributes}>{element.inner_html}</{element.tag}>"


def write_content(editor: Editor, written: Mapping[Element, Element], mark: str) -> None:
    """Write what scripts write.

    What an element had is in its attribute ``mark-html``, or hidden in it with the attribute ``mark``, if it has words.
    The year of a copyright notice is that in which the page is read.
    """
    for own, other in written.items():
        has_words, inner = bool(own.text.strip()), own.inner_html
        values = {name: each.attr(name) or "" for each in (other, own) for name in each.attrs}
        attributes = {**values, f"{mark}-html": "" if has_words else inner}
        start = "".join(f" {attribute_markup(name, value)}" for name, value in attributes.items())
        kept = f"<span hidden {mark}>{inner}</span>" * has_words
        for text in _years(other):
            text.data = _YEAR.sub(_HERE, text.data)
        content = other.inner_html.replace(_HERE, _THIS_YEAR)
        editor.replace_element(own, f"<{own.tag}{start}>{content}{kept}</{own.tag}>")
