"""What scripts do at once."""

from __future__ import annotations

import pytest

from adaptc.formats.script.evaluate import Evaluator
from adaptc.formats.script.realm import YEAR


def written(*scripts: str) -> str:
    evaluator = Evaluator()
    effects = [effect for script in scripts for effect in evaluator.run(script)]
    return "".join(effect.value or "" for effect in effects if effect.kind == "write")


@pytest.mark.parametrize(
    ("script", "result"),
    [
        ("var s = 'a'; s += 'b'; document.write(s)", "ab"),
        ("var l = ['a', 'b']; for (var i = 0; i < l.length; i++) { document.write(l[i]) }", "ab"),
        ("for (const x of ['a', 'b']) { if (x === 'b') break; document.write(x) }", "a"),
        ("for (var k in {a: 1, b: 2}) document.write(k)", "ab"),
        ("['a', 'b'].forEach(function (x, i) { document.write(x + i) })", "a0b1"),
        ("document.write(['a', 'b'].map(x => x + '!').join(''))", "a!b!"),
        ("f('a'); function f(x, y) { document.write(x + (y || 'd')) }", "ad"),
        ("function f(x) { return x ? 'y' : 'n' } document.write(f(0))", "n"),
        ("(function () { var a = 'x'; document.write(a) })(); !(() => { document.writeln('y') })()", "xy"),
        ("var o = {a: {b: 'c'}}; document.write(o.a['b'])", "c"),
        ("document.write('ab'.split('').reverse().join(''), String.fromCharCode(64))", "ba@"),
        ("document.write(unescape('%3Cb%3E'))", "<b>"),
        ("var i = 0; while (i < 2) { document.write(i); i++ }", "01"),
        ("if (top == self) document.write('a'); if (document.all) { document.write('b') } else { a = 1 }", ""),
        ("if (top == self) { document.write('a') }", "a"),
        ("console.log('x'); document.write('a')", "a"),
        ("window.x = 1; document.write('a')", "a"),
        ("try { document.write('a') } catch (e) { document.write }", ""),
        ("document.write(new Date().getFullYear())", YEAR),
        # what is not known
        ("var s = 'a'; if (x) { s = 'b' } document.write(s)", ""),
        ("var s = 'a'; g(); function g() { s = Math.random() } document.write(s)", ""),
        ("var s = 'a'; while (x) { s = 'b' } document.write(s)", ""),
        ("document.write('a'); if (x) document.write('b')", ""),
        ("b.onclick = () => document.write('a')", ""),
        ("addEventListener('load', () => document.write('a'))", ""),
        ("document.addEventListener('DOMContentLoaded', () => { document.write('a') })", ""),
        ("for (;;) { document.write('a') }", ""),
        ("function f() { f() } f(); document.write('a')", ""),
        ("if (new Date().getFullYear() > 2000) document.write('a')", ""),
        ("function f() { return navigator.language } document.write(f() === 'de' ? 'a' : 'b')", ""),
        ("function f() { return x } document.write(f() || 'a')", ""),
        ("for (var i = 0; i < 2; i++) { if (x) break; document.write(i) }", ""),
        ("var s = 'a'; try { g(); s = 'b' } catch (e) { s = 'c' } document.write(s)", ""),
        ("function f() { return 'a' } if (x) f = g; document.write(f())", ""),
        ("var o = {}; document.write(o.a)", ""),
        ("var o = {true: 'a'}; document.write(o[!0])", "a"),
        ("var s = 'a'; { let s = 'b' } try { const s = 'c' } catch (e) {} document.write(s)", "a"),
        ("{ var s = 'a' } document.write(s)", "a"),
        ("function f() { x(function () { return 1 }); return 'a' } document.write(f())", "a"),
        ("document.write(['a', null].join('-'), ['a'].push('b'), 0.5 + 1, 2 * 1.5)", "a-21.53"),
        ("document.write(1 / 3)", ""),
        ("document.write('a'.replace('a', '$&$&'))", ""),
        ("document.write('a'.foo())", ""),
        ("document.write([1].join(1, 2, 3))", ""),
        ("document.write('a'", ""),
        ("}", ""),
    ],
)
def test_what_is_written_at_once(script: str, result: str) -> None:
    assert written(script) == result


