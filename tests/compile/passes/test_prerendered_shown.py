"""What only scripts would show of a page whose scripts are removed, lazy images, and buttons without effect."""

from __future__ import annotations

import re

import pytest

from tests.sites.small import SmallSite

from adaptc.compile.page.context import page_context
from adaptc.compile.page.sheets import screen_sheets
from adaptc.compile.passes.prerendered.controls import disable_controls
from adaptc.compile.passes.prerendered.hidden import show_hidden
from adaptc.compile.passes.prerendered.loading import load_lazy_images
from adaptc.formats.html.document import parse, read_page, show_noscript
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.static_text import static_text

HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"


def made(body, *, head="", css="", files=()):
    """Return the page with what scripts would show; ``css`` is the text of its style sheet."""
    style = f"<style>{css}</style>" if css else ""
    text = f"{HEAD}{head}{style}</head><body>{body}<script>run()</script></body>"
    view = SmallSite({"index.html": text, **dict(files)}).view()
    page = page_context("index.html", read_page(text.encode()), parse(text), view)
    editor = Editor(show_noscript(static_text(text)))
    shown = show_hidden(editor, screen_sheets(editor.tree, page.base, view))
    load_lazy_images(editor)
    disable_controls(editor, shown.openers)
    return editor.apply().text


def shows(text, element):
    """Whether a rule that shows something is for the element whose start tag begins so."""
    mark = re.search(rf"{element}[^>]*data-adaptc-shown=\"?([\d ]+)", text)
    return mark is not None and all(f'"{number}"]' in text for number in mark[1].split())


def test_what_a_style_attribute_makes_transparent_is_shown():
    text = made('<div style="opacity:0;transform:translateY(20px)"><h2>Motion</h2></div>')
    assert shows(text, "<div")


def test_a_menu_that_a_style_attribute_hides_opens():
    links = "".join(f"<a href=/{name}>{name}</a>" for name in "bcd")
    button = "<button type=button aria-controls=m>Menu</button>"
    text = made(f'<header>{button}<nav id=m style="display: none">{links}</nav></header>')
    assert shows(text, "<nav")


BAR = (
    "<nav class=bar><button class=menu-toggle type=button></button>"
    "<a href=/b class=item>b</a><a href=/c class=item>c</a></nav><main><p>text</main>"
)


def test_links_that_a_bar_hides_one_by_one_are_shown():
    css = ".bar{display:flex;height:var(--bar)}.item{display:block}@media(max-width:996px){.item{display:none}}"
    text = made(BAR, css=css)
    assert shows(text, "<a")
    assert "flex-wrap:wrap!important" in text
    assert "height:auto!important" in text


def test_a_group_that_is_closed_in_a_side_bar_opens_with_it():
    links = "".join(f"<a href=/{name}>{name}</a>" for name in "bcd")
    group = f"<h2>Reference</h2><div class='group closed'>{links}</div>"
    bar = f"<aside id=bar><nav id=nav>{group}</nav></aside>"
    css = ".closed{display:none}#bar{position:fixed;top:0}@media(max-width:959px){#bar{display:none}}"
    button = "<button class=menu-toggle aria-controls=nav>Menu</button>"
    text = made(f"{button}{bar}<main><p>text</main>", css=css)
    assert shows(text, "<div")
    assert "position:relative" not in text.split("<style>")[2].partition("@media(max-width")[0]


def test_links_of_a_bar_that_are_elsewhere_stay_hidden():
    css = ".bar{display:flex}@media(max-width:996px){.item{display:none}}"
    text = made(f"{BAR}<footer><a href=/b>b</a><a href=/c>c</a></footer>", css=css)
    assert "data-adaptc-shown" not in text


STREAMED = (
    '<main><h1>A</h1><!--$?--><template id="B:0"></template><p>Loading</p><!--/$--></main><footer>f</footer>'
    '<div hidden id="S:0"><p>late</p><!--$?--><template id="B:1"></template><i>wait</i><!--/$--></div>'
    '<script>$RC=function(a,b){};$RC("B:0","S:0")</script>'
    '<div hidden id="S:1"><b>later</b></div><script>$RC("B:1","S:1")</script>'
)


