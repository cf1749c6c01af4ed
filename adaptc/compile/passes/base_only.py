"""base-only: the container object alone, without its embedded objects (Krishnamurthy and others, WWW2003: "baseonly").

Their client asked for the page and for nothing that it embeds. A server cannot keep a browser from asking, so the page
is written such that there is nothing to request: a visitor sees what a browser shows whose images, scripts, style
sheets and frames are disabled. The page's own styles stay, and ``<noscript>`` is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from turbohtml import Namespace

from adaptc.compile.page.context import PageContext, Report
from adaptc.compile.view import Options, View
from adaptc.core.diagnostics import Location, diagnose
from adaptc.core.model import Action, Role
from adaptc.formats.css.fonts import drop_fetched_fonts
from adaptc.formats.css.references import CssReference, rewrite_urls
from adaptc.formats.html.document import parse, show_noscript
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.links import CONNECTIONS, ICONS, NO_ICON, rel_tokens
from adaptc.formats.html.syntax import attribute_markup, attributes_markup, text_markup
from adaptc.formats.html.visible_text import fold_space, image_text, is_followable, link_label, media_target
from adaptc.formats.script import is_javascript_type, is_module_type

if TYPE_CHECKING:
    from turbohtml import Element


NAME = "base-only"


def remove_objects(text: str, page: PageContext, view: View, options: Options) -> tuple[str | None, Report]:
    """Return the page with nothing to load in it. Raises ``EditRefused``."""
    if parse(text).select_one("frameset frame[src]") is not None:
        diagnostic = diagnose("page-unchanged", Location(page.path), name=NAME, reason="its content is in frames")
        return None, Report(diagnostics=[diagnostic])
    report = Report()
    edited = show_noscript(text)
    if edited != text:
        report.actions.append(Action(NAME, "shown", "<noscript>"))
    # two rounds: the fallback of media may load images itself
    for edit in (link_media, remove_loads):
        edited = _edited(edited, edit, report, page.path)
    return edited, report


def _edited(text: str, edit: Callable[[Editor], list[tuple[str, str]]], report: Report, path: str) -> str:
    editor = Editor(text)
    report.actions += [Action(NAME, verb, subject) for verb, subject in edit(editor)]
    edited = editor.apply()
    if edited.method == "serialised":
        report.diagnostics = [diagnose("page-reserialized", Location(path), name=NAME)]
    return edited.text


_MEDIA = ("iframe", "video", "audio", "embed", "object", "bgsound", "portal")
_SOURCES = ("source", "track", "param")
# What makes a browser look for an object; without it the object shows its fallback content (HTML, 4.8.7)
_LOADING = ("data", "classid", "archive", "codebase", "type")


def link_media(editor: Editor) -> list[tuple[str, str]]:
    """Replace media by links; return the actions, as (verb, subject). Text, ids and controls stay."""
    actions: list[tuple[str, str]] = []
    replaced: set[Element] = set()
    for element in editor.tree.iter_elements(_MEDIA):
        if not replaced.isdisjoint(element.ancestors):
            continue
        if element.tag == "object":
            actions += _unload_object(editor, element)
        else:
            replaced.add(element)
            link = _link(element)
            editor.replace_element(element, link + _fallback(element))
            actions.append(("linked" if link else "removed", _subject(element)))
    return actions


def _subject(element: Element) -> str:
    target = media_target(element)
    return target[0] if target is not None else f"<{element.tag}>"


def _link(element: Element) -> str:
    """Return a link to what an element plays or shows, or the place of its id."""
    target = media_target(element)
    identity = attributes_markup(element, ("id",))
    if target is None:
        return f"<span{identity}></span>" if identity else ""
    return f"<a{identity} {attribute_markup('href', target[0])}>{text_markup(target[1])}</a>"


def _fallback(element: Element) -> str:
    """Return the content of a video or audio element: browsers do not show it, but it is text of the page."""
    if element.tag not in ("video", "audio"):
        return ""
    return "".join(child.html for child in element.children if getattr(child, "tag", "") not in _SOURCES)


def _unload_object(editor: Editor, element: Element) -> list[tuple[str, str]]:
    url = element.attr("data") or ""
    for name in _LOADING:
        editor.remove_attribute(element, name)
    if not url:
        return []
    if not element.text.strip() and is_followable(url) and not _holds_media(element):
        label = fold_space(element.attr("title") or element.attr("aria-label") or url.rpartition("/")[2] or url)
        editor.append(element, f"<a {attribute_markup('href', url)}>{text_markup(label)}</a>")
    return [("linked", url)]


def _holds_media(element: Element) -> bool:
    return element.select_one("img[alt], embed, object, video, audio, iframe") is not None


_Actions = list[tuple[str, str]]

# Attributes that make a browser load an image, by the elements that have them
_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "img": ("srcset", "lowsrc", "dynsrc"),  # images whose source is a data URI
    "source": ("src", "srcset"),
    "input": ("src",),
    "html": ("manifest",),
    **dict.fromkeys(("body", "table", "thead", "tbody", "tfoot", "tr", "td", "th"), ("background",)),
}
# Attributes that a text takes over from its image
_KEPT = ("id", "class", "style", "title", "lang", "dir", "hidden")
_DRAWN = ("href", "xlink:href")  # of SVG elements that show a picture from another file
# What a browser fetches for a <link>, for the page or for its own user interface, or prepares to fetch
_FETCHED = ICONS | CONNECTIONS | {"stylesheet", "manifest", "preload", "modulepreload", "prefetch", "prerender"}
_ACTIVE_TYPES = frozenset({"importmap", "speculationrules"})
_NOTHING = {Role.IMPORT: "data:text/css,"}  # instead of a URL; browsers warn of a sheet of another type
_NO_IMAGE = "data:,"


def remove_loads(editor: Editor) -> list[tuple[str, str]]:
    """Remove what makes a browser load anything; return the actions, as (verb, subject)."""
    actions: _Actions = []
    for element in editor.tree.iter_elements():
        if element.namespace is Namespace.HTML:
            actions += _unload_element(editor, element)
        elif element.tag != "a":
            actions += _strip(editor, element, _DRAWN)
        actions += _unload_style(editor, element)
        _drop_handlers(editor, element)
    head = editor.tree.select_one("head")
    if actions and head is not None:
        editor.append(head, NO_ICON)
    return actions


def _unload_element(editor: Editor, element: Element) -> _Actions:
    if element.tag == "script" and _runs(element):
        editor.remove_element(element)
        return [("removed", element.attr("src") or "<script>")]
    if element.tag == "link" and not _FETCHED.isdisjoint(rel_tokens(element)):
        editor.remove_element(element)
        return [("removed", element.attr("href") or "<link>")]
    if element.tag == "img" and not _loads_nothing(element.attr("src") or ""):
        editor.replace_element(element, _words(element))
        return [("said", element.attr("src") or "<img>")]
    if element.tag == "map":
        editor.insert_after(element, "".join(map(_area_link, element.select("area[href]"))))
    return _strip(editor, element, _ATTRIBUTES.get(element.tag, ()))


def _runs(script: Element) -> bool:
    kind = script.attr("type")
    active = is_javascript_type(kind, script.attr("language")) or is_module_type(kind)
    return active or "src" in script.attrs or (kind or "").strip().lower() in _ACTIVE_TYPES


def _strip(editor: Editor, element: Element, names: tuple[str, ...]) -> _Actions:
    """Remove attributes; a URL that is a fragment or holds its own content loads nothing."""
    actions: _Actions = []
    for name in names:
        value = element.attr(name) if name in element.attrs else None
        if value is not None and not _loads_nothing(value):
            editor.remove_attribute(element, name)
            actions.append(("removed", value))
    return actions


def _loads_nothing(url: str) -> bool:
    """Whether a URL holds its own content, or leads to the page itself."""
    return url.strip().lower().startswith(("#", "data:"))


def _words(image: Element) -> str:
    """Return the text for an image: of an ``<img>`` without source browsers show it next to a broken picture."""
    control = image.closest("a[href], button")
    words = image_text(image) or (_label(control) if control is not None else "")
    if words and control is None:
        words = f"[{words}]"
    written = attributes_markup(image, _KEPT)
    return f"<span{written}>{text_markup(words)}</span>" if written else text_markup(words)


def _label(control: Element) -> str:
    """Return the text for a link or button that shows images only, for the first of them."""
    images = control.select("img")
    is_mute = not control.text.strip() and not any(map(image_text, images))
    return link_label(control) if is_mute else ""


def _area_link(area: Element) -> str:
    return f" <a {attribute_markup('href', area.attr('href'))}>{text_markup(image_text(area) or link_label(area))}</a>"


def _unload_style(editor: Editor, element: Element) -> _Actions:
    actions: _Actions = []

    def nothing(reference: CssReference) -> str | None:
        if _loads_nothing(reference.url):
            return None
        actions.append(("removed", reference.url))
        return _NOTHING.get(reference.role, _NO_IMAGE)

    if element.tag == "style":
        editor.set_raw_text(element, rewrite_urls(drop_fetched_fonts(element.text), nothing))
    if "style" in element.attrs:
        style = element.attr("style") or ""
        editor.set_attribute(element, "style", rewrite_urls(style, nothing, declarations=True))
    return actions


def _drop_handlers(editor: Editor, element: Element) -> None:
    """Drop event handlers: they call removed scripts."""
    for name in element.attrs:
        if name.startswith("on"):
            editor.remove_attribute(element, name)
