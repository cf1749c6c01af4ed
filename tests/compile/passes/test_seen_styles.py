"""used-styles with what a browser saw: the rest of a sheet waits in its file until the page has a name for it."""

from __future__ import annotations

import re

from tests.sites.small import SmallSite

from adaptc.browser.evidence import PageEvidence, WidthEvidence
from adaptc.compile.pipeline import BY_NAME, Step

PLAIN = "".join(f".plain{number}{{margin:{number}px {number * 7}px}}" for number in range(60))
REST = "".join(f".late .part{number}{{margin:{number}px {number * 7}px}}" for number in range(300))
SHEET = f".a{{color:red}}.open{{color:lime}}{REST}"
# The script names every part, so that all of REST is kept for it without evidence
SCRIPT = "part='part'+n;x.className='late '+location.hash;y.className='open'"
HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"
NAMES = frozenset({"html", "head", "meta", "title", "link", "script", "body", "p", "a", "open", "class"})


STEPS = (Step(BY_NAME["used-styles"], {}),)


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
    done = small.rewrite("index.html", STEPS, "words")
    assert not done.demoted, done.diagnostics
    text = contents["index.html"] if done.content is None else done.content.decode()
    return text, {action.subject: action.reason for action in done.actions}


def styles(text):
    return re.findall(r"<style[^>]*>.*?</style>", text, re.S)


def test_rules_that_lack_a_name_that_was_seen_wait_in_their_file():
    text, reasons = made()
    assert styles(text) == ["<style>.a{color:red}.open{color:lime}</style>"]
    assert "observe(" in text
    assert "</style><link data-used href=css/a.css><script>" in text
    assert reasons["css/a.css"] == "30 characters are in use; the rest comes when it is needed"


def test_without_evidence_what_scripts_name_stays():
    text, reasons = made(evidence=None)
    assert styles(text) == [f"<style>{SHEET}</style>"]
    assert "observe(" not in text
    assert reasons["css/a.css"] == f"{len(SHEET)} characters are used"


def test_names_of_all_widths_were_seen():
    text, _ = made(evidence=seen("late", "part7"))
    assert ".late .part7{" in styles(text)[0]
    assert ".part8" not in styles(text)[0]


def test_a_class_that_was_seen_and_has_no_rule_fetches_nothing():
    """Rules of 200 classes wait by what they begin with; one that comes begins so, too."""
    css = "".join(f".is-{letter}{number}{{margin:{number}px}}" for letter in "abcd" for number in range(50))
    css = f".a{{color:red}}{css}{REST}"
    text, _ = made(evidence=seen("is-submenu"), css_a_css=css)
    known = re.search(r"new Set\([\"'`]([^\"'`]*)[\"'`]\.split", text)
    assert known is not None and ".is-submenu" in known[1].split()


def test_style_elements_have_no_file_to_wait_in():
    text, _ = made(head=f"<style>{REST}</style><link rel=stylesheet href=css/a.css><style>.a{{top:0}}{REST}</style>")
    first, second = styles(text)
    assert first == f"<style>{REST}\n.a{{color:red}}.open{{color:lime}}</style>"
    assert second == f"<style>.a{{top:0}}{REST}</style>"
    assert text.index(first) < text.index("<script>") < text.index(second)


def test_attributes_are_waited_for_by_name():
    dark = "".join(f"[data-theme=dark] .a{number}{{margin:{number}px {number * 7}px}}" for number in range(150))
    text, _ = made(script="y.dataset.theme=dark;part='a'+n+location", css_a_css=".a{color:red}" + dark)
    assert "<style>.a{color:red}</style><link data-used href=css/a.css><script>" in text


def test_a_script_that_looks_for_sheets_keeps_them():
    _, reasons = made(script=SCRIPT + ";document.styleSheets[0].cssRules")
    assert reasons["style sheets"] == "a script of the page looks for style sheets"
