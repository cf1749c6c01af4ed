"""Nesting that no author writes: it ends in a diagnostic or leaves things as they are, at every level."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sites.built import BuiltSite
from tests.sites.small import SmallSite

from adaptc.compile.analyse.decorations.image_rules import sheet_images
from adaptc.compile.page.backgrounds import RemovableImage, clear_backgrounds
from adaptc.compile.page.image_sizes import sizing_rules
from adaptc.compile.page.sheets import page_sheets
from adaptc.core.model import Role
from adaptc.formats.css.flatten import ImportedSheet, flatten
from adaptc.formats.css.fonts import drop_fonts
from adaptc.formats.css.minify import minify_sheet
from adaptc.formats.css.prune import prune_sheets
from adaptc.formats.css.references import css_references
from adaptc.formats.css.rules import sheet_items
from adaptc.formats.css.scanner import MAX_DEPTH
from adaptc.formats.css.selectors import static_selectors
from adaptc.formats.css.sheet_text import beyond_limits
from adaptc.formats.css.visibility import visibility_rules
from adaptc.formats.html.document import parse
from adaptc.formats.html.references import references
from adaptc.formats.script.minify import minify_json

DEEP = 400
SHEETS = {
    "media": "@media all{" * DEEP + ".x{color : red;background:url(b.png)}" + "}" * DEEP,
    "open": "@media all{" * DEEP + ".x{color : red;background:url(b.png)}",
    "nested": ".x{display:none;" * DEEP + "background:url(b.png)" + "}" * DEEP,
    "value": ".x{width:" + "calc(1px + " * DEEP + "1px" + ")" * DEEP + ";background:url(b.png)}",
    "braces": ".x{y:" + "{" * DEEP + "a" + "}" * DEEP + ";background:url(b.png)}",
    "mismatched": "([" * DEEP + ".x{background:url(b.png)}" + ")" * DEEP,
    "selector": ":is(" * DEEP + ".x" + ")" * DEEP + "{background:url(b.png)}",
    "prelude": "@media " + "(not " * DEEP + "(width:1px)" + ")" * DEEP + "{.x{background:url(b.png)}}",
    "digits": ".x{width:" + "1" * 5000 + "px;background:url(b.png)}",
}


@pytest.mark.parametrize("text", SHEETS.values(), ids=SHEETS)
def test_a_sheet_beyond_the_limits_is_left_alone(text: str) -> None:
    assert beyond_limits(text)
    assert minify_sheet(text) is None
    assert prune_sheets([text], lambda selector: True) == (text,)
    assert drop_fonts(text, lambda family: False) == text
    assert clear_backgrounds(text, lambda url: RemovableImage(None)).text == text
    assert sizing_rules(text).is_unpredictable
    assert sheet_images(text).rules == ()
    assert [reference.url for reference in css_references(text)] == ["b.png"]
    visibility_rules(text)


def test_a_sheet_of_the_greatest_depth_is_still_read() -> None:
    text = "@media all{" * (MAX_DEPTH - 1) + ".x{color : red}" + "}" * (MAX_DEPTH - 1)
    assert not beyond_limits(text)
    assert prune_sheets([text], lambda selector: False) == ("",)


def test_marks_that_close_nothing_do_not_hide_the_depth() -> None:
    assert beyond_limits("}" * 500 + "{" * 200)
    assert beyond_limits("(]" * 200)
    assert not beyond_limits("()" * 500)


def test_what_lies_too_deep_is_kept_with_what_it_uses() -> None:
    inner = "@media all{" * DEEP + ".gone{animation:spin 1s}" + "}" * DEEP
    sheet = "@keyframes spin{to{color:red}}" + inner
    assert prune_sheets([sheet], lambda selector: False) == (sheet,)
    names = [item.name for item in sheet_items(inner)]
    assert names == ["@media"]


@pytest.mark.parametrize("depth", [40, 4000])
def test_a_selector_of_many_functions_is_unknown(depth: int) -> None:
    assert static_selectors(":is(" * depth + ".x" + ")" * depth) == ()


@pytest.mark.parametrize("text", [".x, .y{" * 60, ".x{& & .y{" * 30], ids=["lists", "ampersands"])
def test_nested_selectors_do_not_grow_exponentially(text: str) -> None:
    sheet = text + "color : red;background:url(b.png)" + "}" * text.count("{")
    assert minify_sheet(sheet) is None or len(sheet) < 1000
    assert prune_sheets([sheet], lambda selector: False) == ("",)
    assert all(len(rule.selector) < 1 << 17 for rule in sheet_images(sheet).rules)


def test_deep_json_is_left_alone() -> None:
    assert minify_json('{"a": ' * 90 + "[ ]" + "}" * 90) == '{"a":' * 90 + "[]" + "}" * 90
    for depth in (400, 100_000):
        assert minify_json('{"a": ' * depth + "1" + "}" * depth) is None
        assert minify_json("[ " * depth) is None


def test_deep_conditions_of_an_import_are_unknown() -> None:
    text = f"@import 's.css' supports({'(' * DEEP}display:grid{')' * DEEP});"
    flattened = flatten("a.css", text, lambda sheet, url: ImportedSheet("s.css", "a{}"), lambda url, *_: url)
    assert flattened.text == text
    assert "its conditions are not understood" in flattened.diagnostics[0].message


def test_frames_in_frames_are_read_to_some_depth() -> None:
    page = "<img src=a.png>"
    for _ in range(4):
        page = f'<iframe srcdoc="{_attribute(page)}"></iframe>'
    assert [reference.role for reference in references(parse(page))] == [Role.IMAGE]
    for _ in range(400):
        page = f'<iframe srcdoc="{_attribute(page)}"></iframe>'
    assert list(references(parse(page))) == []


def _attribute(markup: str) -> str:
    return markup.replace("&", "&amp;").replace('"', "&quot;")


def test_a_long_chain_of_imports_is_walked() -> None:
    files = {f"{index}.css": f"@import '{index + 1}.css';" for index in range(1500)}
    site = SmallSite(files | {"1500.css": "a{}"})
    view = site.view()
    view.materials.artifact = lambda path, _: site.contents[path]  # imports stay beyond a depth of 32
    tree = parse("<style>@import '0.css';</style>")
    assert len(page_sheets(tree, view.url_of("index.html"), view).texts) == 1502


def test_the_diagnostic_of_a_deep_sheet() -> None:
    outcome = SmallSite({"s.css": SHEETS["media"]}).asset("s.css", "styles")
    assert outcome.content is None
    assert [str(each) for each in outcome.diagnostics] == [
        "s.css: warning: blocks are nested more than 100 deep; the style sheet is not rewritten [css-malformed]"
    ]


# Repetitions in a style sheet: four times as many may take about four times as long. What is quadratic takes 16
REPETITIONS = {
    "urls": lambda n: ".x{background:" + ",".join(f"url(b.png?{k})" for k in range(n)) + "}",
    "quoted": lambda n: ".x{background:" + ",".join(f'url("b.png?{k}")' for k in range(n)) + "}",
    "image sets": lambda n: ".x{background:" + ",".join(f'image-set("b.png?{k}" 1x)' for k in range(n)) + "}",
    "declarations": lambda n: ".x{" + "".join(f"--p{k}:url(b.png?{k});" for k in range(n)) + "}",
    "rules": lambda n: "".join(f".x{k}{{background:url(b.png)}}" for k in range(n)),
    "comments": lambda n: ".x{background:" + "/**/" * 4 * n + "url(b.png)}",
    "comments between": lambda n: "/**/".join(f".x{{background:url(b.png?{k})}}" for k in range(n)),
    "selectors": lambda n: ",".join(f".x{k}" for k in range(n)) + "{background:url(b.png)}",
}


@pytest.mark.parametrize("repeat", REPETITIONS.values(), ids=REPETITIONS)
def test_repetitions_take_time_in_proportion(repeat: Callable[[int], str]) -> None:
    def seconds(text: str) -> float:
        begun = time.process_time()
        assert not sheet_images(text).imports
        css_references(text)
        clear_backgrounds(text, lambda url: RemovableImage(None))
        minify_sheet(text)
        return time.process_time() - begun

    seconds(repeat(10))  # what is imported and compiled once
    few = min(seconds(repeat(1000)), seconds(repeat(1001)))
    assert seconds(repeat(4000)) < 10 * max(few, 0.02)


def test_no_level_fails(tmp_path: Path) -> None:
    files = {"b.png": b"\x89PNG", "j.json": '{"a": ' * DEEP + "1" + "}" * DEEP}
    conditions = f"@import 's.css' supports({'(' * DEEP}display:grid{')' * DEEP});.x{{color:red}}"
    for name, text in {**SHEETS, "import": conditions}.items():
        files[f"{name}.css"] = text
        head = f"<!doctype html><title>t</title><link rel=stylesheet href={name}.css><style>{text}</style>"
        files[f"{name}.html"] = f'{head}<p class=x style="{text[text.index("{") + 1 :]}">Some words<img src=b.png>'
    for tag in ("div", "b", "svg", "math", "my-app", "table><tr><td", "dl><div", "pre><b", "ul><li"):
        files[f"{tag[:3]}.html"] = f"<!doctype html><title>t</title><p>Words{f'<{tag}>' * DEEP}<img src=b.png>"
    site = BuiltSite(tmp_path).write(files)
    result = site.build(build__levels=["lossless", "moderate", "extreme", "text"])
    assert [str(each) for each in result.diagnostics if each.id == "pass-failed"] == []
