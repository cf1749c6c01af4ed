"""The links of an HTML page, and text that can be restored byte by byte.

``adaptc.formats.html`` refuses pages that do not survive decoding and encoding. A crawler has to read them all the
same: broken UTF-8 is decoded with one surrogate a byte (PEP 383), which encodes to the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote_from_bytes

from adaptc.core.model import Reference
from adaptc.core.urls import document_base
from adaptc.crawl.discover.link import Discovery, Link, link_of
from adaptc.crawl.discover.script_links import (
    import_map_links,
    import_map_of,
    is_markup_type,
    markup_links,
    script_links,
)
from adaptc.formats.html.document import parse
from adaptc.formats.html.encoding import (
    BYTE_ORDER_MARKS,
    byte_order_mark,
    canonical_name,
    decode,
    encode,
    sniff_encoding,
)
from adaptc.formats.html.references import base_href, references
from adaptc.formats.script.embedding import is_javascript_type, is_module_type

if TYPE_CHECKING:
    from turbohtml import Document, Element


_NOFOLLOW = re.compile(r"\b(?:nofollow|none)\b", re.IGNORECASE)
_EVERYBODY = "robots"


def page_links(content: bytes, url: str, charset: str | None, agent: str) -> Discovery:
    """Return the links of the page at ``url``; ``charset`` is that of its Content-Type, ``agent`` our product token."""
    decoded = decode_page(content, charset)
    lowered = decoded.text.lower()
    tree = parse(decoded.readable, spans="<style" in lowered)  # of styles, references have places of their own
    discovered = Discovery(document_base(url, base_href(tree)), nofollow=_forbids_following(tree, agent))
    nofollow_places = _nofollow_places(tree) if "nofollow" in lowered else frozenset()
    fallbacks = _fallback_references(tree) if has_fallback(lowered) else ()
    for reference in (*references(tree), *fallbacks):
        link = _link(discovered.base, reference, decoded, nofollow_places)
        if link is not None:
            discovered.links.append(link)
    discovered.links += _of_scripts(tree, discovered.base)
    return discovered


def _of_scripts(tree: Document, base: str) -> Iterator[Link]:
    """Yield what the scripts in a page lead to, and its import map."""
    scripts = [each for each in tree.find_all("script") if each.text.strip() and not each.attr("src")]
    entries = _import_map(scripts, base) if scripts else {}
    for element in scripts:
        line, kind = (element.position or (1, 0))[0], element.attr("type")
        if kind == _IMPORT_MAP:
            yield from import_map_links(element.text, base, line)
        elif is_markup_type(kind):
            yield from (link._replace(line=line) for link in markup_links(element.text, base))
        elif is_module_type(kind) or is_javascript_type(kind, element.attr("language")):
            yield from (link._replace(line=line) for link in script_links(element.text, base, base, lambda: entries))


_IMPORT_MAP = "importmap"


def _import_map(scripts: Iterable[Element], base: str) -> dict[str, str]:
    return import_map_of((each.text for each in scripts if each.attr("type") == _IMPORT_MAP), base)


def declared_imports(content: bytes, base: str) -> dict[str, str]:
    """Return the import map of a page whose base URL is ``base``."""
    if _IMPORT_MAP.encode() not in content:
        return {}
    return _import_map(parse(decode_page(content, None).readable, spans=False).find_all("script"), base)


# Browsers that know these elements take their content for text; it is markup for those that do not.
_FALLBACKS = ("<noframes", "<noembed", "<iframe")


def has_fallback(lowered: str) -> bool:
    """Whether the text of a page, in lower case, may hold elements whose text is markup."""
    return any(tag in lowered for tag in _FALLBACKS)


def fallback_elements(tree: Document) -> list[Element]:
    """Return the elements whose text is markup: of frame sets, and of embedded objects."""
    return [element for element in tree.select("noframes, noembed, iframe") if "<" in element.text]


def _fallback_references(tree: Document) -> Iterator[Reference]:
    """Yield the references in the text of fallback elements; those inside of them are not looked into."""
    for element in fallback_elements(tree):
        before = (element.position or (1, 0))[0] - 1
        for reference in references(parse(element.text)):
            role, url, where, line, column = reference
            yield Reference(role, url, where, before + line, column)


def _link(
    base: str, reference: Reference, decoded: DecodedText, nofollow_places: frozenset[tuple[int, int]]
) -> Link | None:
    if not reference.url.isascii() and decoded.encoding not in ("utf-8", "utf-16le", "utf-16be"):
        url = in_encoding(reference.url, decoded.encoding)
        reference = Reference(reference.role, url, reference.where, reference.line, reference.column)
    return link_of(base, reference, nofollow=(reference.line, reference.column) in nofollow_places)


def in_encoding(reference: str, encoding: str) -> str:
    """Write a reference's query in the page's encoding, as browsers do (URL Standard, "query state")."""
    bare, mark, rest = reference.partition("?")
    query, hash_mark, fragment = rest.partition("#")
    if "#" in bare or query.isascii():
        return reference
    return f"{bare}{mark}{''.join(_in_query(c, encoding) for c in query)}{hash_mark}{fragment}"


def _in_query(character: str, encoding: str) -> str:
    if character.isascii():
        return character
    content = encode(character, encoding)
    return quote_from_bytes(content) if content is not None else f"%26%23{ord(character)}%3B"


def _nofollow_places(tree: Document) -> frozenset[tuple[int, int]]:
    """Return the places of elements with ``rel=nofollow``."""
    positions = [element.position or (1, 0) for element in tree.select('[rel~="nofollow" i]')]
    return frozenset((line, column + 1) for line, column in positions)


def _forbids_following(tree: Document, agent: str) -> bool:
    metas = tree.find_all("meta") if tree.find("meta") is not None else []
    named = (meta for meta in metas if (meta.attr("name") or "").strip().lower() in (_EVERYBODY, agent or _EVERYBODY))
    return any(_NOFOLLOW.search(meta.attr("content") or "") for meta in named)


_SURROGATES = dict.fromkeys(range(56448, 56576), "�")


class DecodedText(NamedTuple):
    """A file's text with the newlines that it has; ``body`` is what it was decoded from, without the mark."""

    text: str
    encoding: str
    bom: bytes
    body: bytes

    @property
    def is_reversible(self) -> bool:
        """Whether ``encoded`` gives the file's bytes again."""
        return self.encoding == "utf-8" or encode(self.text, self.encoding) == self.body

    @property
    def readable(self) -> str:
        """The text as a browser reads it: one U+FFFD for each byte that is none of the encoding."""
        return self.text if self.encoding != "utf-8" or _is_whole(self.text) else self.text.translate(_SURROGATES)

    def encoded(self, text: str) -> bytes | None:
        """Return ``text`` in the file's encoding, ``None`` where it has no place there."""
        if self.encoding == "utf-8":
            return self.bom + text.encode("utf-8", "surrogateescape")
        content = encode(text, self.encoding)
        return None if content is None else self.bom + content


