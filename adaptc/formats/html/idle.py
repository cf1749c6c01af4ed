"""What does nothing without scripts: buttons that are links, a heading's own anchor, rows of tools, consent bars."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turbohtml import Element

from adaptc.core.values import pattern
from adaptc.formats.html.cascade import Cascade
from adaptc.formats.html.forms import Forms, control_type, find_forms, opens_natively
from adaptc.formats.html.syntax import class_words, vocabulary
from adaptc.formats.html.visible_text import (
    UNSEEN,
    content_length,
    fold_space,
    is_followable,
    is_hidden,
    link_name,
    short_text,
    walk,
)

__all__ = [
    "SIGNS", "consent_bars", "is_edit_link", "is_idle", "is_idle_button", "is_idle_tools", "is_own_anchor",
    "skip_links",
]  # fmt: skip

# What says nothing alone: the sign that closes a box, or one between links that became lines
SIGNS = frozenset({"|", "\u00b7", "\u2022", "/", "-", "\u2013", "\u2014", "\u00d7", "\u00ab", "\u00bb"})
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_TITLES = "h1, h2, h3, h4, h5, h6, dt, summary, [role=heading]"
_BLOCKS = "h1, h2, h3, h4, h5, h6, p, div, ul, ol, table, section, article"
_BUTTONS = frozenset({"btn", "button", "cta"})
_TOOL_NAMES = vocabulary("tool_names")
_LONGEST_SIGN = 2  # characters: a pilcrow, a number sign
_LONGEST_TOOLS = 240  # characters, white space left out
_TOOLS = vocabulary("tools")
_SERVICES = pattern(
    r"\b(?:facebook|twitter|twittear|tweet|linkedin|google ?\+|pinterest|reddit|whatsapp|tumblr|men[eé]ame)\b", re.I
)
_LONGEST_SHARE, _STOP = 60, ". "  # characters, and what ends a sentence
_OPENED, _FIELDS = frozenset({"dropdown", "menu"}), "form, input, select, textarea"
_TOOL_BOXES = frozenset({"div", "ul", "span", "p", "section", "aside", "li"})
_NOT_TOOLS = "table, article, blockquote, pre, form, input, select, textarea, iframe, video, img[alt]"


def is_idle(element: Element) -> bool:
    """Whether an element is one of these."""
    if is_edit_link(element):
        return True
    if element.tag == "a":
        return is_own_anchor(element) if is_followable(element.attr("href")) else is_idle_button(element)
    return is_idle_tools(element)


def is_idle_button(link: Element) -> bool:
    """Whether a link leads nowhere and is a button: "Add to cart", "Print", which only a script hears."""
    if is_followable(link.attr("href")):
        return False
    words = class_words(link)
    name, title = fold_space(link.text).strip("[]").casefold(), link.closest(_TITLES)
    is_tool = name in _TOOL_NAMES and ("href" in link.attrs or bool(words))
    is_button = (link.attr("role") or "").lower() == "button" or not _BUTTONS.isdisjoint(words)
    is_called = is_tool or (is_button and "href" in link.attrs)
    is_apart = title is None or (is_tool and content_length(title) > content_length(link))
    return is_called and is_apart and link.select_one(_BLOCKS) is None


def is_own_anchor(link: Element) -> bool:
    """Whether a link leads to the heading that it is in or follows: its own address, to be copied."""
    target = (link.attr("href") or "").removeprefix("#")
    if not target or target == link.attr("href"):
        return False
    before = next((each for each in link.previous_siblings if isinstance(each, Element)), None)
    parent = link.parent if isinstance(link.parent, Element) else None
    near = [each for each in (before, parent) if each is not None and each.tag in _HEADINGS]
    named = next((each for each in near if each.attr("id") == target), None)
    if named is None:
        return False
    words = fold_space(link.text)
    heading = fold_space(named.text.replace(link.text, "") if named is parent else named.text)
    return len(words) <= _LONGEST_SIGN or (bool(heading) and heading in words)


_EDITING = pattern(
    r"(?:edit|improve) th(?:is|e) page(?: on \w+)?|edit on (?:github|gitlab|bitbucket|codeberg)", re.IGNORECASE
)


def is_edit_link(element: Element) -> bool:
    """Whether an element is for those who write the page: MediaWiki's "[edit]", "Edit this page" of documentation."""
    if element.tag == "span":
        return "mw-editsection" in (element.attr("class") or "").split()
    return element.tag == "a" and "href" in element.attrs and _EDITING.fullmatch(link_name(element)) is not None


_SKIPPING = frozenset({"skip", "skiplink", "skiplinks", "skipnav", "jump"})
_LONGEST_SKIP = 80  # characters: "Jump to: navigation, search"


_SKIPS_TO = pattern(r"\b(?:skip|jump) [\w ]{0,40}\b(?:content|navigation|nav|search|menu|links|main)\b", re.IGNORECASE)


def skip_links(body: Element) -> Iterator[Element]:
    """Yield the links before all other words that lead to the content: nothing stands between; and those called so."""
    for link in body.select('a[href^="#"]'):
        around = [link, *([link.parent] if isinstance(link.parent, Element) else [])]
        skipping = [each for each in around if not _SKIPPING.isdisjoint(class_words(each))]
        if skipping or _SKIPS_TO.search(link.text):
            yield link
        yield from (each for each in skipping if short_text(each, _LONGEST_SKIP) is not None)
    for node in walk(body, lambda each: each.tag not in UNSEEN and not is_hidden(each)):
        if isinstance(node, Element):
            href = node.attr("href") or "" if node.tag == "a" else ""
            target = body.select_one(f'[id="{href[1:]}"]') if href.startswith("#") and href[1:].isidentifier() else None
            if target is not None and (target.tag in ("h1", "main") or target.select_one("h1, main") is not None):
                yield node
        elif node.data.strip() and not any(isinstance(each, Element) and each.tag == "a" for each in node.ancestors):
            return


