"""Tables of element names (WHATWG HTML, "writing HTML documents" and "parsing HTML documents")."""

from __future__ import annotations

VOID = frozenset({
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen",
    "link", "meta", "param", "source", "track", "wbr",
})  # fmt: skip
# The end tag may be left out: another tag, or the parent's end, closes the element.
IMPLIED_END = frozenset({
    "p", "li", "dt", "dd", "option", "optgroup", "rb", "rt", "rp", "rtc", "caption", "colgroup", "thead",
    "tbody", "tfoot", "tr", "td", "th", "head",
})  # fmt: skip
# May exist with no tag in the source at all.
IMPLIED_START = frozenset({"html", "head", "body", "tbody", "colgroup", "tr"})
# The content is text without character references. (noscript only with scripting.)
RAW_TEXT = frozenset({"style", "script", "xmp", "iframe", "noembed", "noframes", "plaintext"})
# A newline right behind the start tag is dropped.
DROPS_NEWLINE = frozenset({"pre", "textarea", "listing"})
