"""unembed: links instead of frames, plug-ins, video and audio; no icons and hints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.compile.page.context import PageContext, Report
from adaptc.compile.view import Options, View
from adaptc.core.model import Action
from adaptc.formats.html.edit import Editor, EditRefused
from adaptc.formats.html.links import CONNECTIONS, ICONS, NO_ICON, rel_tokens
from adaptc.formats.html.syntax import attribute_markup, text_markup
from adaptc.formats.html.visible_text import fold_space, image_text, is_followable, media_target

if TYPE_CHECKING:
    from turbohtml import Element


NAME = "unembed"
_MEDIA = "iframe, video, audio, object, embed, applet"
# Fetched for the browser's user interface, or early for another page
_ICONS_AND_HINTS = ICONS | CONNECTIONS | {"manifest", "preload", "prefetch", "prerender"}
_BLOCKS = "p, div, table, ul, ol, dl, pre, blockquote, h1, h2, h3, h4, h5, h6, hr, form, section, figure"
_FOR_PLUGINS = ("param", "embed", "object")
_SAYS_MORE = "a[href], img, p, table, ul, video, audio"


def unembed(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Replace what is embedded by links to it, or by its fallback content.

    A page of frames stays: they are its content. An ``<iframe srcdoc>`` keeps its text, in a sandbox without
    scripts. Other passes handle images.
    """
    report = Report()
    replaced: set[Element] = set()
    for element in editor.tree.select(_MEDIA):
        if replaced.isdisjoint(element.ancestors):
            replaced.add(element)
            _replace(editor, element, report)
    _drop_icons_and_hints(editor, report)
    _drop_sprites(editor, report)
    return report


def _replace(editor: Editor, element: Element, report: Report) -> None:
    if "srcdoc" in element.attrs:
        _reduce_frame(editor, element, report)
        return
    instead = _fallback(element) or _link(element)
    editor.replace_element(element, instead + _anchor(element))
    verb = "linked" if instead else "removed"
    report.actions.append(Action(NAME, verb, element.attr("src") or element.attr("data") or f"<{element.tag}>"))


def _reduce_frame(editor: Editor, frame: Element, report: Report) -> None:
    text = text_only_document(frame.attr("srcdoc") or "")
    if text is None:
        editor.remove_element(frame)
        report.actions.append(Action(NAME, "removed", "<iframe srcdoc>", "its markup is not understood"))
        return
    editor.set_attribute(frame, "sandbox", None)
    editor.set_attribute(frame, "srcdoc", text)
    report.actions.append(Action(NAME, "reduced", "<iframe srcdoc>", "it loads nothing"))


def _fallback(element: Element) -> str:
    """Return the fallback content of an object; that of other elements is never shown today."""
    if element.tag not in ("object", "applet"):
        return ""
    if element.closest("p") is not None and element.select_one(_BLOCKS) is not None:
        return ""  # without the object around them they would end the paragraph
    if not element.text.strip() and element.select_one(_SAYS_MORE) is None:
        return ""
    return "".join(child.html for child in element.children if getattr(child, "tag", "") not in _FOR_PLUGINS)


def _anchor(element: Element) -> str:
    """Return an empty element with the id that links may lead to."""
    name = element.attr("id")
    return f"<span {attribute_markup('id', name)}></span>" if name else ""


def _link(element: Element) -> str:
    """Return a link to what is embedded, ``""`` for a video in the background or what is invisible."""
    if element.tag == "video" and {"autoplay", "muted"} <= set(element.attrs) and "controls" not in element.attrs:
        return ""
    target = _target(element)
    if target is None:
        return ""
    url, label = target
    link = element.closest("a")
    if link is not None:  # links do not nest: that around it shows its own text, or this one
        return "" if link.text.strip() else text_markup(label)
    return f"<a {attribute_markup('href', url)}>{text_markup(label)}</a>"


def _target(element: Element) -> tuple[str, str] | None:
    if element.tag != "object":
        return media_target(element)
    url = element.attr("data") or ""
    if not url or not is_followable(url):
        return None
    return url, fold_space(element.attr("title") or element.attr("aria-label") or url.rpartition("/")[2] or url)


def _drop_icons_and_hints(editor: Editor, report: Report) -> None:
    links = [link for link in editor.tree.iter_elements("link") if _is_icon_or_hint(link)]
    for link in links:
        editor.remove_element(link)
    if links:
        report.actions.append(Action(NAME, "removed", "icons and hints", count=len(links)))
    icon = next((link for link in links if "icon" in rel_tokens(link)), None)
    if icon is not None:
        editor.replace_element(icon, NO_ICON)


def _is_icon_or_hint(link: Element) -> bool:
    tokens = rel_tokens(link)
    return not _ICONS_AND_HINTS.isdisjoint(tokens) and "stylesheet" not in tokens


def _drop_sprites(editor: Editor, report: Report) -> None:
    """Drop drawings from another file."""
    for use in editor.tree.select("svg use"):
        url = use.attr("href") or use.attr("xlink:href") or ""
        drawing = use.closest("svg")
        if drawing is not None and url and not url.startswith("#") and not drawing.text.strip():
            editor.remove_element(drawing)
            report.actions.append(Action(NAME, "removed", url, "a drawing from another file"))


_LOADING = "script, link, iframe, object, embed, video, audio, template, base, meta[http-equiv]"


def text_only_document(text: str) -> str | None:
    """Return the text and inline styles of a document, with text for its images; ``None`` if its edits are refused."""
    editor = Editor(text)
    for element in editor.tree.select(_LOADING):
        editor.remove_element(element)
    for image in editor.tree.select("img, picture"):
        inner = image if image.tag == "img" else image.select_one("img")
        editor.replace_element(image, text_markup(image_text(inner)) if inner is not None else "")
    for element in editor.tree.select('[style*="url("], [background]'):
        editor.remove_attribute(element, "style" if "style" in element.attrs else "background")
    try:
        return editor.apply().text
    except EditRefused:
        return None
