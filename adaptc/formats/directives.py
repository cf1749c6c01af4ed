"""Directives of server configuration as values, and the reader of Apache's files: configuration and .htaccess."""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Section:
    """A section (Apache) or block (nginx). ``line`` distinguishes sections of one name."""

    name: str
    args: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive of ``file``. Apache's names are in lower case; ``within`` has the outermost section first."""

    name: str
    args: tuple[str, ...]
    file: str
    line: int
    within: tuple[Section, ...]


_SECTION = re.compile(r"<(/?)(\w+)\s*(.*?)>?\s*$")


def apache_directives(text: str, file: str) -> Iterator[Directive]:
    """Yield the directives of a file of Apache, or of a .htaccess file; ``<If...>`` sections count as sections."""
    within: list[Section] = []
    for number, line in _logical_lines(text):
        section = _SECTION.match(line)
        if section is None:
            name, *args = _words(line)
            yield Directive(name.lower(), tuple(args), file, number, tuple(within))
        elif not section[1]:
            within.append(Section(section[2].lower(), tuple(_words(section[3])), number))
        elif within:
            within.pop()


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
    return Directive(directive.name, directive.args, directive.file, directive.line, within + directive.within)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with content, each with its number; a backslash at the end joins a line with the next."""
    begun, number = "", 0
    for current, line in enumerate(text.split("\n"), 1):
        number = number if begun else current
        line = line.removesuffix("\r")
        if line.endswith("\\"):
            begun += line[:-1] + " "
            continue
        whole, begun = (begun + line).strip(), ""
        if whole and not whole.startswith("#"):
            yield number, whole


def _words(line: str) -> list[str]:
    reader = shlex.shlex(line, posix=True, punctuation_chars=False)
    reader.whitespace_split, reader.commenters, reader.escape = True, "", ""
    try:
        return list(reader)
    except ValueError:  # an unclosed quotation mark, as patterns of mod_rewrite may have
        return line.split()
