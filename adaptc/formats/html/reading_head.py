"""The head of a text-only page: what matters without script and style (WHATWG HTML, "document metadata")."""

from __future__ import annotations

from collections.abc import Iterator

from turbohtml import Document, Element

from adaptc.formats.html.encoding import early_encoding
from adaptc.formats.html.syntax import attribute_markup, attributes_markup, text_markup
from adaptc.formats.html.visible_text import fold_space

__all__ = ["head_markup", "refresh_target"]

# Readable on a phone, a desktop and paper, in light and dark, from left to right and from right to left: no side is
# named, and colours are the browser's own but for lines and small print. A rule stands in pages that have one of its
# elements: on plain pages the sheet is a third of all that there is.
_RULES: tuple[tuple[tuple[str, ...], str], ...] = (
    ((), ":root{color-scheme:light dark}"
         "body{max-width:44em;margin:auto;padding:1em;font:1em/1.5 system-ui,sans-serif;overflow-wrap:break-word}"),
    (("h1", "h2", "h3"), "h1,h2,h3{line-height:1.2}"),
    (("nav",), "nav a{display:inline-block;margin-inline-end:1em}"),
    (("figure",), "figure{margin:0}"),
    (("pre", "table"), "pre,table{display:block;overflow:auto}"),
    (("pre",), "pre{padding:.5em;background:#8882}"),
    (("table",), "table{border-collapse:collapse}td,th{border:1px solid #8886;padding:.2em .5em;text-align:start}"),
    (("input", "select", "textarea", "button"), "input,select,textarea,button{font:inherit;max-width:100%}"),
    (("footer",), "footer{border-top:1px solid;font-size:.9em}"),
    (("nav",), "@media print{nav{display:none}}"),
    (("pre",), "@media print{pre{white-space:pre-wrap}}"),
)  # fmt: skip
_NAMES = frozenset({"robots", "googlebot", "viewport", "description", "referrer", "author", "format-detection"})
_RELATIONS = frozenset({"canonical", "alternate", "prev", "next", "license", "amphtml", "author", "me", "search"})
_VIEWPORT = "<meta name=viewport content=width=device-width,initial-scale=1>"
# Without this browsers ask for /favicon.ico: a second request.
_NO_ICON = "<link rel=icon href=data:,>"


def head_markup(tree: Document, source: str, title: str, content: str) -> str:
    """Return everything before the body's ``content``, doctype included."""
    root = tree.root
    opening = f"<!DOCTYPE html><html{_language(root)}>" if root is not None else "<!DOCTYPE html><html>"
    return "".join([
        opening,
        "<head>",
        _charset(source),
        *_kept(tree),
        "" if tree.select_one("meta[name=viewport i]") is not None else _VIEWPORT,
        f"<title>{text_markup(title)}</title>",
        _NO_ICON,
        f"<style>{_style(content)}</style></head>",
        f"<body{_language(tree.select_one('body'))}>",
    ])  # fmt: skip


def _style(content: str) -> str:
    return "".join(rule for tags, rule in _RULES if not tags or any(f"<{tag}" in content for tag in tags))


def refresh_target(tree: Document) -> Element | None:
    """Return the page's ``<meta http-equiv=refresh>``; one in a noscript only sends visitors to a page of excuses."""
    found = tree.select('meta[http-equiv="refresh" i]')
    return next((each for each in found if each.closest("noscript, template") is None), None)


def _language(element: Element | None) -> str:
    if element is None:
        return ""
    if "lang" not in element.attrs and element.attr("xml:lang"):
        return " " + attribute_markup("lang", element.attr("xml:lang")) + attributes_markup(element, ("dir",))
    return attributes_markup(element, ("lang", "dir"))


def _charset(source: str) -> str:
    """Declare the encoding that the source declares early; a later declaration must not become an early one."""
    declared = early_encoding(source[:4096].encode("utf-8", "replace"))
    return f"<meta charset={declared}>" if declared else ""


def _kept(tree: Document) -> Iterator[str]:
    base = next((each for each in tree.select("base[href]") if each.closest("template") is None), None)
    if base is not None:
        yield f"<base{attributes_markup(base, ('href',))}>"
    refresh = refresh_target(tree)
    if refresh is not None:
        yield f"<meta http-equiv=refresh{attributes_markup(refresh, ('content',))}>"
    for element in tree.select("meta[name][content], link[rel][href]"):
        if element.closest("noscript, template, svg") is None:
            yield _metadata(element)


def _metadata(element: Element) -> str:
    if element.tag == "meta":
        named = fold_space(element.attr("name") or "").lower()
        return f"<meta{attributes_markup(element, ('name', 'content'))}>" if named in _NAMES else ""
    relations = set((element.attr("rel") or "").lower().split())
    is_kept = bool(relations & _RELATIONS) and "stylesheet" not in relations
    return f"<link{attributes_markup(element, ('rel', 'hreflang', 'type', 'media', 'href'))}>" if is_kept else ""