def test_streamed_parts_are_in_their_places():
    text = made(STREAMED)
    assert re.search(r"</h1><!--\$\?--><p>late</p><!--\$\?--><b>later</b><i hidden>wait</i>", text)
    assert "<p hidden>Loading</p><!--/$--></main><footer>f</footer>" in text
    assert "<div hidden" not in text


CODE_GROUP = (
    "<div class=tabs><input type=radio name=g id=a checked><label for=a>npm</label>"
    "<input type=radio name=g id=b><label for=b>yarn</label></div>"
    "<div class=blocks><div class='language-sh active'>npm i it</div><div class=language-sh>yarn add it</div></div>"
)
CODE_GROUP_CSS = ".blocks>div{display:none}.blocks>div.active{display:block}"


def test_radio_buttons_choose_their_panels():
    text = made(CODE_GROUP, css=CODE_GROUP_CSS)
    first, second = (re.search(rf'<input data-adaptc-shown="?(\d+)[^>]* id={name}', text)[1] for name in "ab")
    for radio, panel in ((first, "language-sh active"), (second, "language-sh")):
        shown, hidden = re.search(rf"<div data-adaptc-shown=\"(\d+) (\d+)\" class='?{panel}'?>", text).groups()
        strong = ":not(#_):not(#_)"
        for number, state, display in ((shown, ":checked", "revert"), (hidden, ":not(:checked)", "none")):
            rule = f':root:has([data-adaptc-shown~="{radio}"]{state}) [data-adaptc-shown~="{number}"]{strong}'
            assert f"{rule}{{display:{display}!important}}" in text


@pytest.mark.parametrize(
    "css",
    [".blocks>div{color:red}", CODE_GROUP_CSS + ".tabs:has(#b:checked)+.blocks>div{display:block}"],
)
def test_radio_buttons_without_hidden_panels_or_with_rules_of_their_own_stay(css):
    assert ":root:has" not in made(CODE_GROUP, css=css)


def test_noscript_is_opened():
    assert "<body><p>no scripts</p><p>text" in made("<noscript><p>no scripts</p></noscript><p>text")


def test_a_request_to_enable_scripts_is_left_out():
    notice = "<noscript>You need to enable JavaScript.</noscript>"
    assert "<body><p>text" in made(f"{notice}<p>text")
    assert "enable" in made(notice.replace("J", "<a href=b.html>J") + "<p>text", files=PAGES)


def test_noscript_in_the_head_brings_its_styles_and_no_redirection():
    head = "<noscript><style>.a{color:red}</style><meta http-equiv=refresh content='0;url=x.html'></noscript>"
    text = made("<p class=a>t", head=head, files={"x.html": ""})
    assert "<style>.a{color:red}</style>" in text
    assert "refresh" not in text


@pytest.mark.parametrize(
    "pixel",
    [
        "<img src=//t.example/p.gif width=1 height=1>",
        "<div><img src=//t.example/p.gif style='display:none'></div>",
        "<iframe src=//t.example/ns.html height=0 width=0></iframe>",
    ],
)
@pytest.mark.parametrize("place", ["head", "body"])
def test_pixels_of_trackers_are_not_shown(pixel, place):
    inside = {"head": "", "body": "<p>t", place: f"<noscript>{pixel}</noscript>"}
    text = made(inside["body"] + "<p>text", head=inside["head"] + "<meta name=last content=1>" * (place == "head"))
    assert "t.example" not in text
    assert text.index("<p>text") > text.index("<body>")


# ---- images


def test_lazy_images_get_their_source():
    text = made('<img class=lazy src="data:image/gif;base64,R0" data-src=a.png alt=x>', files={"a.png": "x"})
    assert re.search(r'<img [^>]*src="?a\.png', text)


def test_an_image_that_shows_something_keeps_it():
    files = {"a.png": "x", "small.png": "y"}
    assert "src=small.png" in made("<img src=small.png data-src=a.png>", files=files)


def test_a_lazy_image_without_source_takes_the_first_candidate():
    text = made('<img data-srcset="a.png 1x, b.png 2x" sizes=auto>', files={"a.png": "x", "b.png": "y"})
    assert "src=a.png" in text
    assert "sizes" not in text


