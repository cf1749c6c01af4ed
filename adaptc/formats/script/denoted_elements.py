"""Which elements an expression of a script may denote, as selectors of the page.

``$(".thumb", list).first()[0]`` is found by ``.thumb``; an element that the script creates is on no page yet. The
values of variables and properties are those that the same script gives them, ``this`` and the parameters of a callback
what it is called with. What comes from elsewhere is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from adaptc.formats.script.lexer import Kind, unescape
from adaptc.formats.script.script import is_string
from adaptc.formats.script.structure import Function, Span, Structure

__all__ = ["NONE", "SELF", "UNKNOWN", "Elements", "Finder"]


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements of a page: those that one of ``selectors`` finds; with others where they are not all known."""

    selectors: frozenset[str] = frozenset()
    is_known: bool = True

    def __or__(self, other: Elements) -> Elements:
        return Elements(self.selectors | other.selectors, self.is_known and other.is_known)

    def below(self, part: str) -> Elements:
        """Return what ``part`` finds in these elements (``> *``, ``img``)."""
        if not self.is_known or self == _DOCUMENT:
            return Elements(frozenset({part})) if part[0] not in ">+~*" else UNKNOWN
        return Elements(frozenset(f"{selector} {part}" for selector in self.selectors if "," not in selector + part))


NONE = Elements()
UNKNOWN = Elements(is_known=False)
SELF = Elements(frozenset({":scope"}))
"""``this`` outside of functions: the element of an event handler."""
_DOCUMENT = Elements(frozenset({":root"}))

# Expressions to look at: one may lead to others at every step
_STEPS, _DEPTH = 500, 12
_CREATES = frozenset({"createElement", "createElementNS", "cloneNode", "clone", "createContextualFragment"})
_QUERIES = frozenset({"querySelector", "querySelectorAll", "find", "children", "getElementsByTagName"})
_ANYWHERE = frozenset({"closest", "parents", "siblings", "next", "prev", "nextAll", "prevAll", "parent"})
_OTHERS = _ANYWHERE | {"data", "end", "nextUntil", "prevUntil", "parentsUntil", "offsetParent", "map", "prop", "html"}
_INSERTS = frozenset({"appendChild", "insertBefore", "replaceChild"})
_NAMED: Mapping[str, Callable[[str], str]] = {
    "getElementById": '[id="{}"]'.format,
    "getElementsByName": '[name="{}"]'.format,
    "getElementsByClassName": lambda names: "".join(f".{name}" for name in names.split()) or "*",
}
_RELATIVES = {
    **dict.fromkeys(
        ("firstChild", "firstElementChild", "lastChild", "lastElementChild", "children", "childNodes"), "> *"
    ),
    **dict.fromkeys(("nextSibling", "nextElementSibling"), "+ *"),
}
_UPWARD = frozenset({"parentNode", "parentElement", "previousSibling", "previousElementSibling", "offsetParent"})
_EVENT_TARGETS = frozenset({"target", "currentTarget", "srcElement", "delegateTarget"})
_ITERATES = frozenset({"forEach", "some", "every", "filter", "find", "map"})
_LISTENS = frozenset({
    "addEventListener", "blur", "change", "click", "dblclick", "error", "focus", "hover", "keydown", "keyup", "load",
    "mousedown", "mouseenter", "mouseleave", "mouseout", "mouseover", "mouseup", "on", "one", "bind", "live",
    "touchstart",
})  # fmt: skip
_JQUERY = re.compile(r"\A(?:jQuery|Zepto|cash|.*\$.*)\Z")
_SELECTOR = re.compile(r"[#.\[]|(?:img|picture|source|video|body|a|div|ul|li|figure)\b")
_LAST_TAG = re.compile(r"[\s>+~]([a-zA-Z][\w-]*)(?:[.:\[#][^\s>+~]*)?\Z")
_EXTENSION = re.compile(
    r":(?:first|last|eq|even|odd|visible|hidden|gt|lt|not|has|parent|animated|button|image|checked)\b.*"
)
_CHOICES = frozenset({"||", "&&", "??", "?", ":"})


