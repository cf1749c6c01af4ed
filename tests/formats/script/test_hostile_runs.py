"""Long runs of a character or word take time in proportion to their length: minified code and data are full of them."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sites.built import BuiltSite
from tests.waiting import cpu_limit

from adaptc.formats.html.minify import minify_markup
from adaptc.formats.script.facts import script_facts

ALL_LEVELS = ("full", "lossless", "moderate", "extreme", "text")
LENGTH = 60_000
RUNS = (
    *("a", "0", "_", "-", ".", "$", "\\", "{", "}", "<", "(", " ", "<br>", "\n", "é"),
    *("_a", "a.", "0.", "a-", "(  ", "import ", "<script", "[href", '"a":', "url(", "/* ", "{{a", "//a.", "https:"),
    *("style", "style=", "onclick='a("),
)
FRAMES = {"code": "f(RUN)", "string": "x='RUN';", "template": "x=`RUN`;", "comment": "/*RUN*/x()", "bare": "RUN"}


@pytest.fixture(autouse=True)
def _limit() -> Iterator[None]:
    with cpu_limit(20):
        yield


def _run(piece: str, length: int) -> str:
    return piece * (length // len(piece))


@pytest.mark.parametrize("piece", RUNS)
def test_facts_of_scripts(piece: str) -> None:
    for frame in FRAMES.values():
        assert not script_facts(frame.replace("RUN", _run(piece, LENGTH))).file_selectors


def _page(piece: str) -> str:
    run = _run(piece, LENGTH // 6)
    text, code = html.escape(run), run.replace("<", "")
    value = code.translate(str.maketrans("", "", "{}\\"))
    return (
        f"<!doctype html><title>{text}</title><link rel=stylesheet href='{text}'>"
        f"<style>p{{content:'{value}';font:{value} a}}@media ({value}){{a{{top:{value}}}}}</style><style>{code}</style>"
        f"<body class='{text}' style='top:{text}'><p id='{text}'>{text}<a href='{text}'>{text}</a>"
        f"<img src=a.png alt='{text}' width='{text}' srcset='{text}' sizes='{text}'>"
        f"<form>{text}<input name='{text}'></form><script>f('{code}');</script>"
        f'<script type=application/json>"{code}"</script>{run}'
    )


@pytest.mark.parametrize("piece", RUNS)
def test_a_page_at_every_level(tmp_path: Path, piece: str) -> None:
    site = BuiltSite(tmp_path).write({"index.html": _page(piece)})
    result = site.build(build__levels=ALL_LEVELS)
    kinds = {each.id for each in result.diagnostics}
    assert "pass-failed" not in kinds
    assert all(len(each.message) < 1500 for each in result.diagnostics)


@pytest.mark.parametrize(
    "text", [f"<script>x<a {_run('&a;', 200_000)}</script>", f"<img src={_run('A', LENGTH)} alt='a &amp; b'>"]
)
def test_markup_of_attributes_with_references(text: str) -> None:
    page = f"<!doctype html><title>t</title><p class='a' id='b'>{text}</p>"
    assert minify_markup(page, keep_comments=True) is not None
