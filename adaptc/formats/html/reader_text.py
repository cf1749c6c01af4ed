"""The text of a page for readers of text alone, beyond what those have who run no scripts (``static_text``).

Panels that a control would open are open, lines that a style sheet keeps are written as such, and words that a style
turns round are in their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, product

from turbohtml import Document, Element

from adaptc.core.values import pattern
from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.document import parse
from adaptc.formats.html.static_text import Splice, attribute_span, content_span, element_span, spliced
from adaptc.formats.html.syntax import attribute_markup, class_words, split_tokens, text_markup, vocabulary

__all__ = ["keep_lines", "show_panels", "turn_round"]


# ---- Tab panels, and what else a control shows: without scripts nothing would show those that are closed

_TABS = "[role=tab]"
_TARGETS = ("aria-controls", "href", "data-target", "data-bs-target")
_CLOSING_STYLE = pattern(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)[^;]*", re.IGNORECASE)
_TITLES = "h1, h2, h3, h4, h5, h6, dt"
# What a control opens there is no part of the text, or there already
_APART = (
    "header, nav, footer, form, dialog, menu, [popover], [role=dialog], [role=menu], [role=listbox], [role=tooltip],"
    "[role=navigation], [role=search], [role=alert]"
)
_OVERLAYS = vocabulary("overlays")
_NAMES_TAB = pattern(r"[tT](?<![A-Za-z]t)ab(?!le|ul|index|oo|let)")
_CONTROLS = frozenset({"button", "label", "li", "span", "div"})
# One of these, or the name of a tab, is in each text with a panel that something opens
_SIGNS = ("aria-controls", 'href="#', "href='#", "href=#", "lick", "javascript:")


def show_panels(text: str) -> str:
    """Return the page's text with closed panels open, each under the words of its tab unless those are a link.

    Panels are those of tabs, and what other controls name in the text, or a script shows after a click. What style
    sheets hide is for others to find: this is about the attributes of panels.
    """
    if not any(word in text for word in _SIGNS) and _NAMES_TAB.search(text) is None:
        return text
    tree = parse(text)
    linked = {(link.attr("href") or "")[1:] for link in tree.select("a[href^='#']")}
    labels = dict.fromkeys((linked | _shown_by_clicks(tree)) - {""}, "")
    for tab in tree.select(f"{_TABS}, [aria-expanded][aria-controls]"):
        names = (name.removeprefix("#") for each in _TARGETS for name in split_tokens(tab.attr(each) or ""))
        if tab.attr("role") != "tab" and tab.closest(_APART) is not None:
            continue
        is_shown = (tab.attr("href") or "").startswith("#") or tab.closest(_TITLES) is not None
        labels.update(dict.fromkeys(names, "" if is_shown else " ".join(tab.text.split())))
    panels = {
        panel: labels.get(panel.attr("id") or "", "")
        for panel in tree.select("[role=tabpanel], [id]")
        if panel.attr("role") == "tabpanel" or (panel.attr("id") in labels and not _is_apart(panel))
    }
    splices = []
    for tabs, found in _sets_of_panels(tree):
        if not any(map(panels.get, found)):
            panels.update(zip(found, (" ".join(tab.text.split()) for tab in tabs), strict=True))
            spans = (element_span(tab) for tab in tabs if tab.tag != "button")
            splices += [Splice(*span) for span in spans if span]
    splices += (splice for panel, label in panels.items() for splice in _opening(panel, label))
    return spliced(text, splices)


# What a click runs: onclick="toggle('more')", function toggle(…) {…}, button.onclick = () => {…}, $("#button").click(…)
_RUN_BY_CLICK = pattern(r"""\.onclick\s*=|\.click\(|["'`]click["'`]\s*,""")
_FUNCTION = pattern(r"\bfunction\s+([\w$]+)\s*\(|\b([\w$]+)\s*=\s*(?:async\s*)?(?:function\b|\([^()]{0,200}\)\s*=>)")
_CALL = pattern(r"([\w$]+)\s*\(")
_SHOWING = pattern(r"display|visib|hidden|toggle|show|slide|fade|open|expand|collaps|classList|className", re.I)
_NAME = pattern(r"""(["'`])#?([\w:.-]+)\1""")
_HANDLED = "[onclick], a[href^='javascript:' i]"
_LONGEST_BODY = 2000  # characters of a function that are looked at


def _shown_by_clicks(tree: Document) -> set[str]:
    """Return the ids that are written in what a click runs, where that shows or opens anything."""
    scripts = [each.text for each in tree.iter_elements("script") if "src" not in each.attrs]
    functions = {
        match[1] or match[2]: _body(script, match.end()) for script in scripts for match in _FUNCTION.finditer(script)
    }
    handlers = [each.attr("onclick") or each.attr("href") or "" for each in tree.select(_HANDLED)]
    handlers += (_body(script, match.end()) for script in scripts for match in _RUN_BY_CLICK.finditer(script))
    found = set[str]()
    for handler in dict.fromkeys(handlers):
        code = "\n".join((handler, *(functions.get(name, "") for name in dict.fromkeys(_CALL.findall(handler)))))
        if _SHOWING.search(code):
            found.update(name for _, name in _NAME.findall(code))
    return found


def _body(script: str, start: int) -> str:
    """Return the block that begins after ``start``, or as much of it as is looked at."""
    depth, first = 0, script.find("{", start, start + _LONGEST_BODY)
    for brace in _BRACE.finditer(script, first, first + _LONGEST_BODY) if first >= 0 else ():
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return script[first : brace.end()]
    return script[first : first + _LONGEST_BODY] if first >= 0 else ""


_BRACE = pattern(r"[{}]")


def _is_apart(panel: Element) -> bool:
    is_overlay = not _OVERLAYS.isdisjoint(class_words(panel))
    return is_overlay or panel.closest(_APART) is not None or panel.select_one("nav, form") is not None


def _sets_of_panels(tree: Document) -> Iterator[tuple[list[Element], list[Element]]]:
    """Yield tabs with as many panels that follow them, where nothing but their order says what belongs together."""
    for box in tree.iter_elements():
        names = (box.tag, *split_tokens(box.attr("class") or ""), box.attr("role") or "")
        if not any(map(_NAMES_TAB.search, names)):
            continue
        children = [each for each in box.children if isinstance(each, Element)]
        tabs = [each for each in children if _is_tab(each)]
        tabs = [each for each in tabs if each.tag == tabs[0].tag]
        if len(tabs) < 2:
            continue
        beside = list(islice((each for each in box.next_siblings if isinstance(each, Element)), len(tabs)))
        inside = [each for each in beside[0].children if isinstance(each, Element)] if beside else []
        for panels in (children[children.index(tabs[-1]) + 1 :], beside, inside):
            found = panels[: len(tabs)]
            is_set = len(found) == len(tabs) and len({each.tag for each in found}) == 1
            if is_set and all(each.tag not in ("script", "style", tabs[0].tag) for each in found):
                yield tabs, found
                break


def _is_tab(element: Element) -> bool:
    """Whether an element may be a tab without an address: a few words, and no link."""
    is_short = 0 < len(element.text.strip()) <= 60
    has_content = element.select_one("a[href], p, div, ul, ol, pre, table, h1, h2, h3, h4, input, img") is not None
    return element.tag in _CONTROLS and is_short and not has_content


def _opening(panel: Element, label: str) -> Iterator[Splice]:
    style = panel.attr("style") or ""
    closing = [name for name in ("hidden", "aria-hidden") if name in panel.attrs]
    for name in closing:
        if span := attribute_span(panel, name):
            yield Splice(*span)
    shown = _CLOSING_STYLE.sub("", style)
    if shown != style and (span := attribute_span(panel, "style")):
        yield Splice(*span, insert=attribute_markup("style", shown) if shown else "")
    content = content_span(panel)
    if label and content and not " ".join(panel.text.split()).startswith(label):
        yield Splice(content[0], content[0], insert=f"<p><strong>{text_markup(label)}</strong></p>")


# ---- Lines that a style sheet keeps (CSS Text, 3): code in elements of other names than <pre>

_KEEPS, _BREAKS = ("pre", "pre-wrap", "break-spaces", "preserve"), ("pre-line", "preserve-breaks")
_WHITE_SPACE = ("white-space", "white-space-collapse")
_HOLDS_LINES = frozenset({"div", "p", "section", "article", "li", "dd", "td", "blockquote", "figure", "code", "samp"})
_HOLDS_MORE = "pre, textarea, p, h1, h2, h3, h4, h5, h6, ul, ol, dl, table, form, img, video, iframe, svg"
_LINES = pattern(r"\n|\s{2}")
_WIDE = 1280.0


def keep_lines(text: str, sheets: Sequence[str]) -> str:
    """Return the page's text with ``<pre>`` where the style ``sheets`` keep white space that shows.

    Only elements that hold nothing but a piece of text with lines: a whole page may keep its white space.
    """
    if not any("white-space" in each for each in (text, *sheets)):
        return text
    tree = parse(text)
    cascade = Cascade(tree, sheets, frozenset(_WHITE_SPACE))
    declared = product(_WHITE_SPACE, (*_KEEPS, *_BREAKS))
    found = {each: None for name, value in declared for each in cascade.elements_with(name, value)}
    outermost = (each for each in found if found.keys().isdisjoint(each.ancestors))
    splices = [splice for each in outermost if _shows_lines(each) for splice in _kept_lines(text, each, cascade)]
    return spliced(text, splices)


def _shows_lines(element: Element) -> bool:
    if (element.tag not in _HOLDS_LINES and "-" not in element.tag) or element.closest("pre, textarea") is not None:
        return False
    return _LINES.search(element.text.strip()) is not None and element.select_one(_HOLDS_MORE) is None


def _kept_lines(text: str, element: Element, cascade: Cascade) -> Iterator[Splice]:
    value = next(filter(None, (cascade.value(element, name, _WIDE) for name in _WHITE_SPACE)), "")
    content, span = content_span(element), element_span(element)
    if content is None or span is None:
        return
    if value in _BREAKS:
        lines = text[slice(*content)].strip()
        if "<" not in lines:
            yield Splice(*content, insert="<br>".join(lines.split("\n")))
    elif value in _KEEPS and element.tag == "p":  # which no <pre> may be in
        yield Splice(span[0], span[0] + 2, insert="<pre")
        yield Splice(content[1], span[1], insert="</pre>")
    elif value in _KEEPS:
        yield Splice(content[0], content[0], insert="<pre>" + "\n" * text.startswith("\n", content[0]))
        yield Splice(content[1], content[1], insert="</pre>")


# ---- Words from the right to the left


def turn_round(text: str, sheets: Sequence[str] = ()) -> str:
    """Return the page's text with words that a style shows from the right to the left in their order.

    That is how addresses are hidden from robots: "moc.elpmaxe@eciffo".
    """
    if not any("bidi-override" in each for each in (text, *sheets)):
        return text
    tree = parse(text)
    cascade = Cascade(tree, sheets, frozenset({"unicode-bidi", "direction"}))
    splices = [
        Splice(*span, insert=text_markup(element.text[::-1]))
        for element in cascade.elements_with("unicode-bidi", "bidi-override")
        if cascade.value(element, "direction", _WIDE) == "rtl"
        and element.text.isascii()
        and element.select_one("*") is None
        and (span := content_span(element))
    ]
    return spliced(text, splices)
