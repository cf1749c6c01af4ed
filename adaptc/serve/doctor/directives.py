"""Configuration of Apache and nginx as a flat list of directives, each with the sections that it stands in."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Section:
    """A section (Apache) or block (nginx). ``line`` tells two of one name apart."""

    name: str
    args: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive of ``file``. Apache's names are in small letters; ``within`` is outermost first."""

    name: str
    args: tuple[str, ...]
    file: str
    line: int
    within: tuple[Section, ...]


_APACHE_SECTION = re.compile(r"<(/?)(\w+)\s*(.*?)>?\s*$")
_NGINX_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)|(?P<mark>[;{}])|"(?P<double>(?:\\.|[^"\\])*)"|'(?P<single>(?:\\.|[^'\\])*)'"""
    r"""|(?P<word>(?:\\.|\$\{\w*\}|[^\s;{}\\])+)|(?P<rest>.)""",
    re.DOTALL,
)


def apache_directives(text: str, file: str) -> Iterator[Directive]:
    """Yield the directives of a file of Apache, or of a .htaccess file; ``<If...>`` sections count as sections."""
    within: list[Section] = []
    for number, line in _logical_lines(text):
        section = _APACHE_SECTION.match(line)
        if section is None:
            name, *args = _apache_words(line)
            yield Directive(name.lower(), tuple(args), file, number, tuple(within))
        elif not section[1]:
            within.append(Section(section[2].lower(), tuple(_apache_words(section[3])), number))
        elif within:
            within.pop()


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines that hold something, each with its number; a backslash at the end goes on in the next."""
    begun, number = "", 0
    for current, line in enumerate(text.split("\n"), 1):
        number = number if begun else current
        if line.endswith("\\"):
            begun += line[:-1] + " "
            continue
        whole, begun = (begun + line).strip(), ""
        if whole and not whole.startswith("#"):
            yield number, whole


def _apache_words(line: str) -> list[str]:
    reader = shlex.shlex(line, posix=True, punctuation_chars=False)
    reader.whitespace_split, reader.commenters, reader.escape = True, "", ""
    try:
        return list(reader)
    except ValueError:  # a quotation mark that stays open, as patterns of mod_rewrite may have
        return line.split()


def nginx_directives(text: str, file: str) -> Iterator[Directive]:
    """Yield the directives of a file of nginx; a block's own head is none."""
    within: list[Section] = []
    words: list[str] = []
    begun = line = 1
    for token in _NGINX_TOKEN.finditer(text):
        mark = token["mark"]
        if mark is None and token["space"] is None:
            begun = begun if words else line
            words.append(_nginx_word(token))
        elif mark == ";" and words:
            yield Directive(words[0], tuple(words[1:]), file, begun, tuple(within))
        elif mark == "{" and words:
            within.append(Section(words[0], tuple(words[1:]), begun))
        elif mark == "}" and within:
            within.pop()
        if mark is not None:
            words = []
        line += token[0].count("\n")


def _nginx_word(token: re.Match[str]) -> str:
    quoted = token["double"] if token["double"] is not None else token["single"]
    return token[0] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
