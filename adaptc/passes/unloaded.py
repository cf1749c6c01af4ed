"""A page that makes a browser load nothing: the attributes, elements and styles that would, taken out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turbohtml import Namespace

from adaptc.css.fonts import drop_fetched_fonts
from adaptc.css.references import CssReference, rewrite_urls
from adaptc.html.edit import Editor
from adaptc.html.labels import link_label
from adaptc.model import Role
from adaptc.script import is_javascript_type, is_module_type

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["unload"]

_Done = list[tuple[str, str]]

# Attributes that make a browser load an image, by the elements that have them
_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "img": ("src", "srcset", "sizes", "lowsrc", "dynsrc"),
    "source": ("src", "srcset"),
    "input": ("src",),
    "html": ("manifest",),
    **dict.fromkeys(("body", "table", "thead", "tbody", "tfoot", "tr", "td", "th"), ("background",)),
}
_DRAWN = ("href", "xlink:href")  # of SVG elements that take a picture from another file
# What a browser fetches for a <link>, for the page or for its own furniture, or gets ready to fetch
_FETCHED = frozenset({
    "stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "apple-touch-startup-image", "mask-icon",
    "fluid-icon", "manifest", "preload", "modulepreload", "prefetch", "prerender", "preconnect", "dns-prefetch",
})  # fmt: skip
_ACTIVE_TYPES = frozenset({"importmap", "speculationrules"})
_NO_ICON = "<link rel=icon href=data:,>"  # without it browsers ask for /favicon.ico
_NOTHING = {Role.IMPORT: "data:text/css,"}  # in the place of a URL; browsers complain of a sheet of another type
_NO_IMAGE = "data:,"


def unload(editor: Editor) -> list[tuple[str, str]]:
    """Take out what makes a browser load anything; return what was done, as (verb, subject)."""
    done: _Done = []
    for element in editor.tree.iter_elements():
        if element.namespace is Namespace.HTML:
            done += _unload_element(editor, element)
        elif element.tag != "a":
            done += _strip(editor, element, _DRAWN)
        done += _unload_style(editor, element)
        _drop_handlers(editor, element)
    head = editor.tree.select_one("head")
    if done and head is not None:
        editor.append(head, _NO_ICON)
    return done


def _unload_element(editor: Editor, element: Element) -> _Done:
    if element.tag == "script" and _runs(element):
        editor.remove_element(element)
        return [("removed", element.attr("src") or "<script>")]
    if element.tag == "link" and not _FETCHED.isdisjoint((element.attr("rel") or "").lower().split()):
        editor.remove_element(element)
        return [("removed", element.attr("href") or "<link>")]
    if element.tag == "img":
        _say_link(editor, element)
    return _strip(editor, element, _ATTRIBUTES.get(element.tag, ()))


def _runs(script: Element) -> bool:
    kind = script.attr("type")
    active = is_javascript_type(kind, script.attr("language")) or is_module_type(kind)
    return active or "src" in script.attrs or (kind or "").strip().lower() in _ACTIVE_TYPES


def _strip(editor: Editor, element: Element, names: tuple[str, ...]) -> _Done:
    """Remove attributes; a URL that is a fragment or holds its own content loads nothing."""
    done: _Done = []
    for name in names:
        value = element.attr(name) if name in element.attrs else None
        if value is not None and not value.strip().lower().startswith(("#", "data:")):
            editor.remove_attribute(element, name)
            done.append(("removed", value))
    return done


def _say_link(editor: Editor, image: Element) -> None:
    """Give an image without words that is all there is of a link the words of the link."""
    link = image.closest("a[href]")
    if link is None or (image.attr("alt") or "").strip() or link.text.strip():
        return
    if link.select_one("img") == image and not any(each.attr("alt") for each in link.select("img")):
        editor.set_attribute(image, "alt", link_label(link))


def _unload_style(editor: Editor, element: Element) -> _Done:
    done: _Done = []

    def nothing(reference: CssReference) -> str | None:
        if reference.url.lower().startswith(("#", "data:")):
            return None
        done.append(("removed", reference.url))
        return _NOTHING.get(reference.role, _NO_IMAGE)

    if element.tag == "style":
        editor.set_raw_text(element, rewrite_urls(drop_fetched_fonts(element.text), nothing))
    if "style" in element.attrs:
        style = element.attr("style") or ""
        editor.set_attribute(element, "style", rewrite_urls(style, nothing, declarations=True))
    return done


def _drop_handlers(editor: Editor, element: Element) -> None:
    """Drop event handlers: they call scripts that are not there."""
    for name in element.attrs:
        if name.startswith("on"):
            editor.remove_attribute(element, name)
