"""What a script may load into its page: other scripts, JSON and parts of pages, by the addresses in its strings.

The result errs on the side of more: an address counts wherever it is in the script, and one that is composed of unknown
parts makes the whole unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adaptc.formats.script.lexer import Kind, unescape
from adaptc.formats.script.script import Script, is_string

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

# Patterns for ``Script.code``
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
    rf'(?:"(?P<first>[^"]*)"\+|(?<![\w$.()\[\]]))(?P<middle>[\w$.()\[\]]++)\+"(?P<last>(?:[^"\w/][^"/]*)?\.(?:[cm]?js|json|{_MARKUP}))(?=["?#])'
)
_AFTER_ADDRESS = '"?#'
_TEMPLATE_END = re.compile(rf"\}}(?:[^`$/\w][^`$/]*)?\.(?:[cm]?js|json|{_MARKUP})[`?#]")
# webpack: "js/" + ({12: "about"}[id] || id) + "." + {12: "5f3a"}[id] + ".js"
_MAP = r"\{(?P<%s>[^{}]*)\}\[[\w$]+\]"
_CHUNKS = re.compile(
    rf'"(?P<first>[^"]*)"\+(?:\(?{_MAP % "names"}(?:\|\|[\w$]+)?\)?|[\w$]+)'
    rf'\+"(?P<middle>[^"]*)"\+{_MAP % "hashes"}\+"(?P<last>[^"]*\.js)"'
)
_IN_TABLE = "}["
_ENTRY = re.compile(r'(?<![\w-])([\w-]++)"?:"([^"]*)"')
_ROOT = re.compile(r'\.p="([^"]*)"|\bpublicPath[:=]"([^"]*)"')


def find_loads(script: Script) -> Loads:
    """Return what a script may load."""
    if not script.lexes:
        return Loads(unknown=SCRIPTS)
    code, strings, modules = script.code, tuple(dict.fromkeys(script.strings())), tuple(dict.fromkeys(_modules(script)))
    makes_scripts, fetches = _MAKES_SCRIPT.search(code) is not None, _FETCHES.search(code) is not None
    files = tuple(filter(_SCRIPT_FILE.match, strings)) if makes_scripts or _imports_computed(script) else ()
    unknown = _unknown_scripts(script, files) if makes_scripts or modules or _has_import(script) else None
    unknown = unknown or (SCRIPTS if _SYSTEM.search(code) else None)
    return Loads(
        (*files, *_chunks(code)),
        tuple(filter(_DATA_FILE.match, strings)),
        modules,
        tuple(filter(_may_be_script, strings)) if makes_scripts else (),
        tuple(root for match in _ROOT.finditer(code) if (root := match[1] or match[2])),
        fetches,
        unknown or (_unknown_data(script) if fetches else None),
    )


def _may_be_script(string: str) -> bool:
    return _ABSOLUTE.match(string) is not None and _NO_SCRIPT.search(string) is None


# ---- imports


def _imports(script: Script) -> Iterator[int]:
    """Yield the places of import declarations and expressions; a property of that name is none."""
    tokens, kinds = script.tokens, script.kinds_of
    for place in script.places(("import",)):
        if place + 1 == len(tokens):
            return
        following = tokens[place + 1]
        is_property = place > 0 and tokens[place - 1] in (".", "?.")
        if not is_property and (following in ("(", "{", "*") or kinds[following] in (Kind.STRING, Kind.WORD)):
            yield place


def _has_import(script: Script) -> bool:
    return next(_imports(script), None) is not None


def _modules(script: Script) -> Iterator[str]:
    """Yield the literal specifiers of ``import`` and ``export … from``."""
    tokens, kinds = script.tokens, script.kinds_of
    for place in script.places(("import", "from")):
        if place + 1 < len(tokens) and kinds[tokens[place + 1]] is Kind.STRING:
            yield unescape(tokens[place + 1][1:-1])
    for place in _imports(script):
        argument = tokens[place + 2 : place + 4]
        is_call = tokens[place + 1] == "(" and len(argument) == 2 and argument[1] in (")", ",")
        if is_call and is_string(argument[0], kinds[argument[0]]):
            yield unescape(argument[0][1:-1])


def _imports_computed(script: Script) -> bool:
    """Whether a script imports what a variable names."""
    tokens, kinds = script.tokens, script.kinds_of
    return any(
        tokens[place + 1] == "(" and place + 2 < len(tokens) and kinds[tokens[place + 2]] is not Kind.STRING
        for place in _imports(script)
    )


# ---- what is composed


def _chunks(code: str) -> Iterator[str]:
    """Yield the addresses that a webpack runtime composes of the tables of its chunks."""
    for match in _CHUNKS.finditer(code) if _IN_TABLE in code else ():
        names, hashes = dict(_ENTRY.findall(match["names"] or "")), dict(_ENTRY.findall(match["hashes"]))
        for chunk, digest in hashes.items():
            yield f"{match['first']}{names.get(chunk, chunk)}{match['middle']}{digest}{match['last']}"


def _unknown_scripts(script: Script, files: Sequence[str]) -> str | None:
    if _imports_computed(script) and not files:
        return SCRIPTS
    return SCRIPTS if _composes(script, ("js",)) else None


def _find_composed(code: str, ends: Sequence[str]) -> Iterator[re.Match[str]]:
    """Return the composed addresses, of which some have an end that is looked for; most scripts have no such end."""
    if not any(end + mark in code for end in ends for mark in _AFTER_ADDRESS):
        return iter(())
    return _COMPOSED.finditer(_CHUNKS.sub(" ", code) if _IN_TABLE in code else code)


def _unknown_data(script: Script) -> str | None:
    code = script.code
    if _JQUERY_MOBILE.search(code):
        return PAGES
    if _ADDRESS_BAR.search(code) and _FETCHED_TEXT.search(code) and _REPLACED.search(code):
        return PAGES
    kinds = _MARKUP_KINDS if _SAVES.search(code) else (*_MARKUP_KINDS, "json")
    return PARTS if _composes(script, kinds) else None


def _composes(script: Script, kinds: tuple[str, ...]) -> bool:
    """Whether a script composes addresses of files of these kinds; those on another host count there."""
    ends = tuple(f".{kind}" for kind in kinds)
    composed = (match for match in _find_composed(script.code, ends) if match["last"].endswith(ends))
    if any(not _ABSOLUTE.match(match["first"] or "") for match in composed):
        return True
    pieces = (text for text in script.texts_of(Kind.TEMPLATE) if text[0] == "}")
    return any(match and match[0][:-1].endswith(ends) for match in map(_TEMPLATE_END.match, pieces))
