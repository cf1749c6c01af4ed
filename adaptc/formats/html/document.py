"""A page as text and back: decoding, encoding, parsing (WHATWG HTML and Encoding).

The only parser of pages in the house is turbohtml, and only this package imports it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import turbohtml

from adaptc.formats.html import codec
from adaptc.formats.html.sniff import PRESCANNED, byte_order_mark, canonical, declared_early, sniff

_FROM_MARK = {b"\xef\xbb\xbf": "utf-8", b"\xfe\xff": "utf-16be", b"\xff\xfe": "utf-16le"}


class Irreversible(Exception):
    """The page does not survive decoding and encoding; ``encoding`` is the one that was tried."""

    def __init__(self, encoding: str) -> None:
        super().__init__(f"does not survive decoding and encoding as {encoding}")
        self.encoding = encoding


@dataclass(frozen=True, slots=True)
class Page:
    r"""A decoded page.

    ``text`` has ``\n`` for every newline and no byte order mark. ``encoding`` is a WHATWG name in lower case.
    ``declared`` is false where nothing but the windows-1252 fallback speaks: browsers may guess another
    encoding there, so whatever is added must be ASCII. ``bom`` is the mark as found.
    """

    text: str
    encoding: str
    declared: bool
    bom: bytes


def read_page(content: bytes, encoding: str | None = None) -> Page:
    """Decode a page as a browser does; ``encoding`` is the label of the transport (Content-Type), if any.

    Raises ``Irreversible`` when the bytes cannot be had back from the text (apart from newlines).
    """
    bom = byte_order_mark(content)
    name, declared = _chosen(content, bom, encoding)
    body = content[len(bom) :]
    text = codec.decode(body, name)
    if text is None or (not name.startswith("utf-") and codec.encode(text, name) != body):
        raise Irreversible(name)
    return Page(_normalise_newlines(text), name, declared, bom)


def encode_page(page: Page, text: str) -> bytes | None:
    """Encode ``text`` as the page was: same encoding, same byte order mark.

    A character outside the encoding becomes a numeric character reference if that gives the same tree (not so
    in scripts, styles and comments). ``None`` when it does not, and when browsers would take another encoding
    for the result, for example because its ``<meta>`` moved behind the first 1,024 bytes.
    """
    encoded = codec.encode(text, page.encoding)
    if encoded is None:
        referenced = _with_references(text, page.encoding)
        encoded = None if referenced is None else codec.encode(referenced, page.encoding)
    if encoded is None or not (page.bom or _sniffs_alike(page, encoded)):
        return None
    return page.bom + encoded


def parse(text: str, *, scripting: bool = False, spans: bool = True) -> turbohtml.Document:
    """Parse a page's text into a tree with source locations; ``scripting`` makes ``<noscript>`` hold text.

    Without ``spans`` an element knows where it begins and no more, which takes a third less time on pages of 50 kB.
    """
    return turbohtml.parse(text, source_locations=spans, scripting=scripting, allow_declarative_shadow_roots=False)


def parse_bare(text: str, *, scripting: bool = False) -> turbohtml.Document:
    """Parse without source locations, which takes a tenth less time: for trees that are only compared."""
    return turbohtml.parse(text, positions=False, scripting=scripting, allow_declarative_shadow_roots=False)


def same_tree(text: str, tree: turbohtml.Document, *, scripting: bool) -> turbohtml.Document | None:
    """Return the tree that ``text`` parses to, without source locations, if it equals ``tree``."""
    parsed = parse_bare(text, scripting=scripting)
    return parsed if parsed.equals(tree) else None


def same_dom(before: str, after: str) -> bool:
    """Whether two texts parse to equal trees, with and without scripting."""
    return all(_same_in(before, after, scripting) for scripting in scripting_modes(before, after))


def scripting_modes(*texts: str) -> tuple[bool, ...]:
    """Return the parser modes that can tell these texts apart: scripting matters for ``<noscript>`` alone."""
    return (False, True) if any(map(_NOSCRIPT.search, texts)) else (False,)


_NOSCRIPT = re.compile("<noscript", re.IGNORECASE | re.ASCII)


def _same_in(before: str, after: str, scripting: bool) -> bool:
    return parse_bare(before, scripting=scripting).equals(parse_bare(after, scripting=scripting))


def _chosen(content: bytes, bom: bytes, transport: str | None) -> tuple[str, bool]:
    """Return name and ``declared``: the byte order mark beats the transport, which beats the page."""
    if bom:
        return _FROM_MARK[bom], True
    named = canonical(transport) if transport else None
    if named:
        return named, True
    sniffed = sniff(content)
    return sniffed.encoding, sniffed.declared


def _normalise_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _with_references(text: str, encoding: str) -> str | None:
    referenced = text.translate({ord(c): f"&#{ord(c)};" for c in codec.outside(text, encoding)})
    return referenced if same_dom(text, referenced) else None


def _sniffs_alike(page: Page, encoded: bytes) -> bool:
    head = codec.encode(page.text[:PRESCANNED], page.encoding)
    before = None if head is None else declared_early(head)
    after = declared_early(encoded)
    if before is not None or after is not None:
        return before == after
    return not page.declared or sniff(encoded).encoding == page.encoding
