"""The text of a page for readers of text alone."""

from __future__ import annotations

import pytest

from adaptc.formats.html.reader_text import show_panels, turn_round

ONE, TWO = "<div class=pane><p>First words</p></div>", "<div class=pane hidden><p>Second words</p></div>"
LABELLED = "<p><strong>A</strong></p><p>First words</p>", "<p><strong>B</strong></p><p>Second words</p>"


@pytest.mark.parametrize(
    "tabs",
    [
        f"<div class=tab-labels><button>A</button><button>B</button></div>{ONE}{TWO}",
        f"<div class=tabbar><button>A</button><button>B</button></div><div>{ONE}{TWO}</div>",
        f"<my-tabs><button slot=tab>A</button><button slot=tab>B</button>{ONE}{TWO}</my-tabs>",
        f"<div class=tabs><input type=radio id=a><label for=a>A</label><input type=radio id=b><label for=b>B</label>"
        f"{ONE}{TWO}</div>",
        f"<div class=tabs__container><ul role=tablist><li role=tab>A<li role=tab>B</ul><div>{ONE}{TWO}</div></div>",
    ],
)
def test_panels_that_nothing_names_belong_to_tabs_by_their_order(tabs: str) -> None:
    shown = show_panels(f"<body>{tabs}")
    assert all(words in shown for words in LABELLED)
    assert "hidden" not in shown


def test_other_numbers_of_panels_and_tables_are_left_alone() -> None:
    page = f"<body><div class=tabs><button>A</button><button>B</button></div>{ONE}<table><tr><td>x</table>{TWO}"
    assert show_panels(page) == page


def test_what_a_control_in_the_text_opens_is_open() -> None:
    page = "<body><h3><button aria-expanded=false aria-controls=s>Why?</button></h3><div id=s hidden>Because</div>"
    assert show_panels(page) == page.replace(" hidden", " ")
    button = "<body><button aria-expanded=false aria-controls=s>Why?</button><div id=s hidden>Because</div>"
    assert "<p><strong>Why?</strong></p>Because" in show_panels(button)


def test_what_a_link_of_the_page_leads_to_is_open() -> None:
    page = "<body><ul><li><a href='#b'>B</a></ul><div id=b style='display:none'>Words</div>"
    assert show_panels(page) == page.replace("style='display:none'", "")
    modal = "<body><a href='#b'>B</a><div id=b class='modal fade' style='display:none'>Words</div>"
    assert show_panels(modal) == modal


CLOSED = "<div id=more style='display:none'>Words</div>"


@pytest.mark.parametrize(
    "opener",
    [
        """<a href="#" onclick="toggle('more')">Read more</a><script src=t.js></script>""",
        """<button onclick="document.getElementById('more').style.display='block'">Show</button>""",
        """<a href="javascript:showHide('more')">Show</a>""",
        """<script>function open2(){var e=document.getElementById("more");if(e){e.style.display="block"}}</script>
        <b onclick="open2()">Show</b>""",
        """<button id=b>Show</button><script>$("#b").click(function(){$("#more").slideToggle()})</script>""",
        """<script>b.addEventListener('click', () => { document.querySelector('#more').hidden = false })</script>""",
    ],
)
def test_what_a_click_shows_is_open(opener: str) -> None:
    page = f"<body>{opener}{CLOSED}"
    assert show_panels(page) == page.replace("style='display:none'", "")


@pytest.mark.parametrize(
    "script",
    [
        """<b onclick="send('more')">Send</b>""",  # shows nothing
        """<b onclick="toggle('other')">Show</b>""",
        """<script>$.get("a.json",function(){$("#more").show()})</script><b onclick="toggle('other')">Show</b>""",
        """<form><b onclick="toggle('more')">Show</b></form><script>more.click()</script><div role=dialog>""",
    ],
)
def test_what_no_click_shows_stays_closed(script: str) -> None:
    page = f"<body>{script}{CLOSED}"
    assert show_panels(page) == page


@pytest.mark.parametrize("panel", ["<nav id=s hidden>x</nav>", "<div id=s role=dialog hidden>x</div>",
                                   "<div id=s hidden><form></form></div>"])  # fmt: skip
def test_menus_and_dialogs_stay_closed(panel: str) -> None:
    page = f"<body><button aria-expanded=false aria-controls=s>Menu</button>{panel}"
    assert show_panels(page) == page


def test_an_address_that_is_turned_round_is_readable() -> None:
    sheet = ".r{unicode-bidi:bidi-override;direction:rtl}"
    assert turn_round("<p class=r>moc.b@a</p>", [sheet]) == "<p class=r>a@b.com</p>"
    styled = '<b style="unicode-bidi:bidi-override;direction:rtl">moc.b@a</b>'
    assert turn_round(styled) == styled.replace("moc.b@a", "a@b.com")
    assert turn_round("<p class=r>moc.b@a</p>", [".r{unicode-bidi:bidi-override}"]) == "<p class=r>moc.b@a</p>"
