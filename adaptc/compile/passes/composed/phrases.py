"""Writers of text within paragraphs: emphasis, links, images, formulas, controls (WHATWG HTML, "phrasing content")."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import takewhile

from turbohtml import Document, Element

from adaptc.compile.passes.composed.flow import (
    BLOCK_TAGS,
    HEADING_TAGS,
    LINE_BREAK,
    Blocks,
    Flow,
    Writer,
    holds_block,
    language_attributes,
    text_of,
)
from adaptc.formats.html.forms import (
    control_markup,
    control_type,
    option_markup,
    words_of_name,
    works_without_script,
)
from adaptc.formats.html.idle import is_idle_button, is_own_anchor
from adaptc.formats.html.syntax import attribute_markup, attributes_markup, class_words, text_markup
from adaptc.formats.html.visible_text import (
    AD_LABELS,
    content_length,
    content_texts,
    fold_space,
    icon_name,
    image_text,
    is_followable,
    is_hidden,
    link_label,
    link_name,
    math_text,
    media_target,
    short_text,
)

__all__ = ["BLOCK_MARKUP", "WRITERS", "TitleOf", "name_links"]

# Element -> the element that is written for it
_EMPHASIS = {name: name for name in (
    "em", "strong", "b", "i", "s", "del", "ins", "code", "kbd", "samp", "var", "sub", "sup", "q", "cite", "dfn", "abbr",
    "mark", "small", "u", "bdi", "bdo", "ruby", "rt", "rp", "rb", "rtc",
)} | {"tt": "code", "strike": "s", "acronym": "abbr"}  # fmt: skip
# A tag of a block in written markup
BLOCK_MARKUP = re.compile(r"</?(?:p|ul|li|div|h[1-6]|table|tr|td)\b[^>]*>")
_HEADING = re.compile(r"<h[1-6]\b")
_TEX = "math/tex"
_TITLES = "h1, h2, h3, h4, h5, h6, dt, summary, [role=heading]"
_PARAGRAPHS = "p, h1, h2, h3, h4, h5, h6, ul, ol, dl, table, pre, blockquote"


def _add_emphasis(flow: Flow, element: Element, blocks: Blocks) -> None:
    flow.ids.note(element)
    if holds_block(element):
        flow.walk(element.children, blocks)
        return
    tag = _EMPHASIS[element.tag]
    title = attributes_markup(element, ("title",)) if tag in ("abbr", "dfn") else ""
    flow.add_wrapped(tag, language_attributes(element) + title, element, blocks)


# URL, as written in the page -> title of the page there
TitleOf = Callable[[str], str]
_LONGEST_CAPTION = 60  # characters


def name_links(tree: Document, title_of: TitleOf) -> None:
    """Name each link around a picture without a name, or with an icon's: by its caption, or the title of its target."""
    for link in tree.select("a[href]"):
        href, name, has_picture = link.attr("href") or "", link_name(link), link.select_one("img") is not None
        is_named = any(map(str.isalnum, name))
        if not is_followable(href) or (is_named and not (has_picture and name == icon_name(link))):
            continue
        title = _caption(link) if has_picture else ""
        if not (title or is_named or href.startswith("#")) and any(isinstance(each, Element) for each in link.children):
            title = title_of(href)
        if title:
            link.attrs["title"] = title


def _caption(picture: Element) -> str:
    """Return the first words of the caption that follows the link of a picture, if no link is in it."""
    following = next((each for each in picture.next_siblings if isinstance(each, Element)), None)
    if following is None or "caption" not in class_words(following):
        return ""
    words = next(filter(None, (fold_space(each.data) for each in content_texts(following))), "")
    return words if len(words) <= _LONGEST_CAPTION and following.select_one("a[href]") is None else ""


