"""A page as text and as a tree: decoding, encoding, parsing, comparing, serialising (WHATWG HTML).

turbohtml is the only parser of HTML in adaptc, and only this package calls it: others walk the trees that it returns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import turbohtml
from turbohtml import (
    Doctype,
    DocumentFragment,
    Element,
    Node,
    Text,
    Token,
    TokenType,
    parse_fragment,
    tokenize,
)

from adaptc.core.values import dataclass, pattern, replace
from adaptc.formats.html.encoding import (
    BYTE_ORDER_MARKS,
    PRESCANNED,
    byte_order_mark,
    canonical_name,
    decode,
    early_encoding,
    encode,
    sniff_encoding,
    unencodable,
)
from adaptc.formats.html.syntax import parse_refresh, text_markup

if TYPE_CHECKING:
    pass

_NOSCRIPT = pattern("<noscript", re.IGNORECASE | re.ASCII)
_NOT_ASCII = pattern(r"[^\x00-\x7f]")


class Irreversible(Exception):
    """The page does not survive decoding and encoding in ``encoding``."""

    def __init__(self, encoding: str) -> None:
        super().__init__(f"does not survive decoding and encoding as {encoding}")
        self.encoding = encoding


@dataclass(frozen=True, slots=True)
class Page:
    r"""A decoded page.

    ``text`` has ``\n`` for every newline and no byte order mark. ``encoding`` is a WHATWG name in lower case.
    ``declared`` is false where the encoding is only the windows-1252 fallback, or declared where not all browsers look:
    they may guess another one there, so additions must be ASCII. ``bom`` is the byte order mark of the source, or
    ``b""``.
    """

    text: str
    encoding: str
    declared: bool
    bom: bytes


def read_page(content: bytes, encoding: str | None = None) -> Page:
    """Decode a page as a browser does; ``encoding`` is the label of the transport (Content-Type), if any.

    Raises ``Irreversible`` when encoding the text does not restore the bytes (apart from newlines).
    """
    bom = byte_order_mark(content)
    name, declared = _choose_encoding(content, bom, encoding)
    body = content[len(bom) :]
    text = decode(body, name)
    if text is None or (not name.startswith("utf-") and encode(text, name) != body):
        raise Irreversible(name)
    return Page(normalise_newlines(text), name, declared, bom)


def page_of_markup(source: Page, markup: str) -> Page | None:
    """Return another version of a page as a page in its encoding; ``None`` if that cannot be.

    Where the page declares no encoding, characters beyond ASCII become numeric references.
    """
    text: str | None = normalise_newlines(markup)
    if text is not None and not source.declared:
        text = _with_references(text, _beyond_ascii(text))
    return None if text is None else replace(source, text=text)


def encode_page(page: Page, text: str) -> bytes | None:
    """Encode ``text`` as the page was: same encoding, same byte order mark.

    A character outside the encoding becomes a numeric character reference if that gives the same tree (not so
    in scripts, styles and comments). ``None`` when it does not, and when browsers would read the result in another
    encoding, for example because its ``<meta>`` moved beyond the first 1,024 bytes. A page without a declaration gets
    no characters beyond ASCII that its source does not have.
    """
    known = text if page.declared or text.isascii() else _without_additions(page.text, text)
    if known is None:
        return None
    encoded = encode(known, page.encoding)
    if encoded is None:
        referenced = _with_references(known, unencodable(known, page.encoding))
        encoded = None if referenced is None else encode(referenced, page.encoding)
    if encoded is None or not (page.bom or _has_same_encoding(page, encoded)):
        return None
    return page.bom + encoded


def _choose_encoding(content: bytes, bom: bytes, transport: str | None) -> tuple[str, bool]:
    """Return name and ``declared``: the byte order mark beats the transport, which beats the page."""
    if bom:
        return BYTE_ORDER_MARKS[bom], True
    name = canonical_name(transport) if transport else None
    if name:
        return name, True
    sniffed = sniff_encoding(content)
    return sniffed.name, sniffed.is_declared


def normalise_newlines(text: str) -> str:
    """Write each newline as ``\\n``, as the parser does."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _without_additions(source: str, text: str) -> str | None:
    """Return ``text`` with references for the characters beyond ASCII that ``source`` lacks.

    ``None`` if it has more of one than ``source``: that may be a reference there, and one that is read as another here.
    """
    added = _beyond_ascii(text) - _beyond_ascii(source)
    return text if not added else None if set(added) & set(source) else _with_references(text, added)


