"""The name of a URL's file: wget's scheme (wget, url.c ``url_file_name``), corrected; and which are taken.

A name is made of the URL alone. Segments are percent-decoded and then escaped again as far as the system needs it
(``--restrict-file-names``), so that no name holds a slash, a NUL, ``.`` or ``..`` whatever a URL says. Unlike in wget,
characters beyond ASCII stay whole (wget escapes bytes 128 to 159, which cuts UTF-8 in two), over-long names keep a
digest of what was cut, and names that Windows reserves are escaped in the modes for Windows.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal, Protocol
from urllib.parse import unquote_to_bytes

from adaptc.core import media
from adaptc.core.values import dataclass
from adaptc.crawl.weburl import Parts, parts_of

StepKind = Literal["host", "directory", "file"]
MAX_NAME = 255  # bytes of one file name on the file systems in use (NAME_MAX)
_TAIL = 12  # hexadecimal digits of the digest that keeps cut names apart: 48 bits
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_ALWAYS = re.compile(r"[/\\\x00]")
_WINDOWS = re.compile(r'[\\|/:?"*<>]')
_SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")  # what most names are
_KEEPING = frozenset({"unix", "nocontrol", "ascii"})  # the modes that leave such names alone
# RFC 8615: the one hidden name that URLs have. Others are of tools, as ``.git``, and ``.adaptc`` of the crawl.
_PUBLISHED = ".well-known"
_HIDDEN = re.compile(r"\.[^.]")
_MARKS = re.compile(r"[.~#]")
# Extensions that many sites give the pages that their programs make; the crawl records which type each had
_PAGES_OF_PROGRAMS = frozenset({
    "php", "asp", "aspx", "jsp", "jsf", "cfm", "cgi", "shtml", "shtm", "stm", "phtml", "php3", "php4", "php5", "php7",
    "php8", "fcgi",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class NameOptions:
    """What the user asked for, by wget's names. ``restrict`` holds words of ``--restrict-file-names``."""

    default_page: str = "index.html"
    adjust_extension: bool = False
    restrict: frozenset[str] = frozenset({"unix"})
    cut_dirs: int = 0
    host_directories: bool = True
    directories: bool = True
    protocol_directories: bool = False
    content_disposition: bool = False
    trust_server_names: bool = False
    cut_queries: bool = False

    @property
    def is_windows(self) -> bool:
        """Whether names must fit Windows."""
        return "windows" in self.restrict

    @property
    def folds_case(self) -> bool:
        """Whether names that differ in letter case only count as one."""
        return self.is_windows or bool(self.restrict & {"lowercase", "uppercase"})


def name_of(url: str, options: NameOptions) -> str:
    """Return the path, relative to the output, that the file of a normalised URL asks for."""
    parts = parts_of(url)
    directory = _directory_name(parts.scheme, parts.host, parts.port, parts.directory, options)
    return directory + safe_step(_file_step(parts, options), options)


@lru_cache(maxsize=4096)  # a directory has many files
def _directory_name(scheme: str, host: str, port: int, directory: str, options: NameOptions) -> str:
    parts = Parts(scheme, host, port, directory, None)
    hosts = [safe_step(step, options, "host") for step in _host_steps(parts, options)]
    directories = [safe_step(step, options, "directory") for step in _directory_steps(parts, options)]
    return "".join(f"{step}/" for step in (*hosts, *directories))


def docroot_of(url: str, options: NameOptions) -> str:
    """Return the directory of the mirror for the root of a URL's host; ``""`` is the mirror itself."""
    return "/".join(safe_step(step, options, "host") for step in _host_steps(parts_of(url), options))


def _host_steps(parts: Parts, options: NameOptions) -> list[str]:
    if not options.directories:
        return []
    steps = [parts.scheme] if options.protocol_directories else []
    if options.host_directories:
        site = parts.site
        steps.append(site.replace(":", "+") if options.is_windows else site)
    return steps


def _directory_steps(parts: Parts, options: NameOptions) -> list[str]:
    if not options.directories:
        return []
    steps = [_decoded(step) for step in parts.directory.split("/") if step]
    return steps[options.cut_dirs :]


