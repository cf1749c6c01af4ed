"""Media types by extension and by content, and what names say of files that are no content: programs and the like."""

from __future__ import annotations

import mimetypes
import re
from functools import lru_cache
from posixpath import splitext

from adaptc.core.values import pattern

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


# ---- names of what is no content: a copy would show, or run, what the server does not send as it is

_PROGRAMS = {
    "PHP": "php phtml pht phps phpt phar pgif inc",
    "ASP": "asp aspx asa asax ascx ashx asmx axd cshtml vbhtml svc master",
    "JSP": "jsp jspx jspf jsf jsw jsv",
    "ColdFusion": "cfm cfml cfc",
    "CGI": "cgi fcgi fpl",
    "Perl": "pl pm plx psgi",
    "Python": "py pyc pyo pyw wsgi",
    "Ruby": "rb rbw erb rhtml",
    "Lua": "lua lp",
    "Tcl": "tcl adp",
    "server-side includes": "shtml shtm stm",
}
_LANGUAGES = {extension: language for language, names in _PROGRAMS.items() for extension in names.split()}
_PHP_VERSION = pattern(r"ph(?:p|tml)\d+")  # php3, php7, phtml5
_PROGRAM_DIRECTORIES = pattern(r"s?f?cgi-(?:bin|local|sys|win)", re.IGNORECASE)
_SETTINGS = pattern(
    r"web\.config|applicationhost\.config|php\d*\.ini|adaptc\.toml|config\.ru|\.ht.*|\.user\.ini|\.env(?:[.-].*)?|\.(?:ssh|aws|gnupg|kube|docker)"
    r"|\.(?:netrc|npmrc|pypirc|pgpass|my\.cnf|git-credentials|\w+_history)",
    re.IGNORECASE,
)
_VERSIONS = pattern(r"\.(?:git|svn|hg|bzr|cvs|jj|fossil)(?:ignore|attributes|modules|keep)?|_darcs", re.IGNORECASE)
_BACKUPS = pattern(
    r".*~|#.*#|\.#.*|.*\.(?:bak|bkp|backup|swp|swo|swn|orig|rej|sav|save|old)|.*\.php[_-]\w*", re.IGNORECASE
)


def program_by_name(path: str) -> str | None:
    """Return the language of a program by its name, "CGI" by its directory, ``None`` for what is sent as it is.

    The last extension decides; where that is no media type any other does, since servers know programs by any of them
    (``x.php.de``; Apache, mod_mime).
    """
    directory, _, name = path.rpartition("/")
    _, *extensions = name.lower().split(".")
    if extensions and extensions[-1] not in _LANGUAGES and by_name(name) is not None and not _is_php(extensions[-1]):
        extensions = []
    for extension in reversed(extensions):
        if extension in _LANGUAGES or _is_php(extension):
            return _LANGUAGES.get(extension, "PHP")
    return "CGI" if directory and _is_for_programs(directory) else None


@lru_cache(maxsize=256)
def _is_for_programs(directory: str) -> bool:
    return any(map(_PROGRAM_DIRECTORIES.fullmatch, directory.split("/")))


def _is_php(extension: str) -> bool:
    return _PHP_VERSION.fullmatch(extension) is not None


def private_by_name(path: str) -> str | None:
    """Return what a file is by its name, or that of a directory above, that nobody means to publish; or ``None``.

    These are settings of servers and tools, the stores of version control, and backups of editors.
    """
    directory, _, name = path.rpartition("/")
    kind = _tool_files(name) or _in_tool_files(directory)
    return "a backup" if kind is None and _BACKUPS.fullmatch(name) else kind


def _tool_files(name: str) -> str | None:
    if _VERSIONS.fullmatch(name):
        return "of version control"
    return "settings" if _SETTINGS.fullmatch(name) else None


@lru_cache(maxsize=256)  # a directory has many files
def _in_tool_files(directory: str) -> str | None:
    return next(filter(None, map(_tool_files, directory.split("/"))), None)
