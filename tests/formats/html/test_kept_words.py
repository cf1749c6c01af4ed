"""Words that a source holds for readers without scripts: coded addresses, closed panels, kept lines, noscript."""

from __future__ import annotations

import pytest

from adaptc.formats.html.document import show_noscript
from adaptc.formats.html.reader_text import keep_lines, show_panels
from adaptc.formats.html.static_text import decode_addresses, static_text

KEY = 0x5A


def coded(address: str) -> str:
    return bytes([KEY, *(KEY ^ byte for byte in address.encode())]).hex()


PATH = "/cdn-cgi/l/email-protection"
NAME, UNIQUE = "ann@example.org", "añ@例え.jp"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f'<a href="{PATH}" class="__cf_email__" data-cfemail="{coded(NAME)}">[email&#160;protected]</a>', "LINK"),
        (
            f"<p>To <span class=__cf_email__ data-cfemail={coded(NAME)}>[email protected]</span>.</p>",
            f"<p>To {NAME}.</p>",
        ),
        (f'<a class=b href="{PATH}#{coded(NAME)}">Write</a>', f"<a class=b href=mailto:{NAME}>Write</a>"),
        (
            f'<a href="{PATH}#{coded(NAME)}"><span data-cfemail="{coded(NAME)}">x</span></a>',
            f"<a href=mailto:{NAME}>{NAME}</a>",
        ),
        (f"<a href='{PATH}#{coded(NAME + '?subject=a b')}'>w</a>", f'<a href="mailto:{NAME}?subject=a b">w</a>'),
        (f"<span data-cfemail={coded(UNIQUE)}>x</span>", UNIQUE),
        (f"<span data-cfemail={coded('<b>@x')}>x</span>", "&lt;b>@x"),
        ("<span data-cfemail=zz>x</span>", None),
        (f"<span data-cfemail={coded('no address')}>x</span>", None),
        (f"<p>The path {PATH} is no link", None),
    ],
)
def test_coded_addresses_are_decoded(source: str, expected: str | None) -> None:
    link = f"<a href=mailto:{NAME}>{NAME}</a>"
    assert decode_addresses(source) == (source if expected is None else expected.replace("LINK", link))
    assert static_text(source) == decode_addresses(source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<div role=tabpanel hidden>B</div>", "<div role=tabpanel >B</div>"),
        ("<div role=tabpanel aria-hidden=true style='display:none'>B</div>", "<div role=tabpanel  >B</div>"),
        (
            "<div role=tabpanel style='color:red;display: none !important'>B</div>",
            "<div role=tabpanel style=color:red>B</div>",
        ),
        ("<button role=tab aria-controls=b>Two</button><div id=b hidden>B</div>", "PANEL"),
        ("<a role=tab href=#b>Two</a><div id=b hidden>B</div>", "<a role=tab href=#b>Two</a><div id=b >B</div>"),
        ("<li role=tab data-bs-target=#b>Two</li><div id=b hidden>Two: B</div>", "TARGET"),
        ("<div id=tab hidden>B</div>", None),
        ("<p hidden>tab", None),
    ],
)
def test_panels_are_open_under_the_words_of_their_tabs(source: str, expected: str | None) -> None:
    panel = "<button role=tab aria-controls=b>Two</button><div id=b ><p><strong>Two</strong></p>B</div>"
    target = "<li role=tab data-bs-target=#b>Two</li><div id=b >Two: B</div>"
    wanted = source if expected is None else expected.replace("PANEL", panel).replace("TARGET", target)
    assert show_panels(source) == wanted


SHEET = ".pre{white-space:pre}.wrap{white-space:pre-wrap}.line{white-space:pre-line}.pre.not{white-space:normal}"
SHEET += "section{& .deep,.more &{white-space-collapse:preserve-breaks}}"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<div class=pre>a\n  b</div>", "<div class=pre><pre>a\n  b</pre></div>"),
        ("<div class=pre>\n a\n b</div>", "<div class=pre><pre>\n\n a\n b</pre></div>"),
        ("<p class=wrap>a\n  b</p>", "<pre class=wrap>a\n  b</pre>"),
        ("<p style='white-space: pre-line'>\na\nb </p>", "<p style='white-space: pre-line'>a<br>b</p>"),
        (
            "<div class=pre><div>if x:</div><div>    y</div></div>",
            "<div class=pre><pre><div>if x:</div><div>    y</div></pre></div>",
        ),
        ("<table><tr><td class=wrap>1  2</td></table>", "<table><tr><td class=wrap><pre>1  2</pre></td></table>"),
        ("<x-code class=pre>a\n b</x-code>", "<x-code class=pre><pre>a\n b</pre></x-code>"),
        ("<section><p class=deep>a\nb</p></section>", "<section><p class=deep>a<br>b</p></section>"),
        ("<p class=deep>a\nb</p>", None),
        ("<div class=pre>one line</div>", None),
        ("<div class='pre not'>a\nb</div>", None),
        ("<pre><code class=pre>a\n b</code></pre>", None),
        ("<div class=wrap><h2>a</h2>\n<p>b\nc</div>", None),
        ("<p>a\n  b", None),
    ],
)
def test_lines_that_a_sheet_keeps_are_kept(source: str, expected: str | None) -> None:
    page = f"<!doctype html><title>t</title><body>{source}"
    assert keep_lines(page, (SHEET,)) == page.replace(source, source if expected is None else expected)


def test_words_next_to_the_pixel_of_a_tracker_stay() -> None:
    pixel = "<img src=p.gif width=1 height=1 alt=p>"
    assert show_noscript(f"<p>a<noscript>Call us &amp; write {pixel}</noscript>") == "<p>aCall us & write"
    assert show_noscript(f"<p>a<noscript> {pixel}</noscript>") == "<p>a"
    assert show_noscript(f"<p>a<noscript>Please enable JavaScript {pixel}</noscript>") == "<p>a"