def _file_step(parts: Parts, options: NameOptions) -> str:
    name = _decoded(parts.file) or options.default_page
    if parts.query is None or options.cut_queries:
        return name
    return f"{name}{'@' if options.is_windows else '?'}{_decoded(parts.query)}"


def _decoded(text: str) -> str:
    """Percent-decode; bytes that are no UTF-8 stay encoded."""
    if "%" not in text:
        return text
    content = unquote_to_bytes(text)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("utf-8", "surrogateescape")


# ---- names that a response changes


def server_name(header: str, options: NameOptions) -> str | None:
    """Return the safe base name that a ``Content-Disposition`` field gives (RFC 6266), ``None`` when it has none.

    Directories in it do not count: only what follows the last slash or backslash is a name.
    """
    written = _disposition_name(header)
    base = re.split(r"[/\\]", written)[-1].strip() if written else ""
    return safe_step(base, options) if base.strip(".") else None


_EXTENDED = re.compile(r"filename\*\s*=\s*([\w!#$&+^`{}~-]+)'[^']*'([^;\s]+)", re.IGNORECASE)
_PLAIN = re.compile(r"filename\s*=\s*(?:\"((?:\\.|[^\"\\])*)\"|([^;\s]+))", re.IGNORECASE)


def _disposition_name(header: str) -> str:
    extended = _EXTENDED.search(header)
    if extended is not None and extended[1].lower() in ("utf-8", "iso-8859-1"):
        return unquote_to_bytes(extended[2]).decode(extended[1], "replace")
    plain = _PLAIN.search(header)
    if plain is None:
        return ""
    return re.sub(r"\\([\"\\])", r"\1", plain[1]) if plain[1] is not None else plain[2]


_PAGE = re.compile(r"\.(?:s?html?|xhtml?|xht)$", re.IGNORECASE)
_SHEET = re.compile(r"\.css$", re.IGNORECASE)
_ADJUSTED = {
    "text/html": (_PAGE, ".html"),
    "application/xhtml+xml": (_PAGE, ".html"),
    "text/css": (_SHEET, ".css"),
}


def adjusted(name: str, media_type: str, options: NameOptions) -> str:
    """Return a name with the extension that its type needs (``--adjust-extension``)."""
    pattern, extension = _ADJUSTED.get(media_type, (None, ""))
    if not options.adjust_extension or pattern is None or pattern.search(name):
        return name
    directory, slash, base = name.rpartition("/")
    return directory + slash + _shortened(base + extension)


# ---- segments as the file system accepts them


def safe_step(step: str, options: NameOptions, kind: StepKind = "file") -> str:
    """Return one segment of a path as the file system may have it: never empty, ``.``, ``..`` or ours.

    A file or directory has no name that servers or tools take for more than content: settings, programs, backups.
    """
    is_free = kind == "host" or not _means_something(step, kind == "directory")
    if is_free and _SAFE.fullmatch(step) and options.restrict <= _KEEPING:
        return step
    step = _recased(_ALWAYS.sub(_escape, step), options)
    if "nocontrol" not in options.restrict:
        step = _CONTROL.sub(_escape, step)
    if options.is_windows:
        step = _for_windows(step)
    if "ascii" in options.restrict:
        step = "".join(c if c.isascii() else _escaped_bytes(c) for c in step)
    step = _escape_undecodable(step)
    if kind != "host" and _means_something(step, kind == "directory"):
        step = _disarmed(step, kind == "directory")
    return _shortened(step) or "%00"


def _means_something(step: str, is_directory: bool) -> bool:
    """Whether servers or tools take a name of this kind for more than content, or hide it."""
    if step in (".", "..") or _HIDDEN.match(step):
        return step.lower() != _PUBLISHED
    path = f"{step}/x" if is_directory else step
    if media.private_by_name(path) is not None:
        return True
    is_page = step.rpartition(".")[2].lower() in _PAGES_OF_PROGRAMS
    return media.program_by_name(path) is not None and (is_directory or not is_page)


def _disarmed(step: str, is_directory: bool) -> str:
    """Escape the dots by which extensions count and the marks of backups; the first character if that is not enough."""
    escaped = step[:1] + _MARKS.sub(_escape, step[1:])
    return _escaped_bytes(step[:1]) + escaped[1:] if _means_something(escaped, is_directory) else escaped


