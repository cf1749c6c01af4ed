"""Templates are compiled once in a process, and mean what they meant."""

from __future__ import annotations

from functools import partial

import jinja2
import pytest
from jinja2 import DictLoader

from adaptc.core.sandbox import sandboxed


def rendered(text: str, filters: dict[str, object] | None = None, **options: object) -> str:
    environment = sandboxed(loader=DictLoader({"t": text}), **options)
    environment.filters |= filters or {}
    return environment.get_template("t").render(x="<x>")


def test_a_template_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "{{ x }} of a template that no other test has"
    assert rendered(text) == rendered(text, autoescape=False)
    monkeypatch.setattr(jinja2.Environment, "compile", lambda *_: pytest.fail("a template was compiled again"))
    assert rendered(text, autoescape=False).startswith("<x> of")


def test_what_a_template_means_depends_on_options_and_filters() -> None:
    """The compiler itself applies filters and escapes to constants."""
    assert [rendered("{{ '<' }}{{ x }}\n", autoescape=escapes) for escapes in (True, False, True)] == [
        "&lt;&lt;x&gt;",
        "<<x>",
        "&lt;&lt;x&gt;",
    ]
    assert rendered("a\n", keep_trailing_newline=True) == "a\n"
    assert rendered("a\n") == "a"
    for word in ("one", "two", "one"):
        assert rendered("{{ 'a' | said }}", {"said": partial(str.__add__, word)}) == f"{word}a"
        assert rendered("{{ 'a' | said }}", {"said": lambda _, word=word: word}) == word


def test_a_template_that_changed_is_another() -> None:
    assert [rendered(text) for text in ("one", "two", "one")] == ["one", "two", "one"]
    with pytest.raises(jinja2.TemplateError):
        rendered("{{")
