"""The contract of a page: what a visitor gets from it, compared before and after.

Three promises (``adaptc.config.rulebook.PROMISES``): ``same`` text, links and forms; the same ``words``, to which text
may be added; the ``article``, whose parts may move. Each check returns its violations as sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile

from turbohtml import Document, Element, Node, Text

from adaptc.core.values import dataclass, replace
from adaptc.formats.html.cards import find_cards
from adaptc.formats.html.document import is_limited_quirks, is_quirks
from adaptc.formats.html.forms import Request, control_type, find_forms
from adaptc.formats.html.idle import SIGNS, is_edit_link, is_idle, is_own_anchor, skip_links
from adaptc.formats.html.landmarks import (
    Landmarks,
    content_links,
    content_nodes,
    find_landmarks,
    inner_navigation,
    navigation_links,
    turns_pages,
)
from adaptc.formats.html.visible_text import content_lengths, fold_space, is_ad_label, is_icons, rendered_texts, walk

__all__ = ["CONTRACT_CHECKS", "ContractCheck", "FormContent", "PageContent", "content_violations", "extract_content"]

# An id on one of these is for scripts: no link can lead to what has no place on the page.
_PLACELESS = "[id]:not(script, style, link, meta, base, head, title, template, noscript, source, track, param)"
_CONTROLS = "input, select, textarea, button, output, object[name]"
_CONTROL_TAGS = ("input", "select", "textarea", "button", "output", "object")
_SPACE = " \t\n\r\f"
_NAMED_ITEMS = 5  # items that a sentence names
_CONTEXT = 30  # characters shown of a text that changed
_NAMED_LOSSES = 3  # pieces, links and anchors of an article that a sentence names
_QUOTED = 40  # characters quoted of a lost piece of text


@dataclass(frozen=True, slots=True)
class FormContent:
    """What a form sends, and where. ``controls`` hold (name, type, value), for a select its options."""

    method: str
    action: str
    controls: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class PageContent:
    """What a visitor whose browser runs scripts gets from a page.

    ``text`` is the text of the page with its white space, without scripts, styles, templates and noscript; ``links``
    are the raw ``href`` of a and area in order; controls outside of any form make up a form of their own without method
    and action.
    """

    text: str
    ids: frozenset[str]
    anchors: frozenset[str]
    links: tuple[str, ...]
    forms: tuple[FormContent, ...]
    title: str
    lang: str
    dir: str
    is_quirks: bool
    is_limited_quirks: bool


def extract_content(tree: Document) -> PageContent:
    """Return the content of a page."""
    root = tree.root
    unrendered = _unrendered(tree)
    title = tree.select_one("head > title")
    return PageContent(
        text="".join(rendered_texts(tree)),
        ids=_attributes(tree, "id", "[id]", unrendered),
        anchors=_attributes(tree, "name", "a[name]", unrendered),
        links=_links(tree, unrendered),
        forms=_forms(tree, unrendered),
        title=fold_space(title.text) if title is not None else "",
        lang=(root.attr("lang") or "") if root is not None else "",
        dir=(root.attr("dir") or "") if root is not None else "",
        is_quirks=is_quirks(tree),
        is_limited_quirks=is_limited_quirks(tree),
    )


def _select_rendered(tree: Document, selector: str, unrendered: set[Element]) -> list[Element]:
    """Select elements that exist in the page as a browser with scripting builds it."""
    elements = tree.select(selector)
    return [element for element in elements if element not in unrendered] if unrendered else elements


def _unrendered(tree: Document) -> set[Element]:
    """Return the elements that are not in the page as a browser with scripting builds it."""
    # finding a tag costs next to nothing, matching all elements with a selector as much as a sixth of parsing
    is_plain = tree.find("template") is None and tree.find("noscript") is None
    return set() if is_plain else set(tree.select("template *, noscript *"))


def _attributes(tree: Document, name: str, selector: str, unrendered: set[Element]) -> frozenset[str]:
    return frozenset(each.attr(name) or "" for each in _select_rendered(tree, selector, unrendered))


def _links(tree: Document, unrendered: set[Element]) -> tuple[str, ...]:
    # "area" is rare, and matching each element with two selectors takes half as long again
    selector = "a[href]" if tree.find("area") is None else "a[href], area[href]"
    return tuple(each.attr("href") or "" for each in _select_rendered(tree, selector, unrendered))


def _forms(tree: Document, unrendered: set[Element]) -> tuple[FormContent, ...]:
    by_owner: dict[Element | None, list[Element]] = {}
    has_controls = any(tree.find(tag) is not None for tag in _CONTROL_TAGS)
    for control in _select_rendered(tree, _CONTROLS, unrendered) if has_controls else ():
        by_owner.setdefault(_owner(control, tree), []).append(control)
    forms = [_form(form, by_owner.get(form, [])) for form in _select_rendered(tree, "form", unrendered)]
    unowned = by_owner.get(None, [])
    return (*forms, FormContent("", "", _describe_controls(unowned))) if unowned else tuple(forms)


def _owner(control: Element, tree: Document) -> Element | None:
    """Return the form of a control: by its ``form`` attribute, else the one around it."""
    named = control.attr("form")
    if named is None:
        return control.closest("form")
    return tree.find("form", attrs={"id": named})


def _form(form: Element, controls: list[Element]) -> FormContent:
    return FormContent((form.attr("method") or "get").lower(), form.attr("action") or "", _describe_controls(controls))


def _describe_controls(controls: list[Element]) -> tuple[tuple[str, str, str], ...]:
    return tuple((each.attr("name") or "", control_type(each), _value(each)) for each in controls)


def _value(control: Element) -> str:
    if control.tag == "textarea":
        return control.text
    if control.tag == "select":
        return "|".join(map(_option_value, control.select("option")))
    return control.attr("value") or ""


def _option_value(option: Element) -> str:
    value = option.attr("value")
    return fold_space(option.text) if value is None else value


def content_violations(before: PageContent, after: PageContent) -> list[str]:
    """Return how a page breaks the promise ``same``, as sentences; additions to it are allowed."""
    return [*_lost_items(before, after), *_changed_text(before, after), *_changed_metadata(before, after)]


def _check_words(before: Document) -> ContractCheck:
    """Return the check of the promise ``words``.

    All visible text stays in its order, and so do links, anchors, forms and controls, title, language and mode.
    Images may go or change, and words may be added: those of a removed image, or of a noscript.
    """
    return partial(_lost_words, _anchored_content(before), rendered_texts(before))


def _anchored_content(tree: Document) -> PageContent:
    return replace(extract_content(tree), ids=_attributes(tree, "id", _PLACELESS, _unrendered(tree)))


def _lost_words(old: PageContent, texts: Sequence[str], after: Document) -> list[str]:
    new = _anchored_content(after)
    lost = _first_lost_piece(texts, fold_space(new.text))
    lost_text = [] if lost is None else [f"text is gone or has moved: {lost!r}"]
    return [*_lost_items(old, new), *lost_text, *_changed_metadata(old, new)]


def _check_content(before: Document) -> ContractCheck:
    content = extract_content(before)  # once: a page that grows is rewritten several times
    return lambda after: content_violations(content, extract_content(after))


def _check_article(before: Document) -> ContractCheck:
    """Return the check of the promise ``article``: its text, its links, anchors and working forms are there.

    The article is the main content, or everything but the navigation where none stands out. Images do not count;
    the order of the parts may change, that of the text within a part is checked piece by piece.
    """
    return partial(_changed_article, _article_content(before), _title_and_language(before))


def _changed_article(article: _ArticleContent, metadata: tuple[str, str, str], after: Document) -> list[str]:
    values = zip(("title", "lang", "dir"), metadata, _title_and_language(after), strict=True)
    changed = [f"{name} was {old!r} and is {new!r}" for name, old, new in values if old and old != new]
    return [*_lost_from(article, after), *changed]


# Returns the violations of a rewritten page
ContractCheck = Callable[[Document], list[str]]
# A level's promise (``adaptc.config.rulebook.PROMISES``) -> the check of rewritten pages, made from the source page. It
# holds what it compares, not the tree of the page
CONTRACT_CHECKS: Mapping[str, Callable[[Document], ContractCheck]] = {
    "same": _check_content,
    "words": _check_words,
    "article": _check_article,
}


def _title_and_language(tree: Document) -> tuple[str, str, str]:
    root, title = tree.root, tree.select_one("head > title")
    lang, direction = ((root.attr(name) or "") if root is not None else "" for name in ("lang", "dir"))
    return fold_space(title.text) if title is not None else "", lang, direction


_COUNTED: Sequence[tuple[str, str, Callable[[PageContent], Iterable[object]]]] = (
    ("id", "ids", lambda p: p.ids),
    ("anchor", "anchors", lambda p: p.anchors),
    ("link", "links", lambda p: p.links),
    ("form", "forms", lambda p: tuple((form.method, form.action) for form in p.forms)),
    ("control", "controls", lambda p: tuple(control for form in p.forms for control in form.controls)),
)


def _lost_items(before: PageContent, after: PageContent) -> list[str]:
    sentences = []
    for singular, plural, items in _COUNTED:
        old, new = items(before), items(after)
        if old != new and (lost := Counter(old) - Counter(new)):
            sentences.append(_name_lost(sorted(map(_describe, lost.elements())), singular, plural))
    return sentences


def _name_lost(items: list[str], singular: str, plural: str, most: int = _NAMED_ITEMS) -> str:
    shown = _enumerate(items, most)
    return f"1 {singular} is gone: {shown}" if len(items) == 1 else f"{len(items)} {plural} are gone: {shown}"


def _enumerate(items: list[str], most: int) -> str:
    return ", ".join(items[:most]) + (", ..." if len(items) > most else "")


def _describe(item: object) -> str:
    return " ".join(filter(None, map(str, item))) if isinstance(item, tuple) else str(item)


def _changed_text(before: PageContent, after: PageContent) -> list[str]:
    if before.text == after.text:
        return []
    old, new = fold_space(before.text), fold_space(after.text)
    if old == new:
        return []
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    start = max(0, same - _CONTEXT // 2)
    old, new = (text[start : start + _CONTEXT] for text in (old, new))
    return [f"the visible text changes: {old!r} becomes {new!r}"]


def _changed_metadata(before: PageContent, after: PageContent) -> list[str]:
    """Return the changes that concern the whole page: title, language, direction, mode."""
    pairs = ((name, getattr(before, name), getattr(after, name)) for name in ("title", "lang", "dir"))
    sentences = [f"{name} was {old!r} and is {new!r}" for name, old, new in pairs if old != new]
    if (before.is_quirks, before.is_limited_quirks) != (after.is_quirks, after.is_limited_quirks):
        sentences.append(f"the page changes from {_mode(before)} to {_mode(after)} mode")
    return sentences


def _mode(page: PageContent) -> str:
    if page.is_quirks:
        return "quirks"
    return "limited-quirks" if page.is_limited_quirks else "standards"


def _first_lost_piece(before: Iterable[str], after: str) -> str | None:
    """Return the first piece of text that is not in ``after`` following its predecessor, or ``None``.

    ``before`` are text nodes in document order, ``after`` is folded text. Between two pieces there may be more than
    there was (the words of an image, of a noscript); where white space separated them, something must still do so.
    """
    end = 0
    for piece, is_apart in _spaced_pieces(before):
        at = after.find(piece, end + is_apart if end else 0)
        if at < 0:
            return piece[:_QUOTED]
        end = at + len(piece)
    return None


def _spaced_pieces(texts: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield the text of each text node, and whether white space separates it from the text before."""
    is_apart = False
    for text in texts:
        piece = fold_space(text)
        if piece:
            yield piece, is_apart or text[0] in _SPACE
            is_apart = text[-1] in _SPACE
        elif text:
            is_apart = True


