"""Shorter names of local variables: what is renamed, what stays, and that programs do the same."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from adaptc.formats.script.local_names import with_short_names
from adaptc.formats.script.minify import minify_script

RENAMED = (
    ("(function(first,second){return first+second})(one,two);", "(function(e,t){return e+t})(one,two);"),
    # functions next to each other share names
    ("function f(value){var other=value*value*value;return other}", "function f(e){var t=e*e*e;return t}"),
    ("function f(one){return one}function g(two){return two}", "function f(e){return e}function g(e){return e}"),
    # what hides a name that is not used there may have it
    ("function f(outer){g(outer,outer);return function(inner){return inner}}",
     "function f(e){g(e,e);return function(e){return e}}"),
    ("function f(outer){return function(inner){return inner+outer+outer}}",
     "function f(t){return function(e){return e+t+t}}"),
    # properties, methods, keys and labels are no variables
    ("function f(value){return{value:value,other(value){return this.value+value}}.value}",
     "function f(e){return{value:e,other(e){return this.value+e}}.value}"),
    ("function f(value){value:for(;;){break value}return value}", "function f(e){value:for(;;){break value}return e}"),
    ("function f(value){switch(value){case value:return value?value:g}}",
     "function f(e){switch(e){case e:return e?e:g}}"),
    # blocks, loops, what is caught, templates
    ("function f(){for(let index=0;index<9;index++){g(index)}}", "function f(){for(let e=0;e<9;e++){g(e)}}"),
    ("function f(){try{g()}catch(error){g(error)}}", "function f(){try{g()}catch(e){g(e)}}"),
    ("function f(value){return`${value} of value`}", "function f(e){return`${e} of value`}"),
    ("g((first,second)=>{return first-second});", "g((e,t)=>{return e-t});"),
    ("g(function inner(value){return value?inner(value-1):0});", "g(function t(e){return e?t(e-1):0});"),
    ("class A{run(value){return value*value}}", "class A{run(e){return e*e}}"),
    # objects and blocks after colons of conditions, keys, cases and labels
    ("function f(value){return value?{}:{value:value,other:value}}", "function f(e){return e?{}:{value:e,other:e}}"),
    ("function f(value){return value?g?1:value:{a:g?value:{value:value}}}",
     "function f(e){return e?g?1:e:{a:g?e:{value:e}}}"),
    ("function f(value){switch(value){case value?1:value:{let inner=value;g(inner)}default:value:for(;;)break value}}",
     "function f(t){switch(t){case t?1:t:{let e=t;g(e)}default:value:for(;;)break value}}"),
    ("function f(value){value:{g(value);break value}}", "function f(e){value:{g(e);break value}}"),
    ("function f(value){switch(g){case 1,value:value:for(;;)break value}}",
     "function f(e){switch(g){case 1,e:value:for(;;)break value}}"),
    # values that have a name, and what is local of that name
    ("function f(value,undefined){return value===undefined?NaN:new.target}",
     "function f(e,t){return e===t?NaN:new.target}"),
    # what evaluates text as a global program sees no local variable
    ("function f(value){return(0,eval)(value)}", "function f(e){return(0,eval)(e)}"),
    ("function f(value){return eval.call(g,value)}", "function f(e){return eval.call(g,e)}"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "shorter"), RENAMED)
def test_local_names_get_shorter(text: str, shorter: str) -> None:
    assert with_short_names(text) == shorter


KEPT = (
    "var first=1;function second(){}",  # global
    "function f(value){return{value}}",  # short for value: value
    "function f({value}){return value}",
    "function f(value){eval(g)}",
    "function f(value){(eval)(g)}",
    "function f(value){return(g,eval(g))}",
    "function f(value){return eval?.(g)}",
    "function f(value){with(g)h(value)}",
    "function f(value){{function value(){}}}",  # Annex B.3.2
    "function f(){try{}catch(error){var error=1}return error}",
    "function Shape(){}function f(){function Circle(){}return new Circle}",  # constructor.name
    "define(function(require,exports,module){require('x')});",
    "angular.module('a').controller('b',function(service){service()});",
    "function f(value){return value\n}",  # a line end, which may end a statement
    "function f(v\\u0061lue){return value}",
    "function f(value){return value})",  # no script
    "class A{static{var value=1}}function f(){return value}",
)


@pytest.mark.parametrize("text", KEPT)
def test_what_is_unsure_stays(text: str) -> None:
    shorter = with_short_names(text)
    names = ("first", "second", "value", "error", "Circle", "Shape", "require", "service")
    assert [name for name in names if name in text and name not in (shorter or text)] == []


def test_a_default_value_does_not_see_the_variables_of_the_body() -> None:
    text = "function f(value=other){var other=1;return[value,other]}"
    assert with_short_names(text) == "function f(e=other){var other=1;return[e,other]}"


def test_no_variable_gets_a_name_that_is_used_where_it_is_known() -> None:
    assert with_short_names("function f(value){return e(value)}") == "function f(t){return e(t)}"
    assert with_short_names("function f(value){return n=>n+value}") == "function f(e){return n=>n+e}"
    assert with_short_names("function f(value){return e=>e+value}") == "function f(t){return e=>e+t}"


def test_functions_keep_their_names_where_names_are_asked_for() -> None:
    text = "function f(){function inner(){}var other=function(){},value=1;return[inner,other,value]}"
    assert with_short_names(text) == "function f(){function e(){}var t=function(){},n=1;return[e,t,n]}"
    shorter = with_short_names(text + "g(h.name);")
    assert shorter is not None
    assert "inner" in shorter
    assert "other" in shorter
    assert "value" not in shorter


def test_a_function_without_a_name_keeps_that_of_its_variable_as_its_own() -> None:
    uses = "Shape.one=Shape.two=Shape.three=g(Shape);"
    assert (
        with_short_names(f"function f(){{var Shape=function(value){{return new Shape(value)}};{uses}}}")
        == "function f(){var t=function Shape(e){return new t(e)};t.one=t.two=t.three=g(t);}"
    )


@pytest.mark.parametrize(
    "value",
    [
        "value=>value",  # has no name of its own
        "class{}",
        "async function(){}",
        "function*(){}",
        "function(){return eval(g)}",
        "function(){return 1},Shape=value=>value",
    ],
)
def test_what_cannot_have_a_name_of_its_own_keeps_its_variable(value: str) -> None:
    text = f"function f(){{var Shape={value};Shape.one=Shape.two=Shape.three=g(Shape);}}"
    assert "Shape.one" in (with_short_names(text) or text)


def test_a_name_that_is_written_elsewhere_is_no_function_s_own() -> None:
    text = "function f(){var Shape=function(){};Shape.a=Shape.b=Shape.c=Shape;return{Shape}}"
    assert with_short_names(text) is None


CALLED = "function f(h){function inner(){return 1}var Other=function(){return inner()};g(h.name);return Other()}"


def test_functions_that_are_only_called_have_nobody_who_asks_for_their_names() -> None:
    assert (
        with_short_names(CALLED)
        == "function f(e){function t(){return 1}var n=function(){return t()};g(e.name);return n()}"
    )


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("return Other()", "return Other"),
        ("return Other()", "return new Other()"),
        ("return inner()", "return inner().call(inner)"),
        ("return inner()", "return inner.name"),
        ("return 1", "return arguments.callee"),
        ("var Other=function", "var Other=g(function inner(){});Other=function"),
    ],
)
def test_functions_that_something_gets_hold_of_keep_their_names(written: str, kept: str) -> None:
    shorter = with_short_names(CALLED.replace(written, kept)) or CALLED
    assert ("Other" if "Other" in kept else "inner") in shorter


def test_a_script_is_minified_with_short_names_on_request() -> None:
    text = "(function (window) {\n  var counter = 0;\n  window.next = function () { return counter++; };\n})(window);\n"
    assert "counter" in (minify_script(text) or "")
    shorter = minify_script(text, short_names=True)
    assert shorter is not None
    assert "counter" not in shorter


def test_what_a_minifier_wrote_that_keeps_names_gets_short_ones() -> None:
    text = "".join(f"function f{n}(first,second){{return g(second,first,{n * 37 % 1009})}}" for n in range(200))
    assert minify_script(text) is None
    shorter = minify_script(text, short_names=True)
    assert shorter is not None
    assert "first" not in shorter
    assert minify_script(shorter, short_names=True) is None


PROGRAM = """
var log = [], shared = 'global';
function outer(list, callback) {
  var total = 0, index;
  for (index = 0; index < list.length; index++) { let item = list[index]; total += callback(item, index); }
  try { throw new Error('x' + total); } catch (error) { log.push(error.message, shared); }
  label: for (const key in { first: 1, second: 2 }) { for (;;) { log.push(key); continue label; } }
  var shape = { total: total, get size() { return total; }, grow(by) { total += by; return this.size; } };
  function helper(depth) { return depth ? helper(depth - 1) + 1 : shared.length; }
  return [shape.grow(2), helper(3), (function self(n) { return n < 2 ? 1 : n * self(n - 1); })(5), `${total}-${index}`];
}
function shapes() {
  var Shape = function (size) { this.size = size; };
  Shape.make = function (size) { return new Shape(size); };
  Shape.two = Shape.make(2);
  return [Shape.name, Shape.make(3).constructor.name, Shape.two.size ? { size: Shape } : {}, (0, eval)('typeof Shape')];
}
class Base { constructor(start) { this.start = start; } plus(amount) { const sum = this.start + amount; return sum; } }
var result = outer([1, 2, 3], (value, place) => { var shared = value * place; return shared; });
log.push(result, shapes(), new Base(4).plus(3), ((alpha, beta = alpha + 1) => [alpha, beta])(1));
process.stdout.write(JSON.stringify(log));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_a_program_does_the_same() -> None:
    shorter = minify_script(PROGRAM, short_names=True)
    assert shorter is not None
    assert "callback" not in shorter
    before, after = (
        subprocess.run(["node", "-"], input=text, capture_output=True, text=True, check=True).stdout
        for text in (PROGRAM, shorter)
    )
    assert before == after
