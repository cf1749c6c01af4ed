"""What the small part of ECMAScript works on that ``evaluate`` runs: values, scopes, and the browser's objects.

For a first visit: nothing is stored, and the system prefers light colours. What depends on anything else is unknown.
"""

from __future__ import annotations

import html
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from adaptc.core.values import dataclass, field

# Stands in what is written for the year of today, which no build may know
YEAR = "\ue000"
# Of a script: what it does, and how long a text, a list, or all that it writes may be
_MOST_STEPS, _MOST_CHARACTERS, _MOST_ITEMS = 10_000, 200_000, 10_000
_PER_STEP = 100  # characters or items that a method goes through
_MOST_EXACT = 2**53  # as of numbers with 64 bits


class Effect(NamedTuple):
    """What a script does to its page: "write", "content" of the elements that the selector ``target`` finds, "insert".

    Markup is inserted at the position ``name`` of ``insertAdjacentHTML``. "attribute" is one of ``html`` or ``body``; a
    value of ``None`` removes it. "class" adds the class ``value``, and "no-class" removes it.
    """

    kind: str
    target: str = ""
    name: str = ""
    value: str | None = None


class Unknown(Exception):
    """What depends on anything else, or is not understood."""


class Return(Exception):
    """``return`` with its ``value``."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value


class Jump(Exception):
    """``break``, which ``ends`` a loop, or ``continue``."""

    def __init__(self, *, ends: bool) -> None:
        super().__init__()
        self.ends = ends


class Element(NamedTuple):
    """``html``, ``body``, or what a selector finds; ``part`` is "classList", "dataset" or "style".

    What jQuery finds has the part "$".
    """

    name: str
    part: str = ""

    @property
    def is_root(self) -> bool:
        """Whether it is ``html`` or ``body``, whose attributes choose a theme."""
        return self.name in ("html", "body")


class Named(NamedTuple):
    """An object of the browser by its name."""

    name: str


class Query(NamedTuple):
    """What ``matchMedia`` returns."""

    text: str


class Method(NamedTuple):
    """A method of a value; ``place`` is the offset at which a script names it."""

    owner: Any
    name: str
    place: int


class Function(NamedTuple):
    """A function; ``words`` are those of its body, which may change variables of these names.

    An arrow function has the ``this`` of what is around it.
    """

    parameters: tuple[str, ...]
    body: Node
    scope: Scope
    words: frozenset[str] = frozenset()
    is_arrow: bool = False


UNKNOWN = object()


@dataclass(slots=True)
class Scope:
    """Variables by name, some of which are ``UNKNOWN``; ``is_block`` says that those of ``var`` are further out."""

    values: dict[str, Any] = field(default_factory=dict)
    outer: Scope | None = None
    is_block: bool = False

    @property
    def of_function(self) -> Scope:
        """The scope of the function, or of all scripts."""
        scope = self
        while scope.is_block and scope.outer is not None:
            scope = scope.outer
        return scope

    def holder(self, name: str) -> Scope | None:
        """Return the scope that declares a variable."""
        scope: Scope | None = self
        while scope is not None and name not in scope.values:
            scope = scope.outer
        return scope

    def value(self, name: str) -> Any:
        """Return the value of a variable, or of a global of the browser."""
        holder = self.holder(name)
        if holder is not None:
            if holder.values[name] is UNKNOWN:
                raise Unknown
            return holder.values[name]
        if name not in _GLOBALS:
            raise Unknown
        return _GLOBALS[name]


Node = Callable[[Scope], Any]
"""A statement or an expression."""


_STORES = ("localStorage", "sessionStorage")
_OBJECTS = ("document", "window", "matchMedia", "String", "decodeURIComponent", "unescape", "customElements", *_STORES)
_GLOBALS = {
    "true": True, "false": False, "null": None, "undefined": None,
    **dict.fromkeys(("self", "globalThis", "top", "parent"), Named("window")),
    **{name: Named(name) for name in _OBJECTS}, **dict.fromkeys(("$", "jQuery"), Named("$")),
}  # fmt: skip


def raised(error: Exception) -> object:
    """Raise an error, in an expression."""
    raise error


def constant(value: object) -> Node:
    """Return the expression of a value."""
    return lambda _: value


def item(node: Node, key: Node, place: int = -1) -> Node:
    """Return the expression of a property; ``place`` is the offset at which a script names it."""
    return lambda scope: property_of(node(scope), key(scope), place)


def goes_on(body: Node, scope: Scope) -> bool:
    """Run the body of a loop; return whether the loop goes on."""
    try:
        body(scope)
    except Jump as loop:
        return not loop.ends
    return True


# ---- operators


def truth(value: object) -> bool:
    """Return a value as a condition. Raises ``Unknown`` for what may be no method."""
    if isinstance(value, Method):
        raise Unknown
    return isinstance(value, (tuple, list, dict)) or bool(value)


def number(value: object) -> Any:
    """Return a number. Raises ``Unknown``, also for one that is not exact."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _MOST_EXACT:
        return value
    raise Unknown


