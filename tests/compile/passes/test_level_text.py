"""Level text: the page as text, in one request."""

from __future__ import annotations

import pytest

from tests.sites.small import SmallSite

from adaptc.compile.pipeline import KNOWN_PASSES, levels_above, plan_level
from adaptc.config.rulebook import choose_levels, load_levels
from adaptc.core import media

LEVELS = load_levels(known_passes=KNOWN_PASSES)
STEPS = plan_level(LEVELS["text"]).steps_for(media.HTML)
PAGE = """<!doctype html><html lang=en><head><meta charset=utf-8><title>T</title><link rel=stylesheet href=a.css>
<script src=a.js></script></head><body><nav><ul><li><a href=b.html>Next</a></ul></nav><main><h1>H</h1>
<p style="font-family: Verdana, Arial, Helvetica, sans-serif">Some <b>text</b> <img src=a.png alt="A cat"></p>
<form action=/find><input name=q><button>Find</button></form></main></body></html>"""
FILES = {"a.css": "p{color:red}", "a.js": "more()", "a.png": b"\x89PNG" + bytes(3000), "b.html": "<p>b"}


def rewritten(page=PAGE, **files):
    return SmallSite({"index.html": page, **FILES, **files}).rewrite(steps=STEPS, promise="article")


def diagnostic_ids(result):
    return [diagnostic.id for diagnostic in result.diagnostics]


def test_the_page_is_its_text_in_one_request():
    result = rewritten()
    assert result.embeds == () and result.demoted == [] and result.diagnostics == []
    body = result.content.decode().partition("</style>")[2]
    assert body == (
        "<header><nav><ul><li><a href=b.html>Next</a></li></ul></nav></header>"
        "<main><h1>H</h1><p>Some <b>text</b> <i>[A cat]</i></p>"
        "<form action=/find><p><input aria-label=Find name=q> <button>Find</button></form></main>"
    )


@pytest.mark.parametrize(
    ("doctype", "written"),
    [
        ("<!doctype html>", "<!DOCTYPE html><html"),
        ('<!DOCTYPE HTML PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "x.dtd">', "<!DOCTYPE html><html"),
        ('<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">', "<html"),
        ("", "<html"),
    ],
)
def test_the_page_keeps_its_document_mode(doctype: str, written: str):
    page = PAGE.replace("<!doctype html>", doctype)
    assert rewritten(page).content.decode().startswith(written)


def test_streamed_parts_are_in_their_places():
    page = PAGE.replace("</main>", '<!--$?--><template id="B:0"></template><p>Loading</p><!--/$--></main>').replace(
        "</body>", '<div hidden id="S:0"><p>late part</p></div><script>$RC("B:0","S:0")</script></body>'
    )
    result = rewritten(page)
    assert result.diagnostics == []
    assert b"<p>late part</main>" in result.content
    assert b"Loading" not in result.content


def test_no_punctuation_is_left_around_a_year_that_a_script_writes():
    page = PAGE.replace("</main>", "<p>© <script>document.write(new Date().getFullYear())</script>, made by us</main>")
    assert "<p>© made by us" in rewritten(page).content.decode()


def test_numbers_up_to_which_a_script_counts_are_written():
    page = PAGE.replace("</main>", "<p><span data-count=70>0</span>+ users<script>count()</script></main>")
    assert "70+ users" in rewritten(page).content.decode()


def test_what_was_left_out_is_reported():
    subjects = {
        (action.verb, action.subject): action.count for action in rewritten().actions if action.pass_name == "compose"
    }
    assert subjects[("left out", "<img>")] == subjects[("left out", "<script>")] == 1
    assert ("written", "the page") in subjects


def test_a_page_of_frames_stays_with_a_note():
    page = "<!doctype html><title>T</title><frameset cols=20,*><frame src=a.html><frame src=b.html></frameset>"
    result = rewritten(page, **{"a.html": "<p>a"})
    assert result.refusal == ("page-not-composed", "its content is in frames")


def test_a_page_that_its_scripts_write_is_rewritten_as_at_lossless_where_no_level_is_above():
    page = "<!doctype html><meta charset=utf-8><title>T</title><style>a { color : red }</style><div id=app></div>" + (
        "<script>document.getElementById('app').append('Hello')</script>"
    )
    result = rewritten(page)
    assert result.refusal == ("page-needs-scripts", "it holds no content")
    assert b"<style>a{color:red}</style>" in result.content and b"append" in result.content


def test_a_page_of_a_few_sentences_has_no_sheet_that_is_more_than_what_it_says():
    code = "fetch('d.json').then(r => r.json()).then(d => { sum.textContent = d.sum + ' euros of 90,000' })"
    words = "<p>Readers come for this paragraph, which counts.</p>" * 3
    result = rewritten(
        f"<!doctype html><meta charset=utf-8><title>T</title><h1>Appeal</h1>{words}<script>{code}</script>"
    )
    assert not result.demoted
    assert b"<script" not in result.content and b"--a:" not in result.content