@dataclass(frozen=True, slots=True)
class _ArticleContent:
    """What a page must keep: text nodes without white space, links, targets of links within it, and forms.

    ``forms`` are what the working ones send.
    """

    pieces: tuple[str, ...]
    links: tuple[str, ...]
    anchors: frozenset[str]
    forms: frozenset[Request]


def _article_content(tree: Document) -> _ArticleContent:
    landmarks = find_landmarks(tree)
    return _ArticleContent(
        tuple(_wanted_pieces(tree, landmarks)),
        tuple(_wanted_links(tree, landmarks)),
        frozenset(_anchors(tree)),
        frozenset(find_forms(tree).requests().values()),
    )


def _lost_from(article: _ArticleContent, after: Document) -> list[str]:
    return [
        *_lost_text(article.pieces, after),
        *_lost_links(article.links, after),
        *_lost_anchors(article.anchors, after),
        *_lost_forms(article.forms, after),
    ]


def _wanted_pieces(tree: Document, landmarks: Landmarks) -> Iterator[str]:
    root = landmarks.main if landmarks.main is not None else tree.select_one("body")
    if root is None:
        return
    menus = inner_navigation(landmarks.main) if landmarks.main is not None else ()
    landmarks = Landmarks(landmarks.main, (*landmarks.navigation, *menus))
    yield from _article_pieces(
        root, landmarks, find_cards(tree).repeats.union(skip_links(root), find_forms(tree).repeats())
    )