def _add_link(flow: Flow, element: Element, blocks: Blocks) -> None:
    flow.ids.note(element)
    href = element.attr("href") or ""
    if not is_followable(element.attr("href")):
        if not is_idle_button(element):
            flow.add_transparent(element, blocks)
        return
    is_tool = _is_tool_of_heading(element)
    if is_own_anchor(element) or (is_tool and href.startswith("#")):
        flow.hrefs.add(href)
        return
    is_ad = (
        _ADVERTISER.search(href) is not None and not element.text.strip() and element.closest("noscript") is not None
    )
    if is_ad or _is_picture_of_named(element):
        return
    attributes = f" {attribute_markup('href', href)}{_link_attributes(element)}>"
    if holds_block(element):
        _add_block_link(flow, element, attributes, blocks)
        return
    previous = flow.last_link
    inner, has_content = (_ARROW, True) if is_tool else flow.write_inline(element)
    if not has_content or not inner.strip(_SPACES):
        label = link_label(element) if element.tag == "a" else image_text(element) or _ARROW
        inner = text_markup(label.strip(_SPACES))
        has_content = bool(inner) and href != flow.last_href and not (href in flow.named and not _says(element))
    is_unnamed = "<img" in inner and not fold_space(element.text) and not any(map(image_text, element.select("img")))
    if is_tool or is_unnamed:
        attributes = f" {attribute_markup('aria-label', link_label(element))}{attributes}"
    if (href, inner.strip()) == previous and flow.is_repeating(element):
        return  # the link of a picture whose words stand below it
    flow.last_href, flow.last_link = href, (href, inner.strip())
    if has_content:
        flow.hrefs.add(href)
        space, words = " " if inner[0] in _SPACES else "", inner.strip(_SPACES)
        blocks.add_inline(f"{space}<a{flow.ids.next_attribute()}{attributes}{words}</a>")
        blocks.add_inline(" " if inner[-1] in _SPACES else "", is_content=False)


_SPACES = " \xa0"  # an underlined space is none
_ARROW = "\u2192"  # for a link that has no words, where a label would be read as part of a heading


def _is_tool_of_heading(link: Element) -> bool:
    """Whether a link without words or picture is in a heading that has words: to itself, or to edit what is below.

    One with a short label, as "RSS", is none.
    """
    heading = link.closest(", ".join(HEADING_TAGS))
    is_bare = not fold_space(link.text) and link.select_one("img") is None
    if not is_bare or heading is None or not fold_space(heading.text):
        return False
    return link.attr("href") == f"#{heading.attr('id')}" or len(link_label(link).split()) > _MOST_WORDS


_MOST_WORDS = 3


def _is_picture_of_named(link: Element) -> bool:
    """Whether a link of a picture is next to one to the same place that says what the picture's text says."""
    if link.select_one("img") is None or fold_space(link.text):
        return False
    name, parent = link_name(link), link.parent
    if not isinstance(parent, Element) or not name or short_text(parent, _SPACED * _LONGEST_NEAR) is None:
        return False
    if content_length(parent) > _LONGEST_NEAR:
        return False
    same = (each for each in parent.select("a[href]") if each.attr("href") == link.attr("href") and each != link)
    return any(name in fold_space(each.text) for each in same)


def _add_block_link(flow: Flow, element: Element, attributes: str, blocks: Blocks) -> None:
    """Add a link around blocks: one block gives a link inside of it, several a link around them."""
    inner = flow.write(element.children, is_item=True) or text_markup(link_label(element))
    flow.hrefs.update([element.attr("href") or ""] if inner else ())
    if inner and not BLOCK_MARKUP.search(inner):
        blocks.add_inline(f"<a{flow.ids.next_attribute()}{attributes}{inner}</a>")
    elif inner:
        kind = " class=o" if _HEADING.search(inner) else ""
        flow.add_block(f"<a{kind}{flow.ids.next_attribute()}{attributes}{inner}</a>", blocks)


def _says(element: Element) -> bool:
    """Whether the name of a link without text is its own, and not the end of its address."""
    return any(map(str.isalnum, link_name(element)))


def _link_attributes(element: Element) -> str:
    return attributes_markup(element, ("hreflang", "download", "lang", "dir"))