def test_two_lazy_pictures_are_both_shown():
    text = made("<p><img data-src=a.png><img data-src=b.png>", files={"a.png": "x", "b.png": "x"})
    assert text.count("<img") == 2


# ---- what scripts show


@pytest.mark.parametrize(
    ("body", "css", "element"),
    [
        ("<button data-bs-target='#x'>Open</button><div id=x class=panel>t</div>", ".panel{display:none}", "<div"),
        ("<a href='#x' data-toggle=tab>One</a><div id=x class=p>t</div>", ".p{display:none}", "<div"),
        ("<b aria-controls=x>Open</b><div id=x hidden>t</div>", "", "<div"),
        ("<b onclick=\"show('x')\">Open</b><div id=x style='display:none'>t</div>", "", "<div"),
        ("<div class=tab-pane>t</div>", ".tab-pane{display:none}", "<div"),
        ("<p x-cloak>t", "[x-cloak]{display:none!important}", "<p"),
        ("<p class=wow>t", ".wow{visibility:hidden}", "<p"),
        ("<section class=fade>t</section>", ".fade{opacity:0;transition:1s}", "<section"),
        ("<div class=acc id=x>t</div><b data-target='#x'>o</b>", ".acc{max-height:0;overflow:hidden}", "<div"),
    ],
)
def test_what_a_script_would_show_is_shown(body, css, element):
    assert shows(made(body, css=css), element)


@pytest.mark.parametrize(
    ("body", "css"),
    [
        ("<p class=error>Wrong password", ".error{display:none}"),  # hidden for good, as far as can be told
        ("<p class=a>t", "@media print{.a{opacity:0}}"),
        ("<p class=a>t", ".a{visibility:hidden;height:0}"),
        ("<p class=a>t", ".js .a{opacity:0}"),  # only scripts set the class
        ("<ul><li>a<p class=tip>t</ul>", ".tip{opacity:0}li:hover .tip{opacity:1}"),
        ("<p class=a>t", ".a{opacity:0}p.a{opacity:1}"),
        ("<p class=a>t", ".a::before{opacity:0}"),
        ("<p class=a></p><p>t", ".a{opacity:0}"),
        ("<button popovertarget=x>o</button><div id=x popover>t</div>", "#x{opacity:0}#x:popover-open{opacity:1}"),
    ],
)
def test_what_no_script_would_show_stays_hidden(body, css):
    assert "data-adaptc-shown" not in made(body, css=css)


MENU = "<nav id=n class=n>" + "".join(f"<a href={name}.html>{name}</a> " for name in "abcd") + "</nav>"
PAGES = {f"{name}.html": "" for name in "abcd"}


def test_a_menu_is_shown_at_the_widths_at_which_it_hides():
    css = ".n{display:none}@media(min-width:800px){.n{display:block}}"
    text = made(f"<b data-target='#n'></b>{MENU}<p>text", css=css, files=PAGES)
    assert "@media(max-width:799.98px){[data-adaptc-shown" in text
    assert shows(text, "<nav")


def test_a_menu_whose_links_stand_elsewhere_stays_closed():
    links = MENU.replace("id=n class=n", "")
    text = made(f"<button data-target='#n'></button>{MENU}{links}<p>text", css=".n{display:none}", files=PAGES)
    assert "data-adaptc-shown" not in text


@pytest.mark.parametrize(
    "rule", [".n{transform:translateX(-100%)}", ".n{position:fixed;left:-260px}", ".n{display:none}"]
)
def test_a_menu_from_the_side_is_shown_where_a_control_opens_it(rule):
    css = f"@media(max-width:600px){{{rule}}}"
    for control in ("<button class=menu-toggle></button>", "<i data-toggle=top class='fa fa-bars'></i>"):
        assert shows(made(f"{control}{MENU}<p>text", css=css, files=PAGES), "<nav")
    assert "data-adaptc-shown" not in made(f"<i class='fa fa-bars'></i>{MENU}<p>text", css=css, files=PAGES)


def test_a_dialogue_that_is_shown_does_not_cover_the_page():
    css = ".modal{display:none;position:fixed;top:0}"
    text = made("<a data-target='#m'>o</a><div class=modal id=m><p>t</div>", css=css)
    assert "position:relative!important" in text
    assert "contain:content!important" in text  # neither does its backdrop, which is positioned in it


