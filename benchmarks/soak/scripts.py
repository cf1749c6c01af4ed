"""Scripts drawn at random, as adaptc evaluates them and as Node.js runs them: what is known to be written is the same.

A script that fails in Node.js, or takes too long there, says nothing: what throws is not modelled.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
from collections.abc import Iterator

from adaptc.formats.script.evaluate import Evaluator

# Reads scripts, writes what each writes; null for one that fails
_NODE = """
const scripts = JSON.parse(require('fs').readFileSync(0))
console.log(JSON.stringify(scripts.map((script) => {
  let written = ''
  const write = (...texts) => { written += texts.join('') }
  const context = { document: { write } }
  context.window = context.self = context
  try { require('vm').runInNewContext(script, context, { timeout: 300 }) } catch { return null }
  return written
})))
"""
_START = "var a = 1, b = 's', c = [1, 'two', 3], d = {k: 'v', m: 4}; function f(p) { return p }\n"
_VARIABLES = "abcd"
_VALUES = (
    "0",
    "1",
    "2",
    "7",
    "0.5",
    "1.25",
    "''",
    "'x'",
    "'Ab'",
    "'a,b'",
    "'<p>'",
    "true",
    "false",
    "null",
    "undefined",
)
_SIGNS = ("-", "*", "<", ">", "<=", "==", "===", "!=", "!==", "&&", "||", "??")
_MEMBERS = (
    "length", "k", "m", "toUpperCase()", "toLowerCase()", "trim()", "split(',')", "split('')", "join('-')", "join()",
    "reverse()", "slice(1)", "slice(0, 2)", "slice(-1)", "charAt(0)", "concat('z')", "concat([1])", "push(3)",
    "replace('a', 'Q')", "toString()", "map(x => x + 1)", "map(function (x, i) { return i })",
)  # fmt: skip


class _Drawn:
    """Draws scripts of the part of ECMAScript that is evaluated, and of some that is not."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def script(self) -> str:
        body = "\n".join(self.statement(3) for _ in range(self.random.randint(1, 4)))
        return f"{_START}{body}\ndocument.write({self.expression(3)})"

    def expression(self, depth: int) -> str:
        name = self.random.choice(_VARIABLES)
        if depth <= 0:
            return self.random.choice((name, self.random.choice(_VALUES)))
        one, two, three = (self.expression(depth - self.random.randint(1, 3)) for _ in range(3))
        return self.random.choice((
            name, f"[{one}, {two}]", f"{{k: {one}, m: 2}}", f"`t${{{one}}}u`", f"({one} + {two})", f"!({one})",
            f"({one} {self.random.choice(_SIGNS)} {two})", f"({one} ? {two} : {three})", f"-({one})", f"f({one})",
            f"{name}.{self.random.choice(_MEMBERS)}", f"{name}[{one}]", f"(x => x + {one})({two})",
        ))  # fmt: skip

    def statement(self, depth: int) -> str:
        name, value = self.random.choice(_VARIABLES), self.expression(3)
        simple = (
            f"{self.random.choice(('var ', 'let ', 'const ', ''))}{name} = {value};",
            f"{name} += {value};", f"{name}++;", f"{name}[{self.expression(1)}] = {value};",
            f"{name}.k = {value};", f"document.write({value});",
        )  # fmt: skip
        if depth <= 0:
            return self.random.choice(simple)
        one, two = self.statement(depth - 1), self.statement(depth - 1)
        leaving = self.random.choice(("", "break;", "if (i == 1) continue;"))
        return self.random.choice((
            *simple, f"if ({value}) {{ {one} }} else {{ {two} }}", f"try {{ {one} }} catch (e) {{ {two} }}",
            f"for (var i = 0; i < {self.random.randint(0, 4)}; i++) {{ {one} {leaving} {two} }}",
            f"for (var v {self.random.choice(('of', 'in'))} {value}) {{ {one} document.write(v) }}",
            f"function f(p) {{ {one} return {value} + p }}", f"(function (q) {{ {one} }})({value});",
            f"{name}.forEach(function (x, i) {{ {one} document.write(x) }});",
        ))  # fmt: skip


def compared(scripts: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the scripts of which both know what they write, with the two texts."""
    ran = subprocess.run(["node", "-e", _NODE], input=json.dumps(scripts), capture_output=True, text=True, check=True)
    for script, expected in zip(scripts, json.loads(ran.stdout), strict=True):
        effects = [effect.value or "" for effect in Evaluator().run(script) if effect.kind == "write"]
        if effects and expected is not None:
            yield script, "".join(effects), expected


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=20_000)
    given = parser.parse_args()
    drawn = _Drawn(given.seed)
    found = list(compared([drawn.script() for _ in range(given.count)]))
    others = [each for each in found if each[1] != each[2]]
    for script, evaluated, expected in others[:10]:
        print(f"{script}\n  evaluated: {evaluated!r}\n  Node.js:   {expected!r}\n")
    print(f"{given.count} scripts, {len(found)} of them known, {len(others)} otherwise than in Node.js")
    raise SystemExit(bool(others))


if __name__ == "__main__":
    main()
