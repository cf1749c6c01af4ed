"""Flattening of @import: the cascade stays exact, or the import stays."""

import posixpath

import pytest

from adaptc.formats.css.flatten import FlattenedSheet, ImportedSheet, flatten


def flat(files, root="a.css", loads=None) -> FlattenedSheet:
    def load(sheet, url):
        if loads is not None:
            loads.append(url)
        if "//" in url:
            return "it is external"
        path = posixpath.normpath(posixpath.join(posixpath.dirname(sheet), url))
        return ImportedSheet(path, files[path]) if path in files else "there is no such file"

    def rebase(url, from_sheet, to_sheet):
        if "//" in url:
            return url
        absolute = posixpath.join(posixpath.dirname(from_sheet), url)
        return posixpath.relpath(absolute, posixpath.dirname(to_sheet) or ".")

    return flatten(root, files[root], load, rebase)


def reasons(result):
    return [str(diagnostic).partition(": ")[2] for diagnostic in result.diagnostics]


def test_conditions_become_blocks():
    importer = '@charset "koi8-r";@import "b.css" layer(x.y) supports(display:grid) print, (min-width:1px);a{}'
    result = flat({"a.css": importer, "b.css": "b{}"})
    expected = "@media print, (min-width:1px){@supports (display:grid){@layer x.y{b{}}}}\na{}"
    assert result == FlattenedSheet(expected, ("b.css",), ())


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("", "b{}"),
        ("layer", "@layer{b{}}"),
        ("LAYER screen", "@media screen{@layer{b{}}}"),
        ("layer(x)", "@layer x{b{}}"),
        ("supports((a:b) or (c:d))", "@supports ((a:b) or (c:d)){b{}}"),
        ("/**/print/**/", "@media print{b{}}"),
        ("not all and (color)", "@media not all and (color){b{}}"),
    ],
)
def test_each_condition(conditions, expected):
    assert flat({"a.css": f'@import "b.css" {conditions};', "b.css": "b{}"}).text == expected


def test_order_and_layer_statements():
    files = {
        "a.css": "@layer p,q;@import url(b.css);@layer r;@import 'c.css' layer(q);a{}",
        "b.css": "b{}",
        "c.css": "",
    }
    assert flat(files).text == "@layer p,q;\nb{}\n@layer r;\n@layer q{}\na{}"


def test_imported_urls_are_rebased():
    files = {
        "a.css": "@import 'd/b.css';a{b:url(own.png)}",
        "d/b.css": "b{c:url(i.png) url(#f) url(data:,x)}",
    }
    assert flat(files).text == "b{c:url(d/i.png) url(#f) url(data:,x)}\na{b:url(own.png)}"


def test_of_a_sheet_that_is_imported_twice_the_last_copy_counts():
    files = {"a.css": "@import 'b.css';@import 'c.css';@import 'b.css';", "b.css": "b{}", "c.css": "c{}"}
    assert flat(files) == FlattenedSheet("c{}\nb{}", ("b.css", "c.css"), ())


def test_the_first_copy_stays_where_it_has_the_place_of_a_layer():
    files = {"a.css": "@import 'b.css';" * 3 + "@import 'c.css';", "b.css": "@layer x{b{}}", "c.css": "@layer y{c{}}"}
    assert flat(files).text == "@layer x{b{}}\n@layer x{b{}}\n@layer y{c{}}"
    kept = flat({"a.css": "@import '//x/';" * 3 + "a{}"})
    assert kept.text == "@import '//x/';" * 3 + "a{}"


def test_cycle_ends_as_in_browsers():
    result = flat({"a.css": "@import 'b.css';a{}", "b.css": "@import 'a.css';b{}"})
    assert (result.text, result.imported) == ("b{}\na{}", ("b.css",))
    assert [str(diagnostic) for diagnostic in result.diagnostics] == [
        "b.css:1:1: warning: @import of a.css closes a cycle; it is ignored, as in browsers [css-import-cycle]"
    ]