def test_a_dialogue_to_which_a_link_leads_opens_when_it_is_followed():
    css, dialogue = ".modal{display:none;position:fixed;top:0}", "<div class=modal id=m><p>t{}</div>"
    text = made(f"<a href='#m' data-toggle=modal>o</a>{dialogue.format('')}", css=css)
    assert ":is(:target,:has(:target)){display:flow-root!important" in text
    inside = made(f"<a data-target='#m'>o</a>{dialogue.format('<a href=#m>top</a>')}", css=css)
    assert "position:relative!important" in inside and ":target" not in inside


def test_the_foot_of_a_menu_that_moves_into_the_flow_is_not_over_its_links():
    css = ".n{position:fixed;transform:translateX(-300px)}.f{position:absolute;bottom:0}"
    menu = MENU.replace("</nav>", "<p class=f><a href=a.html#x>More</a></nav>")
    text = made(f"<button class=menu-toggle></button>{menu}<p>text", css=css, files=PAGES)
    assert "position:relative!important" in text and "{position:static!important}" in text


def test_slides_of_reveal_stand_one_above_the_other():
    css = ".reveal{overflow:hidden}.reveal .slides>section{display:none;position:absolute}"
    text = made("<div class=reveal><div class=slides><section><p>One<section><p>Two</div></div>", css=css)
    assert ".reveal .slides section{display:block!important" in text


def test_a_dialogue_that_is_shown_is_whole_and_behind_all_of_the_page():
    css = ".modal{display:none;position:fixed}.modal p{transform:translate(0,-50px)}main{max-height:100vh}"
    text = made("<main><a data-target='#m'>o</a></main><div class=modal id=m><p>t</div>", css=css)
    assert ">*{transform:none!important}" in text
    assert shows(text, "<main") and "max-height:none!important" in text


@pytest.mark.parametrize(("share", "is_kept"), [("", False), ("main div{height:100%}", True)])
def test_a_height_of_which_children_take_shares_stays_above_a_dialogue_that_is_shown(share, is_kept):
    css = ".modal{display:none;position:fixed}main{height:100vh}" + share
    text = made("<main><div><a data-target='#m'>o</a></div></main><div class=modal id=m><p>t</div>", css=css)
    assert ("height:auto!important;min-height:100vh" not in text) is is_kept


def test_a_long_navigation_that_is_shown_leaves_room_for_the_page():
    css = ".n{display:none}@media(min-width:800px){.n{display:block}}"
    text = made(f"<nav><b data-target='#n'>=</b><div id=n class=n>{MENU}</div></nav><p>text", css=css, files=PAGES)
    assert "max-height:40vh!important" in text


@pytest.mark.parametrize(
    ("control", "link"),
    [
        (
            "<button data-target='#n' class=t aria-label=Menu><svg></svg></button>",
            'class=t aria-label=Menu .*mix-blend-mode:difference">&#9776;</span></a>',
        ),
        ("<button data-bs-target='#n'>Menu</button>", ".*>Menu</a>"),
        ("<a data-target=n>Menu</a>", "data-target=n>Menu</a>"),
        ("<a href=# data-target=n>Menu</a>", "data-target=n>Menu</a>"),
    ],
)
def test_the_control_of_a_menu_of_small_windows_becomes_a_link_that_opens_it(control, link):
    css = "header{position:fixed}.n{display:none}@media(min-width:800px){.n{display:block}}"
    text = made(f"<header>{control}{MENU}</header><p>text", css=css, files=PAGES)
    assert re.search(f"<a href=#n {link}", text)
    assert "@media(max-width:799.98px){[data-adaptc-shown" in text and ":is(:target,:has(:target)){" in text
    assert re.search(r":root:has\(\[[^]]+\]:is\(:target,:has\(:target\)\)\) \[[^]]+\]\S*\{position:relative", text)
    assert "max-height:40vh" not in text