def test_images_that_are_not_there_pay_for_no_sheet():
    code = "fetch('d.json').then(r => r.json()).then(d => { sum.textContent = d.sum + ' euros of 90,000' })"
    words = "<p>Readers come for this paragraph, which counts.</p>" * 3
    page = f"<!doctype html><meta charset=utf-8><title>T</title><h1>Appeal</h1><img src=gone.png>{words}"
    result = rewritten(f"{page}<script>{code}</script>")
    assert not result.demoted
    assert b"<script" not in result.content and b"--a:" not in result.content


def test_scripts_of_other_sites_do_not_keep_a_page_of_a_few_sentences_whole():
    words = "<p>The river turned slowly past the mill while the keeper counted the boats that had come home.</p>" * 2
    chart = (
        "<i class='fas fa-home'></i> Home<svg id=ax width=120 height=60></svg><div id=map style='height:100px'></div>"
    )
    scripts = "<script src=https://cdn.example/d3.min.js></script><script>d3.axis('#ax')</script>"
    page = f"<!doctype html><meta charset=utf-8><title>T</title><h1>Sales</h1>{chart}{words}{scripts}"
    result = rewritten(page)
    assert not result.demoted and b"<script" not in result.content


RULES = "".join(f".c{number * 7919 % 10007}{{top:{number}px}}" for number in range(400))


def body_of(body, **files):
    """Return the text-only body of a page that is long enough to gain by it."""
    page = f"<!doctype html><meta charset=utf-8><title>T</title><style>{RULES}</style><h1>T</h1>{body}"
    result = rewritten(page, **files)
    assert result.demoted == [], result.diagnostics
    return result.content.decode().partition("</style>")[2]


@pytest.mark.parametrize(
    ("link", "name"),
    [
        ('<a href=b.html><img src=a.png alt=""></a>', "The second page"),
        ('<a href=b.html title="Next"><img src=a.png alt=""></a>', "Next"),
        ("<a href=b.html><button type=button title=Docs><svg></svg></button></a>", "Docs"),
        ("<a href=b.html><span aria-label=Home><svg></svg></span></a>", "Home"),
        ("<a href=c.txt><img src=a.png></a>", "c.txt"),
    ],
)
def test_a_link_without_words_has_the_name_of_its_target(link, name):
    second = "<!doctype html><title> The second\npage </title>"
    assert f">{name}</a>" in body_of(f"<p>x {link}</p>", **{"b.html": second, "c.txt": "c"})
    assert f">{name}</a> x" in body_of(f"<pre>{link} x</pre>", **{"b.html": second, "c.txt": "c"})


def test_a_logo_without_a_name_stays_a_link():
    logo = '<div class=logo><a href=index.html><img src=a.png alt=""></a></div>'
    assert "<a href=index.html>T</a>" in body_of(logo + "<p>x")


def test_a_form_that_is_sent_to_its_own_page_keeps_its_controls():
    assert "<form action=#><p><input aria-label=Find name=q> <button>Find</button></form>" in body_of(
        "<form action='#'><input name=q><button>Find</button></form>"
    )


@pytest.mark.parametrize("tag", ["strong", "em", "dfn", "small", "div"])
def test_ids_that_other_pages_may_link_to_stay(tag):
    assert "id=x" in body_of(f"<p>Some</p><{tag} id=x>term</{tag}>")


def test_the_id_of_the_body_stays_where_a_link_leads_to_the_top():
    page = PAGE.replace("<body>", "<body id=page-top>").replace("</main>", "<a href=#page-top>Up</a></main>")
    result = rewritten(page)
    assert result.demoted == [] and b"<body id=page-top>" in result.content


def test_an_encoding_that_is_declared_late_in_the_head_is_declared():
    page = PAGE.replace("<meta charset=utf-8>", f"<!--{'licence ' * 200}--><meta charset=utf-8>").replace(
        "Some", "Größe"
    )
    result = rewritten(page)
    assert result.demoted == [] and b"<meta charset=utf-8>" in result.content and "Größe" in result.content.decode()


def test_ids_of_layout_do_not_stay():
    assert "id=x" not in body_of("<div id=x><div><p>text</p></div></div>")


def test_a_page_whose_text_version_is_larger_stays():
    result = rewritten("<!doctype html><title>T</title><p>x")
    assert result.demoted == ["compose"] and diagnostic_ids(result) == ["pass-larger"]


@pytest.mark.parametrize(
    ("names", "above"),
    [
        (("full", "text"), {"text": "full"}),
        (("full", "lossless", "text"), {"text": "lossless"}),
        (("text",), {}),
        (("full", "lossless"), {}),
    ],
)
def test_text_is_below_the_lowest_step_of_the_ladder(names, above):
    assert levels_above(choose_levels(names, LEVELS)) == above