def _lost_text(pieces: Sequence[str], after: Document) -> Iterator[str]:
    body = after.select_one("body")
    lost = list(_missing(pieces, _compact(body) if body is not None else "")) if pieces else []
    if lost:
        yield f"text of the article is gone: {_enumerate([repr(piece[:_QUOTED]) for piece in lost], _NAMED_LOSSES)}"


def _missing(pieces: Iterable[str], text: str) -> Iterator[str]:
    """Yield the pieces that are not in ``text``, searched after the piece before, and then anywhere."""
    position = 0
    for piece in pieces:
        offset = text.find(piece, position)
        if offset < 0:
            offset = text.find(piece)
        if offset < 0:
            yield piece
        else:
            position = offset + len(piece)


def _article_pieces(root: Node, landmarks: Landmarks, needless: frozenset[Element]) -> Iterator[str]:
    """Yield the text nodes that a visitor reads, without white space; not icons, signs, labels of
    advertisements and ``needless`` links: those that repeat a card's, and to skip what no longer is above."""
    unread: dict[Node, bool] = {}  # by element: whether a part of it, or all around it, is not for readers
    for child in content_nodes(root, landmarks):
        if not isinstance(child, Text) or not (piece := "".join(child.data.split())):
            continue
        if piece in SIGNS or is_icons(piece):
            continue
        is_label = isinstance(child.parent, Element) and is_ad_label(child.parent)
        if not is_label and not _is_unread(child.parent, needless, unread):
            yield piece


