"""used-styles with what a browser saw: the rest of a sheet waits in its file until the page has a name for it."""

from __future__ import annotations

import re

import pytest

from tests.sites.shown import URL, site, visit
from tests.sites.small import SmallSite

from adaptc.browser.evidence import PageEvidence, WidthEvidence
from adaptc.browser.tab import Tab
from adaptc.compile.pipeline import BY_NAME, Step

PLAIN = "".join(f".plain{number}{{margin:{number}px {number * 7}px}}" for number in range(60))
REST = "".join(f".late .part{number}{{margin:{number}px {number * 7}px}}" for number in range(150))
SHEET = f".a{{color:red}}.open{{color:lime}}{REST}"
# The script names every part, so that all of REST is kept for it without evidence
SCRIPT = "part='part'+n;x.className='late '+location.hash;y.className='open'"
HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"
NAMES = frozenset({"html", "head", "meta", "title", "link", "script", "body", "p", "a", "open", "class"})


LOADED = """async () => {
    const link = document.querySelector('link')
    if (link && !link.sheet) await new Promise((done) => { link.onload = done })
}"""


def steps(**options):
    return (
        Step(
            BY_NAME["used-styles"], {"loads": "everything", "scripts": "own", "apart": [], "libraries": [], **options}
        ),
    )


def seen(*names):
    first, second = WidthEvidence(412, names=NAMES), WidthEvidence(1280, names=frozenset(names))
    return PageEvidence((first, second))


SEEN = seen()


def made(head="<link rel=stylesheet href=css/a.css>", script=SCRIPT, evidence=SEEN, **files):
    """Return the page after the pass, and what it says of its sheets."""
    contents = {
        "index.html": f"{HEAD}{head}<body><p class=a>text<script>{script}</script>",
        "css/a.css": SHEET,
        **{name.replace("_", "/", 1).replace("_", "."): text for name, text in files.items()},
    }
    small = SmallSite(contents, evidence={} if evidence is None else {"index.html": evidence})
    done = small.rewrite("index.html", steps(), "words")
    assert not done.demoted, done.diagnostics
    text = contents["index.html"] if done.content is None else done.content.decode()
    return text, {action.subject: action.reason for action in done.actions}


def styles(text):
    return re.findall(r"<style[^>]*>.*?</style>", text, re.S)


def test_rules_that_lack_a_name_wait_in_their_file():
    text, reasons = made()
    assert styles(text) == ["<style data-used>.a{color:red}.open{color:lime}</style>"]
    assert "observer.observe(" in text
    assert "new Set('late'.split(" in text.replace('"', "'")
    assert '[[["css/a.css",""]]]' in text
    assert reasons["css/a.css"] == "30 characters are in use; the rest comes when it is needed"


def test_without_evidence_everything_that_scripts_name_stays():
    text, reasons = made(evidence=None)
    assert styles(text) == [f"<style>{SHEET}</style>"]
    assert "observer" not in text
    assert reasons["css/a.css"] == f"{len(SHEET)} characters are used"


def test_names_of_all_widths_were_seen():
    text, _ = made(evidence=seen("late", "part7"))
    assert ".late .part7{" in styles(text)[0]
    assert ".part8" not in styles(text)[0]


def test_little_is_not_worth_a_script():
    rest = REST[1000:3000].partition("}")[2].rpartition("}")[0] + "}"
    text, _ = made(css_a_css=f".a{{color:red}}{rest}")
    assert "data-used" not in text
    assert rest in text


def test_what_scripts_may_load_is_no_reason_to_keep_whole_sheets():
    loading = "s=document.createElement('script');s.src=where+'.js';document.body.append(s)"
    text, _ = made(script=loading, css_a_css=SHEET + PLAIN)
    assert styles(text) == ["<style data-used>.a{color:red}.open{color:lime}</style>"]
    assert '"late plain0 ' in text.replace("late plain0 plain1 ", "late plain0 ")
    text, reasons = made(script=loading, evidence=None)
    assert "<style" not in text
    assert reasons["style sheets"] == "a script may load others, which may set any class"


def test_style_elements_have_no_file_to_wait_in():
    text, _ = made(head=f"<style>{REST}</style><link rel=stylesheet href=css/a.css><style>.a{{top:0}}{REST}</style>")
    first, second = styles(text)
    assert first == f"<style data-used>{REST}\n.a{{color:red}}.open{{color:lime}}</style>"
    assert second == f"<style>.a{{top:0}}{REST}</style>"
    assert text.index(first) < text.index("<script>") < text.index(second)


def test_sheets_of_one_element_come_in_their_order_with_their_media():
    head = "<link rel=stylesheet href=css/a.css><link rel=stylesheet href=css/b.css media=print>"
    text, _ = made(head=head, css_b_css=".a{top:0}" + REST)
    assert '[[["css/a.css",""],["css/b.css","print"]]]' in text
    assert text.count("<script>") == 2


def test_attributes_are_waited_for_by_name():
    dark = "".join(f"[data-theme=dark] .a{number}{{margin:{number}px {number * 7}px}}" for number in range(150))
    text, _ = made(script="y.dataset.theme=dark;part='a'+n+location", css_a_css=".a{color:red}" + dark)
    assert '["data-theme"]' in text


def test_a_script_that_looks_for_sheets_keeps_them():
    _, reasons = made(script=SCRIPT + ";document.styleSheets[0].cssRules")
    assert reasons["style sheets"] == "a script of the page looks for style sheets"


def test_in_quirks_mode_names_match_in_any_case():
    small = {"index.html": made(evidence=None)[0].replace("<!doctype html>", ""), "css/a.css": SHEET}
    page = small["index.html"].replace(styles(small["index.html"])[0], "<link rel=stylesheet href=css/a.css>")
    done = SmallSite({**small, "index.html": page}, evidence={"index.html": SEEN}).rewrite(
        "index.html", steps(), "words"
    )
    assert b"data-used" not in (done.content or b"")


@pytest.mark.chromium
@pytest.mark.parametrize(
    ("change", "is_needed"),
    [
        ("p.className = 'open'", False),
        ("p.style.top = '1px'", False),
        ("document.body.className = 'late'", True),
        ("p.insertAdjacentHTML('beforeend', '<b><i class=late></i></b>')", True),
        ("document.documentElement.id = 'late'", True),
    ],
)
def test_the_whole_sheet_comes_once_a_name_comes_that_was_not_seen(chromium: str, change: str, is_needed: bool) -> None:
    clicked = f"onclick=()=>{{const p=document.querySelector('p');{change}}}"
    page, _ = made(script=f"n=0;part='part'+n;late='late';{clicked}")
    server = site({"index.html": page, "css/a.css": SHEET})

    async def look(tab: Tab) -> tuple[list[str], str]:
        assert [load.url for load in tab.seen.loads] == [URL]
        await tab.run("() => document.body.click()")
        await tab.run(LOADED)
        order = await tab.run("() => [...document.head.children].map((each) => each.localName).join(' ')")
        return [load.url for load in tab.seen.loads[1:]], order

    urls, order = visit(chromium, server, look)
    assert urls == ([URL + "css/a.css"] if is_needed else [])
    assert order == ("meta title style link script" if is_needed else "meta title style script")
