"""Templates are compiled once in a process, and mean what they meant."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import jinja2
import pytest
from jinja2 import DictLoader, FileSystemLoader

from adaptc.core import sandbox
from adaptc.core.sandbox import sandboxed, shipped_template


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


def shown_by_a_new_process(folder: Path, monkeypatch: pytest.MonkeyPatch, **filters: object) -> tuple[str, int]:
    """Return what the template ``t.j2`` of a folder shows, and how many were compiled for that."""
    monkeypatch.setattr(sandbox, "_CODES", {})
    compiled = []
    compile_template = jinja2.Environment.compile
    with monkeypatch.context() as patched:
        patched.setattr(
            jinja2.Environment, "compile", lambda *given: compiled.append(given) or compile_template(*given)
        )
        environment = sandboxed(loader=FileSystemLoader(folder))
        environment.filters |= filters
        return environment.get_template("t.j2").render(), len(compiled)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where the code of modules is kept, of a Python that keeps it."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path / "kept"


def test_a_shipped_template_is_compiled_once_for_all_processes(
    tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptc.templates.__path__", [str(tmp_path)])
    template = tmp_path / "t.j2"
    template.write_text("one {{ 'a' | upper }}")
    assert [shown_by_a_new_process(tmp_path, monkeypatch) for _ in range(2)] == [("one A", 1), ("one A", 0)]
    assert shown_by_a_new_process(tmp_path, monkeypatch, upper=str.title) == ("one A", 1), "another filter"
    template.write_text("two")
    assert [shown_by_a_new_process(tmp_path, monkeypatch) for _ in range(2)] == [("two", 1), ("two", 0)]
    (file,) = (path for path in kept.rglob("*") if path.is_file())
    for damage in (b"", file.read_bytes()[:-1], file.read_bytes().partition(b"\n")[0] + b"\nx"):
        file.write_bytes(damage)
        assert shown_by_a_new_process(tmp_path, monkeypatch) == ("two", 1), "kept code is damaged"
    file.unlink()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert shown_by_a_new_process(tmp_path, monkeypatch) == ("two", 1)
    assert not file.exists()


def test_templates_that_are_shipped_have_files_so_that_their_code_is_kept() -> None:
    for name in ("report.html.j2", "nginx-server.conf.j2"):
        template = shipped_template(name)
        assert template is not None
        assert Path(template[1]).read_text("utf-8") == template[0]
        assert sandbox._is_shipped(template[1])
    assert shipped_template("none.j2") is None


def test_the_code_of_other_templates_is_not_kept(tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.j2").write_text("one")
    assert [shown_by_a_new_process(tmp_path, monkeypatch) for _ in range(2)] == [("one", 1), ("one", 1)]
    assert not kept.exists()