@pytest.mark.parametrize(
    "control", ["<form><button data-target='#n'>x</button></form>", "<a href=a.html data-target='#n'>x</a>"]
)
def test_a_control_that_does_something_else_stays_and_its_menu_is_shown(control):
    css = ".n{display:none}@media(min-width:800px){.n{display:block}}"
    text = made(f"{control}{MENU}<p>text", css=css, files=PAGES)
    assert ":target" not in text and "data-adaptc-shown" in text


def test_a_bar_that_grows_by_its_menu_does_not_cover_the_page():
    css = "header{position:fixed}.n{display:none}@media(min-width:800px){.n{display:block}}"
    text = made(f"<header><b data-target='#n'>m</b>{MENU}</header><p>text", css=css, files=PAGES)
    assert shows(text, "<header")


def test_dropdowns_open_by_pointing_and_by_focus():
    text = made(
        "<li><a data-toggle=dropdown>More</a><ul class=dropdown-menu><li>x</ul>", css=".dropdown-menu{display:none}"
    )
    assert ":focus-within>.dropdown-menu{display:block!important" in text
    assert "tabindex=0" in text


DROP_DOWN = "<ul class=sub id=s><li><a href=a.html>a</a><li><a href=b.html>b</a></ul>"
OPENED = ":is(:hover,:focus-within)"


@pytest.mark.parametrize("control", ["<a href=c.html data-target=#s>Team</a>", "<button data-target=#s>Team</button>"])
def test_a_drop_down_that_lies_over_the_page_is_opened_by_its_control(control):
    css = ".sub{display:none}@media(min-width:800px){.sub{position:absolute}}"
    text = made(f"<ul><li>{control}{DROP_DOWN}</ul><p>text", css=css, files=PAGES)
    assert re.search(r"@media\(max-width:799.98px\)\{\[data-adaptc-shown[^{]*\{display:flow-root", text)
    assert f"@media(min-width:800px){{{OPENED}>[data-adaptc-shown" in text
    assert "disabled" not in text


def test_a_drop_down_that_nothing_refers_to_is_opened_where_its_links_are_nowhere_else():
    css = ".sub{position:absolute;visibility:hidden}"
    text = made(f"<ul><li><b>Team</b>{DROP_DOWN}</ul><p>text", css=css, files=PAGES)
    assert re.search(f"<style>{re.escape(OPENED)}>[^{{]*{{visibility:visible!important", text)
    assert "<b tabindex=0>Team" in text


def test_a_control_elsewhere_opens_what_it_names():
    css = ".sub{position:absolute;display:none}header{position:sticky}"
    text = made(f"<header><b data-target=#s>Team</b><p>Name<i>x</i></p>{DROP_DOWN}</header>", css=css, files=PAGES)
    control = re.search(r"<b[^>]*data-adaptc-shown=(\d)", text)
    assert control is not None
    assert f':root:has([data-adaptc-shown~="{control[1]}"]{OPENED}) [data-adaptc-shown' in text
    assert re.search("<b[^>]* tabindex=0", text)


def test_a_menu_in_a_sticky_bar_does_not_cover_a_telephone():
    css = "header{position:sticky;top:0;height:60px}.n{display:none}@media(min-width:800px){.n{display:block}}"
    text = made(f"<header><b data-target='#n'>m</b>{MENU}</header><p>text", css=css, files=PAGES)
    assert shows(text, "<header")
    assert "position:relative!important;inset:auto!important" in text
    assert "height:auto!important;max-height:none!important;min-height:60px!important" in text


def test_a_menu_from_the_side_in_a_fixed_bar_opens_on_a_telephone():
    css = "header{position:fixed}@media(max-width:991px){.collapse{position:fixed;transform:translate3d(230px,0,0)}}"
    menu = MENU.replace("class=n", "class=collapse")
    text = made(f"<header><button data-toggle=collapse>m</button>{menu}</header><p>text", css=css, files=PAGES)
    assert shows(text, "<nav")
    assert shows(text, "<header")


def test_a_menu_in_a_row_gets_a_line_of_its_own():
    css = ".row{display:flex}.n{display:none}@media(min-width:800px){.n{display:block}}"
    text = made(f"<div class=row><b data-target='#n'>m</b>{MENU}</div><p>text", css=css, files=PAGES)
    assert "flex-wrap:wrap!important" in text
    assert "flex:1 0 100%!important" in text


