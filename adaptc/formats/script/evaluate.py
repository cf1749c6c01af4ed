"""Evaluate what a script does at once, as far as it depends on nothing but itself.

Scripts of small sites write menus and footers from strings, variables, loops over literals and functions that are
called at once, and set the theme of a page by what is stored, or by the system. That much of ECMAScript is run here
(``realm`` has its values). A statement that is not understood is skipped, and the variables that it names are unknown
from there on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise

from adaptc.formats.script.lexer import Kind, Token, tokenize, unescape
from adaptc.formats.script.realm import (
    BINARY,
    UNKNOWN,
    Effect,
    Function,
    Jump,
    Named,
    Node,
    Realm,
    Return,
    Scope,
    Unknown,
    add,
    constant,
    goes_on,
    item,
    joined,
    number,
    raised,
    string,
    together,
    truth,
)

__all__ = ["Evaluator"]


class Evaluator:
    """Runs the scripts of one page in their order; what one declares the next ones know."""

    def __init__(self) -> None:
        self.realm = Realm()

    def run(self, source: str) -> list[Effect]:
        """Return the effects of a script; none of "write" if some of what it writes is not known."""
        realm = self.realm
        realm.begin()
        tokens = [token for token in tokenize(source) or () if token.kind is not Kind.COMMENT]
        sites = {token.start for before, token in pairwise(tokens) if before.text == "." and _writes(token)}
        try:
            _Parser(realm, tokens).statements("")(realm.scope)
        except (Unknown, Return, Jump, RecursionError):
            sites.add(-1)
        return [effect for effect in realm.effects if effect.kind != "write" or realm.written == sites]


def _writes(token: Token) -> bool:
    return token.text in ("write", "writeln")


_NAMES_PER_STEP = 100  # that are made unknown
_LOOPS = frozenset({"for", "while", "do", "switch"})


def _leaves(part: Sequence[Token]) -> bool:
    """Whether a statement may leave the function or loop around it: functions within it leave themselves only."""
    jumps = {"return", "throw"} if part and part[0].text in _LOOPS else {"return", "throw", "break", "continue"}
    depth, functions, is_function = 0, list[int](), False
    for before, token in pairwise([Token(Kind.PUNCTUATOR, "", 0), *part]):
        is_function = is_function or token.text == "function"
        if token.text == "{":
            depth += 1
            if before.text == "=>" or (is_function and before.text == ")"):
                functions.append(depth)
                is_function = False
        elif token.text == "}":
            if functions and functions[-1] == depth:
                functions.pop()
            depth -= 1
        elif token.text in jumps and not functions and before.text != ".":
            return True
    return False


_OPENS, _CLOSES = "([{", ")]}"
_ENDS = frozenset({";", "}", ")", "]", ",", ":"})


# The owner of a property, ``None`` of a variable, and the name
_Reference = tuple[Node | None, Node]


class _Parser:
    """Makes closures of the statements of a script, so that loops and functions run as often as they are called."""

    def __init__(self, realm: Realm, tokens: Sequence[Token]) -> None:
        self.realm, self.tokens, self.place = realm, tokens, 0
        self.is_tried = False
        # What was read last that may be assigned to: where it begins and ends
        self.target: tuple[int, int, _Reference | None] = (0, 0, None)

    # ---- tokens

    @property
    def text(self) -> str:
        return self.tokens[self.place].text if self.place < len(self.tokens) else ""

    def take(self, *texts: str) -> bool:
        if self.text in texts and self.text:
            self.place += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise Unknown

    def word(self) -> str:
        if self.place >= len(self.tokens) or self.tokens[self.place].kind is not Kind.WORD:
            raise Unknown
        self.place += 1
        return self.tokens[self.place - 1].text

    # ---- statements

    def statements(self, end: str) -> Node:
        """Return the statements up to ``end``; functions are declared before all that uses them."""
        functions: list[Node] = []
        others: list[Node] = []
        while self.place < len(self.tokens) and self.text != end:
            (functions if self.text == "function" else others).append(self.statement())
        if end:
            self.expect(end)

        def run(scope: Scope) -> None:
            for node in (*functions, *others):
                node(scope)

        return run

    def statement(self) -> Node:
        """Return a statement; one that is not understood makes what it names unknown."""
        start = self.place
        try:
            node = self.known_statement()
            self.take(";")
        except Unknown:
            self.place = start
            self.skip()
            return self.skipped(start, self.place)
        realm, forget = self.realm, self.skipped(start, self.place)

        def run(scope: Scope) -> None:
            realm.step()
            entered, effects = realm.entered, len(realm.effects)
            try:
                node(scope)
            except Unknown:
                if realm.entered != entered or len(realm.effects) != effects:
                    raise
                forget(scope)

        return run

    def skip(self) -> None:
        """Go to the end of a statement: behind a semicolon, or behind the block that ends it."""
        depth = 0
        while self.place < len(self.tokens):
            text = self.text
            if not depth and text in _CLOSES:
                break
            depth += (text in _OPENS) - (text in _CLOSES)
            self.place += 1
            if not depth and (text == ";" or (text == "}" and not self.goes_on())):
                break

    def goes_on(self) -> bool:
        return self.text in ("else", "catch", "finally", "while", ")", ",", ".", "(", "?", "&&", "||", "+", "=")

    def skipped(self, start: int, end: int) -> Node:
        """Return what makes unknown whatever a statement, and functions that it names, may change.

        It raises ``Unknown`` where nobody knows what is done next: the statement may write, leave a function or a loop,
        or fail within a ``try``.
        """
        is_tried, realm = self.is_tried, self.realm

        @cache
        def named() -> tuple[frozenset[str], frozenset[str]]:
            """Return the names in the statement, and those of them that it gives another value."""
            part = self.tokens[start:end]
            found = frozenset(token.text for token in part if token.kind is Kind.WORD)
            if is_tried or _leaves(part) or ("document" in found and any(map(_writes, part))):
                raise Unknown
            pairs = [(one.text, other.text) for one, other in pairwise(part)]
            given = {one for one, other in pairs if other == "="} | {other for one, other in pairs if one == "function"}
            return found, found & given

        def forget(scope: Scope) -> None:
            names, given = named()
            pending, known = list(names), set[str]()
            realm.steps += len(pending) // _NAMES_PER_STEP
            while pending:
                name = pending.pop()
                if name in known:
                    continue
                known.add(name)
                holder = scope.holder(name) or scope
                value = holder.values.get(name)
                if isinstance(value, Function) and name not in given:
                    pending += value.words
                else:
                    holder.values[name] = UNKNOWN

        return forget

    def known_statement(self) -> Node:
        read = _STATEMENTS.get(self.text)
        if read is not None:
            return read(self)
        if self.text in _NOT_UNDERSTOOD:
            raise Unknown
        return self.sequence()

    def jump(self) -> Node:
        ends = self.word() == "break"
        return lambda _: raised(Jump(ends=ends))

    def declaration(self) -> Node:
        is_var = self.word() == "var"
        parts: list[tuple[str, Node]] = []
        while True:
            name = self.word()
            parts.append((name, self.expression() if self.take("=") else lambda _: None))
            if not self.take(","):
                break

        def run(scope: Scope) -> None:
            for name, value in parts:
                (scope.of_function if is_var else scope).values[name] = value(scope)

        return run

    def function_declaration(self) -> Node:
        self.place += 1
        name = self.word()
        node = self.function(self.parameters())

        def run(scope: Scope) -> None:
            scope.of_function.values[name] = node(scope)

        return run

    def class_declaration(self) -> Node:
        self.place += 1
        name, methods = self.text, self.class_expression()

        def run(scope: Scope) -> None:
            scope.values[name] = methods(scope)

        return run

    def class_expression(self) -> Node:
        """Return a class: its methods by name. Fields and accessors are not understood."""
        while not self.take("{"):
            self.word()  # its name, "extends", another name
        methods: dict[str, Node] = {}
        while not self.take("}"):
            method = self.word()
            methods[method] = self.function(self.parameters())
        return lambda scope: {method: node(scope) for method, node in methods.items()}

    def parameters(self) -> tuple[str, ...]:
        self.expect("(")
        names = []
        while not self.take(")"):
            names.append(self.word())
            self.take(",")
        return tuple(names)

    def function(self, parameters: tuple[str, ...], *, is_arrow: bool = False) -> Node:
        start = self.place
        body = self.block()
        words = frozenset(token.text for token in self.tokens[start : self.place] if token.kind is Kind.WORD)
        return lambda scope: Function(parameters, body, scope, words, is_arrow)

    def branch(self) -> Node:
        self.place += 1
        self.expect("(")
        condition = self.sequence()
        self.expect(")")
        then = self.statement()
        other = self.statement() if self.take("else") else lambda _: None
        return lambda scope: (then if truth(condition(scope)) else other)(scope)

    def loop(self) -> Node:
        self.place += 1
        self.expect("(")
        if self.text in ("var", "let", "const") and self.place + 2 < len(self.tokens):
            if self.tokens[self.place + 2].text in ("of", "in"):
                return self.loop_over()
            first = self.declaration()
        else:
            first = (lambda _: None) if self.text == ";" else self.sequence()
        self.expect(";")
        condition = (lambda _: True) if self.text == ";" else self.sequence()
        self.expect(";")
        after = (lambda _: None) if self.text == ")" else self.sequence()
        self.expect(")")
        body = self.statement()

        def run(scope: Scope) -> None:
            first(scope)
            while truth(condition(scope)):
                if not goes_on(body, scope):
                    break
                after(scope)
                self.realm.step()

        return run

    def repetition(self) -> Node:
        self.place += 1
        self.expect("(")
        condition = self.sequence()
        self.expect(")")
        body = self.statement()

        def run(scope: Scope) -> None:
            while truth(condition(scope)) and goes_on(body, scope):
                self.realm.step()

        return run

    def loop_over(self) -> Node:
        self.place += 1
        name, kind = self.word(), self.word()
        values = self.sequence()
        self.expect(")")
        body = self.statement()

        def run(scope: Scope) -> None:
            found = values(scope)
            if not isinstance(found, (list, dict)) or (kind == "of" and isinstance(found, dict)):
                raise Unknown
            keys = found if isinstance(found, dict) else map(str, range(len(found)))
            for value in list(found if kind == "of" else keys):
                scope.values[name] = value
                if not goes_on(body, scope):
                    break

        return run

    def attempt(self) -> Node:
        self.place += 1
        before, self.is_tried = self.is_tried, True
        try:
            body = self.block()
        finally:
            self.is_tried = before
        if self.take("catch"):
            if self.take("("):
                self.word()
                self.expect(")")
            self.block()
        last = self.block() if self.take("finally") else lambda _: None

        def run(scope: Scope) -> None:
            body(scope)
            last(scope)

        return run

    def block(self) -> Node:
        self.expect("{")
        inner = self.statements("}")
        return lambda scope: inner(Scope(outer=scope, is_block=True))

    def return_statement(self) -> Node:
        self.place += 1
        value = (lambda _: None) if self.text in _ENDS or not self.text else self.sequence()
        return lambda scope: raised(Return(value(scope)))

    # ---- expressions

    def sequence(self) -> Node:
        nodes = [self.expression()]
        while self.take(","):
            nodes.append(self.expression())
        return nodes[0] if len(nodes) == 1 else lambda scope: [node(scope) for node in nodes][-1]

    def expression(self) -> Node:
        arrow = self.arrow()
        if arrow is not None:
            return arrow
        start = self.place
        left = self.ternary()
        return self.assignment(start) if self.text in ("=", "+=") else left

    def arrow(self) -> Node | None:
        start = self.place
        try:
            names = self.parameters() if self.text == "(" else (self.word(),)
            is_arrow = self.take("=>")
        except Unknown:
            is_arrow = False
        if not is_arrow:
            self.place = start
            return None
        if self.text == "{":
            return self.function(names, is_arrow=True)
        value = self.expression()
        return lambda scope: Function(names, lambda inner: raised(Return(value(inner))), scope, is_arrow=True)

    def assignment(self, start: int) -> Node:
        """Return an assignment to what begins at the token ``start`` and was just read."""
        first, end, reference = self.target
        if (first, end) != (start, self.place) or reference is None:
            raise Unknown
        owner, name = reference
        is_added, realm = self.text == "+=", self.realm
        self.place += 1
        value = self.expression()

        def run(scope: Scope) -> object:
            result, key = value(scope), name(scope)
            if owner is not None:
                realm.assign(owner(scope), key, result, is_added=is_added)
                return result
            holder = scope.holder(key) or realm.scope
            holder.values[key] = add(scope.value(key), result) if is_added else result
            return result

        return run

    def ternary(self) -> Node:
        condition = self.binary(0)
        if not self.take("?"):
            return condition
        then = self.expression()
        self.expect(":")
        other = self.expression()
        return lambda scope: (then if truth(condition(scope)) else other)(scope)

    def binary(self, least: int) -> Node:
        left = self.unary()
        while self.text in BINARY and BINARY[self.text] > least:
            sign, power = self.text, BINARY[self.text]
            self.place += 1
            left = joined(sign, left, self.binary(power))
        return left

    def unary(self) -> Node:
        if self.take("!"):
            value = self.unary()
            return lambda scope: not truth(value(scope))
        if self.text == "-":
            self.place += 1
            value = self.unary()
            return lambda scope: -number(value(scope))
        if self.text in ("++", "--"):
            raise Unknown
        return self.postfix()

    def postfix(self) -> Node:
        start = self.place
        node = self.calls(self.primary(), start)
        if self.text in ("++", "--"):
            if self.place - start != 1:
                raise Unknown
            name, step = self.tokens[start].text, 1 if self.text == "++" else -1
            self.place += 1

            def run(scope: Scope) -> object:
                holder = scope.holder(name)
                if holder is None:
                    raise Unknown
                value = number(holder.values[name])
                holder.values[name] = value + step
                return value

            return run
        return node

    def calls(self, node: Node, start: int) -> Node:
        """Return what is called on the value that begins at the token ``start``, and note it as a target."""
        first = self.tokens[start]
        is_variable = first.kind is Kind.WORD and self.place == start + 1
        reference: _Reference | None = (None, constant(first.text)) if is_variable else None
        while True:
            if self.take("."):
                name = constant(self.word())
                node, reference = item(node, name, self.tokens[self.place - 1].start), (node, name)
            elif self.take("["):
                key = self.sequence()
                self.expect("]")
                node, reference = item(node, key), (node, key)
            elif self.take("("):
                node, reference = self.call(node, self.arguments(")")), None
            else:
                self.target = (start, self.place, reference)
                return node

    def arguments(self, end: str) -> list[Node]:
        nodes = []
        while not self.take(end):
            nodes.append(self.expression())
            if self.text != end:
                self.expect(",")
        return nodes

    def call(self, function: Node, arguments: list[Node]) -> Node:
        return lambda scope: self.realm.call(function(scope), [each(scope) for each in arguments])

    def primary(self) -> Node:
        if self.place >= len(self.tokens):
            raise Unknown
        token = self.tokens[self.place]
        self.place += 1
        if token.text in _BRACKETED:
            return _BRACKETED[token.text](self)
        match token.kind:
            case Kind.STRING:
                return constant(unescape(token.text[1:-1]))
            case Kind.NUMBER if re.fullmatch(r"(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?", token.text):
                return constant(float(token.text) if "." in token.text else int(token.text))
            case Kind.TEMPLATE:
                return self.template(token)
            case Kind.WORD if token.text not in _OPERATORS:
                return lambda scope: scope.value(token.text)
        raise Unknown

    def group(self) -> Node:
        node = self.sequence()
        self.expect(")")
        return node

    def literal_list(self) -> Node:
        nodes = self.arguments("]")
        return lambda scope: [each(scope) for each in nodes]

    def function_expression(self) -> Node:
        if self.text != "(":
            self.word()
        return self.function(self.parameters())

    def date(self) -> Node:
        """Return the time of now, which is all of ``new`` that is understood."""
        self.expect("Date")
        if self.take("("):
            self.expect(")")
        return constant(Named("date"))

    def literal_object(self) -> Node:
        parts: list[tuple[str, Node]] = []
        while not self.take("}"):
            token = self.tokens[self.place]
            self.place += 1
            if token.kind not in (Kind.STRING, Kind.WORD, Kind.NUMBER):
                raise Unknown
            self.expect(":")
            name = unescape(token.text[1:-1]) if token.kind is Kind.STRING else token.text
            parts.append((name, self.expression()))
            if self.text != "}":
                self.expect(",")
        return lambda scope: {name: value(scope) for name, value in parts}

    def template(self, token: Token) -> Node:
        pieces: list[Node] = [constant(unescape(token.text[1:].removesuffix("`").removesuffix("${")))]
        while token.text.endswith("${"):
            pieces.append(self.sequence())
            token = self.tokens[self.place] if self.place < len(self.tokens) else token
            if token.kind is not Kind.TEMPLATE:
                raise Unknown
            self.place += 1
            pieces.append(constant(unescape(token.text[1:].removesuffix("`").removesuffix("${"))))
        return lambda scope: together([string(piece(scope)) for piece in pieces])


_STATEMENTS: dict[str, Callable[[_Parser], Node]] = {
    "{": _Parser.block, "var": _Parser.declaration, "let": _Parser.declaration, "const": _Parser.declaration,
    "function": _Parser.function_declaration, "class": _Parser.class_declaration, "if": _Parser.branch,
    "for": _Parser.loop, "while": _Parser.repetition, "try": _Parser.attempt,
    "return": _Parser.return_statement, "break": _Parser.jump, "continue": _Parser.jump,
    ";": lambda _: constant(None),
}  # fmt: skip
_NOT_UNDERSTOOD = frozenset({"do", "switch", "import", "export", "async", "throw", "with"})
_BRACKETED: dict[str, Callable[[_Parser], Node]] = {
    "(": _Parser.group, "[": _Parser.literal_list, "{": _Parser.literal_object, "new": _Parser.date,
    "function": _Parser.function_expression, "class": _Parser.class_expression,
}  # fmt: skip
_OPERATORS = frozenset({"typeof", "await", "delete", "void", "yield", "super", "instanceof"})