# ---- text alternatives


def _add_image(flow: Flow, element: Element, blocks: Blocks) -> None:
    if flow.is_in_card or flow.layout.is_hidden_somewhere(element):
        return
    if picture := flow.article_picture(element):
        blocks.add_inline(picture)
        return
    if _says_nothing(element) or _is_repeated(element) or element.attr("src") in flow.shown:
        return
    text = text_markup(image_text(element))
    if text:
        is_linked = any(isinstance(each, Element) and each.tag in ("a", "button") for each in element.ancestors)
        blocks.add_inline(" " if is_linked and blocks.last_character().strip() else "", is_content=False)
        blocks.add_inline(text if is_linked else f"<i>[{text}]</i>")


_NEAR = 3  # elements around an image, links not counted
_LONGEST_NEAR = 1000  # characters of the text around an image that may repeat its own
_SPACED = 3  # times as many with white space
_NAME_OF_SLOT = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)+")


def _says_nothing(image: Element) -> bool:
    """Whether the alternative text of an image names its place (``product-img``), is that of a face, or it is a dot."""
    is_dot = any((image.attr(side) or "") in ("0", "1") for side in ("width", "height"))
    alternative = image.attr("alt") or ""
    is_face = "avatar" in alternative.lower() and "avatar" in (image.attr("src") or "").lower()
    return is_dot or is_face or _NAME_OF_SLOT.fullmatch(alternative) is not None


def _is_repeated(image: Element) -> bool:
    """Whether what is next to an image says what its alternative text says: its caption, its headline."""
    text = "".join(image_text(image).split())
    around = (each for each in image.ancestors if isinstance(each, Element) and each.tag not in ("a", "picture"))
    near = (short_text(each, _LONGEST_NEAR) for _, each in zip(range(_NEAR), around, strict=False))
    return bool(text) and any(text in "".join((words or "").split()) for words in near)


_LONGEST_DRAWING = 2000  # characters of the labels in a diagram: those of a map of the world say little in a row


def _add_drawing(_flow: Flow, element: Element, blocks: Blocks) -> None:
    """Add the name of a drawing and the labels in it; an icon's ``<title>`` is said by the words next to it."""
    name = element.attr("aria-label") if element.attr("role") == "img" else None
    labelling = (each for each in element.select("*") if each.tag in _LABELS and not _is_unseen(each, element))
    labels = (fold_space(each.text) for each in labelling)
    written = ", ".join(dict.fromkeys(filter(None, labels)))
    if len(written) > _LONGEST_DRAWING or (name and written in name):
        written = ""
    said = ": ".join(filter(None, (fold_space(name or ""), written)))
    if said:
        blocks.add_inline(f"<i>[{text_markup(said)}]</i>")


def _is_unseen(label: Element, drawing: Element) -> bool:
    """Whether a label is hidden, in another one, or in what is only drawn where something refers to it."""
    around = [each for each in takewhile(lambda each: each != drawing, label.ancestors) if isinstance(each, Element)]
    return any(map(is_hidden, (label, *around))) or any(each.tag in (*_LABELS, *_DEFINING) for each in around)


_LABELS = ("text", "foreignObject")
_DEFINING = ("defs", "symbol", "marker", "pattern", "clipPath", "mask")


def _add_script(_flow: Flow, element: Element, blocks: Blocks) -> None:
    if (element.attr("type") or "").lower().startswith(_TEX):
        blocks.add_inline(f"<code>{text_markup(fold_space(element.text))}</code>")


def _add_media(flow: Flow, element: Element, blocks: Blocks) -> None:
    flow.end_run(blocks)
    target = media_target(element)
    if target is not None and not _is_idle_frame(element, target[0]):
        url, label = target
        if not (element.attr("title") or element.attr("aria-label")):
            label = host_of(url) or label
        blocks.add_inline(f"<a {attribute_markup('href', url)}>{text_markup(label)}</a>")
    flow.end_run(blocks)