def _beyond_ascii(text: str) -> Counter[str]:
    return Counter(_NOT_ASCII.findall(text))


def _with_references(text: str, characters: Iterable[str]) -> str | None:
    referenced = text.translate({ord(c): f"&#{ord(c)};" for c in characters})
    return referenced if has_same_dom(text, referenced) else None


def _has_same_encoding(page: Page, encoded: bytes) -> bool:
    head = encode(page.text[:PRESCANNED], page.encoding)
    before = None if head is None else early_encoding(head)
    after = early_encoding(encoded)
    if before is not None:
        return before == after
    if not page.declared:  # a declaration that comes into view must not change a character
        return after is None or (after == page.encoding and encoded.isascii())
    sniffed = sniff_encoding(encoded)
    return sniffed.is_declared and sniffed.name == page.encoding


def parse(text: str, *, scripting: bool = False, spans: bool = True) -> turbohtml.Document:
    """Parse a page's text into a tree with source locations; ``scripting`` makes ``<noscript>`` hold text.

    Without ``spans`` an element only knows where it begins, which takes a third less time on pages of 50 kB.
    """
    return turbohtml.parse(text, source_locations=spans, scripting=scripting, allow_declarative_shadow_roots=False)


def parse_bare(text: str, *, scripting: bool = False) -> turbohtml.Document:
    """Parse without source locations, which takes a tenth less time: for trees that are only compared."""
    return turbohtml.parse(text, positions=False, scripting=scripting, allow_declarative_shadow_roots=False)


def parse_equal(text: str, tree: turbohtml.Document, *, scripting: bool) -> turbohtml.Document | None:
    """Return the tree that ``text`` parses to, without source locations, if it equals ``tree``."""
    parsed = parse_bare(text, scripting=scripting)
    return parsed if parsed.equals(tree) else None


def has_same_dom(before: str, after: str) -> bool:
    """Whether two texts parse to equal trees, with and without scripting."""
    return all(_same_in(before, after, scripting) for scripting in scripting_modes(before, after))


def scripting_modes(*texts: str) -> tuple[bool, ...]:
    """Return the parser modes that can tell these texts apart: scripting matters for ``<noscript>`` alone."""
    return (False, True) if any(map(_NOSCRIPT.search, texts)) else (False,)


def _same_in(before: str, after: str, scripting: bool) -> bool:
    return parse_bare(before, scripting=scripting).equals(parse_bare(after, scripting=scripting))


def serialise(tree: turbohtml.Document, source: str) -> str:
    """Write a tree as markup (WHATWG HTML, "serialising HTML fragments"), with the doctype of ``source``.

    The standard's serialisation drops the doctype's public and system id, which turns pages from quirks to
    standards mode (10 of 130 real ones). ``source`` is the text that the tree was parsed from.
    """
    return "".join(doctype_source(source) if isinstance(child, Doctype) else child.html for child in tree.children)


def markup_policies(tree: turbohtml.Document) -> Iterator[str]:
    """Yield the Content-Security-Policies in the markup of a page."""
    for element in tree.iter_elements("meta"):
        if (element.attr("http-equiv") or "").strip().lower() == "content-security-policy":
            yield element.attr("content") or ""


def doctype_source(text: str) -> str:
    """Return the doctype as a page writes it, empty if it has none."""
    token = _doctype_token(text, capture_source=True)
    return (token.source or "") if token is not None else ""


def is_forced_quirks(text: str) -> bool:
    """Whether the doctype is so malformed that browsers choose quirks mode, which the tree does not show."""
    token = _doctype_token(text)
    return token is not None and token.force_quirks


def _doctype_token(text: str, *, capture_source: bool = False) -> Token | None:
    """Return the token of a page's doctype, if it has one; only comments and space may precede it."""
    for token in tokenize(text, capture_source=capture_source):
        if token.type is TokenType.DOCTYPE:
            return token
        if token.type in (TokenType.START_TAG, TokenType.END_TAG):
            return None
    return None