def test_a_side_bar_opens_on_a_telephone_with_the_menus_in_it():
    css = ".treeview-menu{display:none}@media(max-width:600px){.side{display:none;position:absolute}}"
    inner = MENU.replace("id=n class=n", "class=treeview-menu").replace("nav", "div")
    text = made(f"<a id=menu-toggle>m</a><div class=side><p>Words {inner}</div><p>text", css=css, files=PAGES)
    assert re.findall("data-adaptc-shown=[^>]* class=([a-z-]+)", text) == ["side", "treeview-menu"]
    assert "position:relative!important" in text


def test_a_bar_does_not_cover_the_menu_that_moves_below_it():
    css = ".bar{position:fixed}.n{position:fixed;transform:translateX(20em)}"
    for bar in ("header", "div"):
        text = made(f"<{bar} class=bar><a href='#n'>Menu</a></{bar}>{MENU}<p>text", css=css, files=PAGES)
        assert shows(text, "<nav")
        assert shows(text, f"<{bar}")
    text = made(f"<header class=bar><a href='#n'>Menu</a></header><p>text</p>{MENU}", css=css, files=PAGES)
    assert shows(text, "<nav")
    assert not shows(text, "<header")
    after = "<header class=bar>Title</header><p>text</p><div class=bar>Settings</div>"
    text = made(f"<button class=menu-toggle></button>{MENU}{after}", css=css, files=PAGES)
    assert shows(text, "<header")
    assert not shows(text, "<div")


@pytest.mark.parametrize(
    ("link", "is_hidden"),
    [
        ("rel=stylesheet", True),
        ("rel=stylesheet media=screen", True),
        ("rel=stylesheet media=print", False),
        ("rel=stylesheet media=print onload=\"this.media='all'\"", True),
        ("rel=stylesheet media='(max-width:600px)'", True),
        ("rel=stylesheet media='(min-width:3000px)'", False),
        ("rel=stylesheet media='not print'", True),
        ("rel=stylesheet disabled", False),
        ("rel='alternate stylesheet'", False),
        ("rel='alternate stylesheet' title=dark", False),
        ("rel=stylesheet type=text/less", False),
        ("rel='stylesheet\u00a0next'", False),
    ],
)
def test_a_sheet_that_does_not_apply_hides_nothing_on_a_screen(link, is_hidden):
    files = {**PAGES, "a.css": ".n{display:none}"}
    text = made(f"<button class=menu-toggle></button>{MENU}<p>text", head=f"<link {link} href=a.css>", files=files)
    assert shows(text, "<nav") == is_hidden


def test_an_overlay_that_only_holds_controls_for_scripts_stays_closed():
    css, opener = ".modal{display:none;position:fixed;top:0;opacity:0}", "<a data-target='#m'>o</a>"
    field = "<div> <input placeholder=Search> <button>Close</button> </div>"
    assert not shows(made(f"{opener}<div class=modal id=m>{field}</div><p>text", css=css), "<div")
    form = f"<form action=a.html>{field.replace('placeholder', 'name=q placeholder')}</form>"
    assert shows(made(f"{opener}<div class=modal id=m>{form}</div><p>text", css=css, files=PAGES), "<div")
    assert shows(made(f"{opener}<div class=modal id=m>Find {field}</div><p>text", css=css), "<div")


def test_a_link_to_skip_the_menu_stays_above_the_window():
    css = ".s{position:fixed;top:8px;transform:translateY(-200%)}.s:focus{transform:none}.n{position:fixed;left:-260px}"
    skip = "<a class=s href='#m'>Skip to main content</a>"
    text = made(f"{skip}<button class=menu-toggle></button>{MENU}<main id=m><p>text</main>", css=css, files=PAGES)
    assert shows(text, "<nav")
    assert not shows(text, "<a class=s") and "<a class=s" in text


@pytest.mark.parametrize(
    "css",
    [
        ".o{position:absolute;inset:0;opacity:0;visibility:hidden}.o form{visibility:hidden}",
        ".o{position:fixed;top:0;opacity:0}",
        ".o{position:absolute;top:0;width:100%;opacity:0;pointer-events:none}",
    ],
)
def test_a_closed_overlay_stays_closed_with_all_that_is_in_it(css):
    overlay = "<div class=o><form action=a.html><input name=q><button>Go</button></form></div>"
    text = made(f"<header><p>Name</p>{overlay}</header><p>text", css=css, files=PAGES)
    assert "data-adaptc-shown" not in text