@dataclass(slots=True)
class Finder:
    """Finds out what expressions of one script denote."""

    script: Structure
    steps: int = 0
    depth: int = 0
    pending: set[tuple[str, object]] = field(default_factory=set)

    def of(self, span: Span) -> Elements:
        """Return the elements that the expression of these tokens may denote."""
        if self.steps >= _STEPS or self.depth >= _DEPTH or span[0] >= span[1]:
            return UNKNOWN
        self.steps += 1
        self.depth += 1
        result = self._expression(span)
        self.depth -= 1
        return result

    def _expression(self, span: Span) -> Elements:
        script = self.script
        start, end = span
        while script.text(start) == "(" and script.pairs.get(start) == end - 1:
            start, end = start + 1, end - 1
        start, end = script.split((start, end), frozenset({","}))[-1]
        start, end = script.split((start, end), frozenset({"="}))[-1]
        parts = script.split((start, end), _CHOICES)
        if len(parts) > 1:
            return _union(self.of(part) for part in parts)
        return self._chain(start, end)

    # ---- chains

    def _chain(self, start: int, end: int) -> Elements:
        value, place = self._primary(start)
        while place < end:
            text = self.script.text(place)
            if text in (".", "?."):
                value, place = self._member(value, place + 1)
            elif text == "[":
                value, place = self._index(value, place), self.script.pairs[place] + 1
            elif text == "(":
                is_certain = self.script.text(place - 2)[1:-1] == "default"  # $["default"]("...")
                value, place = self._lookup(place, is_certain=is_certain), self.script.pairs[place] + 1
            else:
                return UNKNOWN
        return value

    def _primary(self, start: int) -> tuple[Elements, int]:
        script = self.script
        text = script.text(start)
        if text == "new":
            end = start + 2
            while script.text(end) == ".":
                end += 2
            return NONE, script.pairs[end] + 1 if script.text(end) == "(" else end
        if text == "(":
            return self.of((start + 1, script.pairs[start])), script.pairs[start] + 1
        if script.is_word(start) and script.text(start + 1) == "(":
            return self._lookup(start + 1, is_certain=_JQUERY.match(text) is not None), script.pairs[start + 1] + 1
        return self._single(text, start), start + 1

    def _single(self, text: str, place: int) -> Elements:
        if not self.script.is_word(place):
            return NONE if self.script.kinds[place] in (Kind.STRING, Kind.NUMBER) else UNKNOWN
        if text == "this":
            return self.this(place)
        if text in ("document", "window", "self", "globalThis"):
            return _DOCUMENT
        return NONE if text in ("null", "undefined", "false", "true") else self._variable(text, place)

    def _member(self, value: Elements, place: int) -> tuple[Elements, int]:
        name = self.script.text(place)
        if self.script.text(place + 1) == "(":
            return self._method(value, name, place + 1), self.script.pairs[place + 1] + 1
        return self._property(value, name, place), place + 1

    def _index(self, value: Elements, opening: int) -> Elements:
        if self.script.kinds[opening + 1] is Kind.STRING and self.script.pairs[opening] == opening + 2:
            return self._property(value, unescape(self.script.text(opening + 1)[1:-1]), opening)
        return value

    def _lookup(self, opening: int, *, is_certain: bool) -> Elements:
        """Return what ``$(...)`` finds; a function of another name counts if it gets what can only be a selector."""
        arguments = self.script.arguments(opening)
        if not arguments:
            return UNKNOWN
        text = self._literal(arguments[0])
        if text is None:
            return self.of(arguments[0]) if is_certain else UNKNOWN
        if text.lstrip().startswith("<"):
            return NONE
        return _selected(text) if is_certain or _SELECTOR.match(text) else UNKNOWN

    def _literal(self, span: Span) -> str | None:
        """Return a string, or of a composed one what follows the unknown part, if that tells the element's tag."""
        text = self.script.tokens[span[0]]
        if span[1] - span[0] == 1 and is_string(text, self.script.kinds[span[0]]):
            return unescape(text[1:-1])
        last, kind = self.script.tokens[span[1] - 1], self.script.kinds[span[1] - 1]
        tag = _LAST_TAG.search(unescape(last[1:-1])) if kind in (Kind.STRING, Kind.TEMPLATE) else None
        return tag[1] if tag else None

    # ---- methods and properties

    def _method(self, value: Elements, name: str, opening: int) -> Elements:
        arguments = self.script.arguments(opening)
        text = self._literal(arguments[0]) if arguments else None
        if name in _NAMED:
            return UNKNOWN if text is None else value.below(_NAMED[name](text))
        if name in _QUERIES:
            return self._query(value, name, text)
        if name in _CREATES or (name in _INSERTS and arguments):
            return NONE if name in _CREATES else self.of(arguments[0])
        if name in _OTHERS:
            return _selected(text) if text is not None and name in _ANYWHERE else UNKNOWN
        if name == "add" or not value.is_known or value == _DOCUMENT:  # e.default("..."), window.jQuery("...")
            is_certain = name in ("add", "default") or _JQUERY.match(name) is not None
            return self._lookup(opening, is_certain=is_certain) | (value if name == "add" else NONE)
        return value

    def _query(self, value: Elements, name: str, text: str | None) -> Elements:
        if text is not None:
            return _union(value.below(part.strip()) for part in _plain(text).split(",")) if value != NONE else NONE
        return value.below("> *" if name == "children" else "*")

    def _property(self, value: Elements, name: str, place: int) -> Elements:
        if name in _EVENT_TARGETS:
            return self._event_target(place, is_current=name == "currentTarget")
        if value == _DOCUMENT:
            return self._of_document(name)
        if value.selectors == {"img"}:  # document.images.logo
            return Elements(frozenset({f'img[name="{name}"]', f'img[id="{name}"]'}))
        if name in _RELATIVES:
            return value.below(_RELATIVES[name])
        if name in ("contentWindow", "contentDocument", "dataset", "style"):
            return NONE
        return self._assigned(name) if name not in _UPWARD else UNKNOWN if value != NONE else NONE

    def _of_document(self, name: str) -> Elements:
        if name == "images":
            return Elements(frozenset({"img"}))
        if name in ("body", "documentElement", "head", "document"):
            return _DOCUMENT
        return Elements(frozenset({f'[name="{name}"]', f'[id="{name}"]'}))

    def _assigned(self, name: str) -> Elements:
        """Return what a property holds: every value that the script gives to one of this name."""
        script, key = self.script, ("property", name)
        if key in self.pending:
            return NONE
        self.pending.add(key)
        places = [place for place in script.places(name) if self._sets(place)]
        values = [self.of((place + 2, script.expression_end(place + 2))) for place in places]
        self.pending.discard(key)
        return _union(values) if values else UNKNOWN

    def _sets(self, place: int) -> bool:
        before, after = self.script.text(place - 1), self.script.text(place + 1)
        return (before == "." and after == "=") or (before in ("{", ",") and after == ":")

    # ---- variables

    def _variable(self, name: str, place: int) -> Elements:
        key = (name, self.script.enclosing(place))
        if key in self.pending:
            return NONE  # it adds nothing to what it is computed from
        self.pending.add(key)
        value = self._value(name, place)
        self.pending.discard(key)
        return value

    def _value(self, name: str, place: int) -> Elements:
        function = self.script.enclosing(place)
        while function is not None:
            if name in function.parameters:
                value = self._parameter(function, function.parameters.index(name))
                return value | (self._values(function.body, name) or NONE)
            if self.script.declares(function, name):
                return self._values(function.body, name) or UNKNOWN
            function = self.script.enclosing(function.start)
        named = Elements(frozenset({f'[id="{name}"]', f'img[name="{name}"]'}), is_known=False)
        return self._values((0, len(self.script.tokens)), name) or named

    def _values(self, span: Span, name: str) -> Elements | None:
        """Return what a variable holds, ``None`` if it gets no value."""
        script = self.script
        places = list(script.assignments(span, name))
        spans = ((place + 2, script.expression_end(place + 2)) for place in places if script.text(place + 1) != "in")
        return _union(map(self.of, spans)) if places else None

    # ---- what functions are called with

    def this(self, place: int) -> Elements:
        """Return what ``this`` is: the element of a callback or handler."""
        function = self.script.enclosing(place)
        while function is not None and function.is_arrow:
            function = self.script.enclosing(function.start)
        return SELF if function is None else self._handled(function)

    def _event_target(self, place: int, *, is_current: bool) -> Elements:
        function = self.script.enclosing(place)
        value = UNKNOWN if function is None else self._handled(function)
        return value if is_current or not value.is_known else value | value.below("*")

    def _handled(self, function: Function) -> Elements:
        """Return the elements whose handler or callback a function is."""
        script = self.script
        if script.text(function.start - 1) == "=" and script.text(function.start - 2).startswith("on"):
            return self._chain(script.chain_start(function.start - 3), function.start - 3)
        opening = script.call_around(function.start)
        if opening is None or script.text(opening - 2) not in (".", "?."):
            return UNKNOWN
        name, receiver = script.text(opening - 1), (script.chain_start(opening - 2), opening - 2)
        if name == "each" and script.text(receiver[0]) in ("$", "jQuery") and receiver[1] - receiver[0] == 1:
            return self.of(script.arguments(opening)[0])
        if name not in _LISTENS and name not in ("each", "map", "filter"):
            return UNKNOWN
        delegated = [self._literal(span) for span in script.arguments(opening)[1:] if span[0] < function.start]
        if name in ("on", "one") and delegated and delegated[0]:
            return self._query(self.of(receiver), name, delegated[0])
        return self.of(receiver)

    def _parameter(self, function: Function, index: int) -> Elements:
        script = self.script
        opening = script.call_around(function.start)
        if opening is None:
            return self._invoked(function, index)
        name, receiver = script.text(opening - 1), (script.chain_start(opening - 2), opening - 2)
        first = script.arguments(opening)[0]
        if name == "each" and index == 1:
            return self._handled(function)
        if name in _ITERATES and index == 0:
            return self.of(receiver)
        is_list = name == "call" and script.text(opening - 3) in _ITERATES
        return self.of(first) if index == 0 and (is_list or name == "from") else UNKNOWN

    def _invoked(self, function: Function, index: int) -> Elements:
        """Return what calls give a function as an argument: one that is called in place, or a local one."""
        script = self.script
        after = function.body[1] + (script.text(function.body[1]) == ")")
        if not function.is_method and not function.name and script.text(after) == "(":
            arguments = script.arguments(after)
            return self.of(arguments[index]) if index < len(arguments) else UNKNOWN
        outer = script.enclosing(function.start)
        if not function.name or function.is_method or outer is None:
            return UNKNOWN
        uses = [place for place in script.places(function.name) if outer.body[0] <= place < outer.body[1]]
        calls = [place + 1 for place in uses if script.text(place + 1) == "(" and place + 1 not in _head(function)]
        if len(calls) != len(uses) - 1 or not calls:
            return UNKNOWN  # it is given away
        given = [script.arguments(call) for call in calls]
        return _union(self.of(each[index]) if index < len(each) else NONE for each in given)


def _head(function: Function) -> range:
    return range(function.start, function.body[0])


def _union(values: Iterable[Elements]) -> Elements:
    union = NONE
    for value in values:
        union |= value
    return union


def _selected(text: str) -> Elements:
    return Elements(frozenset(part.strip() for part in _plain(text).split(",")))


def _plain(text: str) -> str:
    """Return a selector without what only jQuery knows: it then finds more."""
    return ",".join(_EXTENSION.sub("", part).strip() or "*" for part in text.split(","))
