"""Demotion: a pass whose work cannot stand is dropped for the page, with a diagnostic; the others go on."""

from __future__ import annotations

import re

import pytest

from tests.sites.small import SmallSite, steps_named

from adaptc.compile.page.context import Report
from adaptc.compile.pipeline import EditPass, Step, TextPass
from adaptc.core import media
from adaptc.core.model import Action
from adaptc.formats.html.document import parse
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.minify import MinifiedMarkup

PAGES = frozenset({media.HTML})
TEXT = (
    "<!doctype html><meta charset=utf-8><title>T</title><style>a{}</style><body><h1 id=top class=head>Heading</h1>"
    "<p title='x, and more of it' class=x>Some text</p></body>"
)


def edits(name, change, *, after_edits=False, changes_embeds=False, verb="changed"):
    """Make a step of an edit pass that does ``change(editor)``."""

    def run(editor, page, view, options):
        change(editor)
        return Report([Action(name, verb, "the page")])

    return Step(EditPass(name, 1, PAGES, run, after_edits=after_edits, keeps_embeds=not changes_embeds), {})


def text(name, change):
    """Make a step of a text pass."""

    def run(source, tree, page, options):
        assert tree is None or tree.equals(parse(source))
        result = change(source)
        return result and MinifiedMarkup(result, parse(result))

    return Step(TextPass(name, 1, PAGES, run), {})


def first(editor: Editor, tag: str):
    return next(iter(editor.tree.iter_elements(tag)))


def shorter(name="shorter", **options):
    return edits(name, lambda editor: editor.remove_attribute(first(editor, "p"), "title"), **options)


def idle(name="idle"):
    return edits(name, lambda editor: None, verb="kept")


def breaking(name="breaking", **options):
    def change(editor):
        for element in editor.tree.iter_elements("p"):
            editor.remove_element(element)

    return edits(name, change, **options)


def growing(name="growing", length=50, **options):
    noise = "".join(chr(0x4E00 + 37 * index % 20000) for index in range(length))
    return edits(name, lambda editor: editor.set_attribute(first(editor, "h1"), "data-x", noise), **options)


def refused(name="refused"):
    return edits(name, lambda editor: editor.set_raw_text(first(editor, "style"), "</style><p>"))


def rewrite(*steps, page=TEXT, **files):
    return SmallSite({"index.html": page, **files}).rewrite(steps=steps)


def ids(done):
    return [diagnostic.id for diagnostic in done.diagnostics]


def test_a_page_that_no_pass_changes_stays_as_it_is():
    done = rewrite(idle())
    assert done.content is None and done.demoted == [] and done.embeds is None
    assert [action.verb for action in done.actions] == ["kept"]


def test_equal_actions_are_counted():
    step = edits("twice", lambda editor: None, verb="kept")
    done = rewrite(step, step)
    assert [action.count for action in done.actions] == [1]


@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_pass_that_breaks_the_contract_is_dropped_wherever_it_stands(order):
    steps = [idle(), shorter()]
    steps.insert(order, breaking())
    done = rewrite(*steps)
    assert done.demoted == ["breaking"] and ids(done) == ["contract-broken"]
    assert "pass breaking was dropped" in done.diagnostics[0].message
    assert "the visible text changes" in done.diagnostics[0].message
    assert done.diagnostics[0].location.path == "index.html"
    assert b"and more" not in done.content and b"Some text" in done.content


def test_the_edits_of_a_dropped_pass_do_not_come_back():
    """The passes of a round share an editor, which once kept the edits of a pass that was dropped."""
    done = rewrite(breaking(), growing(length=1), shorter())
    assert b"Some text" in done.content


def test_a_text_pass_is_dropped_for_what_it_breaks():
    done = rewrite(shorter(), text("cut", lambda source: source.replace("Heading", "")))
    assert done.demoted == ["cut"] and ids(done) == ["contract-broken"]
    assert b"Heading" in done.content and b"and more" not in done.content


def test_a_text_pass_that_gives_no_shorter_text_is_ignored():
    done = rewrite(text("longer", lambda source: source + " " * 9), text("none", lambda source: None))
    assert done.content is None and done.actions == [] and done.diagnostics == []


def test_the_pass_that_makes_the_page_larger_is_dropped():
    done = rewrite(shorter(), growing(), idle())
    assert done.demoted == ["growing"] and ids(done) == ["pass-larger"]
    assert "bytes more, in some content coding" in done.diagnostics[0].message
    assert b"data-x" not in done.content and b"and more" not in done.content


