"""What a script may load into its page: other scripts, JSON and parts of pages, by the addresses in its strings.

The result errs on the side of more: an address counts wherever it is in the script, and one that is composed of unknown
parts makes the whole unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from adaptc.formats.script.code_text import code_text, unescape
from adaptc.formats.script.kinds import Kind
from adaptc.formats.script.tokens import Token, tokenize

SCRIPTS, PARTS, PAGES = (
    "a script may load others, which may set any class",
    "a script may fetch parts of pages",
    "a script may show other pages in this one",
)
"""Reasons why the names that come into a page are unknown."""


@dataclass(frozen=True, slots=True)
class Loads:
    """What a script may load.

    ``scripts`` and ``data`` (JSON and markup) are addresses of files, relative to the page, the script or one of
    ``roots``; ``modules`` are specifiers of imports, relative to the script; ``elsewhere`` are absolute addresses that
    may be those of scripts. ``unknown`` is the reason why there may be more. Data counts only where a script of the
    page ``fetches``.
    """

    scripts: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    fetches: bool = False
    unknown: str | None = None


_ENDS = r"(?:[?#][^<>\s]*)?\Z"
_SCRIPT_FILE = re.compile(rf"[^<>\s{{}}]*[^<>\s{{}}./]\.[cm]?js{_ENDS}", re.IGNORECASE)
_MARKUP = r"html?|xhtml|php|aspx?|jsp|shtml|cfm"
_MARKUP_KINDS = tuple(_MARKUP.replace("?", "").split("|"))
_DATA_FILE = re.compile(rf"[^<>\s{{}}]*[^<>\s{{}}./]\.(?:json|{_MARKUP}){_ENDS}", re.IGNORECASE)
_ABSOLUTE = re.compile(r"(?:https?:)?//[^<>\s/]+\.[^<>\s/]+/[^<>\s]*")
# Namespaces, files that are no scripts, requests for data (JSONP), and links for sharing the page
_NO_SCRIPT = re.compile(
    r"//(?:www\.)?(?:w3|schema|purl)\.org/|\.(?:css|png|jpe?g|gif|svg|webp|woff2?|json|html?|xml)(?:[?#].*)?\Z"
    r"|[?&]callback=\?|[?&](?:hl|q|text|title|u|url)=\Z"
)

# Patterns for ``code_text``
_MAKES_SCRIPT = re.compile(r'createElement\("script"\)|\bimportScripts\b|\bgetScript\(|"<script>"')
# Not fetch(link.href, options) without a use of the answer, which warms the cache: polyfills of modulepreload.
_FETCHES = re.compile(
    r'\bfetch\((?![\w$]+\.href,[\w$]+\)(?!\.))|\.(?:load|get|post|getJSON)\("|\bajax\(|\bXMLHttpRequest\b'
)
_SYSTEM = re.compile(r"\bSystem(?:JS)?\.config\(")
# Saving files, whose names are composed as well
_SAVES = re.compile(r"\bcreateObjectURL\(|\.download=")
# Scripts that follow links without loading a page: pjax, Turbo, swup, barba, jQuery Mobile
_ADDRESS_BAR = re.compile(r"\bhistory\.pushState\(|\.pushState\(")
_FETCHED_TEXT = re.compile(r"\bresponseText\b|\.text\(\)|\bDOMParser\b")
_JQUERY_MOBILE = re.compile(r"\bjqmData\b")
_REPLACED = re.compile(r"\bparseFromString\b|\bparseHTML\(|\bimportNode\(|\badoptNode\(")
# An address with a composed file name: "js/" + name + ".js"
_COMPOSED = re.compile(
    rf'(?:"(?P<first>[^"]*)"\+)?(?P<middle>[\w$.()\[\]]+)\+"(?P<last>(?:[^"\w/][^"/]*)?\.(?:[cm]?js|json|{_MARKUP}))(?=["?#])'
)
_TEMPLATE_END = re.compile(rf"\}}(?:[^`$/\w][^`$/]*)?\.(?:[cm]?js|json|{_MARKUP})[`?#]")
# webpack: "js/" + ({12: "about"}[id] || id) + "." + {12: "5f3a"}[id] + ".js"
_MAP = r"\{(?P<%s>[^{}]*)\}\[[\w$]+\]"
_CHUNKS = re.compile(
    rf'"(?P<first>[^"]*)"\+(?:\(?{_MAP % "names"}(?:\|\|[\w$]+)?\)?|[\w$]+)'
    rf'\+"(?P<middle>[^"]*)"\+{_MAP % "hashes"}\+"(?P<last>[^"]*\.js)"'
)
_ENTRY = re.compile(r'"?([\w-]+)"?:"([^"]*)"')
_ROOT = re.compile(r'\.p="([^"]*)"|\bpublicPath[:=]"([^"]*)"')


@lru_cache(maxsize=512)
def loads(text: str) -> Loads:
    """Return what a script may load."""
    tokens = tokenize(text)
    if tokens is None:
        return Loads(unknown=SCRIPTS)
    tokens = [token for token in tokens if token.kind is not Kind.COMMENT]
    code = code_text(text)
    strings = tuple(dict.fromkeys(_strings(tokens)))
    modules = tuple(dict.fromkeys(_modules(tokens)))
    makes_scripts, fetches = _MAKES_SCRIPT.search(code) is not None, _FETCHES.search(code) is not None
    files = tuple(filter(_SCRIPT_FILE.match, strings)) if makes_scripts or _imports_computed(tokens) else ()
    unknown = _unknown_scripts(tokens, code, files) if makes_scripts or modules or _has_import(tokens) else None
    unknown = unknown or (SCRIPTS if _SYSTEM.search(code) else None)
    return Loads(
        (*files, *_chunks(code)),
        tuple(filter(_DATA_FILE.match, strings)),
        modules,
        tuple(filter(_may_be_script, strings)) if makes_scripts else (),
        tuple(root for match in _ROOT.finditer(code) if (root := match[1] or match[2])),
        fetches,
        unknown or (_unknown_data(tokens, code) if fetches else None),
    )


def _strings(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.kind is Kind.STRING or (token.kind is Kind.TEMPLATE and token.text[0] == token.text[-1] == "`"):
            yield unescape(token.text[1:-1])


def _may_be_script(string: str) -> bool:
    return _ABSOLUTE.match(string) is not None and _NO_SCRIPT.search(string) is None


# ---- imports


def _imports(tokens: Sequence[Token]) -> Iterator[int]:
    """Yield the places of import declarations and expressions; a property of that name is none."""
    for place, token in enumerate(tokens[:-1]):
        if token.text != "import" or token.kind is not Kind.WORD:
            continue
        following = tokens[place + 1]
        is_property = place > 0 and tokens[place - 1].text in (".", "?.")
        if not is_property and (following.text in ("(", "{", "*") or following.kind in (Kind.STRING, Kind.WORD)):
            yield place


def _has_import(tokens: Sequence[Token]) -> bool:
    return next(_imports(tokens), None) is not None


def _modules(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the literal specifiers of ``import`` and ``export … from``."""
    for before, token in pairwise(tokens):
        if token.kind is Kind.STRING and before.text in ("import", "from"):
            yield unescape(token.text[1:-1])
    for place in _imports(tokens):
        argument = tokens[place + 2 : place + 4]
        if tokens[place + 1].text == "(" and len(argument) == 2 and argument[1].text in (")", ","):
            yield from _strings(argument[:1])