def _recased(step: str, options: NameOptions) -> str:
    if "lowercase" in options.restrict:
        return step.lower()
    return step.upper() if "uppercase" in options.restrict else step


def _for_windows(step: str) -> str:
    step = _WINDOWS.sub(_escape, step)
    if step.partition(".")[0].lower() in _RESERVED:
        step = f"%{ord(step[0]):02X}{step[1:]}"
    return step[:-1] + f"%{ord(step[-1]):02X}" if step.endswith((".", " ")) else step


def _escape(match: re.Match[str]) -> str:
    return _escaped_bytes(match[0])


def _escaped_bytes(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogateescape"))


def _escape_undecodable(step: str) -> str:
    if step.isascii():
        return step
    return "".join(_escaped_bytes(c) if 0xD800 <= ord(c) <= 0xDFFF else c for c in step)


def _shortened(step: str) -> str:
    """Cut a name to ``MAX_NAME`` bytes; a digest of the whole keeps it distinct, its extension is kept."""
    encoded = step.encode()
    if len(encoded) <= MAX_NAME:
        return step
    import hashlib

    stem, dot, extension = step.rpartition(".")
    extension = dot + extension if stem and len(extension) <= 8 else ""
    tail = f"~{hashlib.sha256(encoded).hexdigest()[:_TAIL]}{extension}"
    return encoded[: MAX_NAME - len(tail.encode())].decode("utf-8", "ignore") + tail


_NUMBERED = re.compile(r"\.[1-9]\d*(?:/|\Z)")


def may_be_numbered(name: str) -> bool:
    """Whether a name looks as if another had been taken."""
    return _NUMBERED.search(name) is not None


def numbered(step: str, number: int) -> str:
    """Return the ``number``-th other name for a segment that is taken: ``index.html.1``, as wget and wget2 write it."""
    suffix = f".{number}"
    encoded = step.encode()
    return encoded[: MAX_NAME - len(suffix)].decode("utf-8", "ignore") + suffix


# ---- names that are taken

_REMEMBERED = 50_000  # directories kept in memory; the others are looked up in the frontier


class Keys(Protocol):
    """The keys of names that are taken: the frontier."""

    def is_file(self, key: str) -> bool:
        """Whether a file has this key."""

    def claim_key(self, key: str) -> bool:
        """Claim a key for a file; return whether it was free."""

    def release_key(self, key: str) -> None:
        """Release a key."""


class Claims:
    """Assigns names.

    ``folds_case`` compares them as case-insensitive file systems do (macOS also composes accents).
    """

    def __init__(self, keys: Keys, *, folds_case: bool) -> None:
        self._keys, self._folds_case = keys, folds_case
        self._directories: dict[str, str] = {}

    def claim(self, wanted: str) -> str:
        """Claim ``wanted``, or the first numbered name after it that no file and no directory has; return it."""
        directory, slash, base = wanted.rpartition("/")
        prefix = self._directory(directory) + slash if directory else ""
        number, tried = 0, prefix + base
        while not self._keys.claim_key(self._key(tried)):
            number += 1
            tried = prefix + numbered(base, number)
        return tried

    def release(self, name: str) -> None:
        """Release a claimed name; directories that it stood in the way of may have it from now on."""
        self._keys.release_key(self._key(name))
        if name in self._directories:
            self._directories.clear()

    def _key(self, name: str) -> str:
        """Return what two names have in common that the file system takes for one."""
        return unicodedata.normalize("NFC", name).casefold() if self._folds_case else name

    def _directory(self, directory: str) -> str:
        """Return the directory, or another where a file has the name of one of its segments."""
        known = self._directories.get(directory)
        if known is not None:
            return known
        parent, slash, base = directory.rpartition("/")
        prefix = self._directory(parent) + slash if parent else ""
        number, tried = 0, prefix + base
        while self._keys.is_file(self._key(tried)):
            number += 1
            tried = prefix + numbered(base, number)
        if len(self._directories) >= _REMEMBERED:
            self._directories.clear()
        self._directories[directory] = tried
        return tried