_PUBLIC_IDS = frozenset({"-//w3o//dtd w3 html strict 3.0//en//", "-/w3c/dtd html 4.0 transitional/en", "html"})
_SYSTEM_IDS = frozenset({"http://www.ibm.com/data/dtd/v11/ibmxhtml1-transitional.dtd"})
_PUBLIC_STARTS = (
    "+//silmaril//dtd html pro v0r11 19970101//", "-//as//dtd html 3.0 aswedit + extensions//",
    "-//advasoft ltd//dtd html 3.0 aswedit + extensions//", "-//ietf//dtd html 2.0 level 1//",
    "-//ietf//dtd html 2.0 level 2//", "-//ietf//dtd html 2.0 strict level 1//",
    "-//ietf//dtd html 2.0 strict level 2//", "-//ietf//dtd html 2.0 strict//", "-//ietf//dtd html 2.0//",
    "-//ietf//dtd html 2.1e//", "-//ietf//dtd html 3.0//", "-//ietf//dtd html 3.2 final//",
    "-//ietf//dtd html 3.2//", "-//ietf//dtd html 3//", "-//ietf//dtd html level 0//",
    "-//ietf//dtd html level 1//", "-//ietf//dtd html level 2//", "-//ietf//dtd html level 3//",
    "-//ietf//dtd html strict level 0//", "-//ietf//dtd html strict level 1//",
    "-//ietf//dtd html strict level 2//", "-//ietf//dtd html strict level 3//", "-//ietf//dtd html strict//",
    "-//ietf//dtd html//", "-//metrius//dtd metrius presentational//",
    "-//microsoft//dtd internet explorer 2.0 html strict//", "-//microsoft//dtd internet explorer 2.0 html//",
    "-//microsoft//dtd internet explorer 2.0 tables//",
    "-//microsoft//dtd internet explorer 3.0 html strict//", "-//microsoft//dtd internet explorer 3.0 html//",
    "-//microsoft//dtd internet explorer 3.0 tables//", "-//netscape comm. corp.//dtd html//",
    "-//netscape comm. corp.//dtd strict html//", "-//o'reilly and associates//dtd html 2.0//",
    "-//o'reilly and associates//dtd html extended 1.0//",
    "-//o'reilly and associates//dtd html extended relaxed 1.0//",
    "-//sq//dtd html 2.0 hotmetal + extensions//",
    "-//softquad software//dtd hotmetal pro 6.0::19990601::extensions to html 4.0//",
    "-//softquad//dtd hotmetal pro 4.0::19971010::extensions to html 4.0//",
    "-//spyglass//dtd html 2.0 extended//", "-//sun microsystems corp.//dtd hotjava html//",
    "-//sun microsystems corp.//dtd hotjava strict html//", "-//w3c//dtd html 3 1995-03-24//",
    "-//w3c//dtd html 3.2 draft//", "-//w3c//dtd html 3.2 final//", "-//w3c//dtd html 3.2//",
    "-//w3c//dtd html 3.2s draft//", "-//w3c//dtd html 4.0 frameset//", "-//w3c//dtd html 4.0 transitional//",
    "-//w3c//dtd html experimental 19960712//", "-//w3c//dtd html experimental 970421//",
    "-//w3c//dtd w3 html//", "-//w3o//dtd w3 html 3.0//", "-//webtechs//dtd mozilla html 2.0//",
    "-//webtechs//dtd mozilla html//",
)  # fmt: skip
# Quirks without a system id, limited quirks with one.
_TRANSITIONAL = ("-//w3c//dtd html 4.01 frameset//", "-//w3c//dtd html 4.01 transitional//")
_LIMITED = ("-//w3c//dtd xhtml 1.0 frameset//", "-//w3c//dtd xhtml 1.0 transitional//")


def is_quirks(tree: turbohtml.Document) -> bool:
    """Whether browsers show the page in quirks mode (WHATWG HTML, "the initial insertion mode").

    The tree does not show that a malformed doctype forces it: see ``is_forced_quirks``.
    """
    doctype = _doctype_of(tree)
    if doctype is None or doctype.name.lower() != "html":
        return True
    public, system = (doctype.public_id or "").lower(), doctype.system_id
    if public in _PUBLIC_IDS or public.startswith(_PUBLIC_STARTS):
        return True
    return (system or "").lower() in _SYSTEM_IDS or (system is None and public.startswith(_TRANSITIONAL))