def _imports_computed(tokens: Sequence[Token]) -> bool:
    """Whether a script imports what a variable names."""
    return any(
        tokens[place + 1].text == "(" and place + 2 < len(tokens) and tokens[place + 2].kind is not Kind.STRING
        for place in _imports(tokens)
    )


# ---- what is composed


def _chunks(code: str) -> Iterator[str]:
    """Yield the addresses that a webpack runtime composes of the tables of its chunks."""
    for match in _CHUNKS.finditer(code):
        names, hashes = dict(_ENTRY.findall(match["names"] or "")), dict(_ENTRY.findall(match["hashes"]))
        for chunk, digest in hashes.items():
            yield f"{match['first']}{names.get(chunk, chunk)}{match['middle']}{digest}{match['last']}"


def _unknown_scripts(tokens: Sequence[Token], code: str, files: Sequence[str]) -> str | None:
    if _imports_computed(tokens) and not files:
        return SCRIPTS
    return SCRIPTS if _composes(tokens, code, ("js",)) else None


def _unknown_data(tokens: Sequence[Token], code: str) -> str | None:
    if _JQUERY_MOBILE.search(code):
        return PAGES
    if _ADDRESS_BAR.search(code) and _FETCHED_TEXT.search(code) and _REPLACED.search(code):
        return PAGES
    kinds = _MARKUP_KINDS if _SAVES.search(code) else (*_MARKUP_KINDS, "json")
    return PARTS if _composes(tokens, code, kinds) else None


def _composes(tokens: Sequence[Token], code: str, kinds: tuple[str, ...]) -> bool:
    """Whether a script composes addresses of files of these kinds; those on another host count there."""
    ends = tuple(f".{kind}" for kind in kinds)
    code = _CHUNKS.sub(" ", code)
    composed = (match for match in _COMPOSED.finditer(code) if match["last"].endswith(ends))
    if any(not _ABSOLUTE.match(match["first"] or "") for match in composed):
        return True
    pieces = (token.text for token in tokens if token.kind is Kind.TEMPLATE and token.text[0] == "}")
    return any(match and match[0][:-1].endswith(ends) for match in map(_TEMPLATE_END.match, pieces))
