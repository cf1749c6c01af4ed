"""The document of an ``<iframe srcdoc>`` without anything that it loads or runs."""

from __future__ import annotations

from adaptc.formats.html.edit import Editor, EditRefused
from adaptc.formats.html.labels import image_words
from adaptc.formats.html.quoting import text_markup

__all__ = ["quiet_document"]

_LOADING = "script, link, iframe, object, embed, video, audio, template, base, meta[http-equiv]"


def quiet_document(text: str) -> str | None:
    """Return the text and the inline styles of a document, words for its images; ``None`` when that cannot be had."""
    editor = Editor(text)
    for element in editor.tree.select(_LOADING):
        editor.remove_element(element)
    for image in editor.tree.select("img, picture"):
        inner = image if image.tag == "img" else image.select_one("img")
        editor.replace_element(image, text_markup(image_words(inner)) if inner is not None else "")
    for element in editor.tree.select('[style*="url("], [background]'):
        editor.remove_attribute(element, "style" if "style" in element.attrs else "background")
    try:
        return editor.apply().text
    except EditRefused:
        return None
