"""What a visitor gets from a page, so that it can be compared before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

from turbohtml import Document, DocumentFragment, Element, Node

from adaptc.formats.html.article import article_kept
from adaptc.formats.html.quirks import is_limited_quirks, is_quirks
from adaptc.formats.html.words import fold, lost_words

_UNSEEN = ("script", "style", "template", "noscript", "title", "noframes", "iframe", "noembed")
# An id on one of these is for scripts: no link can lead to what has no place on the page.
_PLACELESS = "[id]:not(script, style, link, meta, base, head, title, template, noscript, source, track, param)"
_CONTROLS = "input, select, textarea, button, output, object[name]"
_CONTROL_TAGS = ("input", "select", "textarea", "button", "output", "object")
_SHOWN = 5  # items a sentence names
_CONTEXT = 30  # characters shown of a text that changed


@dataclass(frozen=True, slots=True)
class Form:
    """What a form sends, and where. ``controls`` hold (name, type, value), for a select its options."""

    method: str
    action: str
    controls: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Promise:
    """What a page promises a visitor whose browser runs scripts.

    ``text`` is the text of the page as it stands, without scripts, styles, templates and noscript; ``links`` are the
    raw ``href`` of a and area in order; controls outside of any form make up a form of their own without method and
    action.
    """

    text: str
    ids: frozenset[str]
    anchors: frozenset[str]
    links: tuple[str, ...]
    forms: tuple[Form, ...]
    title: str
    lang: str
    dir: str
    quirks: bool
    limited_quirks: bool


def promise(tree: Document) -> Promise:
    """Return what the page promises."""
    root = tree.root
    unseen = _unseen(tree)
    title = tree.select_one("head > title")
    return Promise(
        text="".join(_visible_texts(tree)),
        ids=_attributes(tree, "id", "[id]", unseen),
        anchors=_attributes(tree, "name", "a[name]", unseen),
        links=_links(tree, unseen),
        forms=_forms(tree, unseen),
        title=fold(title.text) if title is not None else "",
        lang=(root.attr("lang") or "") if root is not None else "",
        dir=(root.attr("dir") or "") if root is not None else "",
        quirks=is_quirks(tree),
        limited_quirks=is_limited_quirks(tree),
    )


def visible_text(tree: Document) -> str:
    """Return the text that a browser with scripting may show, whitespace folded."""
    return fold("".join(_visible_texts(tree)))


def _visible_texts(tree: Document) -> list[str]:
    """Return the text nodes that may be seen.

    What holds the others is taken out for the time being, and put back in the opposite order. That takes a fifth of the
    time of an XPath expression that asks each text node for its ancestors.
    """
    places = [_taken_out(element) for tag in _UNSEEN for element in tree.find_all(tag)]
    try:
        return list(tree.strings)
    finally:
        for element, parent, following in reversed(places):
            _put_back(element, parent, following)


def _taken_out(element: Element) -> tuple[Element, Element | DocumentFragment, Node | None]:
    """Take an element out of its tree; return it with its parent and what stood behind it."""
    parent, following = element.parent, element.next_sibling
    assert parent is not None and not isinstance(parent, Document)  # the root is an <html>
    element.extract()
    return element, parent, following


def _put_back(element: Element, parent: Element | DocumentFragment, following: Node | None) -> None:
    if following is not None:
        following.insert_before(element)
    else:
        parent.append(element)


def broken(before: Promise, after: Promise) -> list[str]:
    """Return what the page no longer keeps, as sentences; ``[]`` when all is kept. Additions are no harm."""
    return [*_lost(before, after), *_changed_text(before, after), *_changed_frame(before, after)]


def broken_words(before: Document, after: Document) -> list[str]:
    """Return what a page that promises its words no longer keeps, as sentences.

    All visible text stays in its order, and so do links, anchors, forms and controls, title, language and mode.
    Images may go or change, and words may be added: those of an image that went, or of a noscript.
    """
    old, new = (replace(promise(tree), ids=_anchor_ids(tree)) for tree in (before, after))
    lost = lost_words(_visible_texts(before), fold(new.text))
    gone = [] if lost is None else [f"text is gone or has moved: {lost!r}"]
    return [*_lost(old, new), *gone, *_changed_frame(old, new)]


def _broken_same(before: Document) -> Broken:
    promised = promise(before)  # once: a page that grows is made several times
    return lambda after: broken(promised, promise(after))


def broken_article(before: Document, after: Document) -> list[str]:
    """Return what a page that promises the article only no longer keeps, as sentences (see ``article_kept``)."""
    sentences = article_kept(before, after)
    for name, old, new in zip(("title", "lang", "dir"), _named(before), _named(after), strict=True):
        if old and old != new:
            sentences.append(f"{name} was {old!r} and is {new!r}")
    return sentences


# Says of a page as it was made what it no longer keeps
Broken = Callable[[Document], list[str]]
# By a level's promise (``adaptc.config.rulebook.PROMISES``): what a page as it came holds those to that are made of it
BROKEN: Mapping[str, Callable[[Document], Broken]] = {
    "same": _broken_same,
    "words": lambda before: partial(broken_words, before),
    "article": lambda before: partial(broken_article, before),
}


def _named(tree: Document) -> tuple[str, str, str]:
    root, title = tree.root, tree.select_one("head > title")
    lang, direction = ((root.attr(name) or "") if root is not None else "" for name in ("lang", "dir"))
    return fold(title.text) if title is not None else "", lang, direction


_LISTS: Sequence[tuple[str, str, Callable[[Promise], Iterable[object]]]] = (
    ("id", "ids", lambda p: p.ids),
    ("anchor", "anchors", lambda p: p.anchors),
    ("link", "links", lambda p: p.links),
    ("form", "forms", lambda p: tuple((form.method, form.action) for form in p.forms)),
    ("control", "controls", lambda p: tuple(control for form in p.forms for control in form.controls)),
)


def _lost(before: Promise, after: Promise) -> list[str]:
    sentences = []
    for one, many, items in _LISTS:
        had, has = items(before), items(after)
        if had != has and (gone := Counter(had) - Counter(has)):
            sentences.append(_gone(sorted(map(_in_words, gone.elements())), one, many))
    return sentences


def _gone(items: list[str], one: str, many: str) -> str:
    shown = ", ".join(items[:_SHOWN]) + (", ..." if len(items) > _SHOWN else "")
    return f"1 {one} is gone: {shown}" if len(items) == 1 else f"{len(items)} {many} are gone: {shown}"


def _in_words(item: object) -> str:
    return " ".join(filter(None, map(str, item))) if isinstance(item, tuple) else str(item)


def _changed_text(before: Promise, after: Promise) -> list[str]:
    if before.text == after.text:
        return []
    old, new = fold(before.text), fold(after.text)
    if old == new:
        return []
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    start = max(0, same - _CONTEXT // 2)
    old, new = (text[start : start + _CONTEXT] for text in (old, new))
    return [f"the visible text changes: {old!r} becomes {new!r}"]


def _changed_frame(before: Promise, after: Promise) -> list[str]:
    """Return what changed of what concerns the whole page: title, language, direction, mode."""
    pairs = ((name, getattr(before, name), getattr(after, name)) for name in ("title", "lang", "dir"))
    sentences = [f"{name} was {old!r} and is {new!r}" for name, old, new in pairs if old != new]
    if (before.quirks, before.limited_quirks) != (after.quirks, after.limited_quirks):
        sentences.append(f"the page changes from {_mode(before)} to {_mode(after)} mode")
    return sentences


def _mode(page: Promise) -> str:
    if page.quirks:
        return "quirks"
    return "limited-quirks" if page.limited_quirks else "standards"


def _seen(tree: Document, selector: str, unseen: set[Element]) -> list[Element]:
    """Select elements that exist in the page as a browser with scripting builds it."""
    found = tree.select(selector)
    return [element for element in found if element not in unseen] if unseen else found


def _unseen(tree: Document) -> set[Element]:
    """Return the elements that are not in the page as a browser with scripting builds it."""
    # to look for a tag costs next to nothing, to match a selector with all elements as much as a sixth of parsing
    is_plain = tree.find("template") is None and tree.find("noscript") is None
    return set() if is_plain else set(tree.select("template *, noscript *"))


def _attributes(tree: Document, name: str, selector: str, unseen: set[Element]) -> frozenset[str]:
    return frozenset(each.attr(name) or "" for each in _seen(tree, selector, unseen))


def _links(tree: Document, unseen: set[Element]) -> tuple[str, ...]:
    # "area" is rare, and to match each element with two selectors takes half as long again
    selector = "a[href]" if tree.find("area") is None else "a[href], area[href]"
    return tuple(each.attr("href") or "" for each in _seen(tree, selector, unseen))


def _anchor_ids(tree: Document) -> frozenset[str]:
    return _attributes(tree, "id", _PLACELESS, _unseen(tree))


def _forms(tree: Document, unseen: set[Element]) -> tuple[Form, ...]:
    by_owner: dict[Element | None, list[Element]] = {}
    has_controls = any(tree.find(tag) is not None for tag in _CONTROL_TAGS)
    for control in _seen(tree, _CONTROLS, unseen) if has_controls else ():
        by_owner.setdefault(_owner(control, tree), []).append(control)
    forms = [_form(form, by_owner.get(form, [])) for form in _seen(tree, "form", unseen)]
    loose = by_owner.get(None, [])
    return (*forms, Form("", "", _described(loose))) if loose else tuple(forms)


def _owner(control: Element, tree: Document) -> Element | None:
    """Return the form of a control: by its ``form`` attribute, else the one it stands in."""
    named = control.attr("form")
    if named is None:
        return control.closest("form")
    return tree.find("form", attrs={"id": named})


def _form(form: Element, controls: list[Element]) -> Form:
    return Form((form.attr("method") or "get").lower(), form.attr("action") or "", _described(controls))


def _described(controls: list[Element]) -> tuple[tuple[str, str, str], ...]:
    return tuple((each.attr("name") or "", _type(each), _value(each)) for each in controls)


def _type(control: Element) -> str:
    default = {"input": "text", "button": "submit"}.get(control.tag, control.tag)
    return (control.attr("type") or default).lower()


def _value(control: Element) -> str:
    if control.tag == "textarea":
        return control.text
    if control.tag == "select":
        return "|".join(map(_option_value, control.select("option")))
    return control.attr("value") or ""


def _option_value(option: Element) -> str:
    value = option.attr("value")
    return fold(option.text) if value is None else value
