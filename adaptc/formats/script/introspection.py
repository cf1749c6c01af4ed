"""Scripts that inspect themselves, other scripts or the style sheets of their page.

The result errs on the side of yes. Each row of the table is a pattern to search for in ``Script.code``. Workers do not
count: their addresses are relative to the page (HTML, 10.2.6.3), and ``importScripts`` is for their own scripts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from adaptc.formats.script.script import Script

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCRIPTS, _SHEETS = "it looks for script elements", "it looks for style sheets"
_PATH, _ITSELF = "it determines its public path", "it reads its own text"
_STACK = "it reads its address from an error's stack"

_MEMBER = r'(?:\.|\[")'
_TAG_NAME = r'getElementsByTagName(?:NS)?(?:"\])?\((?:"[^"]*",)?'
_SELECTS = r'(?:querySelector(?:All)?(?:"\])?|\$|jQuery|\.find|\.closest|\.matches)\('
# Links of these kinds are no style sheets
_NO_OTHER_REL = (
    r"(?!\[rel[~*^|$]?=\W*(?:apple-|canonical|dns-prefetch|icon|manifest|mask-icon|modulepreload|next|preconnect"
    r"|prefetch|preload|prev|shortcut))"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """A sign of introspection: the reason to report, and one or two patterns that the code has to contain."""

    reason: str
    pattern: str
    also: str = ""


MARKS: tuple[Mark, ...] = (
    Mark("it uses document.currentScript", r"\bcurrentScript\b"),
    Mark("it uses import.meta", r"\bimport\.meta\b"),
    Mark("it imports modules relative to its own address", r"(?<![\w$.])import\("),
    Mark(_SCRIPTS, rf'{_TAG_NAME}"(?i:script)"\)'),
    Mark(_SCRIPTS, rf'\bdocument\.{_TAG_NAME}"\*"\)'),  # other nodes: libraries testing the browser
    # Loader snippets pass the tag name: (function(d, s) { d.getElementsByTagName(s)[0] })(document, "script")
    Mark(_SCRIPTS, rf"{_TAG_NAME}[\w$.]+\)(?:\[|\.item\()", r'(?<!createElement\()"script"'),
    Mark(_SCRIPTS, rf'{_SELECTS}"[^"<]*(?<![\w.#-])script(?![\w-])'),
    Mark(_SCRIPTS, rf"(?:\bdocument|[^\w$][a-z]){_MEMBER}scripts\b(?!\()"),
    Mark(_SHEETS, r"\bstyleSheets\b"),
    Mark(_SHEETS, rf'{_TAG_NAME}"(?:link|style)"\)(?!\.length)'),  # jQuery 1 counts those of an element of its own
    Mark(_SHEETS, rf'{_SELECTS}"[^"<]*(?<![\w.#-])(?:link|style)(?![\w-]){_NO_OTHER_REL}'),
    Mark(_SHEETS, r"\[rel[~*^|$]?=\W*(?:alternate )?stylesheet"),
    # a literal ("/static/") leads to the same place from anywhere
    Mark(_PATH, r"\b__webpack_public_path__\b|\bpublicPath\b|\b__webpack_require__\.p=(?![=\"])"),
    Mark(_PATH, r"[\w$]\.p=(?![=\"])", r"webpack(?:Jsonp|Chunk)"),
    Mark("it names its source (sourceURL)", r"\bsourceURL\b"),
    Mark(_ITSELF, r"\}\)?\.toString\(\)|\bcallee(?:\.toString|\+\")"),
    Mark(_ITSELF, r"Function\.prototype\.toString\.(?:call|apply)\((?:arguments\.callee|this)"),
    Mark(_STACK, r"\.stack\)?\.(?:match|split|replace|search|substr)"),
    Mark(_STACK, r"(?<!this)\.stack\)?\.(?:indexOf|slice)"),  # this.stack.slice() is an array, as of a history
    Mark(_STACK, r"(?:exec|match)\([\w$.]*\.stack\)|\.fileName\b|\bprepareStackTrace\b"),
)


# s = d.getElementsByTagName("script")[0]; s.parentNode.insertBefore(other, s): any script element will do for that
_INSERTION_POINT = re.compile(
    r'([\w$]+)=[\w$.]*getElementsByTagName\((?:"(?i:script)"|[\w$.]+)\)\[0\](?=[;,])'
    r"((?:(?!(?<![\w$.])\1(?![\w$]))[\s\S]){0,800}?)(?<![\w$.])\1\.parentNode\.insertBefore\([^(),]+,\1\)"
    r"(?![\s\S]{0,200}?(?<![\w$.])\1\.(?!parentNode))"
)
_ALL_REASONS = frozenset(mark.reason for mark in MARKS)

# A script that looks for itself stays in its file. One that selects scripts by their addresses may look for others.
_OTHERS = re.compile(rf"{_SELECTS}[^)]*script[^)]*\[\s*src")


def selects_other_scripts(script: Script) -> bool:
    """Whether a script may select other scripts by their ``src``, so that it notices when one is inlined."""
    return _OTHERS.search(script.code) is not None


# write() without text, or with the beginning of a document, is how jQuery opens a frame of its own.
_WRITES = re.compile(rf'(?:{_MEMBER}|\?\.)write(?:ln)?\b(?!\(\)|\([^;]{{0,80}}<html><body>"\))')


def writes_document(script: Script) -> bool:
    """Whether a script may call ``document.write``. Inlining other scripts makes no difference to that."""
    return _WRITES.search(script.code) is not None


def introspection_reason(script: Script) -> str | None:
    """Return why a script may behave differently when its text moves into the page, or ``None``.

    Moving takes its ``src`` away and gives its error messages another address; its neighbours move too.
    The reason is a clause such as ``it uses document.currentScript``.
    """
    return next(_reasons(_INSERTION_POINT.sub(r"\2", script.code)), None)


def self_inspection_reason(script: Script) -> str | None:
    """Return why a script may behave differently when it alone moves into the page, or ``None``."""
    return next(_reasons(_INSERTION_POINT.sub(r"\2", script.code), _ALL_REASONS - {_SHEETS}), None)


def looks_for_style_sheets(script: Script) -> bool:
    """Whether a script looks for the page's ``link`` and ``style`` elements or its ``styleSheets``.

    Vite's loader of chunks does not count: it looks for links to files that it is about to load, which it names. Nor
    does a script that takes any sheet to insert a rule of its own, and reads none.
    """
    code = _CERTAIN_LINK.sub('"+', script.code)
    if "styleSheets" in code:
        code = _RULE_INSERTION.sub(" ", code)
    if '"modulepreload"' in code:
        code = _CHUNK_LOADER.sub(" ", code)
    return _SHEETS in _reasons(code, frozenset({_SHEETS}))


_RULE_INSERTION = re.compile(
    r"\bstyleSheets\b(?=(?:(?!\.(?:cssText|deleteRule|disabled|href|media|ownerNode|selectorText|title)\b|[rR]ules\[)"
    r"[\s\S]){0,800}?\.(?:insert|add)Rule\()"
)
# Lookups that need no sheet in a file: $("head link[rel='stylesheet']").attr("rel", "stylesheet"), as jQuery Mobile
# writes it, and those for a certain link by what a variable says of it, which is an attribute: such a link keeps it.
_CERTAIN_LINK = re.compile(
    r"""link\[rel='?stylesheet'?\]"(?:\+|\)(?:\.attr\("rel","alternate stylesheet"\))?\.attr\("rel","stylesheet"\))"""
)
_CHUNK_LOADER = re.compile(r'document\.(?:getElementsByTagName\("link"\)|querySelector\(`?"?link\[href="\$\{)')


def _reasons(code: str, wanted: frozenset[str] = _ALL_REASONS) -> Iterator[str]:
    for reason, pattern, also in _compiled():
        if reason in wanted and pattern.search(code) and (also is None or also.search(code)):
            yield reason


@lru_cache(maxsize=1)
def _compiled() -> tuple[tuple[str, re.Pattern[str], re.Pattern[str] | None], ...]:
    """Compile the table on first use, which commands that read no script are spared."""
    return tuple(
        (mark.reason, re.compile(mark.pattern), re.compile(mark.also) if mark.also else None) for mark in MARKS
    )
