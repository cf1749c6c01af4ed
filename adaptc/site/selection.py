"""Which names of a docroot are part of the site, and which parts of it not everybody may read.

Such a part is bounded: its files are built for those who may read them, but nothing outside holds a byte of it. Bounds
are what ``serve.exclude`` names, and the ``<Location>`` sections (Apache) and locations (nginx) of
``site.server_config`` that hold anything but what is known to let everybody in.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Container, Iterator
from functools import lru_cache
from glob import glob
from pathlib import Path

from adaptc.config.config import Config
from adaptc.core.urls import unquote_path
from adaptc.core.values import dataclass, replace
from adaptc.formats.directives import Directive, Section, directives_with_includes

# RFC 8615: the one hidden name that servers publish
_PUBLISHED_HIDDEN = ".well-known"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which names of a docroot are part of the site.

    ``exclude`` are shell patterns; one with a ``/`` is matched against the path, one without against every name. What
    ``include`` matches, in the same way, is content whatever its name, its execute bit or its mode says.
    """

    exclude: tuple[str, ...] = ()
    include_hidden: bool = False
    include: tuple[str, ...] = ()

    def excluder(self) -> Callable[[str], bool]:
        """Return a function that tells whether a path, or a directory above it, is left out."""
        matcher = self.matcher()
        return lambda path: any(map(matcher.fullmatch, with_ancestors(path)))

    def is_included(self, path: str) -> bool:
        """Whether a file, or a directory above it, is named as content."""
        return bool(self.include) and any(map(_pattern_of(self.include).fullmatch, with_ancestors(path)))

    def matcher(self) -> re.Pattern[str]:
        """Return one pattern for all: it matches paths that are left out."""
        parts = [translated(pattern) for pattern in self.exclude]
        if not self.include_hidden:
            parts.append(rf"(?:.*/)?\.(?!{re.escape(_PUBLISHED_HIDDEN[1:])}(?:/|$))[^/]*")
        return re.compile("|".join(parts) or r"(?!)", re.DOTALL)


@lru_cache(maxsize=8)
def _pattern_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translated, patterns)), re.DOTALL)


@dataclass(frozen=True, slots=True)
class Bound:
    """A bounded part: a regular expression of URL paths, and one of those in it that may be open all the same."""

    name: str
    pattern: str
    others: str = r"(?!)"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounded parts of a docroot that has the URL path ``prefix``, without a final slash."""

    parts: tuple[Bound, ...] = ()
    prefix: str = ""

    def inside(self, path: str) -> frozenset[str]:
        """Return the patterns of the parts that a file is in for certain."""
        url = f"{self.prefix}/{path}"
        holds = (part for part in self.parts if _matches(part.pattern, url) and not _matches(part.others, url))
        return frozenset(part.pattern for part in holds)

    def between(self, path: str, inside: Container[str]) -> str | None:
        """Return the name of a part that a file may be in, of those that are not among ``inside``; or ``None``."""
        url = f"{self.prefix}/{path}"
        names = (part.name for part in self.parts if part.pattern not in inside and _matches(part.pattern, url))
        return next(names, None)


NO_BOUNDS = Bounds()


def _matches(pattern: str, url: str) -> bool:
    return _compiled(pattern).match(url) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


def bounds_of(config: Config) -> Bounds:
    """Return the bounds of a configuration; a file of the server that does not exist has none."""
    prefix, file = config.url_prefix, config.site.server_config
    names = config.serve.exclude
    excluded = [Bound(f"{name} (serve.exclude)", _below(prefix + unquote_path(name))) for name in names]
    located = _locations(file) if file is not None and file.is_file() else ()
    parts = tuple(dict.fromkeys((*excluded, *located)))
    return Bounds(parts, prefix) if parts else NO_BOUNDS


def _below(path: str) -> str:
    return rf"{re.escape(path.rstrip('/'))}(?:/|\Z)"


def _locations(file: Path) -> Iterator[Bound]:
    """Yield the locations of a server's configuration that not everybody may enter.

    A location inside another one may let everybody in, or leave that as it is: what it holds is taken for both.
    """
    sections: dict[Section, list[Directive]] = {}
    for directive in _directives(file):
        for section in directive.within:
            if section.name in _LOCATIONS and section.args:
                sections.setdefault(section, []).append(directive)
    patterns = {section: location_pattern(section) for section in sections}
    for section, directives in sections.items():
        if not all(map(_lets_in, directives)):
            others = [pattern for each, pattern in patterns.items() if _is_within(each, section)]
            yield Bound(f"{section.name} {' '.join(section.args)}", patterns[section], "|".join(others) or r"(?!)")


NGINX_LOCATION = "nginx location"
_LOCATIONS = ("location", "locationmatch", NGINX_LOCATION)


def _lets_in(directive: Directive) -> bool:
    return (directive.name, *map(str.lower, directive.args)) in _OPEN or directive.name in _HARMLESS


_OPEN = {
    ("require", "all", "granted"), ("allow", "from", "all"), ("allow", "all"), ("auth_basic", "off"),
}  # fmt: skip
# Directives of locations that do not decide who gets what, of Apache and of nginx
_HARMLESS = frozenset({
    "order", "options", "header", "requestheader", "expiresactive", "expiresbytype", "expiresdefault", "setenv",
    "fileetag", "addoutputfilterbytype", "adddefaultcharset", "errordocument", "addcharset", "addlanguage", "include",
    "directoryindex", "directoryslash", "expires", "add_header", "etag", "gzip", "gzip_types", "gzip_static", "root",
    "error_log", "log_not_found", "default_type", "charset", "index", "try_files", "error_page", "autoindex",
    "tcp_nopush", "gzip_vary", "brotli", "brotli_static", "open_file_cache", "access_log", "sendfile",
})  # fmt: skip


def _is_regex(section: Section) -> bool:
    return section.name == "locationmatch" or section.args[0] in ("~", "~*")


def _is_within(inner: Section, outer: Section) -> bool:
    """Whether a location may decide for what is in another one: a longer path does, and any regular expression."""
    if inner == outer or _is_regex(inner):
        return inner != outer
    return not _is_regex(outer) and inner.args[-1] != outer.args[-1] and inner.args[-1].startswith(outer.args[-1])


def location_pattern(section: Section) -> str:
    """Return the regular expression of the URL paths that a location applies to; of all where it is not known."""
    path = section.args[-1]
    if _is_regex(section):
        pattern = f"(?s:.*?)(?:{f'(?i:{path})' if section.args[0] == '~*' else path})"
    elif section.name == NGINX_LOCATION:
        pattern = re.escape(path)
    else:
        pattern = fnmatch.translate(path) if re.search(r"[*?\[]", path) else _below(path)
    try:
        re.compile(pattern)
    except re.error:
        return ""
    return pattern


def _directives(file: Path) -> Iterator[Directive]:
    return nginx_directives(file) if is_nginx(file) else directives_with_includes(file)


def is_nginx(file: Path) -> bool:
    """Whether a server's configuration is one of nginx."""
    return _NGINX.search(file.read_text("utf-8", "surrogateescape")) is not None


