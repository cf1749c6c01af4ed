"""Writing attributes and text as markup (WHATWG HTML, "attributes" and "serialising HTML fragments")."""

from __future__ import annotations

from turbohtml import unescape

_ENDS_UNQUOTED = frozenset("\t\n\f\r \"'=<>`")


def attribute_markup(name: str, value: str | None, following: str = ">") -> str:
    """Return the shortest safe ``name=value``; ``following`` is the character that will stand behind it.

    A value of ``None`` or ``""`` gives the name alone: both are the empty string in the tree.
    """
    if not value:
        return name
    written = _reference_safe(value)
    # "/" behind an unquoted value would be read as a part of it.
    if _ENDS_UNQUOTED.isdisjoint(written) and following != "/":
        return f"{name}={written}"
    if written.count('"') > written.count("'"):
        return f"{name}='{written.replace(chr(39), '&#39;')}'"
    return f'{name}="{written.replace(chr(34), "&#34;")}"'


def text_markup(text: str) -> str:
    """Escape text for a place where character references are resolved (elements, title, textarea)."""
    return _reference_safe(text).replace("<", "&lt;")


def _reference_safe(text: str) -> str:
    """Escape ampersands, but only where one of them would be read as a reference; a CR would become a LF."""
    if "&" in text and unescape(text + ";") != text + ";":
        text = text.replace("&", "&amp;")
    return text.replace("\r", "&#13;")