def test_the_control_next_to_an_overlay_opens_it_by_focus():
    css = ".o{position:fixed;inset:0;visibility:hidden}"
    text = made("<b></b><header><p>N</p><button>Search</button><div class=o><input name=q></div></header>", css=css)
    assert "<style>:focus-within+[data-adaptc-shown" in text
    assert "disabled" not in text


def test_a_caption_that_appears_by_an_effect_is_shown():
    css = ".cap{position:absolute;bottom:0;opacity:0;transition:1s}"
    assert shows(made("<section><h2>t</h2><p class=cap>Words</section><p>text" * 2, css=css), "<p")


def test_a_panel_in_a_fixed_bar_stays_closed_on_a_desktop_and_one_in_a_side_bar_opens():
    css = "nav,aside{position:fixed}.p{display:none}"
    panel = "<div class=p id=s><p>words</p></div>"
    control = "<a data-toggle=x href=#s>More</a>"
    text = made(f"<nav><div>{control}{panel}</div></nav><p>text", css=css)
    assert f"@media(min-width:1200px){{{OPENED}>[data-adaptc-shown" in text
    text = made(f"<aside><div>{control}{panel}</div></aside><p>text", css=css)
    assert OPENED not in text
    assert shows(text, "<div")


# ---- controls


def test_buttons_that_only_scripts_listen_to():
    text = made(
        "<button class=burger><span class=sr-only>Toggle</span></button>"
        "<button class=h data-target='#p'>A panel</button><div id=p>t</div><button>Like</button>"
    )
    assert "<button disabled style=display:none!important class=burger>" in text
    assert "<button disabled style=color:inherit;opacity:1 class=h data-target='#p'>A panel</button>" in text
    assert "<button disabled>Like</button>" in text


def test_no_punctuation_is_left_around_a_year_that_a_script_writes():
    year = "<script>document.write(new Date().getFullYear())</script>"
    text = made(f"<p>&copy; {year}, made by us<p>(c) 2015-{year} We<p>Since {year} here")
    assert "&copy; made by us" in text and "(c) 2015 We" in text and "Since here" in text
    assert ", 5" in made("<p>made on <script>document.write(day())</script>, 5")
    assert year in made(f"<p>t<textarea>{year}, </textarea>")


@pytest.mark.parametrize(
    ("markup", "shown"),
    [
        ("<b><span id=a countTo=70>0</span>+</b>", ">70</span>+"),
        (
            "<span data-purecounter-start=0 data-purecounter-end='1463' data-purecounter-duration=1> 0 </span>",
            "> 1463 <",
        ),
        ("<h2 data-count=2.5>0.0</h2>", ">2.5</h2>"),
        ("<p data-to=9 data-count=9>0</p>", ">9</p>"),
        ("<p data-to=9 data-count=8>0</p>", ">0</p>"),  # which of them is unknown
        ("<p data-target=#menu>0</p>", ">0</p>"),
        ("<p data-count=3>10</p>", ">10</p>"),
        ("<button data-count=3>0</button>", ">0</button>"),  # that of a reader's clicks
    ],
)
def test_a_number_up_to_which_a_script_counts_is_shown(markup: str, shown: str) -> None:
    assert shown in made(f"<p>Words{markup}")


def test_without_scripts_nothing_counts() -> None:
    assert static_text("<p data-count=3>0</p>") == "<p data-count=3>0</p>"


@pytest.mark.parametrize(
    ("button", "is_disabled"),
    [("type=menu form=f", False), ("form=f", False), ("type=button form=f", True), ("popovertarget=p", False)],
)
def test_a_button_is_disabled_that_does_nothing(button, is_disabled):
    form = f"<form id=f action=a.html><input name=q></form><button {button}>Go</button><div popover id=p>p</div>"
    start = re.search("<button[^>]*", made(f"{form}<p>text", files=PAGES))
    assert start is not None and ("disabled" in start[0]) == is_disabled