def is_idle_tools(element: Element) -> bool:
    """Whether an element is a row of tools without links that lead anywhere: to share, to enlarge the text.

    It is called so, itself or by its heading, or all it says is where it would share the page, and how many did. So is
    a menu that only opens by a script, and leads nowhere.
    """
    if element.tag in _TOOL_BOXES and _OPENED.issubset(class_words(element)):
        return element.select_one(_FIELDS) is None and element.select_one("a, button") is not None and _is_idle(element)
    if element.tag not in _TOOL_BOXES:
        return False
    first = next((each for each in element.children if isinstance(each, Element)), None)
    is_called = not _TOOLS.isdisjoint(class_words(element)) or (first is not None and _names_tool(first))
    if not (is_called or _would_share(element)) or element.select_one(_NOT_TOOLS) is not None:
        return False
    if len("".join(element.text.split())) > _LONGEST_TOOLS or not all(map(_names_tool, element.select(_ANY_HEADING))):
        return False
    return _is_idle(element)


_ANY_HEADING = ", ".join(_HEADINGS)


def _names_tool(heading: Element) -> bool:
    return heading.tag in _HEADINGS and fold_space(heading.text).casefold() in _TOOL_NAMES


def _is_idle(element: Element) -> bool:
    return not any(is_followable(each.attr("href")) for each in element.select("a[href]"))


def _would_share(element: Element) -> bool:
    words = fold_space(short_text(element, _LONGEST_TOOLS) or "")
    if not 0 < len(words) <= _LONGEST_SHARE or _STOP in words or _SERVICES.search(words) is None:
        return False
    return any(
        _SERVICES.search(each.text) and not is_followable(each.attr("href")) for each in element.select("a[href]")
    )


# ---- bars and dialogues that ask for consent to cookies, which nothing but a script can dismiss

_TOPICS = frozenset({"cookie", "cookies", "consent", "gdpr", "ccpa"})
_FORMS = vocabulary("notices")
# Names of one word: of plug-ins and of services
_NAMES = vocabulary("consent")
_SUBJECT = pattern(r"cookie|gdpr|dsgvo|rgpd|consent|privacy|datenschutz", re.IGNORECASE)
# What says so even where no name does
_CLEAR_SUBJECT = pattern(r"cookie|gdpr|dsgvo|rgpd", re.IGNORECASE)
_DIALOGUES = "[role=dialog], [role=alertdialog], [aria-modal=true], dialog[open]"
_MAIN = "main, article, [role=main], h1"
_CONTROLS = "button, [role=button], input[type=button], input[type=submit], a"
_LONGEST = 4000  # characters: a list of purposes and partners
_SHARE = 0.5  # of the page's text, at most
_LOOKED_AT = 40  # elements in a wrapper that may be the one that lies over the page
_WIDTHS = (412, 1280)
_OVER = frozenset({"fixed", "sticky", "absolute"})


def consent_bars(cascade: Cascade) -> list[Element]:
    """Return the outermost elements that ask for consent and cannot be dismissed without scripts."""
    tree = cascade.tree
    named = [each for each in tree.select("body [class], body [id]") if _is_named(each)]
    candidates = dict.fromkeys((*named, *tree.select(_DIALOGUES)))
    longest = min(_LONGEST, _SHARE * len(tree.text))
    bars = [each for each in candidates if len(each.text) <= longest and _asks(each) and _lies_over(cascade, each)]
    if not bars:
        return []
    forms = find_forms(tree)
    scripted = dict.fromkeys(each for each in bars if _waits_for_script(each, forms))
    return [each for each in scripted if not any(around in scripted for around in each.ancestors)]


def _is_named(element: Element) -> bool:
    words = frozenset(class_words(element))
    return not words.isdisjoint(_NAMES) or (not words.isdisjoint(_TOPICS) and len(words & (_FORMS | _TOPICS)) > 1)


def _asks(element: Element) -> bool:
    """Whether an element is about consent, and no part of the content."""
    if element.tag in ("body", "main", "article", "a", "button", "form") or element.select_one(_MAIN) is not None:
        return False
    subject = _SUBJECT if _is_named(element) else _CLEAR_SUBJECT
    return subject.search(element.text) is not None or not _NAMES.isdisjoint(class_words(element))


def _lies_over(cascade: Cascade, element: Element) -> bool:
    """Whether an element, or one in it, stays in the window or covers the page; or it is a bar of the body itself."""
    is_of_body = getattr(element.parent, "tag", None) == "body" and _CLEAR_SUBJECT.search(element.text) is not None
    if element.matches(_DIALOGUES) or (is_of_body and _is_named(element)):
        return True
    parts = (element, *element.select("*")[:_LOOKED_AT])
    return any(cascade.value(part, "position", width) in _OVER for part in parts for width in _WIDTHS)


def _waits_for_script(element: Element, forms: Forms) -> bool:
    """Whether it has a control, and none that works without scripts."""
    controls = element.select(_CONTROLS)
    buttons = [each for each in controls if each.tag != "a"]
    if any(forms.is_working(each) and control_type(each) == "submit" for each in buttons):
        return False
    is_native = any(opens_natively(each) or each.closest("form[method=dialog]") is not None for each in buttons)
    links = (each for each in controls if each.tag == "a")
    return not is_native and (bool(buttons) or any(not is_followable(each.attr("href")) for each in links))