def is_limited_quirks(tree: turbohtml.Document) -> bool:
    """Whether browsers show the page in limited-quirks mode (line heights of table cells)."""
    doctype = _doctype_of(tree)
    if doctype is None or is_quirks(tree):
        return False
    return (doctype.public_id or "").lower().startswith(_LIMITED + _TRANSITIONAL)


def _doctype_of(tree: turbohtml.Document) -> Doctype | None:
    """Return the doctype node, or ``None``."""
    return next((node for node in tree.children if isinstance(node, Doctype)), None)


# What is shown of a noscript in the head. No <meta>: a refresh to "the page without scripts" leads away from this one,
# unless a script leads to the same place, as on pages that have moved.
_SHOWN_IN_HEAD = frozenset({"link", "style"})
_REDIRECT = r"""\blocation(?:\.href)?\s*(?:=|\.(?:replace|assign)\()\s*["']{}["']"""
# Pixels and frames of trackers, which count visitors without scripts
_HIDING_STYLE = pattern(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_TRACKING = frozenset({"img", "iframe"})


def show_noscript(text: str) -> str:
    """Return the page's text with each ``<noscript>`` replaced by its content, without trackers' pixels and
    without requests to enable scripts, which would not help.

    This works on the text and the tree that a browser with scripting builds, where a ``<noscript>`` holds text. Without
    scripting, one in the head that holds more than links and styles (the pixel of a tracker) ends the head early.
    """
    if "<noscript" not in text.lower():
        return text
    pieces, copied = [], 0
    for element in parse(text, scripting=True).find_all("noscript"):
        location = element.source_location
        if location is None or location.start_tag.start_offset < copied:
            continue
        start, closing = location.start_tag, location.end_tag
        content = text[start.end_offset : closing.start_offset if closing else len(text)]
        pieces += [text[copied : start.start_offset], _shown_markup(element, content, text)]
        copied = closing.end_offset if closing else len(text)
    return "".join([*pieces, text[copied:]])


def _shown_markup(element: Element, content: str, page: str) -> str:
    parent = element.parent
    fragment = parse_fragment(content, "div")
    top = [child for child in fragment.children if isinstance(child, Element)]
    if isinstance(parent, Element) and parent.tag == "head":
        return "".join(child.html for child in top if child.tag in _SHOWN_IN_HEAD or _leads_on(child, page))
    if top and all(map(_is_tracking, top)):
        content = "".join(text_markup(node.data) for node in fragment.children if isinstance(node, Text)).strip()
    return "" if is_script_notice(fragment.text) and not _HOLDS_MORE.search(content) else content


_SCRIPT_NOTICE = pattern(r"java\s?script|scripting", re.IGNORECASE)
_LONGEST_NOTICE = 300  # characters
_HOLDS_MORE = pattern(r"<(?:a|area|form|input|button|img|iframe|style|link)\b|\s(?:id|name)\s*=", re.IGNORECASE)


def is_script_notice(text: str) -> bool:
    """Whether the text of a ``<noscript>`` only asks for scripts, as "You need to enable JavaScript" does."""
    words = " ".join(text.split())
    return len(words) <= _LONGEST_NOTICE and _SCRIPT_NOTICE.search(words) is not None


def _leads_on(meta: Element, page: str) -> bool:
    """Whether an element of a noscript leads to where a script of the page leads all others."""
    refresh = parse_refresh(meta.attr("content") or "") if meta.tag == "meta" else None
    if refresh is None or not refresh.url:
        return False
    return re.search(_REDIRECT.format(re.escape(refresh.url)), page) is not None


def _is_tracking(element: Element) -> bool:
    """Whether an element holds only images and frames that are fetched but not seen."""
    fetched = [each for each in (element, *element.select("img, iframe")) if each.tag in _TRACKING]
    return bool(fetched) and not element.text.strip() and all(map(_is_invisible, fetched))


def _is_invisible(element: Element) -> bool:
    lineage = [element, *(each for each in element.ancestors if isinstance(each, Element))]
    is_dot = any((element.attr(side) or "").strip() in ("0", "1") for side in ("width", "height"))
    return is_dot or any(_HIDING_STYLE.search(each.attr("style") or "") for each in lineage)


def in_template(node: Node) -> bool:
    """Whether the node is in the content of a ``<template>``, which is another document."""
    return any(isinstance(ancestor, DocumentFragment) for ancestor in node.ancestors)
