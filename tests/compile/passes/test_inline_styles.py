"""inline-styles: each trap that makes a style sheet in the page something else than the same sheet in a file."""

from __future__ import annotations

import base64
import hashlib

import pytest

from tests.sites.small import SmallSite

from adaptc.compile.view import Settings

HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"
LONG = "a{color:red}b{margin:0 1px 2px 3px}i{padding:4px 5px 6px 7px}"


def page(link="<link rel=stylesheet href=css/a.css>", sheet=LONG, *, path="css/a.css", head=HEAD, **site):
    files = {"index.html": f"{head}{link}<p>text", path: sheet, **site.pop("files", {})}
    return SmallSite(files, **site)


def inlined(*args, **kwargs):
    return page(*args, **kwargs).page("index.html", "inline-styles")


def test_a_small_sheet_moves_into_the_page():
    assert f"<style>{LONG}</style>" in inlined()


def test_the_page_says_what_it_still_embeds():
    site = page(
        files={"b.css": LONG * 2},
        shared=["b.css"],
        link="<link rel=stylesheet href=css/a.css><link rel=stylesheet href=b.css>",
    )
    done = site.rewrite()
    assert done.embeds == ("b.css",)


@pytest.mark.parametrize("between", ["", "@import 'c.css';"])
def test_a_sheet_that_another_one_imports_stays(between):
    """In the page, it would be loaded nevertheless, and only once the other one is there."""
    files = {
        "b.css": f"@import '{'c' if between else 'css/a'}.css' scope((p));{LONG * 2}",
        "c.css": "@import 'css/a.css' scope((p));",
    }
    link = "<link rel=stylesheet href=css/a.css><link rel=stylesheet href=b.css>"
    site = page(link, files=files, shared=["b.css"])
    assert "<style" not in site.page("index.html", "inline-styles")
    assert site.reasons("index.html", "inline-styles")["css/a.css"].startswith("another sheet of the page imports it")


@pytest.mark.parametrize(
    "attribute",
    ["title=main", "id=theme", "class=x", "disabled", "data-x=1", "onload=f()", "nonce=x", "blocking=render"],
)
def test_a_link_that_something_else_knows_stays(attribute):
    site = page(f"<link rel=stylesheet {attribute} href=css/a.css>")
    assert "<style" not in site.page("index.html", "inline-styles")
    assert site.reasons("index.html", "inline-styles")["css/a.css"].startswith("the link has the attribute")


@pytest.mark.parametrize(
    "link",
    [
        "<link rel='alternate stylesheet' href=css/a.css>",
        "<link rel=preload as=style href=css/a.css>",
        "<link rel='stylesheet icon' href=css/a.css>",
        "<link rel=stylesheet type=text/less href=css/a.css>",
        "<link rel=stylesheet charset=euc-kr href=css/a.css>",
        "<noscript><link rel=stylesheet href=css/a.css></noscript>",
        "<template><link rel=stylesheet href=css/a.css></template>",
        "<link rel=stylesheet href=https://elsewhere.example/css/a.css>",
        "<link rel=stylesheet href=css/missing.css>",
        "<link rel=stylesheet href=''>",
    ],
)
def test_a_link_that_is_no_plain_sheet_stays(link):
    assert "<style" not in inlined(link)


@pytest.mark.parametrize("medium", ["print", "(max-width: 600px)", 'screen and (min-width: 1px), "odd" & co'])
def test_the_medium_is_kept(medium):
    written = medium.replace("&", "&amp;").replace('"', "&quot;")
    assert f'<style media="{written}">' in inlined(f'<link rel=stylesheet media="{written}" href=css/a.css>')


def test_urls_are_written_for_the_page():
    sheet = "@font-face{src:url(f/x.woff)}a{background:url('../i/b c.png')}b{background:url(/abs.png)}"
    text = inlined(sheet=sheet + "i{mask:url(#m);cursor:url(data:,x)}")
    for url in ("url(css/f/x.woff)", "url(i/b%20c.png)", "url(/abs.png)", "url(#m)", "url(data:,x)"):
        assert url in text


def test_base_href_governs_the_rewritten_urls():
    text = inlined("<base href=sub/dir/><link rel=stylesheet href=../../css/a.css>", "a{background:url(x.png)}")
    assert "url(../../css/x.png)" in text


def test_a_base_on_another_site_leaves_everything():
    assert "<style" not in inlined("<base href=https://cdn.example/><link rel=stylesheet href=css/a.css>")


def test_a_base_after_the_link_does_not_apply_to_it():
    site = page("<link rel=stylesheet href=css/a.css><base href=sub/>", files={"sub/css/a.css": "b{}"})
    assert "<style" not in site.page("index.html", "inline-styles")


def test_urls_below_a_deploy_prefix():
    text = inlined(
        "<link rel=stylesheet href=/pre/css/a.css>",
        "a{background:url(/pre/i/x.png)}",
        base_url="https://x.example/pre/",
    )
    assert "url(/pre/i/x.png)" in text


