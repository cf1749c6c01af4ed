"""inline-scripts: only what runs at the same moment, in the same order, and cannot tell the difference."""

from __future__ import annotations

import base64
import hashlib

import pytest

from tests.sites.small import SmallSite

from adaptc.compile.view import Settings

HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"
CODE = "var answer=42"


def page(element="<script src=a.js></script>", code=CODE, *, head=HEAD, **site):
    files = {"index.html": f"{head}{element}<p>text", "a.js": code, **site.pop("files", {})}
    return SmallSite(files, **site)


def inlined(*args, **kwargs):
    return page(*args, **kwargs).page("index.html", "inline-scripts")


def test_a_blocking_script_moves_into_its_element():
    assert f"<script>{CODE}</script>" in inlined()


@pytest.mark.parametrize("kind", ["text/javascript", "application/javascript", " text/ecmascript "])
def test_the_types_of_classic_scripts_go(kind):
    assert f"<script>{CODE}</script>" in inlined(f"<script type='{kind}' src=a.js></script>")


def test_a_script_that_looks_for_tags_in_the_text_of_pages_stays_out_of_it():
    assert "<script src=a.js></script>" in inlined(code=r"t.match(/<body[^>]*>([\s\S]*)<\/body>/i)")


def test_an_old_language_attribute_that_names_javascript_is_removed():
    assert f"<script>{CODE}</script>" in inlined("<script language=JavaScript1.2 src=a.js></script>")
    assert "src=a.js" in inlined("<script language=VBScript src=a.js></script>")


@pytest.mark.parametrize(
    "attribute", ["defer", "async", "nomodule", "id=x", "onload=f()", "data-main=app", "nonce=n", "class=x", "event=x"]
)
def test_a_script_that_runs_at_another_time_or_is_known_stays(attribute):
    site = page(f"<script {attribute} src=a.js></script>")
    assert "src=a.js" in site.page("index.html", "inline-scripts")
    assert site.reasons("index.html", "inline-scripts")["a.js"].startswith("the script element has the attribute")


@pytest.mark.parametrize(
    "element",
    [
        "<script type=module src=a.js></script>",
        "<script type=text/template src=a.js></script>",
        "<script type='text/javascript; charset=utf-8' src=a.js></script>",
        "<script charset=shift_jis src=a.js></script>",
        "<noscript><script src=a.js></script></noscript>",
        "<template><script src=a.js></script></template>",
        "<svg><script src=a.js></script></svg>",
        "<script src=https://elsewhere.example/a.js></script>",
        "<script src=missing.js></script>",
        "<script type=importmap src=a.js></script>",
    ],
)
def test_what_is_no_classic_script_of_the_site_stays(element):
    assert CODE not in inlined(element)


def test_the_body_of_an_element_with_src_is_no_code():
    text = inlined("<script src=a.js>alert('never run')</script>")
    assert "never run" not in text and CODE in text


def test_strict_mode_does_not_leak_into_the_next_script():
    both = "<script src=a.js></script><script src=b.js></script>"
    text = inlined(both, "'use strict';var a=1;", files={"b.js": "b=010;"})
    assert "</script><script>b=010" in text
    assert text.count("<script>") == 2


def test_an_end_tag_in_a_script_does_not_end_the_element():
    text = inlined(code="var a='</script><!--',b=1;")
    assert text.count("</script") == 1 and "<\\/script" in text and "<!--" not in text


@pytest.mark.parametrize(
    "code",
    [
        "document.currentScript.src",
        "document['current'+'Script'],document.getElementsByTagName('script')",
        "import('./x.js')",
        "__webpack_public_path__='x'",
        "$('script[src]')",
    ],
)
def test_a_script_that_looks_at_itself_stays(code):
    site = page(code=code)
    assert "src=a.js" in site.page("index.html", "inline-scripts")
    assert site.reasons("index.html", "inline-scripts")["a.js"].startswith("a script of the page may notice: it ")


def test_a_script_that_writes_into_the_document_stays_alone():
    assert "src=a.js" in inlined(code="document.write('<p>')")
    assert "src=a.js" not in inlined(head=HEAD + "<script>document.write('<p>')</script>")


def test_one_script_that_looks_at_others_keeps_all_of_them():
    assert "src=a.js" in inlined(head=HEAD + "<script>x=document.scripts.length</script>")


def test_a_policy_leaves_everything():
    assert "src=a.js" in inlined(settings=Settings(csp="script-src 'self'"))
    assert "src=a.js" in inlined(head=HEAD + "<meta http-equiv=content-security-policy content=\"script-src 'self'\">")


def integrity(code):
    return "sha256-" + base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()


def test_a_script_with_matching_integrity_may_move_and_keeps_its_bytes():
    code = "var  a = 1 ;  // comment"
    assert f"<script>{code}</script>" in inlined(f"<script integrity={integrity(code)} src=a.js></script>", code)


def test_a_script_that_browsers_refuse_is_not_brought_to_life():
    site = page(f"<script integrity={integrity('other')} src=a.js></script>")
    assert "src=a.js" in site.page("index.html", "inline-scripts")
    assert "integrity" in site.reasons("index.html", "inline-scripts")["a.js"]


def test_a_pinned_script_keeps_its_bytes_for_other_pages_too():
    code = "var  a = 1 ;  // comment"
    files = {"other.html": f"<script integrity={integrity(code)} src=a.js></script>"}
    assert f"<script>{code}</script>" in inlined(code=code, files=files)


@pytest.mark.parametrize("encoding", ["iso-8859-1", "euc-kr", "shift_jis"])
def test_a_page_in_another_encoding_takes_ascii_only(encoding):
    head = f"<!doctype html><meta charset={encoding}><title>T</title>"
    assert CODE in inlined(head=head)
    assert "src=a.js" in inlined(head=head, code="var a='é';")


def test_a_page_that_declares_no_encoding_takes_ascii_only():
    head = "<!doctype html><title>T</title>"
    assert CODE in inlined(head=head)
    assert "src=a.js" in inlined(head=head, code="var a='é';")


def test_a_script_that_is_no_utf8_stays():
    assert "src=a.js" in inlined(code=b"var a='\xe9';")


def test_a_byte_order_mark_does_not_come_along():
    assert "<script>var a='é'</script>" in inlined(code=b"\xef\xbb\xbf" + "var a='é'".encode())


def test_shared_scripts_stay():
    assert "src=a.js" in inlined(shared=["a.js"])