def test_imports_before_a_kept_one_are_kept():
    files = {"a.css": "@import 'b.css';@import '//x/';@import 'c.css';a{}", "b.css": "b{}", "c.css": "c{}"}
    result = flat(files)
    assert (result.text, result.imported) == ("@import 'b.css';\n@import '//x/';\nc{}\na{}", ("c.css",))
    assert reasons(result) == [
        "note: @import of b.css is kept: an @import after it is kept, and no rule may precede that [css-import-kept]",
        "note: @import of //x/ is kept: it is external [css-import-kept]",
    ]


def test_kept_import_of_an_import_comes_first_or_keeps_it():
    files = {
        "a.css": "@import 'd/b.css';a{}",
        "d/b.css": "@import 'c.css';@import '//x/';b{}",
        "d/c.css": "c{}",
    }
    assert flat(files).text == "@import \"d/c.css\";\n@import '//x/';\nb{}\na{}"
    assert flat(files | {"a.css": "@import 'd/b.css' print;"}).text == "@import 'd/b.css' print;"
    assert flat(files | {"a.css": "@import 'd/c.css';@import 'd/b.css';"}).text.startswith("@import 'd/c.css'")


@pytest.mark.parametrize(
    ("importer", "imported", "reason"),
    [
        ("@import 'b.css';", "b{", "malformed"),
        ("@import 'b.css';", "b{}}", "malformed"),
        ("@import 'b.css';", "b{} c", "malformed"),
        ("@import 'b.css';", "b{};", "malformed"),
        ("@import 'b.css';", "b{}/*", "malformed"),
        ("@import 'b.css';", "b{}@layer x", "malformed"),
        ("@import 'b.css';", "@namespace 'x';b{}", "the sheet declares a namespace"),
        ("@import 'b.css' print;", "<!-- b{}", "HTML comment mark"),
        ("@import 'b.css' scope(x);", "b{}", "not understood"),
        ("@import 'b.css' layer(a b);", "b{}", "not understood"),
        ("@import 'b.css' layer();", "b{}", "not understood"),
        ("@import 'b.css';@namespace 'x';", "b{}", "namespace is declared after"),
        ("@import 'b.css';a{}@import 'c.css';", "b{}", "follows a rule"),
        ("@import 'c.css';", "b{}", "there is no such file"),
    ],
)
def test_an_import_with_an_uncertain_result_is_kept(importer, imported, reason):
    result = flat({"a.css": importer, "b.css": imported})
    assert result.text == importer
    assert len(result.diagnostics) == 1
    assert result.diagnostics[0].id == "css-import-kept"
    assert reason in result.diagnostics[0].message


def test_a_deep_chain_ends():
    chain = {f"{index}.css": f"@import '{index + 1}.css';a{{}}" for index in range(100)} | {"100.css": ""}
    assert "32 imports deep" in reasons(flat(chain, "0.css"))[0]


def test_each_sheet_of_doubling_imports_is_read_once():
    """A chain in which each sheet imports the next one twice has two to the power of thirty paths."""
    files = {f"{index}.css": f"@import '{index + 1}.css';" * 2 + f"a{index}{{}}" for index in range(30)}
    loads: list[str] = []
    result = flat(files | {"30.css": "a{}"}, "0.css", loads)
    assert result.text == "\n".join(["a{}", *(f"a{index}{{}}" for index in reversed(range(30)))])
    assert len(loads) == 30


def test_doubling_imports_with_conditions_end():
    """Each condition needs a copy of its own."""
    files = {f"{index}.css": f"@import '{index + 1}.css' print;@import '{index + 1}.css';" for index in range(30)}
    result = flat(files | {"30.css": f"a{{{'b' * 100}:c}}"}, "0.css")
    assert any("would be too large" in reason for reason in reasons(result))
    assert len(result.text) < 100_000


def test_sheets_that_all_import_each_other_end():
    files = {f"{index}.css": "".join(f"@import '{each}.css';" for each in range(12)) for index in range(12)}
    loads: list[str] = []
    flat(files, "0.css", loads)
    assert len(loads) <= 12 * 12


def test_sheet_without_imports_is_returned_as_it_is():
    text = '@charset "utf-8";\r\n@layer a;b{c:d'
    assert flat({"a.css": text}) == FlattenedSheet(text, (), ())