_ADVERTISER = re.compile(r"\b(?:doubleclick|googlesyndication|adserver)\b|[;?&]sz=\d+x\d+")
_SHARING = re.compile(
    r"//[^/?]*\b(?:facebook|twitter|linkedin|google|pinterest|reddit|vk|line)\.[^?]*(?:like|share|tweet|follow|plus|button)"
)


def _is_idle_frame(element: Element, url: str) -> bool:
    """Whether a frame holds an advertisement, or a button that shares the page: neither is a page of its own."""
    title = fold_space(element.attr("title") or "").casefold()
    return element.tag == "iframe" and (
        title in AD_LABELS or (_ADVERTISER.search(url) or _SHARING.search(url)) is not None
    )


def host_of(url: str) -> str:
    """Return the host that a frame of another site shows: it says more than the end of the address."""
    return url.partition("//")[2].partition("/")[0].removeprefix("www.")


# ---- controls


def _add_control(flow: Flow, element: Element, blocks: Blocks) -> None:
    if not flow.forms.is_working(element) or not works_without_script(element):
        if element.tag == "button" and _holds_content(flow, element):
            flow.add_transparent(element, blocks)
        else:
            _add_words(element, blocks)
        return
    flow.written.add(element)
    name = element.attr("id") or ""
    is_referred_to = name in flow.ids.linked or name in flow.labelled
    identity = f" {attribute_markup('id', name)}" if name and is_referred_to and flow.ids.claim(name) else ""
    markup = control_markup(element, f"{identity}{_name_of_control(flow, element)}", flow.forms.reference(element))
    if control_type(element) == "hidden":
        blocks.finished.append(markup)
    else:
        blocks.add_inline(markup)
        blocks.add_inline(" ", is_content=False)


def _add_words(control: Element, blocks: Blocks) -> None:
    """Add the words in a field that sends nothing: a code to copy, an address."""
    is_read = control.tag == "textarea" or ("readonly" in control.attrs and control_type(control) in _WORDED)
    words = (control.text if control.tag == "textarea" else control.attr("value") or "").strip("\n").rstrip()
    if is_read and words and "{{" not in words:
        lines = [re.sub("^ +", lambda indent: "\xa0" * len(indent[0]), line) for line in words.splitlines()]
        blocks.add_inline(f" <code>{LINE_BREAK.join(map(text_markup, lines))}</code>")


_WORDED = frozenset({"text", "url", "email", "tel"})
_WRITTEN = _WORDED | {"search", "password", "number"}
_SELF_NAMED = frozenset({"hidden", "submit", "reset", "image", "button"})
_LONGEST_CONTROL = 60  # characters of the name of a control
_OTHERS = "input, select, textarea, button, h1, h2, h3, h4, h5, h6, nav, ul, ol"


def _name_of_control(flow: Flow, control: Element) -> str:
    """Return an attribute with the name of a field without one: what stands beside it, or on its form's button."""
    kind, label = control_type(control), control.closest("label")
    if kind in _SELF_NAMED or control.tag == "button" or (label is not None and fold_space(label.text)):
        return ""
    title, option = control.attr("title"), control.select_one("option")
    has_name = control.attr("aria-label") or (control.attr("placeholder") and not title)
    if has_name or flow.labelled.get(control.attr("id") or ""):
        return ""
    if title and "placeholder" not in control.attrs and (kind in _WRITTEN or control.tag == "textarea"):
        control.attrs["placeholder"] = control.attrs.pop("title")  # which is read without pointing at the field
        return ""
    beside = _beside(control, is_before=kind not in ("checkbox", "radio"))
    value = control.attr("value") if kind in ("text", "search") else ""  # as old pages have it in place of a label
    own = control.attr("name") or control.attr("id") or ("" if option is None else fold_space(text_of(option)))
    names = (title, _said_by_form(flow, control), *beside, value, words_of_name(own), own)
    name = next(filter(None, names), "")
    return f" {attribute_markup('aria-label', fold_space(name))}" if name else ""


