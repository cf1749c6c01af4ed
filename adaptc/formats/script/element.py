"""Script text that may stand between ``<script>`` and ``</script>``.

WHATWG HTML 4.12.1.3, "Restrictions for contents of script elements": ``</script`` ends the element wherever
it stands, and ``<!--`` may make the parser overlook the next end tag. Without ``<!--`` a ``<script`` is
harmless, so those two are all that is escaped.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise

from adaptc.formats.script.tokens import OPERATOR_WORDS, Kind, Token, tokenize

_DANGEROUS = re.compile(r"<!--|</(?=script)", re.IGNORECASE)

# What ``</`` and ``<!--`` become in each kind of token. ``\/`` and ``\!`` are ``/`` and ``!`` in a string and
# in an untagged template; a regular expression with the u flag refuses ``\!`` but takes ``\x2d`` anywhere.
_SPELLINGS = {
    Kind.COMMENT: ("<\\/", "<!- -"),
    Kind.STRING: ("<\\/", "<\\!--"),
    Kind.TEMPLATE: ("<\\/", "<\\!--"),
    Kind.REGEX: ("<\\/", "<!-\\x2d"),
    Kind.PUNCTUATOR: ("< /", "< !--"),
}
_VALUE_ENDS = frozenset([")", "]", "}"])


def escape_for_script_element(text: str) -> str | None:
    """Return a classic script's text as it may stand in a script element, or ``None`` if that is not exact.

    A byte order mark goes: it is no part of the script. Refused are a text that does not lex, one with NUL
    (the HTML parser makes it U+FFFD), and one that could see the difference: a tagged template or, where a
    regular expression would be respelled, ``.source`` or ``.toString``.
    """
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        return None
    if not _DANGEROUS.search(text):
        return text
    tokens = tokenize(text)
    if tokens is None or _sees_spelling(text, tokens):
        return None
    return _checked(_escaped(text, tokens), tokens)


def _escaped(text: str, tokens: list[Token]) -> str:
    starts = [token.start for token in tokens]

    def respelled(found: re.Match[str]) -> str:
        token = tokens[bisect_right(starts, found.start()) - 1]
        if found.start() == token.start and token.kind is Kind.COMMENT:
            return "//"  # a comment like HTML's is a line comment
        return _SPELLINGS[token.kind][len(found[0]) > len("</")]

    return _DANGEROUS.sub(respelled, text)


def _checked(escaped: str, tokens: list[Token]) -> str | None:
    again = tokenize(escaped)
    if again is None or _DANGEROUS.search(escaped):
        return None
    return escaped if [token.kind for token in again] == [token.kind for token in tokens] else None


def _sees_spelling(text: str, tokens: list[Token]) -> bool:
    touched = {token.kind for token in tokens if _DANGEROUS.search(token.text)}
    if Kind.TEMPLATE in touched and _has_tagged_template(tokens):
        return True
    return Kind.REGEX in touched and (".source" in text or ".toString" in text)


def _has_tagged_template(tokens: list[Token]) -> bool:
    code = [token for token in tokens if token.kind is not Kind.COMMENT]
    return any(
        template.kind is Kind.TEMPLATE and template.text.startswith("`") and _ends_value(before)
        for before, template in pairwise(code)
    )


def _ends_value(token: Token) -> bool:
    if token.kind is Kind.WORD:
        return token.text not in OPERATOR_WORDS
    return token.text in _VALUE_ENDS or (token.kind is Kind.TEMPLATE and not token.text.endswith("${"))


# WHATWG MIME Sniffing 4.6: JavaScript MIME type essences.
_ESSENCES = frozenset(
    [f"application/{name}" for name in ("ecmascript", "javascript", "x-ecmascript", "x-javascript")]
    + [f"text/{name}" for name in ("ecmascript", "javascript", "jscript", "livescript")]
    + [f"text/{name}" for name in ("x-ecmascript", "x-javascript")]
    + [f"text/javascript1.{version}" for version in range(6)]
)
_ASCII_SPACE = "\t\n\f\r "
_TO_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def is_javascript_type(type_attr: str | None, language_attr: str | None) -> bool:
    """Whether a script element with these attributes (``None``: absent) is a classic script.

    ``module`` is not, nor ``importmap``, ``speculationrules``, JSON or a template's type. ``type`` must match
    as a whole: a parameter (``text/javascript; charset=utf-8``) makes it a data block, as in browsers.
    """
    if type_attr is None:
        if not language_attr:
            return True
        return _lower(f"text/{language_attr}") in _ESSENCES
    return type_attr == "" or _lower(type_attr.strip(_ASCII_SPACE)) in _ESSENCES


def is_module_type(type_attr: str | None) -> bool:
    """Whether ``type`` says that the script element is a module script."""
    return type_attr is not None and _lower(type_attr.strip(_ASCII_SPACE)) == "module"


def _lower(text: str) -> str:
    return text.translate(_TO_LOWER)
