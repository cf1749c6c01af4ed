"""Directives of server configuration as values, and the reader of Apache's files: configuration and .htaccess.

The reader does what Apache's does (server/config.c, server/util.c): a backslash at the end of a line joins it with the
next without a space, quotes begin only at the beginning of a word, and a file whose sections do not close is refused.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from adaptc.core.values import dataclass, field

SPACES = " \t\n\v\f\r"  # of Apache; str.strip() takes others, too
REFUSED = "<refused>"  # the name of the directive that stands for what Apache cannot read; its argument is the reason


@dataclass(frozen=True, slots=True)
class Section:
    """A section (Apache) or block (nginx). ``line`` distinguishes sections of one name."""

    name: str
    args: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive of ``file``. Apache's names are in lower case; ``within`` has the outermost section first.

    ``written`` is the name as it stands in the file.
    """

    name: str
    args: tuple[str, ...]
    file: str
    line: int
    within: tuple[Section, ...]
    written: str = field(default="", compare=False)

    @property
    def text(self) -> str:
        """The directive as its author knows it."""
        return " ".join((self.written or self.name, *self.args))


# mod_rewrite reads its arguments itself: a backslash before a space joins, and a quote ends at the next one
_REWRITES = ("rewriterule", "rewritecond")


def apache_directives(text: str, file: str) -> Iterator[Directive]:
    """Yield the directives of a file of Apache; ``<If...>`` sections count as sections."""
    return (line for line in access_directives(text, file) if not line.name.startswith("<"))


def access_directives(text: str, file: str) -> Iterator[Directive]:
    """Yield the directives of a .htaccess file; sections, too, with names such as ``<files>``.

    What Apache refuses to read is a directive ``REFUSED``.
    """
    within: list[Section] = []
    number = 0
    for number, line in _logical_lines(text):
        name, rest = word(line)
        if "\0" in line:
            yield _refused("a NUL", file, number)
        elif name.startswith("</"):
            if not within or name[2:].lower() != f"{within[-1].name}>":
                yield _refused(f"{name} closes no open section", file, number)
            elif within:
                within.pop()
        elif name.startswith("<"):
            section = _section(name, rest, number)
            if section is None:
                yield _refused(f"the section {line}", file, number)
                continue
            yield Directive(f"<{section.name}>", section.args, file, number, tuple(within), f"<{name.strip('<>')}>")
            within.append(section)
        elif name:
            args = _rewrite_words(rest) if name.lower() in _REWRITES else words(rest)
            yield Directive(name.lower(), tuple(args), file, number, tuple(within), name)
    if within:
        yield _refused(f"<{within[-1].name}> is not closed", file, number)


def _refused(problem: str, file: str, line: int) -> Directive:
    return Directive(REFUSED, (problem,), file, line, ())


def _section(name: str, rest: str, number: int) -> Section | None:
    """Return the section that a line opens, ``None`` where its name or its closing bracket is not to be found."""
    kind = name[1:].removesuffix(">").lower()
    if not re.fullmatch(r"\w+", kind, re.ASCII) or not (name.endswith(">") or ">" in rest):
        return None
    inside = "" if name.endswith(">") else rest[: rest.rindex(">")]
    return Section(kind, tuple(words(inside)), number)


def directives_in(file: str | Path) -> Iterator[Directive]:
    """Yield the directives of a file; none where it cannot be read."""
    try:
        text = Path(file).read_text("utf-8", "surrogateescape")
    except OSError:
        return
    yield from apache_directives(text, os.fspath(file))


def directives_with_includes(file: Path) -> Iterator[Directive]:
    """Yield the directives of Apache's main file, those of included files in the place of each ``Include``.

    Paths are relative to ``ServerRoot``. Files that cannot be read have no directives.
    """
    directives = list(directives_in(file))
    root = next((line.args[0] for line in directives if line.name == "serverroot" and line.args), None)
    yield from _with_includes(directives, Path(root) if root else usual_server_root(file), (os.path.realpath(file),))


def usual_server_root(file: Path) -> Path:
    """Return the ``ServerRoot`` of a main file that names none: the directory above ``conf``, or the file's own."""
    folder = file.absolute().parent
    return folder.parent if folder.name == "conf" else folder


def _with_includes(directives: list[Directive], root: Path, open_files: tuple[str, ...]) -> Iterator[Directive]:
    for directive in directives:
        if directive.name not in ("include", "includeoptional") or not directive.args:
            yield directive
            continue
        for name in _included_files(root / directive.args[0]):
            if os.path.realpath(name) not in open_files:
                inner = [_placed(line, directive.within) for line in directives_in(name)]
                yield from _with_includes(inner, root, (*open_files, os.path.realpath(name)))


def _included_files(path: Path) -> list[str]:
    """Return the files of an ``Include``: a file, a pattern, or all files below a directory, in order."""
    if path.is_dir():
        return sorted(os.fspath(file) for file in path.rglob("*") if file.is_file())
    return sorted(glob.glob(os.fspath(path)))


