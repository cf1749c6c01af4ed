"""Links in the place of what plays or shows another document: frames, film, sound, plug-ins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptc.formats.html.controls import attributes
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.labels import folded, is_followed, media_target
from adaptc.formats.html.quoting import attribute_markup, text_markup

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["link_media"]

_MEDIA = ("iframe", "video", "audio", "embed", "object", "bgsound", "portal")
_SOURCES = ("source", "track", "param")
# What makes a browser look for an object; without it the object is what stands in it (HTML, 4.8.7)
_LOADING = ("data", "classid", "archive", "codebase", "type")


def link_media(editor: Editor) -> list[tuple[str, str]]:
    """Put links in the place of media; return what was done, as (verb, subject). Text, ids and controls stay."""
    done: list[tuple[str, str]] = []
    replaced: set[Element] = set()
    for element in editor.tree.iter_elements(_MEDIA):
        if not replaced.isdisjoint(element.ancestors):
            continue
        if element.tag == "object":
            done += _unload_object(editor, element)
        else:
            replaced.add(element)
            link = _link(element)
            editor.replace_element(element, link + _fallback(element))
            done.append(("linked" if link else "removed", _subject(element)))
    return done


def _subject(element: Element) -> str:
    target = media_target(element)
    return target[0] if target is not None else f"<{element.tag}>"


def _link(element: Element) -> str:
    """Return a link to what an element plays or shows, or the place of its id."""
    target = media_target(element)
    identity = attributes(element, ("id",))
    if target is None:
        return f"<span{identity}></span>" if identity else ""
    return f"<a{identity} {attribute_markup('href', target[0])}>{text_markup(target[1])}</a>"


def _fallback(element: Element) -> str:
    """Return what stands in a film or sound: browsers show it to nobody, but it is the page's text."""
    if element.tag not in ("video", "audio"):
        return ""
    return "".join(child.html for child in element.children if getattr(child, "tag", "") not in _SOURCES)


def _unload_object(editor: Editor, element: Element) -> list[tuple[str, str]]:
    url = element.attr("data") or ""
    for name in _LOADING:
        editor.remove_attribute(element, name)
    if not url:
        return []
    if not element.text.strip() and is_followed(url) and not _holds_media(element):
        label = folded(element.attr("title") or element.attr("aria-label") or url.rpartition("/")[2] or url)
        editor.append(element, f"<a {attribute_markup('href', url)}>{text_markup(label)}</a>")
    return [("linked", url)]


def _holds_media(element: Element) -> bool:
    return element.select_one("img[alt], embed, object, video, audio, iframe") is not None
