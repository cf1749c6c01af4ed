"""Script elements: which ones hold JavaScript, and the text that they may contain.

WHATWG HTML 4.12.1.3, "Restrictions for contents of script elements": ``</script`` ends the element even in a
string, and after ``<!--`` the parser may ignore the next end tag. Without ``<!--`` a ``<script`` is harmless, so
only these two are escaped.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise

from adaptc.formats.script.lexer import OPERATOR_WORDS, Kind, Token, tokenize

_DANGEROUS = re.compile(r"<!--|</(?=script)", re.IGNORECASE)

# Replacements of ``</`` and ``<!--`` by kind of token. ``\/`` and ``\!`` are ``/`` and ``!`` in a string and
# in an untagged template; a regular expression with the u flag allows no ``\!``, but ``\x2d`` anywhere.
_REPLACEMENTS = {
    Kind.COMMENT: ("<\\/", "<!- -"),
    Kind.STRING: ("<\\/", "<\\!--"),
    Kind.TEMPLATE: ("<\\/", "<\\!--"),
    Kind.REGEX: ("<\\/", "<!-\\x2d"),
    Kind.PUNCTUATOR: ("< /", "< !--"),
}
_VALUE_ENDS = frozenset([")", "]", "}"])


def escape_for_script_element(text: str) -> str | None:
    """Return a classic script's text for a script element, or ``None`` if no text is certain to be equivalent.

    A byte order mark is dropped: it is no part of the script. The result is ``None`` for a text that does not lex,
    one with NUL (the HTML parser makes it U+FFFD), and one that might read its own text: a tagged template or, if a
    regular expression would change, ``.source`` or ``.toString``.
    """
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        return None
    if not _DANGEROUS.search(text):
        return text
    tokens = tokenize(text)
    if tokens is None or _reads_own_text(text, tokens):
        return None
    return _verify(_escape(text, tokens), tokens)


def _escape(text: str, tokens: list[Token]) -> str:
    starts = [token.start for token in tokens]

    def replacement(match: re.Match[str]) -> str:
        token = tokens[bisect_right(starts, match.start()) - 1]
        if match.start() == token.start and token.kind is Kind.COMMENT:
            return "//"  # an HTML-like comment is a line comment
        return _REPLACEMENTS[token.kind][len(match[0]) > len("</")]

    return _DANGEROUS.sub(replacement, text)


def _verify(escaped: str, tokens: list[Token]) -> str | None:
    result = tokenize(escaped)
    if result is None or _DANGEROUS.search(escaped):
        return None
    return escaped if [token.kind for token in result] == [token.kind for token in tokens] else None


def _reads_own_text(text: str, tokens: list[Token]) -> bool:
    escaped = {token.kind for token in tokens if _DANGEROUS.search(token.text)}
    if Kind.TEMPLATE in escaped and _has_tagged_template(tokens):
        return True
    return Kind.REGEX in escaped and (".source" in text or ".toString" in text)


def _has_tagged_template(tokens: list[Token]) -> bool:
    code = [token for token in tokens if token.kind is not Kind.COMMENT]
    return any(
        template.kind is Kind.TEMPLATE and template.text.startswith("`") and _ends_value(previous)
        for previous, template in pairwise(code)
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

    See WHATWG HTML 4.12.1.1, "prepare the script element". A module is none, nor are ``importmap``,
    ``speculationrules``, JSON and templates. ``type`` must match as a whole: a parameter
    (``text/javascript; charset=utf-8``) makes it a data block, as in browsers.
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