def test_the_pass_that_adds_most_bytes_is_dropped_first():
    done = rewrite(growing("little", 1), growing("much", 60), shorter())
    assert done.demoted == ["much"]


NOISE = "".join(chr(0x4E00 + 41 * index % 20000) for index in range(80))
SHEET = f"a{{content:'{NOISE}'}}"
LINK = "<link rel=stylesheet href=a.css>"


def inliner():
    return edits(
        "inliner",
        lambda editor: editor.replace_element(first(editor, "link"), f"<style>{SHEET}</style>"),
        changes_embeds=True,
    )


def test_a_page_may_grow_by_what_it_takes_in():
    done = rewrite(inliner(), page=TEXT.replace("<title>", LINK + "<title>"), **{"a.css": SHEET})
    assert done.demoted == [] and done.embeds == ()


def test_a_file_that_the_page_still_loads_does_not_count_as_saved():
    done = rewrite(inliner(), page=TEXT.replace("<title>", LINK * 2 + "<title>"), **{"a.css": SHEET})
    assert done.demoted == ["inliner"] and ids(done) == ["pass-larger"]


def test_fewer_characters_that_compress_worse_are_no_gain():
    page = "<!doctype html><title>T</title>" + "<p data-x='abcdefghijklmnopqrstuvwxyz'>text" * 40

    def scrambled(source):
        letters = iter(range(10**6))
        return re.sub("abcdefghijklmnopqrstuvwxyz", lambda _: f"{next(letters) * 7919**5 % 10**16:016}", source)

    done = rewrite(text("scrambled", scrambled), page=page)
    assert done.content is None and ids(done) == ["pass-larger"]


def test_a_pass_whose_edits_are_refused_is_dropped():
    done = rewrite(refused(), page=TEXT)
    assert done.demoted == ["refused"] and ids(done) == ["edit-refused"]
    assert done.diagnostics[0].location.path == "index.html"
    assert done.content is None


def test_refused_edits_do_not_take_the_others_of_their_round_with_them():
    done = rewrite(shorter(), refused(), idle())
    assert done.demoted == ["refused"]
    assert b"and more" not in done.content


def test_a_page_written_anew_is_reported_with_the_passes_that_changed_it():
    page = f"<!doctype html><meta charset=utf-8><title>T</title><!--{NOISE}--><p title=x>a<table><tr><td>b</table>"
    implied = edits("implied", lambda editor: editor.set_attribute(first(editor, "tbody"), "id", "x"))
    done = rewrite(idle(), implied, shorter(), text("cut", lambda source: re.sub("<!--.*?-->", "", source)), page=page)
    assert ids(done) == ["page-reserialized"] and done.demoted == []
    assert "pass implied, shorter was applied" in done.diagnostics[0].message


def test_every_pass_may_be_dropped():
    done = rewrite(
        breaking("one"), breaking("two"), growing("three"), refused("four"), text("five", lambda source: "x")
    )
    assert done.content is None
    assert done.demoted == ["five", "four", "one", "three", "two"]


def test_a_pass_that_changes_the_page_and_does_not_say_so_is_found_as_well():
    done = rewrite(breaking("silent", verb="kept"))
    assert done.content is None and done.demoted == ["silent"]


def test_a_later_pass_sees_what_earlier_ones_made():
    seen = []
    after = edits(
        "after", lambda editor: seen.append("title" in first(editor, "p").attrs), after_edits=True, verb="kept"
    )
    rewrite(shorter(), after)
    assert seen == [False]


def test_a_template_source_is_left_alone():
    done = rewrite(shorter(), page="<?php include 'head.php' ?>" + TEXT)
    assert done.content is None and ids(done) == ["template-source"]


def test_a_page_that_does_not_survive_its_encoding_is_left_alone():
    done = SmallSite({"index.html": b"<meta charset=utf-8><p title=x>\xff\xfe\xfa"}).rewrite(steps=(shorter(),))
    assert done.content is None and ids(done) == ["encoding-irreversible"]


def test_the_shipped_passes_give_the_same_result_twice():
    site = SmallSite({"index.html": TEXT})
    assert site.rewrite().content == site.rewrite().content
    again = SmallSite({"index.html": site.rewrite().content}).rewrite()
    assert again.content is None


