"""Shorter names for what is local to functions, where it is certain what each name in a script refers to.

No tree is built: brackets, and the words before them, tell where functions, blocks and objects are. Declarations that
are not understood (patterns, classes, parameters of ``x => x + 1``) are none, which is safe: their names stay, or are
renamed together with the variable of the same name around them, and no variable gets a name that stays within its
scope. A scope is taken for smaller or larger than it is in no case: where that is unsure, the name stays
everywhere, or the script as it is.

Names stay, too, that programs read: those of constructors, of all functions in a script that asks for ``.name``, and
what loaders (``require``) and injectors find in the text of a function.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from itertools import compress, count, pairwise, product
from typing import NamedTuple

from adaptc.core.values import dataclass, field
from adaptc.formats.script.lexer import OPERATOR_WORDS, Kind, Token, tokenize

# A loop over all pairs of bindings that share a name takes too long
_LARGEST = 400_000

_KEYWORDS = frozenset({
    "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do", "else", "enum",
    "export", "extends", "false", "finally", "for", "function", "if", "implements", "import", "in", "instanceof",
    "interface", "new", "null", "package", "private", "protected", "public", "return", "super", "switch", "this",
    "throw", "true", "try", "typeof", "var", "void", "while", "with",
})  # fmt: skip
# Names with a meaning in some places, and those that loaders look for in the text of a function
_SPECIAL = frozenset({
    "let", "static", "yield", "await", "async", "of", "get", "set", "as", "from", "arguments", "eval", "require",
    "exports", "module", "define",
})  # fmt: skip
# Other names that no variable gets
_VALUES = frozenset({"undefined", "NaN", "Infinity"})
# A script with these may name the parameters of a function by its text, or has a scope that is not known
_READERS = frozenset({
    "angular", "$scope", "$rootScope", "$http", "$timeout", "$injector", "$inject", "Worker", "SharedWorker",
    "AudioWorkletNode", "eval", "with",
})  # fmt: skip
# What gives a function that runs without its name
_GIVES_FUNCTIONS = frozenset(f"{mark}{name}{mark}" for name in ("callee", "caller") for mark in ("", "'", '"'))
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_CONTROL = frozenset(["if", "for", "while", "switch", "catch", "with"])
_BLOCK_WORDS = frozenset(["else", "do", "try", "finally", "catch"])
_MODIFIERS = frozenset(["get", "set", "static", "async", "*"])
_LINE_END = re.compile(r"[\n\r]")
_FIRST = "etnrisoaclumdpfhgvbywkxjqz"
_LETTERS = _FIRST + _FIRST.upper()


class _UnsureError(Exception):
    """It is not certain what a part of the script is."""


def with_short_names(text: str) -> str | None:
    """Return a script with shorter names of local variables, ``None`` if there are none or it is unsure.

    Line ends must not end statements: ``text`` is the result of a minifier.
    """
    code = _code(text)
    if code is None:
        return None
    try:
        names = _Names(code)
        renamed = names.shorter()
        if not renamed:
            return None
        changed = renamed | {index: f"function {name}" for index, name in names.own.items()}
        pieces, position = list[str](), 0
        for index, name in sorted(changed.items()):
            pieces += [text[position : code[index].start], name]
            position = code[index].end
        shorter = "".join([*pieces, text[position:]])
        return shorter if _is_same(names, shorter, renamed.keys()) else None
    except _UnsureError:
        return None


def _is_same(names: _Names, shorter: str, renamed: Collection[int]) -> bool:
    """Whether a script has the same tokens but for names, and each means what it meant in the script of ``names``.

    Names that functions got as their own are new tokens, which no other token may refer to.
    """
    result = _code(shorter)
    if result is None or len(result) != len(names.code) + len(names.own):
        return False
    given = {index + place for place, index in enumerate(sorted(names.own), start=1)}
    old = [place for place in range(len(result)) if place not in given]
    places = {place: index for index, place in enumerate(old)}
    referents = _Names(result).referents
    return all(referents[place] == place for place in given) and all(
        (names.code[index].text == result[place].text or index in renamed)
        and names.referents[index] == (referent if isinstance(referent, str) else places.get(referent))
        for index, (place, referent) in enumerate((place, referents[place]) for place in old)
    )


def _code(text: str) -> list[Token] | None:
    """Return all tokens but comments, ``None`` where a line end may end a statement or a name is escaped."""
    tokens = tokenize(text) if len(text) <= _LARGEST else None
    if tokens is None:
        return None
    code = [token for token in tokens if token.kind is not Kind.COMMENT]
    has_escape = "\\" in text and any("\\" in token.text and token.kind is Kind.WORD for token in code)
    gaps = (text[first.end : second.start] for first, second in pairwise(tokens if _LINE_END.search(text) else ()))
    return None if has_escape or any(map(_LINE_END.search, gaps)) else code


class _Scope(NamedTuple):
    """The tokens among which a binding is known, both ends included."""

    start: int
    end: int

    def holds(self, index: int) -> bool:
        return self.start <= index <= self.end


@dataclass(slots=True, eq=False)
class _Binding:
    """A local variable: where it is declared, and all tokens that mean it."""

    name: str
    scope: _Scope
    declared: list[int] = field(default_factory=list)
    uses: list[int] = field(default_factory=list)
    is_function: bool = False

    def is_used_in(self, scope: _Scope) -> bool:
        return _has_between(self.uses, scope)


def _has_between(places: list[int], scope: _Scope) -> bool:
    first = bisect_left(places, scope.start)
    return first < len(places) and places[first] <= scope.end


@dataclass(frozen=True, slots=True)
class _Function:
    """A function: its parameters (the bracket, or a lone name) and the brackets of its body."""

    start: int
    body: int
    end: int
    has_brackets: bool

    @property
    def scope(self) -> _Scope:
        return _Scope(self.start, self.end)


class _Names:
    """The names of a script: what each refers to, and which may be shorter."""

    def __init__(self, code: list[Token]) -> None:
        self.code = code
        self.texts = [token.text for token in code]
        self._is_word = [token.kind is Kind.WORD for token in code]
        # words that are no property of an object before them
        before = zip(self._is_word, ["", *self.texts], strict=False)
        self._is_name = [is_word and text not in (".", "?.") for is_word, text in before]
        named = compress(enumerate(self.texts), self._is_name)
        if any(text in _READERS and not self._is_global_eval(index) for index, text in named):
            raise _UnsureError
        self.parent, self.kinds = list[int](), dict[int, str]()
        self.close, self.opening = dict[int, int](), dict[int, int]()
        self._ends_condition = set[int]()  # the colons of ``a ? b : c``
        self._functions: dict[int, _Function] = {}  # by the bracket that opens the body
        self._read_brackets()
        self._around = self._functions_around()
        self.kept = set(_SPECIAL)
        self._hides_functions = _GIVES_FUNCTIONS.isdisjoint(self.texts)
        self._bindings: dict[tuple[_Scope, str], _Binding] = {}
        self._declare()
        self._free: defaultdict[str, list[int]] = defaultdict(list)
        self.own = dict[int, str]()  # functions without a name that keep that of the variable as their own
        self.referents = list(self._resolve())

    # ---- brackets

    def _before(self, index: int) -> str:
        return self.texts[index - 1] if index > 0 else ""

    def _after(self, index: int) -> str:
        return self.texts[index + 1] if index + 1 < len(self.texts) else ""

    def _is_global_eval(self, index: int) -> bool:
        """Whether ``eval`` stands for a function that sees global variables alone: it is not called by its name."""
        before, after = self._before(index), self._after(index)
        return self.texts[index] == "eval" and (after == "." or (before == "," and after == ")"))

    def _read_brackets(self) -> None:
        stack, classes = list[int](), set[int]()  # classes: the brackets in which a class awaits its body
        conditions = Counter[int]()  # by the bracket around: conditions without their colon
        for index, (token, text) in enumerate(zip(self.code, self.texts, strict=True)):
            is_template = token.kind is Kind.TEMPLATE
            if text in _CLOSING or (is_template and text[0] == "}"):
                if not stack:
                    raise _UnsureError
                opening = stack.pop()
                self.close[opening], self.opening[index] = index, opening
            self.parent.append(stack[-1] if stack else -1)
            if text in ("?", ":"):
                self._read_condition(index, conditions)
            elif text == "class" and self._is_name[index] and self._after(index) not in ":(,=;}":
                classes.add(self.parent[-1])
            elif text == "{":
                is_body = self.parent[-1] in classes and self._before(index) != "extends"
                self.kinds[index] = "class" if is_body else self._kind(index)
                classes.discard(self.parent[-1])
            if text in _OPENING or (is_template and text.endswith("${")):
                stack.append(index)
        if stack or classes:
            raise _UnsureError
        functions = self._functions
        self._functions = {
            body: _Function(each.start, body, self.close[body], each.has_brackets) for body, each in functions.items()
        }

    def _read_condition(self, index: int, conditions: Counter[int]) -> None:
        """Note that a condition begins, or whether a colon is that of one: nothing but conditions has a ``?``."""
        around = self.parent[index]
        if self.texts[index] == "?":
            conditions[around] += 1
        elif conditions[around]:
            conditions[around] -= 1
            self._ends_condition.add(index)

    def _kind(self, index: int) -> str:
        """Return what a brace opens: "body" of a function, "block", "object" or "unknown"."""
        before = self._before(index)
        if before == ")":
            return self._kind_after_list(index, self.opening[index - 1])
        if before == "=>":
            has_brackets = self._before(index - 1) == ")"
            start = self.opening[index - 2] if has_brackets else index - 2
            self._functions[index] = _Function(start, index, index, has_brackets)
            return "body"
        if before in ("", ";", "}", "{"):
            if before == "{" and self.kinds.get(index - 1) in ("object", "class"):
                raise _UnsureError
            return "block"
        if before in ("static", "extends"):
            raise _UnsureError  # a scope of its own for ``var``, or an object before the body of a class
        if self._is_word[index - 1]:
            is_property = self._before(index - 1) in (".", "?.")
            known = "block" if before in _BLOCK_WORDS else "object" if before in OPERATOR_WORDS else "unknown"
            return "unknown" if is_property else known
        if before == ":":
            around = "object" if index - 1 in self._ends_condition else self._kind_around(index)
            return {"object": "object", "block": "block", "body": "block"}.get(around, "unknown")
        return "object" if self.code[index - 1].kind is Kind.PUNCTUATOR and before != "]" else "unknown"

    def _kind_after_list(self, index: int, opening: int) -> str:
        word = self._before(opening)
        is_control = word in _CONTROL or (word == "await" and self._before(opening - 1) == "for")
        if is_control and self._is_name[opening - 1]:
            around = self.kinds.get(self.parent[opening - 1], "block")
            if around not in ("block", "body", "unknown"):
                raise _UnsureError  # a method of that name
            return "block"
        self._functions[index] = _Function(opening, index, index, True)
        return "body"

    def _kind_around(self, index: int) -> str:
        """Return the kind of the brackets around a token; "list": no braces."""
        around = self.parent[index]
        return self.kinds.get(around, "block" if around < 0 else "list")

    def _functions_around(self) -> list[_Function | None]:
        """Return the innermost function around each token, its parameters included."""
        starts = {each.start: each for each in self._functions.values()}
        if len(starts) != len(self._functions):
            raise _UnsureError
        around, stack = list[_Function | None](), list[_Function]()
        for index in range(len(self.code)):
            if index in starts:
                stack.append(starts[index])
            around.append(stack[-1] if stack else None)
            if stack and stack[-1].end == index:
                stack.pop()
        return around

    # ---- declarations

    def _add(self, index: int, scope: _Scope, *, is_function: bool = False) -> None:
        name = self.texts[index]
        binding = self._bindings.setdefault((scope, name), _Binding(name, scope))
        binding.declared.append(index)
        binding.is_function |= is_function

    def _declare(self) -> None:
        for function in self._functions.values():
            self._declare_parameters(function)
        for index, text in compress(enumerate(self.texts), self._is_name):
            if text in ("var", "let", "const") and (self._after(index) in "[{" or self._is_word[index + 1]):
                self._declare_variables(index)
            elif text == "function":
                self._declare_function(index)
            elif text == "catch" and self._after(index) == "(" and self._is_word[index + 2]:
                self._declare_caught(index + 1)

    def _declare_parameters(self, function: _Function) -> None:
        if not function.has_brackets:
            self._add(function.start, function.scope)
            return
        for index in range(function.start + 1, self.close[function.start]):
            is_own = self.parent[index] == function.start and self._is_word[index]
            if is_own and self._before(index) in ("(", ",", "...") and self._after(index) in (")", ",", "="):
                self._add(index, function.scope)
            elif self._is_word[index]:
                self.kept.add(self.texts[index])  # a default value does not see the variables of the body

    def _declare_variables(self, index: int) -> None:
        scope, around = self._scope_of(index), self.parent[index]
        end = self.close[around] if around >= 0 else len(self.code)
        place = index + 1
        while place < end:
            if self._is_word[place]:
                if scope is not None:
                    self._add(place, scope)
                place += 1
            else:
                place = self.close[place] + 1
            if place < end and self.texts[place] == "=":
                place = self._end_of_value(place, end)
            if place >= end or self.texts[place] != ",":
                return
            place += 1

    def _end_of_value(self, place: int, end: int) -> int:
        while place < end and not (self.texts[place] in (",", ";", "in", "of") and self._before(place) != "."):
            place = self.close.get(place, place) + 1
        return place

    def _scope_of(self, index: int) -> _Scope | None:
        """Return the scope of what ``var``, ``let`` or ``const`` declares, ``None``: unknown or global."""
        function, around = self._around[index], self.parent[index]
        if self.texts[index] == "var":
            return None if function is None else function.scope
        if around < 0:
            return None
        if self.texts[around] == "{":
            if function is not None and around == function.body:
                return function.scope
            if self.kinds[around] != "block":
                return None
            head = self.opening.get(around - 1, around)
            return _Scope(head if self._before(head) == "catch" else around, self.close[around])
        is_loop = self._before(around) in ("for", "await") and self._after(self.close[around]) == "{"
        return _Scope(around, self.close[self.close[around] + 1]) if is_loop else None

    def _declare_function(self, index: int) -> None:
        name = index + 2 if self._after(index) == "*" else index + 1
        if not self._is_word[name]:
            return
        body = self.close[name + 1] + 1
        before, around, function = self._before(index), self.parent[index], self._around[index]
        if before in ("", "{", "}", ";"):
            if function is not None and around == function.body:
                self._add(name, function.scope, is_function=True)
            elif around >= 0:
                self.kept.add(self.texts[name])  # in a block: Annex B.3.2
        elif before in (")", "else", "do", "async") or (before == ":" and self.kinds.get(around) != "object"):
            self.kept.add(self.texts[name])
        else:
            self._add(name, _Scope(name, self._functions[body].end), is_function=True)

    def _declare_caught(self, opening: int) -> None:
        closing = self.close[opening]
        if closing == opening + 2 and self._after(closing) == "{":
            self._add(opening + 1, _Scope(opening, self.close[closing + 1]))

    # ---- what names refer to

    def _is_identifier(self, index: int) -> bool:
        """Whether a token names a variable; where that is unsure the name is kept everywhere."""
        text = self.texts[index]
        if not self._is_name[index] or text in _KEYWORDS or text.startswith("#"):
            return False
        kind = self._kind_around(index)
        if kind == "class":
            return not self._is_key(index, ("{", "}", ";"))
        if kind == "object":
            return self._is_value(index)
        if kind == "unknown":
            self.kept.add(text)
        return kind in ("list", "unknown") or not self._is_label(index)

    def _is_label(self, index: int) -> bool:
        """Whether a word in a block is a label."""
        before, after = self._before(index), self._after(index)
        if after != ":" or index + 1 in self._ends_condition:
            return before in ("break", "continue")
        if before == ":":
            return index - 1 not in self._ends_condition
        return before in ("", "{", "}", ";", ")", "else", "do")

    def _is_value(self, index: int) -> bool:
        """Whether a word in an object, or a pattern, is no name of a property."""
        if self._before(index) in ("{", ",") and self._after(index) in (",", "}", "="):
            self.kept.add(self.texts[index])  # short for a property of the same name
            return True
        return not self._is_key(index, ("{", ","))

    def _is_key(self, index: int, starts: tuple[str, ...]) -> bool:
        """Whether a word is the name of a property, a method or a field, after one of ``starts``."""
        while self._before(index) in _MODIFIERS:
            index -= 1
        return self._before(index) in starts

    def _resolve(self) -> Iterator[int | str]:
        """Yield for each token where the variable is declared that it names, or its own text."""
        begins: defaultdict[int, list[_Binding]] = defaultdict(list)
        for binding in self._bindings.values():
            begins[binding.scope.start].append(binding)
        known: defaultdict[str, list[_Binding]] = defaultdict(list)
        for index, text in enumerate(self.texts):
            for binding in begins.get(index, ()):
                known[binding.name].append(binding)
            if not self._is_word[index] or not self._is_identifier(index):
                yield text
                continue
            bindings = known[text]
            while bindings and not bindings[-1].scope.holds(index):
                bindings.pop()
            if bindings:
                bindings[-1].uses.append(index)
                yield bindings[-1].declared[0]
            else:
                self._free[text].append(index)
                yield text
        for binding in self._bindings.values():
            if not set(binding.uses).issuperset(binding.declared):
                self.kept.add(binding.name)  # it is declared in another scope than was thought: Annex B.3.4

    # ---- shorter names

    def shorter(self) -> dict[int, str]:
        """Return the new names of tokens."""
        movable = self._movable()
        given: defaultdict[str, list[_Binding]] = defaultdict(list)
        renamed = dict[int, str]()
        # inner scopes first: the parameters of most functions get the same names, which compress better by a hundredth
        for binding in sorted(movable, key=lambda each: (each.scope.end - each.scope.start, each.declared[0])):
            name = next(name for name in _candidates() if self._is_free(name, binding, given[name]))
            if len(name) > len(binding.name) and self._is_free(binding.name, binding, given[binding.name]):
                name = binding.name
            given[name].append(binding)
            renamed.update(dict.fromkeys(binding.uses, name))
        return {index: name for index, name in renamed.items() if name != self.texts[index]}

    def _movable(self) -> list[_Binding]:
        """Return the bindings whose names may change; the others' uses count as names that stay."""
        asks = any(text == "name" and self._before(index) in (".", "?.") for index, text in enumerate(self.texts))
        asks = asks or any(text in ('"name"', "'name'") for text in self.texts)
        movable = list[_Binding]()
        for binding in self._bindings.values():
            functions = self._functions_to_name(binding)
            if self._may_move(binding, asks):
                movable.append(binding)
            elif functions and binding.name not in self.kept:
                self.own |= dict.fromkeys(functions, binding.name)
                movable.append(binding)
            else:
                self._free[binding.name] += binding.uses
        for places in self._free.values():
            places.sort()
        return movable

    def _may_move(self, binding: _Binding, asks_for_names: bool) -> bool:
        if binding.name in self.kept or binding.name in _KEYWORDS or not binding.uses:
            return False
        holds_function = binding.is_function or any(self._gets_function(index) for index in binding.uses)
        is_read = holds_function and (asks_for_names or binding.name[:1].isupper())
        return not is_read or self._is_only_called(binding)

    def _is_only_called(self, binding: _Binding) -> bool:
        """Whether nothing gets hold of a function to ask for its name: it is declared, and called."""
        declared = set(binding.declared)
        return self._hides_functions and all(
            self._is_declared_function(index)
            if index in declared
            else self._after(index) == "(" and self._before(index) != "new"
            for index in binding.uses
        )

    def _functions_to_name(self, binding: _Binding) -> list[int]:
        """Return the functions assigned to a variable, if they can have its name as their own and that is shorter."""
        functions = [index + 2 for index in binding.uses if self._gets_function(index)]
        is_simple = all(self.texts[index] == "function" and self._after(index) == "(" for index in functions)
        length = len(binding.name)
        is_shorter = (length + 1) * len(functions) < (length - 2) * len(binding.uses)
        return functions if is_simple and is_shorter and not binding.is_function else []

    def _is_declared_function(self, index: int) -> bool:
        """Whether a function is declared here, or assigned to the variable that is."""
        word = self._before(index)
        if word in ("function", "*"):
            return self._before(index - 2 if word == "*" else index - 1) in ("", "{", "}", ";")
        return self._gets_function(index)

    def _gets_function(self, index: int) -> bool:
        """Whether a function without a name is assigned here, whose name that of the variable becomes."""
        if self._after(index) not in ("=", "||=", "&&=", "??="):
            return False
        value = index + 2
        text = self.texts[value]
        if text in ("function", "class", "async"):
            return True
        return self._after(self.close[value] if text == "(" else value) == "=>"

    def _is_free(self, name: str, binding: _Binding, given: list[_Binding]) -> bool:
        """Whether a binding may get a name: nothing else in its scope has it, but what hides it where it is unused."""
        if _has_between(self._free.get(name, []), binding.scope):
            return False
        own = binding.scope
        for other in given:
            scope = other.scope
            if scope.end < own.start or own.end < scope.start:
                continue
            if scope == own:
                return False
            inner, outer = (other, binding) if own.holds(scope.start) and own.holds(scope.end) else (binding, other)
            if outer.is_used_in(inner.scope):
                return False
        return True


def _candidates() -> Iterator[str]:
    for length in count(1):
        for letters in product(_LETTERS, repeat=length):
            name = "".join(letters)
            if name not in _KEYWORDS and name not in _SPECIAL and name not in _VALUES:
                yield name