@pytest.mark.parametrize(
    "script",
    [
        "x = [1];" + "x = x.concat(x);" * 60 + "document.write(x)",
        "x = 'a';" + "x += x;" * 60 + "document.write(x)",
        "x = 'a,';" + "x = x.split(',').join(x);" * 60 + "document.write(x)",
        "x = 9;" + "x = x * x;" * 60 + "document.write(x)",
        "x = ['a'.concat(" + "'a'," * 30000 + "'a')]; x = [" + "x," * 9000 + "x]; document.write(x.join(''))",
        "s = '" + "a" * 9000 + "'; for (var i = 0; i < 9000; i++) document.write(s)",
        "document.write(" + "9" * 5000 + ")",
        "document.write(1" + "0" * 400 + ".5 + '')",
        "a[" * 40 + "1" + "] = 1" * 40,
        "for (var i = 0; i < 9000; i++) { x(" + ",".join(f"a{number}" for number in range(3000)) + ") }",
        "".join(f"function f{number}() {{ f{number + 1}(); f{number + 1}() }}" for number in range(60)) + "f0()",
    ],
)
def test_what_would_take_much_time_or_memory_is_not_known(script: str) -> None:
    assert written(script) == ""


def test_scripts_know_what_those_before_them_declare() -> None:
    assert written("var a = 'x'", "document.write(a)") == "x"
    assert written("var a = 'x'", "a = y", "document.write(a)") == ""


@pytest.mark.parametrize(
    ("script", "effects"),
    [
        ("document.body.classList.toggle('dark', false)", [("no-class", "body", "class", "dark")]),
        ("document.documentElement.classList.replace('dark', 'light')",
         [("no-class", "html", "class", "dark"), ("class", "html", "class", "light")]),
        ("var r = document.querySelector(':root'); r.dataset.colorMode = localStorage.getItem('m') ?? 'light'",
         [("attribute", "html", "data-color-mode", "light")]),
        ("if (localStorage.t === 'dark' || (!('t' in localStorage) && window.matchMedia('(prefers-color-scheme: dark)')"
         ".matches)) { document.documentElement.classList.add('dark') } else { document.body.removeAttribute('id') }",
         [("attribute", "body", "id", None)]),
        ("matchMedia('(min-width: 1px)').matches && document.body.classList.add('dark')", []),
        ("document.getElementById('a').textContent = 1 + 1", [("content", "#a", "", "2")]),
        ("var e = document.getElementById('a'); e.innerHTML = ''; for (var i = 1; i < 3; i++) e.innerHTML += i",
         [("content", "#a", "", ""), ("content", "#a", "", "1"), ("content", "#a", "", "12")]),
        ("document.getElementById('a').innerHTML += 'x'", []),
        ("document.querySelector('header').innerHTML = 'x'", [("content", "header", "", "x")]),
        ("document.querySelector('header > p').innerHTML = 'x'", []),
        ("document.body.insertAdjacentHTML('afterBegin', 'x')", [("insert", "body", "afterbegin", "x")]),
        ("document.body.insertAdjacentHTML('afterBegin', y)", []),
        ("$(function () { $('#a').html('x').after('y') })",
         [("content", "#a", "", "x"), ("insert", "#a", "afterend", "y")]),
        ("jQuery('.a').text('<')", [("content", ".a", "", "&lt;")]),
        ("$('#a').append(y)", []),
        ("document.getElementById('a').append('x')", []),
        ("function $(a) {} $('#a').html('x')", []),
        ("class A extends HTMLElement { constructor() { super() } connectedCallback() { this.innerHTML = 'x' } }"
         "customElements.define('a-a', A)", [("content", "a-a", "", "x")]),
        ("customElements.define('a-a', class extends HTMLElement {"
         "constructor() { super(); this.attachShadow({mode: 'open'}).innerHTML = [1, 2].map(n => n).join('') } })",
         [("content", "a-a", "", "12")]),
        ("customElements.define('a-a', class extends HTMLElement {"
         "connectedCallback() { this.innerHTML = this.getAttribute('b') } })", []),
        ("customElements.define('a-a', class extends HTMLElement {"
         "connectedCallback() { const f = function () { this.innerHTML = 'x' }; f() } })", []),
        ("class A { static b = 1 } document.getElementById('a').innerHTML = 'x'", [("content", "#a", "", "x")]),
        ("this.innerHTML = 'x'", []),
        ("document.documentElement.style.colorScheme = 'dark'", []),
        ("if (document.cookie) document.body.className = 'dark'", []),
        ("if (document.cookie != null) document.body.className = 'dark'", []),
    ],
)  # fmt: skip
def test_what_is_changed_at_once(script: str, effects: list[tuple[str, str, str, str | None]]) -> None:
    assert [tuple(effect) for effect in Evaluator().run(script)] == effects
