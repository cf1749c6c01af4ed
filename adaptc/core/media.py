"""Media types by extension and by content, for the types that ``adaptc`` handles differently."""

from __future__ import annotations

import mimetypes
from posixpath import splitext

HTML, XHTML, CSS, JS, SVG = "text/html", "application/xhtml+xml", "text/css", "text/javascript", "image/svg+xml"
JPEG, PNG, GIF, WEBP, AVIF, ICO = "image/jpeg", "image/png", "image/gif", "image/webp", "image/avif", "image/x-icon"
BINARY = "application/octet-stream"
PAGES = (HTML, XHTML)

# This table comes first: the system's mime.types differs between machines, and output must not.
BY_EXTENSION = {
    "html": HTML, "htm": HTML, "shtml": HTML, "xhtml": XHTML, "xht": XHTML,
    "css": CSS, "js": JS, "mjs": JS, "cjs": JS, "svg": SVG,
    "jpg": JPEG, "jpeg": JPEG, "jpe": JPEG, "jfif": JPEG, "png": PNG, "apng": "image/apng", "gif": GIF,
    "webp": WEBP, "avif": AVIF, "ico": ICO, "bmp": "image/bmp", "tif": "image/tiff", "tiff": "image/tiff",
    "json": "application/json", "map": "application/json", "webmanifest": "application/manifest+json",
    "xml": "application/xml", "rss": "application/rss+xml", "atom": "application/atom+xml",
    "xsl": "application/xslt+xml",
    "txt": "text/plain", "md": "text/markdown", "csv": "text/csv", "vtt": "text/vtt", "ics": "text/calendar",
    "wasm": "application/wasm", "pdf": "application/pdf", "rtf": "application/rtf",
    "woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf", "otf": "font/otf",
    "eot": "application/vnd.ms-fontobject", "mp4": "video/mp4", "webm": "video/webm", "ogv": "video/ogg",
    "mp3": "audio/mpeg", "ogg": "audio/ogg", "wav": "audio/wav", "zip": "application/zip", "gz": "application/gzip",
}  # fmt: skip

# The type is in one of the last extensions: a language, a charset or a revision may follow it, as in index.html.de and
# manual.html.ja.utf8 (Apache content negotiation).
_LAST_EXTENSIONS = 3

_SNIFF = (
    (b"\x89PNG\r\n\x1a\n", PNG),
    (b"\xff\xd8\xff", JPEG),
    (b"GIF87a", GIF),
    (b"GIF89a", GIF),
    (b"\x00\x00\x01\x00", ICO),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"%PDF-", "application/pdf"),
)
_HTML_STARTS = (b"<!doctype html", b"<html", b"<head", b"<body")
SNIFF_BYTES = 512

_COMPRESSIBLE = frozenset({
    "application/json", "application/manifest+json", "application/xml", "application/xhtml+xml", SVG,
    "application/rss+xml", "application/atom+xml", "application/xslt+xml", "application/wasm", "application/rtf",
    "application/vnd.ms-fontobject", "font/ttf", "font/otf", ICO, "image/bmp", "application/javascript",
    "multipart/related",
})  # fmt: skip


def by_name(path: str) -> str | None:
    """Return the media type of a file name, or ``None``; the extension of a language may follow that of the type."""
    name = path.rpartition("/")[2]
    for part in reversed(name.split(".")[1:][-_LAST_EXTENSIONS:]):
        known = BY_EXTENSION.get(part.lower())
        if known is not None:
            return known
    return mimetypes.types_map.get(splitext(name)[1].lower())


def by_content(head: bytes) -> str | None:
    """Return the media type of a file's first ``SNIFF_BYTES`` bytes (a subset of WHATWG MIME Sniffing), or ``None``."""
    for magic, media_type in _SNIFF:
        if head.startswith(magic):
            return media_type
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return WEBP
    if head[4:12] in (b"ftypavif", b"ftypavis"):
        return AVIF
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\t\n\x0c\r ").lower()
    if text.startswith(b"<?xml") and b"<svg" in text:
        return SVG
    if text.startswith(_HTML_STARTS):
        return HTML
    return SVG if text.startswith(b"<svg") else None


def is_compressible(media_type: str) -> bool:
    """Whether content codings can make files of this type smaller."""
    return media_type.startswith("text/") or media_type in _COMPRESSIBLE or media_type.endswith(("+xml", "+json"))
