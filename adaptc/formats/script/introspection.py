"""Scripts that inspect themselves, other scripts or the style sheets of their page.

The result errs on the side of yes. Each row of the table is a pattern to search for in ``Script.code``. Workers do not
count: their addresses are relative to the page (HTML, 10.2.6.3), and ``importScripts`` is for their own scripts.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from adaptc.core.values import dataclass, pattern
from adaptc.formats.script.script import Script

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCRIPTS, _SHEETS = "it looks for script elements", "it looks for style sheets"
_PATH, _ITSELF = "it determines its public path", "it reads its own text"
_STACK = "it reads its address from an error's stack"
_COMPUTED = "it reads a property of document by a computed name"

_MEMBER = r'(?:\.|\[")'
# A number is a place in a collection: jQuery UI keeps one of the document, this.document[0]
_COMPUTED_NAME = r'\bdocument\[(?!"[^"]*"\]|\d+\])'
_TAG_NAME = r'getElementsByTagName(?:NS)?(?:"\])?\((?:"[^"]*",)?'
_SELECTS = r'(?:querySelector(?:All)?(?:"\])?|\$|jQuery|\.find|\.closest|\.matches)\('
# Links of these kinds are no style sheets
_NO_OTHER_REL = (
    r"(?!\[rel[~*^|$]?=\W*(?:apple-|canonical|dns-prefetch|icon|manifest|mask-icon|modulepreload|next|preconnect"
    r"|prefetch|preload|prev|shortcut))"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """A sign of introspection: the reason to report, and one or two patterns that the code has to contain.

    Each match of ``pattern`` contains one of the ``words``: code without them need not be searched, which takes a
    hundred times as long.
    """

    reason: str
    words: str
    pattern: str
    also: str = ""

    def is_possible(self, code: str) -> bool:
        """Whether code has one of the words."""
        return any(word in code for word in self.words.split())


_TAGS = "getElementsByTagName"
MARKS: tuple[Mark, ...] = (
    Mark("it uses document.currentScript", "currentScript", r"\bcurrentScript\b"),
    Mark("it uses import.meta", "import.meta", r"\bimport\.meta\b"),
    Mark(
        "it imports modules relative to its own address", "import(", r"(?<![\w$.])import\((?![\w$,]*\)\{)"
    ),  # no method
    Mark(_SCRIPTS, _TAGS, rf'{_TAG_NAME}"(?i:script)"\)'),
    Mark(_SCRIPTS, _TAGS, rf'\bdocument\.{_TAG_NAME}"\*"\)'),  # other nodes: libraries testing the browser
    # Loader snippets pass the tag name: (function(d, s) { d.getElementsByTagName(s)[0] })(document, "script")
    Mark(_SCRIPTS, _TAGS, rf"{_TAG_NAME}[\w$.]+\)(?:\[|\.item\()", r'(?<!createElement\()"script"'),
    Mark(_SCRIPTS, "script", rf'{_SELECTS}"[^"<]*(?<![\w.#-])script(?![\w-])'),
    Mark(_SCRIPTS, "scripts", rf"(?:\bdocument|[^\w$][a-z]){_MEMBER}scripts\b(?!\()"),
    Mark(_SHEETS, "styleSheets", r"\bstyleSheets\b"),
    Mark(_SHEETS, "searchPseudoElements", r"\bsearchPseudoElements\W*(?:true|!0)"),
    # jQuery 1 counts those of an element of its own
    Mark(_SHEETS, _TAGS, rf'{_TAG_NAME}"(?:link|style)"\)(?!\.length)'),
    Mark(_SHEETS, "link style", rf'{_SELECTS}"[^"<]*(?<![\w.#-])(?:link|style)(?![\w-]){_NO_OTHER_REL}'),
    Mark(_SHEETS, "stylesheet", r"\[rel[~*^|$]?=\W*(?:alternate )?stylesheet"),
    # A copy of the head, for a window that prints, knows no link that waits
    Mark(_SHEETS, "head", r"\bdocument\.head\.(?:cloneNode\b|(?:inner|outer)HTML\b(?!\+?=(?!=)))"),
    Mark(_SHEETS, "head", r'(?:\$|jQuery)\("head"\)\.(?:children|clone|contents|html)\(\)'),
    # a literal ("/static/") leads to the same place from anywhere
    Mark(
        _PATH,
        "__webpack_ publicPath",
        r"\b__webpack_public_path__\b|\bpublicPath\b|\b__webpack_require__\.p=(?![=\"])",
    ),
    Mark(_PATH, "webpack", r"[\w$]\.p=(?![=\"])", r"webpack(?:Jsonp|Chunk)"),
    # What it is called is in no text of the script
    Mark(_COMPUTED, "document[", _COMPUTED_NAME),
    Mark("it names its source (sourceURL)", "sourceURL", r"\bsourceURL\b"),
    Mark(_ITSELF, "toString callee", r"\}\)?\.toString\(\)|\bcallee(?:\.toString|\+\")"),
    Mark(_ITSELF, "toString", r"Function\.prototype\.toString\.(?:call|apply)\((?:arguments\.callee|this)"),
    Mark(_STACK, ".stack", r"\.stack\)?\.(?:match|split|replace|search|substr)"),
    # this.stack.slice() is an array, as of a history
    Mark(_STACK, ".stack", r"(?<!this)\.stack\)?\.(?:indexOf|slice)"),
    Mark(
        _STACK,
        ".stack .fileName prepareStackTrace",
        r"(?:exec|match)\([\w$.]*\.stack\)|\.fileName\b|\bprepareStackTrace\b",
    ),
)


# s = d.getElementsByTagName("script")[0]; s.parentNode.insertBefore(other, s): any script element will do for that
_INSERTION_POINT = pattern(
    r'(?<![\w$])([\w$]++)=[\w$.]*getElementsByTagName\((?:"(?i:script)"|[\w$.]+)\)\[0\](?=[;,])'
    r"((?:(?!(?<![\w$.])\1(?![\w$]))[\s\S]){0,800}?)(?<![\w$.])\1\.parentNode\.insertBefore\([^(),]+,\1\)"
    r"(?![\s\S]{0,200}?(?<![\w$.])\1\.(?!parentNode))"
)
_ALL_REASONS = frozenset(mark.reason for mark in MARKS)

# What is harmless: webpack's loader asks whether an element has the address of a chunk that is not there yet; chunks
# and the runtime of Turbopack ask for the address of their own element, which ``with_own_address`` writes; React
# asks for stacks of errors to name a component in a message; Partytown and Helmet look for elements that have an
# attribute, or are no scripts
_HARMLESS = re.compile(
    r'document\.getElementsByTagName\("script"\)(?=(?:,|;for\(var )[\w$]+=0;[\w$]+<[\w$]+\.length;[\w$]+\+\+\)\{'
    r'(?:var|let|const) [\w$]+=[\w$]+\[[\w$]+\];if\([\w$]+\.getAttribute\("src"\)==)'
    r'|(?<=push\(\[)"object"==typeof document\?document\.currentScript|document\?\.currentScript\?\.getAttribute\?'
    r'|\.stack\.(?:trim\(\)\.match\(/\\n\(|indexOf\("(?:\s+at|@)"\))'
    r'|[\w$]+\.stack\.split\("\n"\),[\w$]+=[\w$]+\.stack\.split\("\n"\)'
    r"|Error\.prepareStackTrace(?=;Error\.prepareStackTrace=void 0|=void 0|=[\w$]+\})"
    r'|"script\[data-[\w-]+\]"'
    r'|\.getElementsByTagName\([\w$]+\)\[0\](?=;if\([\w$]+\)\{for\(var [\w$]+=[\w$]+\.getAttribute\("data-)'
)
_ELEMENT_OF_CHUNK = re.compile(r"""(?<=push\(\[)(["'])object\1==typeof document\?document\.currentScript:void 0(?=,)""")
_ADDRESS_OF_RUNTIME = re.compile(r"""document\?\.currentScript\?\.getAttribute\?\.\((["'])src\1\)""")


def with_own_address(text: str, address: str) -> str | None:
    """Return a script with what it asks its own element written into it: the ``address``, the ``src`` of the element.

    ``None`` if it asks more than chunks and the runtime of Turbopack do.
    """
    if "currentScript" not in text:
        return text
    literal = json.dumps(address)
    text = _ELEMENT_OF_CHUNK.sub(lambda _: f"{{getAttribute:()=>{literal}}}", text)
    text = _ADDRESS_OF_RUNTIME.sub(lambda _: literal, text)
    return None if re.search(r"\bcurrentScript\b", text) else text


# What chunks are handed to
_GLOBALS = "webpackChunk|webpackJsonp|TURBOPACK"
_CHUNK = pattern(
    r'(?:\(\(\)=>\{)?(?:"use strict";)?\((?:self|window|globalThis|this)(?:\.|\[")'
    rf"(?:{_GLOBALS})[^;{{}}]{{0,200}}?\)\.push\(\["
)
_LOADER = pattern(rf"(?![^{{}}]{{0,300}}?\)\.push\()[\s\S]*?(?:{_GLOBALS})")


def is_chunk(script: Script) -> bool:
    """Whether a script hands its modules to webpack's or Turbopack's loader, and does nothing else.

    What it hands over is there before the loader is, or after, so that it may run at any time, and once more.
    """
    if not script.lexes or _CHUNK.match(script.code) is None:
        return False
    opening = next(place + 1 for place in script.places(["push"]) if script.token(place + 1) == "(")
    end = script.pairs.get(opening)
    return end is not None and {")", "}", "(", ";"}.issuperset(script.tokens[end + 1 :])


def may_load_chunks(source: str | bytes) -> bool:
    """Whether a script may be a loader of chunks: it names what they are handed to, and does not begin as they do."""
    text = source if isinstance(source, str) else source.decode("utf-8", "replace")
    return _LOADER.match(text) is not None


# A script that looks for itself stays in its file. One that selects scripts by their addresses may look for others.
_OTHERS = pattern(rf"{_SELECTS}[^)]*script[^)]*\[\s*src")


def selects_other_scripts(script: Script) -> bool:
    """Whether a script may select other scripts by their ``src``, so that it notices when one is inlined."""
    return _OTHERS.search(script.code) is not None


# write() without text, or with the beginning of a document, is how jQuery opens a frame of its own.
_WRITES = pattern(rf'(?:{_MEMBER}|\?\.)write(?:ln)?\b(?!\(\)|\([^;]{{0,80}}<html><body>"\))')


def writes_document(script: Script) -> bool:
    """Whether a script may call ``document.write``. Inlining other scripts makes no difference to that."""
    return _WRITES.search(script.code) is not None


def introspection_reasons(script: Script) -> tuple[str | None, str | None, bool]:
    """Return why a script may behave differently when its text moves into the page, and why if it alone does.

    Moving takes its ``src`` away and gives its error messages another address; its neighbours move too, as a rule.
    A reason is a clause such as ``it uses document.currentScript``, or ``None``. The last value says that there would
    be one but for what loaders of chunks, and libraries in chunks, are known to ask.
    """
    code = _composed(script.code)
    code = _INSERTION_POINT.sub(r"\2", code) if _TAGS in code else code
    reason = next(_reasons(code), None)
    if reason is None:
        return None, None, False
    # a chunk leaves it to the loader where chunks are
    unknown = _ALL_REASONS - {_SHEETS, *([_PATH] if is_chunk(script) else [])}
    own = next(_reasons(_HARMLESS.sub("", code), unknown), None)
    return reason, own, own is None and any(_reasons(code, _ALL_REASONS - {_SHEETS}))


def _composed(code: str) -> str:
    """Return code with texts that are put together of strings in one: ``document["style" + "Sheets"]``.

    What asks after the screen, whose properties have other names in other browsers, computes none of those.
    """
    joined = _JOINT.sub("", code)
    return _COMPUTED_READ.sub(_named, joined) if "document[" in joined else joined


def _named(read: re.Match[str]) -> str:
    is_of_screen = _OF_SCREEN.search(read.string, max(0, read.start() - _NEAR), read.start())
    return "document.hidden[" if is_of_screen else read[0]


# ["requestFullscreen", "webkitRequestFullscreen"].find((name) => document[name]), so many characters before at most
_OF_SCREEN, _NEAR = pattern(r"[fF]ull-?[sS]creen|[hH]idden|visibility"), 600
_COMPUTED_READ = pattern(_COMPUTED_NAME)


_JOINT = pattern(r'"(?:\+|\.concat\()"')


def reads_text(script: Script) -> bool:
    """Whether a script may read the text of its functions, or their names in the stack of an error."""
    return next(_reasons(_composed(script.code), frozenset({_ITSELF, _STACK})), None) is not None


def looks_for_style_sheets(script: Script) -> bool:
    """Whether a script looks for the page's ``link`` and ``style`` elements or its ``styleSheets``.

    Vite's loader of chunks does not count: it looks for links to files that it is about to load, which it names. Nor
    does a script that takes any sheet to insert a rule of its own, and reads none, or React 19, which looks for sheets
    with ``data-precedence`` and for those that a component names, or Font Awesome 7, which reads all only where a page
    or a script turns that on.
    """
    if "[data-" in script.text and MEDIUM_SWITCH.fullmatch(script.text.strip()):
        return False  # a sheet in the page has its medium
    code = _CERTAIN_LINK.sub('"+', _composed(script.code))
    if "styleSheets" in code:
        code = _PSEUDO_ELEMENTS.sub(" ", _RULE_INSERTION.sub(" ", code))
    if "data-precedence" in code:
        code = _RESOURCES.sub(" ", code)
    if '"modulepreload"' in code:
        code = _CHUNK_LOADER.sub(" ", code)
    return any(_reasons(code, frozenset({_SHEETS, _COMPUTED})))


_RULE_INSERTION = pattern(
    r"\bstyleSheets\b(?=(?:(?!\.(?:cssText|deleteRule|disabled|href|media|ownerNode|selectorText|title)\b|[rR]ules\[)"
    r"[\s\S]){0,800}?\.(?:insert|add)Rule\()"
)
# What gives links the medium that an attribute holds, and does nothing else:
# document.querySelectorAll('link[data-a]').forEach(function(l){l.media=l.getAttribute('data-a');
# l.removeAttribute('data-a')})
MEDIUM_SWITCH = pattern(
    r"""document\.querySelectorAll\((['"])link\[(?P<name>data-[\w-]+)\]\1\)\.forEach\(function\((?P<link>\w+)\)\{"""
    r"""(?P=link)\.media=(?P=link)\.getAttribute\((['"])(?P=name)\4\);"""
    r"""(?P=link)\.removeAttribute\((['"])(?P=name)\5\);?\}\);?"""
)
_PSEUDO_ELEMENTS = pattern(r"searchPseudoElementsFullScan\b[\s\S]{0,400}?\bstyleSheets\b")
# Lookups that need no sheet in a file: $("head link[rel='stylesheet']").attr("rel", "stylesheet"), as jQuery Mobile
# writes it, and those for a certain link by what a variable says of it, which is an attribute: such a link keeps it.
_CERTAIN_LINK = pattern(
    r"""link\[rel='?stylesheet'?\]"(?:\+|\)(?:\.attr\("rel","alternate stylesheet"\))?\.attr\("rel","stylesheet"\))"""
)
_RESOURCES = pattern(
    r'"(?:(?:link|style)(?:\[rel="stylesheet"\])?\[data-precedence\],?)+"|"style\[data-href~=""|"link\[rel="stylesheet"\]\["\+'
)
_CHUNK_LOADER = pattern(
    r'document\.(?:getElementsByTagName\("link"\)|querySelector\(`?"?link\[href="\$\{)|\?"\[rel="stylesheet"\]":""'
)


def _reasons(code: str, wanted: frozenset[str] = _ALL_REASONS) -> Iterator[str]:
    for mark, main, also in _compiled():
        is_found = mark.reason in wanted and mark.is_possible(code) and main.search(code)
        if is_found and (also is None or also.search(code)):
            yield mark.reason


@lru_cache(maxsize=1)
def _compiled() -> tuple[tuple[Mark, re.Pattern[str], re.Pattern[str] | None], ...]:
    """Compile the table on first use, which commands that read no script are spared."""
    return tuple((mark, re.compile(mark.pattern), re.compile(mark.also) if mark.also else None) for mark in MARKS)