def test_an_absolute_url_of_the_own_site_is_one_of_its_files():
    text = inlined("<link rel=stylesheet href=https://x.example/css/a.css>", base_url="https://x.example/")
    assert "<style>" in text


def test_a_broken_reference_in_a_sheet_stays_as_broken():
    assert "url(css/none.png)" in inlined(sheet="a{background:url(none.png)}")


def test_an_import_chain_comes_in_with_its_media():
    files = {"css/b.css": "@import 'c.css' print;i{background:url(x.png)}", "css/c.css": "u{color:blue}"}
    text = inlined(sheet="@import 'b.css' screen;a{color:red}", files=files)
    assert "@media screen{@media print{u{color:blue}}i{background:url(css/x.png)}}a{color:red}" in text.replace(
        ";}", "}"
    )


def test_a_sheet_that_still_imports_stays():
    site = page(sheet="@import 'https://fonts.example/f.css';a{color:red}")
    assert "<style" not in site.page("index.html", "inline-styles")
    assert site.reasons("index.html", "inline-styles")["css/a.css"] == "it imports another sheet"


def test_an_end_tag_in_a_sheet_does_not_end_the_element():
    text = inlined(sheet="a{content:'</style><script>x</script>'}")
    assert text.count("</style") == 1 and "<\\/style" in text


def test_a_sheet_that_ends_inside_a_block_stays():
    site = page(sheet="a{color:red}b{color:blue", files={})
    assert site.reasons("index.html", "inline-styles") in ({"css/a.css": "it ends inside an open block"}, {})
    assert site.page("index.html", "inline-styles").count("<p>text") == 1


def test_a_policy_in_a_meta_element_leaves_everything():
    policy = "<meta http-equiv=Content-Security-Policy content=\"default-src 'self'\">"
    assert "<style" not in inlined(head=HEAD + policy)


def test_a_policy_in_the_header_leaves_everything():
    assert "<style" not in inlined(settings=Settings(csp="default-src 'self'"))


def test_a_script_that_inserts_a_rule_leaves_nothing_in_its_file():
    assert "<style" in inlined(head=HEAD + "<script>document.styleSheets[0].insertRule('x{}')</script>")


@pytest.mark.parametrize(
    "script",
    [
        "document.styleSheets[0].disabled = true",
        "document.querySelector('link').href = 'x.css'",
        "$('style').text()",
        "frame.document.write(document.head.innerHTML)",
        "$(frame).find('head').html($('head').html())",
    ],
)
def test_a_script_that_looks_for_sheets_leaves_everything(script):
    assert "<style" not in inlined(head=f"{HEAD}<script>{script}</script>")


REACT = (
    """q.querySelectorAll('link[rel="stylesheet"][data-precedence],style[data-precedence]');"""
    """s = 'link[rel="stylesheet"][' + key + ']'"""
)
VITE = (
    """let r = n.endsWith('.css') ? '[rel="stylesheet"]' : '';"""
    """document.querySelector(`link[href="${n}"]${r}`); l.rel = 'modulepreload'"""
)


@pytest.mark.parametrize("script", [REACT, VITE])
def test_a_script_that_looks_for_sheets_that_it_loads_itself_leaves_others(script):
    assert "<style" in inlined(head=f"{HEAD}<script>{script}</script>")


def test_sheets_of_a_page_in_which_react_keeps_them_in_order_stay():
    other = "<link rel=stylesheet href=b.css data-precedence=next>"
    assert "<style" not in inlined(head=f"{HEAD}{other}<script>{REACT}</script>")


def test_a_script_that_looks_for_scripts_only_is_no_hindrance():
    script = "document.currentScript;new Worker('w.js');document.getElementsByTagName('script')[0]"
    script += ";document.head.innerHTML = text"
    assert "<style" in inlined(head=f"{HEAD}<script>{script}</script>")


def test_a_script_in_a_file_is_read_as_well():
    site = page(head=HEAD + "<script src=a.js></script>", files={"a.js": "x = document . styleSheets"}, shared=["a.js"])
    assert "<style" not in site.page("index.html", "inline-styles")


def integrity(content, algorithm="sha384"):
    return f"{algorithm}-" + base64.b64encode(hashlib.new(algorithm, content.encode()).digest()).decode()


def test_a_sheet_with_matching_integrity_may_move_and_keeps_its_bytes():
    sheet = "a { color : red }  /* comment */"
    assert f"<style>{sheet}</style>" in inlined(
        f"<link rel=stylesheet integrity={integrity(sheet)} href=css/a.css>", sheet
    )


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
def test_a_sheet_that_browsers_refuse_is_not_brought_to_life(algorithm):
    wrong = integrity("other", algorithm)
    site = page(f"<link rel=stylesheet integrity={wrong} href=css/a.css>")
    assert "<style" not in site.page("index.html", "inline-styles")
    assert "integrity" in site.reasons("index.html", "inline-styles")["css/a.css"]


