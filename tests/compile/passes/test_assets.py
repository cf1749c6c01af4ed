"""styles, scripts and json: files under their own names."""

from __future__ import annotations

import dataclasses

import pytest

from tests.sites.small import SmallSite

from adaptc.compile.page.inlining import meets_integrity

LONG = "a{color:red}b{margin:0 1px 2px 3px}"


def sheet(files, path="a.css", **options):
    """Return what the styles pass makes of a sheet, and its outcome."""
    outcome = SmallSite(files).asset(path, "styles", options)
    return outcome.content, outcome


def reasons(outcome):
    return [each.reason for each in outcome.actions if each.verb == "kept"]


def test_a_sheet_is_flattened_and_minified():
    content, outcome = sheet({"a.css": "@import 'b.css' print;\n a { color : red }", "b.css": "b { x : y }"})
    assert content == b"@media print{b{x:y}}a{color:red}"
    assert [each.verb for each in outcome.actions] == ["flattened", "minified"]


def test_a_brace_too_many_takes_the_next_rule_along():
    content, outcome = sheet({"a.css": "a { x : y } } @media print { b { x : y } } c { z : y }"})
    assert content == b"a{x:y}c{z:y}" and not outcome.diagnostics
    assert [each.verb for each in outcome.actions] == ["removed", "minified"]


@pytest.mark.parametrize("space", ["", " "])
def test_what_no_browser_knows_leaves_a_sheet_that_is_minified_or_not(space):
    text = f"a{{{space}display:-ms-flexbox;display:flex;-ms-flex:1}}b{{color:red;-o-transition:none}}" * 3
    content, outcome = sheet({"a.css": text}, prefixes="drop")
    assert b"-ms-" not in content and b"-o-" not in content and b"display:flex" in content
    removed = [each.reason for each in outcome.actions if each.verb == "removed"]
    assert len(removed) == 1 and removed[0].endswith(" characters that no browser of today knows")
    kept, _ = sheet({"a.css": text})
    assert b"-ms-flexbox" in (kept or text.encode())


def test_urls_of_imported_sheets_are_rebased():
    content, _ = sheet({"a.css": "@import 'd/b.css';", "d/b.css": "b{background:url(i/x.png)}"})
    assert b"url(d/i/x.png)" in content


@pytest.mark.parametrize("url", ["https://x.example/b.css", "none.css", "b.txt"])
def test_an_import_that_is_no_sheet_of_the_site_stays(url):
    content, outcome = sheet({"a.css": f"@import '{url}';a{{}}", "b.txt": "b{}"}, minify=False)
    assert content is None and [said.id for said in outcome.diagnostics] == ["css-import-kept"]


def test_a_sheet_over_the_budget_of_the_site_keeps_its_imports():
    site = SmallSite({"a.css": "@import 'b.css';a{}", "b.css": "b{}"})
    site.decisions = dataclasses.replace(site.decisions, excess=frozenset(("a.css",)))
    outcome = site.asset("a.css", "styles")
    assert [str(each) for each in outcome.diagnostics] == [
        "a.css:1:1: note: @import of b.css is kept: the imports of all sheets together are more than 128,000,000 bytes "
        "[css-import-kept]"
    ]


def test_a_cycle_of_imports_ends():
    content, outcome = sheet({"a.css": "@import 'b.css';a{x:y}", "b.css": "@import 'a.css';b{z:y}"})
    assert content == b"b{z:y}a{x:y}" and "css-import-cycle" in [said.id for said in outcome.diagnostics]


def test_a_url_in_a_custom_property_keeps_an_import_of_another_directory():
    files = {"a.css": "@import 'd/b.css';a{x:y}", "d/b.css": ":root{--x:url(i.png)}"}
    content, outcome = sheet(files, minify=False)
    assert content is None and "custom property" in outcome.diagnostics[0].message
    same = {"a.css": "@import 'b.css';a{x:y}", "b.css": ":root{--x:url(i.png)}"}
    assert sheet(same, minify=False)[0] is not None


def test_a_sheet_of_unknown_encoding_stays():
    content, outcome = sheet({"a.css": "a { content : 'é' }".encode("latin-1")})
    assert content is None and reasons(outcome) == ["its encoding is that of the page that links it"]


def test_a_declared_encoding_becomes_a_declared_utf8():
    source = "@charset \"iso-8859-1\"; a { content : 'é' }".encode("latin-1")
    content, _ = sheet({"a.css": source})
    assert content.startswith(b'@charset "utf-8";') and "é" in content.decode()