def test_a_page_with_nothing_to_gain_keeps_its_bytes():
    site = SmallSite({"index.html": b"<!doctype html>\r\n<title>T</title>\r\n<p>x"})
    assert site.rewrite(steps=steps_named("inline-styles", "embedded")).content is None


# ---- other promises


def without(selector, name="without", after=""):
    def change(editor):
        for element in editor.tree.select(selector):
            editor.replace_element(element, after)

    return edits(name, change)


PICTURES = "<!doctype html><title>T</title><p>Some text <img src=a.png alt=A> <a href=b.html>more</a></p>"


def judged(promise, *steps, page=PICTURES):
    site = SmallSite({"index.html": page, "a.png": b"\x89PNG" + bytes(3000), "b.html": "<p>b"})
    return site.rewrite(steps=steps, promise=promise)


@pytest.mark.parametrize(
    ("promise", "selector", "is_kept"),
    [("same", "a", False), ("words", "img", True), ("words", "a", False), ("article", "img", True),
     ("article", "a", False)],
)  # fmt: skip
def test_a_pass_is_held_against_the_promise_of_the_level(promise, selector, is_kept):
    assert (judged(promise, without(selector)).demoted == []) is is_kept


def test_a_page_that_loads_less_says_what_it_still_loads():
    assert judged("words", without("img")).embeds == ()
    assert judged("words", shorter(), page=PICTURES.replace("<p>", "<p title='long enough'>")).embeds == ("a.png",)


def test_a_page_may_grow_by_what_it_loads_no_more():
    words = [chr(0x4E00 + 37 * index % 20000) for index in range(4000)]  # 3 bytes each, and few repeat
    assert judged("words", without("img", after="".join(words[:500]))).demoted == []
    assert ids(judged("words", without("img", after="".join(words)))) == ["pass-larger"]


@pytest.mark.parametrize("promise", ["words", "article"])
def test_a_pass_must_not_write_a_reference_that_leads_nowhere(promise):
    done = judged(promise, without("img", after="<a href=c.html>c</a>"))
    assert ids(done) == ["contract-broken"] and "references lead nowhere: c.html" in done.diagnostics[0].message
    assert judged(promise, without("img", after="<a href=b.html#x>b</a><a href=//other.example/>o</a>")).demoted == []


def test_a_reference_that_led_nowhere_before_may_be_written_in_another_way():
    page = PICTURES.replace("a.png", "gone.png")
    assert judged("words", without("img", after="<a href=./gone.png>g</a>"), page=page).demoted == []


def test_a_base_that_goes_takes_the_references_with_it():
    page = "<!doctype html><title>T</title><base href=deep/><p><a href=x.html>x</a>"
    site = SmallSite({"index.html": page, "deep/x.html": "<p>x"})
    done = site.rewrite(steps=(without("base"),), promise="words")
    assert "references lead nowhere: x.html" in done.diagnostics[0].message


def test_a_page_is_not_larger_in_any_coding(monkeypatch) -> None:
    """Brotli has a dictionary of HTML: what deflate shortens may be longer in it."""
    sizes = {"gz": lambda content: len(content), "br": lambda content: -len(content), "zst": lambda content: 0}
    monkeypatch.setattr(
        "adaptc.compile.verify.compressed_sizes", lambda content: tuple(size(content) for size in sizes.values())
    )
    done = rewrite(shorter())
    assert (done.content, ids(done)) == (None, ["pass-larger"])


@pytest.mark.parametrize(("script", "demoted"), [("fetch('big.css')", ["moving"]), ("fetch('other.css')", [])])
def test_a_file_that_moved_into_the_page_counts_again_where_a_script_may_ask_for_it(script, demoted):
    sheet = "".join(f".c{number * 7919 % 100003}{{left:{number}px}}" for number in range(300))

    def move(editor: Editor) -> None:
        editor.replace_element(first(editor, "link"), f"<style>{sheet}</style>")

    site = SmallSite(
        {
            "index.html": TEXT.replace("<style>", "<link rel=stylesheet href=big.css><style>")
            + f"<script>{script}</script>",
            "big.css": sheet,
            "other.css": "",
        }
    )
    done = site.rewrite(steps=(edits("moving", move, changes_embeds=True),))
    assert done.demoted == demoted
    assert [each.id for each in done.diagnostics] == ["pass-larger"] * len(demoted)