def _beside(control: Element, *, is_before: bool) -> Iterator[str]:
    """Yield the words next to a field, or next to the box that it is in: before it, or behind it."""
    form = control.closest("form")
    for element in (control, control.parent):
        if isinstance(element, Element) and form is not None and form in element.ancestors:
            nodes = element.previous_siblings if is_before else element.next_siblings
            node = next((each for each in nodes if isinstance(each, Element) or fold_space(text_of(each))), None)
            is_other = isinstance(node, Element) and (node.matches(_OTHERS) or node.select_one(_OTHERS) is not None)
            words = "" if node is None or is_other else fold_space(text_of(node))
            yield words if len(words) <= _LONGEST_CONTROL and any(map(str.isalnum, words)) else ""


def _said_by_form(flow: Flow, control: Element) -> str:
    """Return what the button of a form with one field says."""
    form = flow.forms.owner.get(control)
    controls = [each for each, owner in flow.forms.owner.items() if owner is form]
    if form is None or sum(control_type(each) not in _SELF_NAMED for each in controls) != 1:
        return ""
    buttons = (each for each in controls if control_type(each) in ("submit", "image"))
    return next(filter(None, (fold_space(each.text) or image_text(each) for each in buttons)), "")


def _holds_content(flow: Flow, button: Element) -> bool:
    """Whether the text of a button, which does nothing without scripts, is content.

    So it is in accordions: all of a heading, paragraphs, or the title of the block that follows it (WAI-ARIA Authoring
    Practices, "Disclosure"). Other such buttons say what a click would do.
    """
    title = button.closest(_TITLES)
    if title is not None and fold_space(title.text) == fold_space(button.text):
        return True
    return button.select_one(_PARAGRAPHS) is not None or _is_disclosure(flow, button)


def _is_disclosure(flow: Flow, button: Element) -> bool:
    if "aria-haspopup" in button.attrs or button.closest("nav, header"):
        return False
    following = next((each for each in button.next_siblings if isinstance(each, Element)), None)
    if following is None or following.tag not in BLOCK_TAGS or not fold_space(following.text):
        return False
    is_closed = not is_hidden(following) and flow.layout.hiding_widths(following)
    if "aria-expanded" not in button.attrs and (not is_closed or button.closest("form")):
        return False
    controlled = button.attr("aria-controls")
    return (
        not controlled or controlled == following.attr("id") or following.select_one(f'[id="{controlled}"]') is not None
    )


def _add_datalist(flow: Flow, element: Element, blocks: Blocks) -> None:
    if "id" in element.attrs:
        options = option_markup(element)
        blocks.add_inline(f"<datalist{flow.ids.attribute_of(element)}>{options}</datalist>", is_content=False)


def _add_label(flow: Flow, element: Element, blocks: Blocks) -> None:
    control = element.select_one("input, select, textarea")
    if control is not None and control.tag == "select" and not flow.forms.is_working(control):
        return  # the name of what does nothing: "Select theme"
    if holds_block(element):
        flow.add_container(element, blocks)
    else:
        flow.add_wrapped("label", attributes_markup(element, ("for",)), element, blocks)


WRITERS: dict[str, Writer] = {
    **dict.fromkeys(_EMPHASIS, _add_emphasis),
    **dict.fromkeys(("a", "area"), _add_link),
    "br": lambda _flow, _element, blocks: blocks.add_inline(LINE_BREAK, is_content=False),
    "wbr": lambda _flow, _element, blocks: blocks.add_inline("<wbr>", is_content=False),
    "img": _add_image,
    "svg-drawing": _add_drawing,
    "math": lambda _flow, element, blocks: blocks.add_inline(text_markup(math_text(element))),
    "script": _add_script,
    **dict.fromkeys(("iframe", "video", "audio", "embed"), _add_media),
    "object": lambda flow, element, blocks: flow.walk(element.children, blocks),
    **dict.fromkeys(("input", "select", "textarea", "button"), _add_control),
    "datalist": _add_datalist,
    "label": _add_label,
}