def test_the_strongest_hash_decides_and_unknown_ones_are_ignored():
    for metadata, fits in (
        (f"{integrity('x', 'sha256')} {integrity(LONG, 'sha512')}", True),
        (f"{integrity(LONG, 'sha256')} {integrity('x', 'sha512')}", False),
        ("md5-abc", True),
    ):
        assert ("<style" in inlined(f"<link rel=stylesheet integrity='{metadata}' href=css/a.css>")) is fits


def test_a_url_in_a_custom_property_belongs_to_the_sheet_that_uses_it():
    """Seen in Chromium: ``--x: url(a.png)`` is resolved against the sheet with ``var(--x)``."""
    site = page(sheet=":root{--bg:url(x.png)}")
    assert site.reasons("index.html", "inline-styles")["css/a.css"] == "a custom property of it holds a URL"


def test_the_end_of_a_class_is_no_custom_property():
    site = page(sheet=".button--primary:hover{background:url(x.png)}a{color:var(--b)}")
    assert "<style" in site.page("index.html", "inline-styles")


def test_a_sheet_that_may_use_such_a_property_does_not_move_either():
    site = page(head=HEAD + "<link rel=stylesheet href=b.css>", sheet="a{background:var(--bg)}",
                files={"b.css": ":root{--bg:url(x.png)}"}, shared=["b.css"])  # fmt: skip
    assert "custom property" in site.reasons("index.html", "inline-styles")["css/a.css"]


def test_absolute_urls_in_custom_properties_are_no_hindrance():
    assert "<style" in inlined(
        sheet=":root{--bg:url(data:image/png;base64,AAAA);--c:url('/x.png')}a{background:var(--bg)}"
    )


def test_a_sheet_of_the_pages_own_directory_may_move_in_any_case():
    assert "<style" in inlined("<link rel=stylesheet href=a.css>", ":root{--bg:url(x.png)}", path="a.css")


def test_a_page_in_another_encoding_takes_ascii_only():
    head = "<!doctype html><meta charset=euc-kr><title>T</title>"
    assert "<style" in inlined(head=head)
    assert "<style" not in inlined(head=head, sheet="a{content:'é'}" + LONG)
    assert "<style" not in inlined(head=head, sheet="@charset \"utf-8\";a{content:'ﬁ'}" + LONG)


def test_a_page_that_declares_no_encoding_takes_ascii_only():
    head = "<!doctype html><title>T</title>"
    assert "<style" in inlined(head=head)
    assert "<style" not in inlined(head=head, sheet="a{content:'é'}" + LONG)


def test_a_declared_encoding_is_honoured_and_the_declaration_removed():
    sheet = b'@charset "iso-8859-1";' + "a{content:'é'}".encode("latin-1")
    text = inlined(sheet=sheet)
    assert "<style>a{content:'é'}</style>" in text.replace('"', "'").replace("charset='utf-8';", "")


def test_the_declaration_of_the_pages_encoding_stays_in_its_first_kilobyte():
    """A sheet before ``<meta charset>`` would push it out of what browsers look at before they decode: it moves."""
    head = "<!doctype html><link rel=stylesheet href=css/a.css><meta charset=utf-8><title>é</title>"
    site = page("", "".join(f".c{n}{{width:{n}px}}" for n in range(99)), head=head)
    done = site.rewrite()
    assert (done.demoted, done.diagnostics) == ([], [])
    assert done.content is not None
    assert done.content.startswith(b"<!doctype html><meta charset=utf-8><style>.c0{")
    assert "</style><title>é</title>".encode() in done.content


def test_shared_sheets_stay():
    site = page(shared=["css/a.css"])
    assert site.reasons("index.html", "inline-styles") == {"css/a.css": "a shared file costs less over a visit"}


def test_a_fragment_gains_no_html_head_or_body():
    site = SmallSite({"index.html": "<link rel=stylesheet href=a.css><p title='x'>text", "a.css": LONG})
    text = site.page()
    assert "<style>" in text
    assert not any(f"<{tag}" in text for tag in ("html", "head", "body"))


def test_a_licence_comes_with_the_sheet():
    assert "/*! (c) someone */" in inlined(sheet="/*! (c) someone */" + LONG)


@pytest.mark.parametrize("written", ["document.write('<base href=/app/>')", 'document.createElement("base")'])
def test_where_a_script_writes_the_base_no_address_is_known(written):
    head = f"<script>{written}</script>{HEAD}"
    assert "<style" not in inlined(head=head) and "<link rel=stylesheet" in inlined(head=head)


def test_the_base_of_another_document_is_not_that_of_the_page():
    written = '(r=(t=E.implementation.createHTMLDocument("")).createElement("base")).href=E.location.href'
    assert "<style" in inlined(head=f"<script>{written}</script>{HEAD}")