def _is_whole(text: str) -> bool:
    """Whether text holds no surrogate: to encode it takes a fiftieth of the time to look for each."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def decode_page(content: bytes, transport: str | None) -> DecodedText:
    """Decode a page: byte order mark, charset of the transport, what the page says, windows-1252."""
    bom = byte_order_mark(content)
    declared = BYTE_ORDER_MARKS.get(bom) or (canonical_name(transport) if transport else None)
    return _decoded(content[len(bom) :], declared or sniff_encoding(content).name, bom)


def decode_sheet(content: bytes, transport: str | None, encoding: str) -> DecodedText:
    """Decode a style sheet: mark, transport, ``@charset``, the ``encoding`` of who refers to it (CSS Syntax, 3.2)."""
    from adaptc.formats.css import sheet_text

    bom = byte_order_mark(content)
    named = BYTE_ORDER_MARKS.get(bom) or (canonical_name(transport) if transport else None)
    return _decoded(content[len(bom) :], named or sheet_text.decode_sheet(content[:1024], encoding).encoding, bom)


def _decoded(body: bytes, name: str, bom: bytes) -> DecodedText:
    if name == "utf-8":
        return DecodedText(body.decode("utf-8", "surrogateescape"), name, bom, body)
    text = decode(body, name)
    if text is None:
        return DecodedText(body.decode("latin-1"), name, bom, body)
    return DecodedText(text, name, bom, body)