def nginx_directives(file: Path) -> Iterator[Directive]:
    """Yield the directives of nginx in a file, and in those that it includes."""
    return _nginx_directives(file, file.absolute().parent, ())


_NGINX = re.compile(r"^\s*(?:events|http|server|location\s[^{}<>]*)\s*\{", re.MULTILINE)
_TOKEN = re.compile(
    r"""#[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[{};]|(?:\\.|\$\{|[^\s{};"'#])(?:\$\{|[^\s{};])*|\n"""
)


def _nginx_directives(file: Path, root: Path, opened: tuple[Path, ...]) -> Iterator[Directive]:
    """Yield the directives of a file of nginx and of those that it includes; the head of a block is none."""
    within, words, line = list[Section](), list[str](), 1
    for token in _TOKEN.findall(file.read_text("utf-8", "surrogateescape")):
        if token == "\n":
            line += 1
        elif token == "}" and within:
            within.pop()
        elif token == "{" and words:
            is_location = words[0] == "location"
            if not is_location:  # as "if" or "limit_except" of one
                yield Directive(words[0], tuple(words[1:]), str(file), line, tuple(within))
            within.append(Section(NGINX_LOCATION if is_location else words[0], tuple(words[1:]), line))
        elif token == ";" and words:
            yield Directive(words[0], tuple(words[1:]), str(file), line, tuple(within))
            for included in _included(words, root) if file not in opened else ():
                inner = _nginx_directives(included, root, (*opened, file))
                yield from (replace(each, within=(*within, *each.within)) for each in inner)
        elif token not in "{};" and not token.startswith("#"):
            is_quoted = len(token) > 1 and token[0] in "\"'" and token[-1] == token[0]
            words.append(token[1:-1] if is_quoted else token)
        words = [] if token in "{};" else words


def _included(words: list[str], root: Path) -> list[Path]:
    names = sorted(glob(str(root / words[1]))) if words[0] == "include" and len(words) > 1 else []
    return [Path(name) for name in names if Path(name).is_file() and not _is_emitted(Path(name))]


def _is_emitted(file: Path) -> bool:
    """Whether adaptc wrote a file of nginx: it says nothing of the site."""
    try:
        with file.open("rb") as content:
            return content.read(len(_EMITTED)) == _EMITTED
    except OSError:
        return False


_EMITTED = b"# adaptc: "


def translated(pattern: str) -> str:
    """Return the regular expression of a shell pattern as ``Selection.exclude`` has them."""
    place = "" if "/" in pattern else "(?:.*/)?"
    return f"{place}{fnmatch.translate(pattern.strip('/'))}"


def with_ancestors(path: str) -> Iterator[str]:
    """Yield a path and the directories above it, the lowest first."""
    while path:
        yield path
        path = path.rpartition("/")[0]