def test_without_a_declaration_none_is_added():
    content, _ = sheet({"a.css": "a { content : 'é' }"})
    assert not content.startswith(b"@charset") and "é" in content.decode()


def test_a_declared_import_makes_the_result_declared():
    imported = "@charset \"iso-8859-1\";b{content:'é'}".encode("latin-1")
    content, _ = sheet({"a.css": "@import 'b.css';a{x:y}", "b.css": imported})
    assert content.startswith(b'@charset "utf-8";') and "é" in content.decode()


@pytest.mark.parametrize("imported", ["b{content:'é'}".encode("latin-1"), '@charset "utf-8";b{content:"é"}'.encode()])
def test_encodings_do_not_mix(imported):
    files = {"a.css": "@import 'b.css';a{content:'ü'}", "b.css": imported}
    content, outcome = sheet(files, minify=False)
    assert content is None and "encoding" in outcome.diagnostics[0].message


def test_what_is_minified_already_is_left_alone():
    source = "".join(f".c{n}{{width:{n}px}}" for n in range(999))
    content, outcome = sheet({"a.css": source})
    assert content is None and reasons(outcome) == ["it is minified already"]


def test_a_sheet_without_white_space_is_minified_where_that_leaves_less():
    boxes = (f"width:{n * 37 % 1009}px;padding:{n * 13 % 97}px {n * 13 % 97}px" for n in range(199))
    source = "".join(f".c{n}{{{box};color:#{n % 9}{n % 9}{n * 5 % 9}{n * 5 % 9}ff}}" for n, box in enumerate(boxes))
    content, outcome = sheet({"a.css": source})
    assert content is not None and len(content) < 0.95 * len(source)
    assert [action.reason for action in outcome.actions] == [f"{len(source)} to {len(content)} characters"]


@pytest.mark.parametrize("end", ["", "export{a}"])
def test_a_script_that_is_minified_is_not_proven_again(end, monkeypatch):
    monkeypatch.setattr("adaptc.formats.script.minify.Script", lambda _: pytest.fail("it is read"))
    text = "".join(f"a{n}=f({n * 37 % 1009},b{n * 5 % 99});" for n in range(400)) + end
    assert script(text) == (None, ["it is not shorter or not safe to minify"])


def script(content, path="a.js", name="scripts", **options):
    outcome = SmallSite({path: content}).asset(path, name, options)
    return outcome.content, reasons(outcome)


def test_a_script_is_minified():
    assert script("var a = 1; // x\n") == (b"var a=1", [])


@pytest.mark.parametrize("content", ["import = ;\n", "var = ;", b"var a = '\xe9' ;", "var a=1"])
def test_a_script_that_cannot_be_minified_stays(content):
    result, said = script(content)
    assert result is None and len(said) == 1


def test_minification_can_be_off():
    assert script("var a = 1; // x\n", minify=False) == (None, [])
    assert sheet({"a.css": "a { color : red }"}, minify=False)[0] is None


def test_a_byte_order_mark_still_says_what_the_encoding_is():
    result, _ = script(b"\xef\xbb\xbf" + "var a = 'é' ; // x\n".encode())
    assert result == b"\xef\xbb\xbf" + "var a='é'".encode()


def test_ascii_stays_ascii():
    result, _ = script("var a = '\\u00e9' ; // comment\n")
    assert result is None or result.isascii()


def test_json_loses_its_white_space():
    assert script('{ "a" : [ 1 , 2 ] }', "a.json", "json") == (b'{"a":[1,2]}', [])
    assert script("{ broken }", "a.json", "json")[0] is None


def test_integrity_is_judged_as_browsers_do():
    assert meets_integrity(b"", "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
    assert meets_integrity(b"", "SHA256-47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=?opt")
    assert not meets_integrity(b"x", "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
    assert meets_integrity(b"x", "") and meets_integrity(b"x", "md5-x nonsense") and meets_integrity(b"x", None)


COUNTER = (
    b"(function (page) {\n  var counter = 0;\n  page.next = function () { return counter + counter++; };\n})(window);\n"
)


def test_local_names_of_scripts_get_shorter_on_request():
    assert b"counter" in script(COUNTER)[0]
    assert b"counter" not in script(COUNTER, names=True)[0]


def test_a_script_that_reads_its_own_text_keeps_its_names():
    content = COUNTER + b"(function () { run(arguments.callee.toString()); })();\n"
    assert b"counter" in script(content, names=True)[0]
    content = COUNTER + b"document.getElementsByTagName('script')[0].parentNode.appendChild(counted);\n"
    assert b"counter" not in script(content, names=True)[0]