def _placed(directive: Directive, within: tuple[Section, ...]) -> Directive:
    return Directive(
        directive.name, directive.args, directive.file, directive.line, within + directive.within, directive.written
    )


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with content, each with its number; a backslash at the end joins a line with the next."""
    begun, number = "", 0
    *whole, last = text.split("\n")
    for current, line in enumerate((*whole, last), 1):
        number = number if begun else current
        is_whole = current <= len(whole)
        line = line.removesuffix("\r") if is_whole else line
        if is_whole and line.endswith("\\"):
            begun += line[:-1]
            continue
        joined, begun = (begun + line).strip(SPACES), ""
        if joined and not joined.startswith("#"):
            yield number, joined
    joined = begun.strip(SPACES)
    if joined and not joined.startswith("#"):
        yield number, joined


def word(line: str) -> tuple[str, str]:
    """Return the first word of a line and what follows it (ap_getword_conf)."""
    line = line.lstrip(SPACES)
    quote = line[:1]
    if quote not in ("'", '"') or not quote:
        match = _WORD.match(line)
        end = match.end() if match else 0
        return line[:end], line[end:].lstrip(SPACES)
    end = 1
    while end < len(line) and line[end] != quote:
        end += 2 if line[end] == "\\" and line[end + 1 : end + 2] in (quote, "\\") else 1
    inside = re.sub(rf"\\([\\{quote}])", r"\1", line[1:end])
    return inside, line[end + 1 :].lstrip(SPACES)


_WORD = re.compile(r"[^ \t\n\v\f\r]+")


def words(line: str) -> Iterator[str]:
    """Yield the words of a line."""
    rest = line.strip(SPACES)
    while rest:
        found, rest = word(rest)
        yield found


def _rewrite_words(line: str) -> Iterator[str]:
    """Yield the words of a line as mod_rewrite reads them (parseargline)."""
    rest = line.strip(SPACES)
    while rest:
        quote = rest[0] if rest[0] in "'\"" else ""
        match = (re.compile(rf"(?:\\[ \t]|[^{quote}])*") if quote else _REWRITE_WORD).match(rest, len(quote))
        assert match is not None
        yield match[0]
        rest = rest[match.end() + len(quote) :].lstrip(SPACES)


_REWRITE_WORD = re.compile(r"(?:\\[ \t]|[^ \t\n\v\f\r])*")


# ---- patterns
#
# Apache's are PCRE, read by bytes. Only the syntax whose meaning is the same in Python is translated.

_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
    "xdigit": "0-9A-Fa-f", "word": r"\w", "blank": r" \t", "punct": r"!-/:-@\[-`{-~",
}  # fmt: skip
_ESCAPE = r"\\(?:[^A-Za-z0-9\s\x80-\U0010ffff]|[dDwWsStnrf]|x[0-9A-Fa-f]{2})"
_TOKEN = rf"""(?P<atom>{_ESCAPE}|[^\\\[\](){{}}|*+?^$\n]|\])
    |(?P<anchor>[\^$]|\\[bBA])
    |(?P<open>\((?:\?(?:[:=!]|<[=!]|i:))?)|(?P<close>\))|(?P<or>\|)
    |(?P<times>(?:[*+?]|\{{\d{{1,4}}(?:,\d{{0,4}})?\}})(?:\?|(?![+*?])))
    |(?P<set>\[(?:\^|(?!\^))(?!\])(?:{_ESCAPE}|\[:(?:{"|".join(_CLASSES)}):\]|(?!--|&&|~~|\|\|)[^\\\[\]])+\])"""


def pattern_of(text: str, ignores_case: bool = False) -> re.Pattern[bytes] | None:
    """Return a pattern of Apache, ``None`` for one whose meaning here is not known to be the same."""
    flags = re.IGNORECASE if ignores_case else 0
    if text.startswith("(?i)"):
        text, flags = text[4:], re.IGNORECASE
    source, place, depth, may_repeat = "", 0, 0, False
    next_token = re.compile(_TOKEN, re.VERBOSE).match
    while place < len(text):
        token = next_token(text, place)
        kind = token.lastgroup if token is not None else None
        if token is None or (kind == "times" and not may_repeat):
            return None
        depth += {"open": 1, "close": -1}.get(kind or "", 0)
        may_repeat = kind in ("atom", "set", "close")
        source += _set(token[0]) if kind == "set" else r"\]" if token[0] == "]" else token[0]
        place = token.end()
        if depth < 0:
            return None
    try:
        return re.compile(os.fsencode(source), flags | re.DOTALL) if not depth and len(text) < 4000 else None
    except (re.error, OverflowError, RecursionError):
        return None


def _set(text: str) -> str:
    return re.sub(r"\[:([a-z]+):\]", lambda match: _CLASSES[match[1]], text)


def may_match(pattern: str, text: str, ignores_case: bool = False) -> bool:
    """Whether a pattern of Apache may match."""
    compiled = pattern_of(pattern, ignores_case)
    return compiled is None or "\n" in text or compiled.search(os.fsencode(text)) is not None


def may_fail(pattern: str, text: str, ignores_case: bool = False) -> bool:
    """Whether a pattern of Apache may not match."""
    compiled = pattern_of(pattern, ignores_case)
    return compiled is None or "\n" in text or compiled.search(os.fsencode(text)) is None


def may_be_named(pattern: str, name: str) -> bool:
    """Whether a file's name may match the argument of ``<Files>`` (apr_fnmatch)."""
    if re.search(r"[\\/]|\[(?![A-Za-z0-9_.]+\])", pattern):
        return True
    source = "".join({"*": ".*", "?": "."}.get(part, part if part[0] == "[" else re.escape(part))
                     for part in re.findall(r"\[[A-Za-z0-9_.]+\]|.", pattern, re.DOTALL))  # fmt: skip
    return re.fullmatch(os.fsencode(source), os.fsencode(name), re.DOTALL) is not None


def known_patterns(patterns: Iterable[str]) -> bool:
    """Whether the meaning of all these patterns is known."""
    return all(pattern_of(pattern) is not None for pattern in patterns)
