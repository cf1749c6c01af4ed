"""Rules that regular expressions read are those of the tokens, and so is what is looked for in single rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptc.core.model import Role
from adaptc.formats.css import rules
from adaptc.formats.css.fonts import font_face_items
from adaptc.formats.css.images import image_declarations
from adaptc.formats.css.references import css_references, imported_urls
from adaptc.formats.css.rules import Item, declaration_items, sheet_items

_PIECES = (
    *"{}()[];:,.#/\\\"'@! \n\0\fé",
    *("a", "--x:", "url(", "url(a.png)", 'URL( "b" )', "u\\72 l(", "/*", "*/", "/*;*/", "<!--", "-->", "\\9"),
    *("background", "content:", "*zoom:1", "COLOR : red", "col\\6f r:red", "!important", "calc((1px) * 2)", "[a=';']"),
    *("@media print{", "@MEDIA x {a{b:c}}", "@keyframes x{from{a:b}}", "@font-face{src:url(x)}", "@f\\6fnt-face{a:b}"),
    *('@import "a.css";', "@\\69mport url(b)", '@charset "utf-8";', "@layer x;", "a{b:c;d:e}", "&:hover{f:g}", "{}"),
)
texts = st.lists(st.sampled_from(_PIECES), max_size=25).map("".join)
sheets = st.lists(texts | st.builds("a{{{};}}".format, texts), max_size=4).map("".join)


def scanned_items(text: str) -> tuple[Item, ...]:
    """Return the rules of a sheet by its tokens."""
    return tuple(rules._Parser(text, 0, len(text)).items(0, len(text), is_nested=False))


@given(sheets)
def test_rules_and_declarations_are_those_of_the_tokens(text: str) -> None:
    assert sheet_items(text) == scanned_items(text)


@given(sheets)
def test_no_font_face_is_overlooked(text: str) -> None:
    def faces(items: tuple[Item, ...]) -> list[Item]:
        return [
            face
            for item in items
            for face in (*([item] if item.name == "@font-face" and item.body >= 0 else []), *faces(item.items))
        ]

    assert list(font_face_items(text)) == faces(scanned_items(text))


@given(sheets)
def test_imports_are_those_of_all_references(text: str) -> None:
    assert imported_urls(text) == [each.url for each in css_references(text) if each.role is Role.IMPORT]


@given(texts)
def test_an_image_is_found_whatever_rules_are_around_its_own(text: str) -> None:
    before = "a{b:c}@media x{d{e:f}}"
    alone = [(each.start, each.end) for each in image_declarations(text)]
    assert [(each.start - len(before), each.end - len(before)) for each in image_declarations(before + text)] == alone


@pytest.mark.parametrize("sheet", [
    "a{color:red;background:url(x;y)}",
    "@media print{/* } */ a , b[c='{']{ --x: 1 ;*zoom:1;;D:e!important }}",
    "<!-- @keyframes x{from{a:b}to{c:d}} --> @font-face{src:url(x)}",
])  # fmt: skip
def test_what_real_sheets_have_needs_no_tokens(sheet: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scanned = scanned_items(sheet)
    monkeypatch.delattr(rules, "_Parser")
    assert sheet_items(sheet) == scanned


def test_a_declaration_of_an_attribute_has_its_spans() -> None:
    (item,) = declaration_items(" color : red ;")
    assert (item.name, item.gap, item.start, item.prelude, item.body, item.close, item.end) == (
        "color",
        0,
        1,
        7,
        8,
        13,
        14,
    )


def test_the_rules_of_a_sheet_are_read_once_for_several_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    each_item = rules.each_item
    monkeypatch.setattr(rules, "each_item", lambda text: read.append(text) or each_item(text))
    sheet = ".read-once{color:red;display:none}"
    assert sheet_items(sheet) == sheet_items(sheet) and read == [sheet]