def _is_unread(node: Node | None, needless: frozenset[Element], known: dict[Node, bool]) -> bool:
    """Whether a node is ``needless`` or names what a script would do, or something around it; noted in ``known``."""
    lineage: list[Node] = []
    while node is not None and node not in known:
        lineage.append(node)
        node = node.parent
    is_unread = node is not None and known[node]
    for each in reversed(lineage):
        is_unread = is_unread or (isinstance(each, Element) and (each in needless or is_idle(each)))
        known[each] = is_unread
    return is_unread


def _compact(body: Element) -> str:
    nodes = walk(body, lambda each: each.tag not in ("script", "style", "template"))
    return "".join("".join(node.data.split()) for node in nodes if isinstance(node, Text))


def _wanted_links(tree: Document, landmarks: Landmarks) -> Iterator[str]:
    menus = (link.href for link in navigation_links(landmarks))
    wanted = dict.fromkeys([*content_links(tree, landmarks), *menus])
    needless = {link.attr("href") for link in tree.select('a[href^="#"]') if is_own_anchor(link)}
    bars = [each for each in landmarks.navigation if turns_pages(each, content_lengths(each))]  # of parts of the page
    needless.update(link.attr("href") for each in bars for link in each.select('a[href^="#"]'))
    sections = filter(is_edit_link, tree.select("span[class]"))
    needless.update(link.attr("href") for each in sections for link in each.select("a[href]"))
    body = tree.select_one("body")
    needless.update(link.attr("href") for link in (skip_links(body) if body is not None else ()))
    return (href for href in wanted if href not in needless)


def _lost_links(wanted: Iterable[str], after: Document) -> Iterator[str]:
    present = {link.attr("href") for link in after.select("a[href], area[href]")}
    lost = [href for href in wanted if href not in present]
    if lost:
        yield _name_lost(lost, "link", "links", _NAMED_LOSSES)


def _lost_anchors(before: frozenset[str], after: Document) -> Iterator[str]:
    """Report the links within the page that lead nowhere now but led somewhere before."""
    wanted = {(link.attr("href") or "")[1:] for link in after.select('a[href^="#"]')}
    lost = sorted(wanted & before - _anchors(after))
    if lost:
        yield f"links within the page lead to what is gone: {', '.join(lost[:_NAMED_LOSSES])}"


def _anchors(tree: Document) -> set[str]:
    ids = {each.attr("id") for each in tree.select("[id]")}
    names = {each.attr("name") for each in tree.select("a[name]")}
    return {name for name in ids | names if name}


def _lost_forms(before: frozenset[Request], after: Document) -> Iterator[str]:
    for method, action, names in before.difference(find_forms(after).requests().values()):
        sent = sorted(name.partition("=")[0] for name in names)
        yield f"a form is gone or sends less: {method} {action} ({', '.join(sent)})"
