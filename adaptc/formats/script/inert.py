"""Scripts that can bring no name into their page: all that they call and set is known to be harmless.

They show and hide, move the focus, scroll, read addresses and fields. A property, a function or an access by a computed
name that is not known here may do anything. Whatever a script writes out counts as brought in anyhow (``names``).
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain, pairwise

from adaptc.core.values import dataclass
from adaptc.formats.script.lexer import Kind
from adaptc.formats.script.script import Script

__all__ = ["REFLECTED", "Inertness", "are_inert", "find_inertness"]

REFLECTED = frozenset({"height", "href", "style", "target", "type", "value", "width"})
"""Attributes that the properties of inert scripts set (HTML, 2.6.1): ``[style*="red"]`` may come to match."""


@dataclass(frozen=True, slots=True)
class Inertness:
    """Whether a script is inert if the functions that it ``calls`` are; ``functions`` are those that it defines."""

    is_given: bool = False
    calls: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()


def are_inert(scripts: Collection[Inertness]) -> bool:
    """Whether scripts can together bring no name into their page but those that they write out."""
    functions = frozenset[str]().union(*(script.functions for script in scripts))
    return all(script.is_given and script.calls <= functions for script in scripts)


# Of documents, elements and events; of strings, arrays, numbers and dates
_PROPERTY_NAMES = """
    activeElement addEventListener altKey back blur body bottom charCode checked children clientHeight
    clientWidth clientX clientY code cookie ctrlKey currentTarget defaultValue documentElement elements
    firstChild firstElementChild focus form forms forward getAttribute getBoundingClientRect getElementById
    getElementsByClassName getElementsByName getElementsByTagName go hasAttribute hash height history host
    hostname href innerHeight innerText innerWidth key keyCode lastChild lastElementChild left location
    metaKey nextElementSibling nextSibling nodeType offsetHeight offsetLeft offsetParent offsetTop
    offsetWidth options origin ownerDocument pageX pageXOffset pageY pageYOffset parentElement parentNode
    pathname port preventDefault previousElementSibling previousSibling print protocol querySelector
    querySelectorAll readyState referrer reload removeEventListener reset right screenX screenY scrollBy
    scrollHeight scrollIntoView scrollLeft scrollTo scrollTop scrollWidth scrollX scrollY search select
    selectedIndex shiftKey stopPropagation style submit tagName target textContent timeStamp top type value
    which width abs ceil charAt charCodeAt concat error every exec filter find floor forEach getDate getDay
    getFullYear getHours getMinutes getMonth getSeconds getTime includes indexOf join lastIndexOf length log
    map match max min now pop push random replace reverse round shift slice some sort split startsWith
    substr substring test toFixed toLowerCase toString toUpperCase trim unshift warn
"""
_FUNCTION_NAMES = """
    Array Boolean Date Number RegExp String alert cancelAnimationFrame clearInterval clearTimeout confirm
    decodeURIComponent encodeURIComponent isNaN parseFloat parseInt requestAnimationFrame
"""
_PROPERTIES, _FUNCTIONS = frozenset(_PROPERTY_NAMES.split()), frozenset(_FUNCTION_NAMES.split())
# Styles by which a script names keyframes, fonts and counters, which it may compose
_NAMING = frozenset({
    "animation", "animationName", "cssText", "font", "fontFamily", "listStyle", "listStyleType", "setProperty",
    "webkitAnimation",
})  # fmt: skip
_TIMERS = frozenset({"setTimeout", "setInterval"})
_OTHERS = frozenset({"eval", "import", "export", "with", "class", "Reflect", "Proxy"})
_BEFORE_PARENTHESES = frozenset(
    {"if", "for", "while", "switch", "catch", "function", "return", "typeof", "in", "of", "case"}
)
_ASSIGNING = frozenset({"=", "+=", "-=", "*=", "/=", "|=", "&=", "^=", "??=", "||=", "&&=", "++", "--", "(", "`"})
_MEMBER = (".", "?.")
_ENDS = (";", "}", "")


def find_inertness(script: Script) -> Inertness:
    """Return what is known of a script; nothing if it does not lex."""
    if not script.lexes or any("javascript:" in text.lower() for text in script.texts_of(Kind.STRING)):
        return Inertness()
    places = [place for place, kind in enumerate(script.kinds) if kind in (Kind.WORD, Kind.TEMPLATE)]
    brackets = script.places(("[",))
    if not all(_is_harmless(script, place) for place in chain(places, brackets)):
        return Inertness()
    calls = frozenset(script.tokens[place] for place in places if _is_call(script, place))
    functions = frozenset(after for before, after in pairwise(script.tokens) if before == "function")
    return Inertness(True, calls - functions - _FUNCTIONS - _BEFORE_PARENTHESES - _TIMERS, functions)


def _is_call(script: Script, place: int) -> bool:
    before = script.token(place - 1)
    return before not in _MEMBER and (script.token(place + 1) == "(" or before == "new")


def _is_harmless(script: Script, place: int) -> bool:
    """Whether a word, a template or a bracket is harmless if the function is that it calls."""
    before, token, after = script.token(place - 1), script.token(place), script.token(place + 1)
    if token == "[":
        is_access = before in (")", "]") or script.kinds_of.get(before) is Kind.WORD
        return not is_access or script.token(script.pairs.get(place, place) + 1) not in _ASSIGNING
    if script.kinds_of[token] is not Kind.WORD:
        return False
    if before in _MEMBER:
        return _is_harmless_property(script, place)
    if token in _TIMERS:
        return after == "(" and script.token(place + 2) == "function"
    return token not in _OTHERS


def _is_harmless_property(script: Script, place: int) -> bool:
    name, after = script.token(place), script.token(place + 1)
    if name == "innerHTML":  # a text
        value, end = script.token(place + 2), script.token(place + 3)
        return after == "=" and script.kinds_of.get(value) is Kind.STRING and "<" not in value and end in _ENDS
    is_style = script.token(place - 2) == "style" and name not in _NAMING
    return is_style or name in _PROPERTIES or (name.startswith("on") and name.islower())