def string(value: object) -> str:
    """Return a value as text. Raises ``Unknown``."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(number(value))
    if "e" in text:  # JavaScript writes another exponent
        raise Unknown
    return text.removesuffix(".0") if float(text) else "0"


def add(one: object, other: object) -> object:
    """Return a sum or a longer text. Raises ``Unknown``."""
    if isinstance(one, str) or isinstance(other, str):
        return _bounded(string(one) + string(other))
    return number(number(one) + number(other))


def together(texts: Sequence[str], by: str = "") -> str:
    """Return one text of several. Raises ``Unknown`` for one that is too long."""
    if sum(map(len, texts)) + len(by) * len(texts) > _MOST_CHARACTERS:
        raise Unknown
    return by.join(texts)


def _bounded(value: Any) -> Any:
    """Return a value. Raises ``Unknown`` for a text or list that is too long."""
    if len(value) > (_MOST_CHARACTERS if isinstance(value, str) else _MOST_ITEMS):
        raise Unknown
    return value


_EQUAL = {"==": True, "===": True, "!=": False, "!==": False}
_NUMERIC: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "-": operator.sub, "*": operator.mul,
}  # fmt: skip
# Every operator with its precedence
BINARY = {
    "??": 1, "||": 1, "&&": 2, **dict.fromkeys(_EQUAL, 6), **dict.fromkeys(("<", ">", "<=", ">=", "in"), 7),
    "+": 9, "-": 9, "*": 10,
}  # fmt: skip


def joined(sign: str, left: Node, right: Node) -> Node:
    """Return what an operator makes of two expressions."""
    match sign:
        case "+":
            return lambda scope: add(left(scope), right(scope))
        case "&&":
            return lambda scope: right(scope) if truth(value := left(scope)) else value
        case "||":
            return lambda scope: value if truth(value := left(scope)) else right(scope)
        case "??":
            return lambda scope: value if truth(value := left(scope)) or value is not None else right(scope)
    return lambda scope: _compared(sign, left(scope), right(scope))


def _compared(sign: str, left: Any, right: Any) -> object:
    if sign in _NUMERIC:
        result = _NUMERIC[sign](number(left), number(right))
        return result if isinstance(result, bool) else number(result)
    if sign == "in":
        if isinstance(right, Named) and right.name in _STORES:
            return False
        raise Unknown
    is_comparable = (
        (type(left) is type(right) and isinstance(left, (str, int, float, Named))) or left is None or right is None
    )
    if not is_comparable or YEAR in (left, right) or isinstance(left, Method) or isinstance(right, Method):
        raise Unknown
    return (left == right) is _EQUAL[sign]


# ---- objects


_GONE = ((Named("document"), "all"), (Named("document"), "layers"))  # with the browsers that had them


def property_of(owner: Any, name: Any, place: int) -> Any:
    """Return a property; of storage there is none, and a query for light colours is the one that matches."""
    if isinstance(owner, (str, list, dict)):
        return _property_of_value(owner, name, place)
    match owner, name:
        case Named("window"), str():
            return Scope().value(name)
        case Named("document"), "documentElement" | "body":
            return Element("body" if name == "body" else "html")
        case Query(text), "matches" if "prefers-color-scheme" in text:
            return "light" in text
        case Element(target, ""), "classList" | "dataset" | "style" | "shadowRoot":
            return owner if name == "shadowRoot" else Element(target, name)
    is_stored = isinstance(owner, Named) and owner.name in _STORES and (owner.name, name) not in _METHODS
    return None if is_stored or (owner, name) in _GONE else Method(owner, string(name), place)


def _property_of_value(owner: Any, name: Any, place: int) -> object:
    if isinstance(owner, dict):
        return owner.get(string(name))
    if isinstance(owner, list) and isinstance(name, str) and name.isdigit():
        name = int(name)
    if isinstance(name, int) and not isinstance(name, bool):
        return owner[name] if 0 <= name < len(owner) else None
    return len(owner) if name == "length" else Method(owner, string(name), place)


_STRINGS: dict[str, Callable[..., Any]] = {
    "toUpperCase": str.upper, "toLowerCase": str.lower, "trim": str.strip, "charAt": lambda text, at: text[at : at + 1],
    "concat": lambda text, *more: together([text, *map(string, more)]),
    "split": lambda text, by: list(text) if by == "" else text.split(by),
    "replace": lambda text, old, new: _replaced(text, string(old), string(new)), "toString": str,
}  # fmt: skip
_LISTS: dict[str, Callable[..., Any]] = {
    "join": lambda items, by=",": together(list(map(_item_text, items)), string(by)),
    "concat": lambda items, more: items + more, "reverse": lambda items: items.reverse() or items,
    "push": lambda items, *more: items.extend(more) or len(items),
    "slice": lambda items, *ends: items[slice(*ends)] if len(ends) == 2 else items[ends[0] :],
}  # fmt: skip


def _replaced(text: str, old: str, new: str) -> str:
    if "$" in new:  # a pattern
        raise Unknown
    return text.replace(old, new, 1)


def _item_text(item: object) -> str:
    return "" if item is None else string(item)


class Realm:
    """What scripts of a page share, and their ``effects``; ``written`` are the offsets at which one writes.

    ``entered`` counts the calls of its functions, ``steps`` what they do, ``characters`` what is written.
    """

    def __init__(self) -> None:
        self.scope = Scope()
        self.contents = dict[Element, str]()
        self.begin()

    def begin(self) -> None:
        """Begin another script."""
        self.effects: list[Effect] = []
        self.written = set[int]()
        self.entered = self.steps = self.characters = 0
        self.is_late = False

    def step(self) -> None:
        """Count a step. Raises ``Unknown`` where there are too many."""
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise Unknown

    def call(self, function: object, arguments: list[Any]) -> object:
        """Return what a function or method returns. Raises ``Unknown``."""
        self.step()
        if isinstance(function, Function):
            return self._run(function, arguments)
        try:
            return (
                self._call_named(function.name, *arguments)
                if isinstance(function, Named)
                else self._call(function, arguments)
            )
        except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:  # arguments of other types
            raise Unknown from error

    def _call_named(self, name: str, given: object) -> object:
        if name == "matchMedia":
            return Query(string(given))
        if name == "$":
            if not isinstance(given, Function):
                return Element(_select(self, -1, given).name, "$")
            self.run_late(given)
            return None
        if name in ("decodeURIComponent", "unescape"):
            return unquote(string(given))
        raise Unknown

    def _call(self, function: object, arguments: list[Any]) -> object:
        match function:
            case Method(Named(owner), name) if (owner, name) in _METHODS:
                return _METHODS[owner, name](self, function.place, *arguments)
            case Method(Element() as element, name):
                return self._call_element(element, name, arguments)
            case Method(Query(), "addEventListener" | "addListener"):
                return None
            case Method(list() as items, "forEach" | "map" as name):
                done = [self.call(arguments[0], [each, at]) for at, each in enumerate(list(items))]
                return done if name == "map" else None
            case Method(str() | list() as owner, name):
                result = (_STRINGS if isinstance(owner, str) else _LISTS)[name](owner, *arguments)
                for each in (owner, result):
                    if isinstance(each, (str, list)):
                        self.steps += len(_bounded(each)) // _PER_STEP
                return result
        raise Unknown

    def _run(self, function: Function, arguments: list[Any], this: object = UNKNOWN) -> object:
        self.entered += 1
        padded = [*arguments, *[None] * len(function.parameters)]
        own = {} if function.is_arrow else {"this": this}
        scope = Scope(own | dict(zip(function.parameters, padded, strict=False)), function.scope)
        try:
            function.body(scope)
        except Return as result:
            return result.value
        return None

    def run_late(self, function: object) -> None:
        """Run what waits for the page, which writes nothing into it any more."""
        self.is_late = True
        self.call(function, [])
        self.is_late = False

    def write(self, place: int, *texts: object) -> None:
        """Write into the page."""
        if self.is_late:
            raise Unknown
        self._note(Effect("write", value=together(list(map(string, texts)))))
        self.written.add(place)

    def define(self, _place: int, name: str, methods: dict[str, Function]) -> None:
        """Make the elements of a name custom elements: each runs two methods of its class."""
        for each in ("constructor", "connectedCallback"):
            if each in methods:
                self._run(methods[each], [], Element(name))

    def _call_element(self, owner: Element, name: str, arguments: list[Any]) -> Element | None:
        """Fill an element, or change an attribute of ``html`` or ``body``; a style of its own is not asked for."""
        if owner.part == "$":
            self._call_query(owner, name, arguments)
            return owner
        if (owner.part, name) == ("", "attachShadow"):
            return owner
        if (owner.part, name) == ("", "insertAdjacentHTML"):
            position, markup = map(string, arguments)
            self._note(Effect("insert", owner.name, position.lower(), markup))
        elif (owner.part, name) != ("style", "setProperty"):
            if not owner.is_root:
                raise Unknown
            for kind, attribute, value in _changes(owner.part, name, arguments):
                self._note(Effect(kind, owner.name, attribute, value))
        return None

    def assign(self, owner: Any, name: Any, value: Any, *, is_added: bool = False) -> None:
        """Set a property, or add to it. Raises ``Unknown``."""
        if isinstance(owner, Element) and not (owner.is_root or owner.part):
            self._fill(owner, name, string(value), is_added=is_added)
            return
        if is_added:
            value = add(property_of(owner, name, -1), value)
        match owner, name:
            case dict(), str():
                owner[name] = value
            case list(), int() if name == len(owner):
                owner.append(value)
            case Element(_, "style"), _:
                pass
            case Named("window"), "onload":
                self.run_late(value)
            case Element(), str():
                self._note(_assigned(owner, name, string(value)))
            case _:
                raise Unknown

    def _call_query(self, owner: Element, name: str, arguments: list[Any]) -> None:
        """Fill the elements that jQuery finds."""
        (value,) = map(string, arguments)
        if name in _POSITIONS:
            self._note(Effect("insert", owner.name, _POSITIONS[name], value))
        elif name in _CONTENTS:
            self._fill(owner, _CONTENTS[name], value, is_added=False)
        else:
            raise Unknown

    def _fill(self, owner: Element, name: object, value: str, *, is_added: bool) -> None:
        """Set the content of an element, or add to what a script has set."""
        if name in ("textContent", "innerText"):
            value = html.escape(value, quote=False)
        elif name != "innerHTML":
            raise Unknown
        if is_added and owner not in self.contents:
            raise Unknown
        self.contents[owner] = string(add(self.contents[owner], value)) if is_added else value
        self._note(Effect("content", owner.name, "", self.contents[owner]))

    def _note(self, effect: Effect) -> None:
        self.characters += len(effect.value or "")
        if self.characters > _MOST_CHARACTERS:
            raise Unknown
        self.effects.append(effect)


def _changes(part: str, name: str, arguments: list[Any]) -> Iterator[tuple[str, str, str | None]]:
    match part, name, arguments:
        case "classList", "add" | "remove", _:
            for each in arguments:
                yield "class" if name == "add" else "no-class", "class", string(each)
        case "classList", "toggle", [str(value), condition]:
            yield "class" if truth(condition) else "no-class", "class", value
        case "classList", "replace", [str(old), str(new)]:
            yield "no-class", "class", old
            yield "class", "class", new
        case "", "setAttribute", [str(attribute), str(value)]:
            yield "attribute", attribute, value
        case "", "removeAttribute", [str(attribute)]:
            yield "attribute", attribute, None
        case _:
            raise Unknown


def _assigned(owner: Element, name: str, value: str) -> Effect:
    if owner.part == "dataset":
        hyphened = re.sub(r"[A-Z]", lambda letter: "-" + letter[0].lower(), name)
        return Effect("attribute", owner.name, f"data-{hyphened}", value)
    if name in ("className", "id"):
        return Effect("attribute", owner.name, "class" if name == "className" else "id", value)
    raise Unknown


# What a selector of one name finds, and where jQuery inserts markup, or sets it
_SIMPLE = re.compile(r"[.#]?[A-Za-z][\w-]*")
_POSITIONS = {"before": "beforebegin", "prepend": "afterbegin", "append": "beforeend", "after": "afterend"}
_CONTENTS = {"html": "innerHTML", "text": "textContent"}


def _select(_realm: Realm, _place: int, selector: object) -> Element:
    if selector == ":root":
        return Element("html")
    if isinstance(selector, str) and _SIMPLE.fullmatch(selector):
        return Element(selector)
    raise Unknown


def _listen(realm: Realm, _place: int, event: str, function: object, *_more: object) -> None:
    if event not in ("DOMContentLoaded", "load"):
        raise Unknown
    realm.run_late(function)


def _nothing(*_: object) -> None:
    pass


_METHODS: dict[tuple[str, str], Callable[..., Any]] = {
    ("document", "write"): Realm.write, ("document", "writeln"): Realm.write, ("document", "querySelector"): _select,
    ("document", "getElementById"): lambda _realm, _place, name: Element(f"#{string(name)}"),
    ("document", "addEventListener"): _listen, ("window", "addEventListener"): _listen,
    ("customElements", "define"): Realm.define,
    ("String", "fromCharCode"): lambda _realm, _place, *codes: "".join(chr(number(code)) for code in codes),
    ("date", "getFullYear"): lambda *_: YEAR,
    **{(store, name): _nothing for store in _STORES for name in ("getItem", "setItem", "removeItem")},
}  # fmt: skip
