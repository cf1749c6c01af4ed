"""What themes and generators of sites write around their words, on a composed page."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from adaptc.compile.passes.composed.layout import Layout
from adaptc.compile.passes.composed.reader import ComposedPage, Settings, compose
from adaptc.formats.html.contract import CONTRACT_CHECKS
from adaptc.formats.html.document import parse

WORDS = "Ships came in at dawn, and those who load them were on the quay before anybody else in the town was awake. "


def body_of(body: str, css: str = "", title: str = "T", root: str = " lang=en") -> str:
    """Return what is written between the tags of the body; the contract for a reader holds."""
    source = f"<!DOCTYPE html><html{root}><head><title>{title}</title></head><body>{body}"
    page = compose(source, url_path="/p.html", sheets_of=lambda _: [css])
    assert isinstance(page, ComposedPage), page
    assert CONTRACT_CHECKS["article"](parse(source))(parse(page.text)) == []
    return page.text.partition("<body")[2].partition(">")[2]


@pytest.mark.parametrize(
    "button",
    ["<a class=btn href=#>Add to cart</a>", "<a role=button href=#!>Add to cart</a>",
     "<a class='b btn-outline' href='javascript:buy()'>Add to cart</a>"],
)  # fmt: skip
def test_a_button_that_only_a_script_hears_is_left_out(button: str) -> None:
    assert "cart" not in body_of(f"<h1>Shop</h1><p>A lamp.</p>{button}")


def test_a_title_that_leads_nowhere_and_a_button_that_leads_somewhere_stay() -> None:
    written = body_of(
        "<h1>Shop</h1><h2><a class=btn href=#>Lamps</a></h2><a class=btn href=buy.html>Buy</a><a href=#>x</a>"
    )
    assert "<h2>Lamps</h2>" in written
    assert "<a href=buy.html>Buy</a>" in written
    assert "x</p>" in written


def test_a_price_that_is_no_more_is_struck() -> None:
    written = body_of(
        "<h1>Shop</h1><p><span class=old>$45</span> $40</p>", ".old{text-decoration:line-through!important}"
    )
    assert "<p><s>$45</s> $40</p>" in written


def test_the_link_of_a_heading_to_itself_is_left_out() -> None:
    anchor = "<div><h2 id=a>Code</h2><a href=#a><span>Section titled “Code”</span></a></div>"
    written = body_of(f"<h1>H</h1>{anchor}<h2 id=b>Two <a href=#b>#</a></h2><h2 id=c>See <a href=#a>Code</a></h2>")
    assert "Section titled" not in written
    assert "<h2 id=b>Two</h2>" in written
    assert "href=#b" not in written
    assert "<h2 id=c>See <a href=#a>Code</a></h2>" in written


def test_a_menu_within_the_main_content_is_the_menu() -> None:
    menu = (
        "<nav class=navbar><a class=brand href=/>Herald</a><ul><li><a href=/a>One</a><li><a href=/b>Two</a></ul></nav>"
    )
    written = body_of(f"<main>{menu}<h1>Title</h1><p>{WORDS}</p></main>")
    assert written.index("<nav><ul>") < written.index("</header>") < written.index("<main><h1>Title</h1>")
    assert written.count("href=/a") == 1


def test_links_to_the_pages_before_and_after_are_below_the_content() -> None:
    pages = "<nav class=pagination-nav><a href=p><div>Previous</div><div>One</div></a>"
    pages += "<a href=n><div>Next</div><div>Two</div></a></nav>"
    written = body_of(f"<main><article><h1>T</h1><p>{WORDS}</p></article>{pages}</main>")
    assert '</main><nav aria-label="Pages"><ul><li><a href=p>Previous One</a></li><li><a href=n>Next Two</a>' in written


def test_who_wrote_it_stays_above_the_title() -> None:
    author = "<div class=row><div class=col><p>Valerie Luna</p></div>"
    text = f"<p>{WORDS * 3}</p>" * 3
    written = body_of(f"<main>{author}<div class=col><article><h1>T</h1>{text}</article></div></div></main>")
    assert written.startswith("<main><p>Valerie Luna</p><h1>T</h1>")


def test_lists_in_the_foot_stay_below_their_titles() -> None:
    columns = "".join(
        f"<div class=col><div>{name}</div><ul>"
        + "".join(f"<li><a href={name}{n}>{name} {n}</a>" for n in range(count))
        + "</ul></div>"
        for name, count in (("Docs", 1), ("Community", 3), ("More", 2))
    )
    written = body_of(f"<main><h1>T</h1><p>{WORDS * 5}</p></main><footer>{columns}</footer>")
    foot = written.partition("<footer>")[2]
    names = ("Docs<", "Docs 0", "Community<", "Community 2", "More<", "More 1")
    assert sorted(names, key=foot.index) == list(names)


def test_a_name_beside_its_logo_is_said_once() -> None:
    brand = "<a class=navbar__brand href=/><img src=l.svg alt='My Site Logo'>"
    brand += "<img src=d.svg alt='My Site Logo'><b>My Site</b></a>"
    assert "<p class=s><a href=/>My Site</a></p>" in body_of(
        f"<header>{brand}</header><main><h1>T</h1><p>{WORDS}</p></main>"
    )


def test_a_description_in_a_heading_is_a_paragraph() -> None:
    written = body_of(f"<h1>Come</h1><h4 id=d>{WORDS * 2}</h4><h2>Boats</h2><p>{WORDS}</p><a href=#d>d</a>")
    assert f"<p id=d>{(WORDS * 2).strip()}</p>" in written
    title = " ".join(["On the loading of ships by those who live at the quay"] * 4)
    assert f"<h2>{title}</h2>" in body_of(f"<h1>Laws</h1><h2>{title}</h2><p>{WORDS}</p>")


@pytest.mark.parametrize("role", [" role=main", ""])
def test_whose_page_it_is_stands_above_what_they_say(role: str) -> None:
    hero = "<div class=page-header><div><h3>Ada Byron</h3><p>Photographer</p></div></div>"
    written = body_of(f"{hero}<div{role}><h3>About me</h3><p>{WORDS * 3}</p></div>", title="Portfolio")
    order = ("<h1>Portfolio", "Ada Byron", "Photographer", "About me")
    assert sorted(order, key=written.index) == list(order)
    assert "<aside>" not in written


def test_a_portrait_beside_its_name_is_one_link() -> None:
    author = (
        "<div><a href=/me><img src=me.png alt='Ada Byron'></a><div><a href=/me><span>Ada Byron</span></a></div></div>"
    )
    written = body_of(f"<main><h1>T</h1>{author}<p>{WORDS}</p></main>")
    assert written.count("Ada Byron") == 1


def test_boxes_in_a_row_are_cards_also_without_links() -> None:
    boxes = "".join(f"<div class=col><h2>Lamp {n}</h2><p>${n}</p></div>" for n in range(4))
    page = f"<main><h1>Shop</h1><div class=row>{boxes}</div></main>"
    assert body_of(page, ".row{display:flex}").count("<div class=c>") == 4
    assert "class=g" not in body_of(page)


def test_sections_of_a_landing_page_stay_in_their_order() -> None:
    sections = (
        f"<section><h2>First</h2><p>Short.</p></section><section><h2>Second</h2>{f'<p>{WORDS}</p>' * 6}</section>"
    )
    written = body_of(f"<header><h1>Come</h1></header>{sections}<section><h2>Third</h2><p>Short.</p></section>")
    assert sorted(("Come", "First", "Second", "Third"), key=written.index) == ["Come", "First", "Second", "Third"]
    assert "<aside>" not in written


def test_messages_of_two_forms_with_the_same_ids_stay_hidden() -> None:
    form = "<form action=/s><input name=q><div class=d-none id=done>Sent!</div></form>"
    other = form.replace("/s", "/t")
    assert body_of(f"<h1>H</h1>{form}{other}", ".d-none{display:none!important}").count("<div hidden><p>Sent!") == 2


def test_work_for_messages_grows_as_the_page_does() -> None:
    def calls(count: int) -> int:
        messages = "".join(f"<p class=d-none id=m{n}>Sent!</p>" for n in range(count))
        source = f"<form action=/s><input name=q aria-describedby=m7>{messages}</form>"
        layout = Layout(parse(source), [".d-none{display:none!important}"], source)
        counted = Counter[str]()
        sys.setprofile(lambda _frame, event, _argument: counted.update([event]))
        try:
            found = [each.attr("id") for each in layout.messages()]
        finally:
            sys.setprofile(None)
        assert found == [f"m{n}" for n in range(count) if n != 7]
        return counted["call"] + counted["c_call"]

    assert calls(400) < 2.5 * calls(200)


def test_tools_to_share_without_links_are_left_out() -> None:
    tools = "<div class=share>Share <a href=#>Tweet</a> 0 <span>Print</span></div>"
    linked = "<div class=share>Share <a href=mailto:?body=x>by mail</a></div>"
    written = body_of(f"<main><h1>T</h1>{tools}<p>{WORDS}</p>{linked}</main>")
    assert "Tweet" not in written
    assert '<a href="mailto:?body=x">by mail</a>' in written


def test_a_link_that_skips_the_menu_is_not_needed() -> None:
    written = body_of(f"<a class=x href=#_top>Skip to content</a><main><h1 id=_top>T</h1><p>{WORDS}</p></main>")
    assert "Skip" not in written


def test_the_language_of_most_of_the_words_is_that_of_the_page() -> None:
    source = f"<!DOCTYPE html><html><title>T</title><body><p>x</p><div lang=ar><h1>T</h1><p>{WORDS}</p></div>"
    page = compose(source, url_path="/p.html")
    assert isinstance(page, ComposedPage)
    assert page.text.startswith("<!DOCTYPE html><html lang=ar>")


def test_the_name_of_an_idle_choice_is_left_out() -> None:
    choice = "<label>Select theme <select><option>dark</select></label>"
    assert "theme" not in body_of(f"<header>{choice}</header><main><h1>T</h1><p>{WORDS}</p></main>")


def test_a_text_that_a_program_made_of_a_file_name_says_nothing() -> None:
    assert "timestamp" not in body_of("<h1>T</h1><p>Today <img src=/i/timestamp.png alt=timestamp></p>")


def test_a_site_whose_name_leads_nowhere_is_named() -> None:
    brand = "<div><a class=navbar-brand href=#!>Start Bootstrap</a></div>"
    written = body_of(f"<header>{brand}</header><main><h1>T</h1><p>{WORDS}</p></main>")
    assert written.startswith("<header><p class=s>Start Bootstrap</p></header>")
    assert written.count("Start Bootstrap") == 1


def test_a_menu_in_the_content_that_leads_nowhere_is_content() -> None:
    menu = "<nav><a href=#>Action</a><b>Dropdown header</b><a href=#>Another</a></nav>"
    assert "Dropdown header" in body_of(f"<main><h1>Kit</h1><p>{WORDS}</p>{menu}</main>")


# ---- how a page looks


def style_of(body: str, root: str = " lang=en", css: str = "", **settings: str) -> str:
    source = f"<!DOCTYPE html><html{root}><head><title>T</title></head><body>{body}"
    page = compose(source, url_path="/p.html", sheets_of=lambda _: [css], settings=Settings(**settings))
    assert isinstance(page, ComposedPage), page
    return page.text.partition("<style>")[2].partition("</style>")[0]


def test_the_sheet_has_no_references_which_css_would_show_as_they_are() -> None:
    crumbs = "<nav class=breadcrumb><a href=/>Start</a> <a href=/b>Part</a></nav><main><h1>H</h1><p>Words.</main>"
    assert r'.b li+li::before{content:"\203a  "}' in style_of(crumbs)
    assert style_of(crumbs, style="b::before{content:'»'}") == r"b::before{content:'\bb '}"


@pytest.mark.parametrize(
    ("root", "is_written"), [(" lang=ar dir=rtl", True), (' lang=fa dir="RTL"', True), ("", False)]
)
def test_code_runs_from_the_left_on_pages_that_run_from_the_right(root: str, *, is_written: bool) -> None:
    style = style_of("<h1>H</h1><p>Type:</p><pre>$ ls /etc</pre>", root)
    assert ("[dir=rtl] pre" in style) == is_written


def test_only_pages_that_are_cards_are_wide() -> None:
    card = "<div><h3><a href={0}>{0}</a></h3><p>About it.</div>"
    grid = f"<div>{card.format('one')}{card.format('two')}</div>"
    assert "max-width:70rem" in style_of(f"<main><h1>H</h1>{grid}</main>")
    assert "max-width:70rem" not in style_of(f"<main><h1>H</h1><p>{WORDS}</main><p>{WORDS}")


FIGURE = "<div class=col><div>{0}%</div><div class=h1>{0}</div><div>New tickets</div></div>"


@pytest.mark.parametrize("css", [".row{display:flex;flex-wrap:wrap}", ".col{float:left}", ".row{display:grid}"])
def test_figures_in_a_row_are_cards(css: str) -> None:
    row = f"<div class=row>{''.join(map(FIGURE.format, '123'))}<div class=wide>{WORDS}</div></div>"
    written = body_of(f"<main><h1>H</h1>{row}</main>", css)
    cards = "".join(f"<div class=c><p class=m>{n}% &#183; {n} &#183; New tickets</p></div>" for n in "123")
    assert f"<div class=g>{cards}</div><p>{WORDS.strip()}</p>" in written


@pytest.mark.parametrize(
    ("row", "css"),
    [
        ("".join(map(FIGURE.format, "123")), ".col{color:red}"),  # one above the other
        ("".join(map(FIGURE.format, "12")), ".row{display:flex}"),
        ("<div class=col>Mon</div><div class=col>Tue</div><div class=col>Wed</div>", ".row{display:flex}"),
        ("<div class=col><label>A</label> <b>b</b><input name=a></div>" * 3, ".row{display:flex}"),
    ],
)
def test_other_boxes_are_none(row: str, css: str) -> None:
    assert "class=g" not in body_of(f"<main><h1>H</h1><form action=/a><div class=row>{row}</div></form></main>", css)


def test_boxes_with_headings_are_cards_beside_wider_ones() -> None:
    boxes = "".join(
        f"<div class='s {name}'><h3>{name}</h3><p>About {name}.</p></div>" for name in ("one", "two", "mb-5")
    )
    row = f"<div class=row>{boxes}<div class=wide><h3>Four</h3><h3>Five</h3></div></div>"
    assert body_of(f"<main><h1>H</h1>{row}</main>", ".row{display:flex}").count("<div class=c>") == 3


# ---- the frame


def test_a_menu_that_checkboxes_open_is_no_content() -> None:
    menu = (
        "<div><nav class=md-nav><label for=d>Site</label><ul><li><input type=checkbox id=d><a href=a>First part</a>"
        "<li><a href=b>Second part</a></ul></nav></div>"
    )
    written = body_of(f"<main>{menu}<div><article><h1>H</h1><p>{WORDS}</article></div></main>", title="H - Site")
    assert "<header><nav><ul><li><a href=a>First part</a></li>" in written
    assert written.count("First part") == 1


@pytest.mark.parametrize(
    "link",
    ["<a class='VPButton medium brand' href=/guide>Start</a>", "<p><a class=icon-arrow-left href=../>Return</a>"],
)
def test_a_button_and_a_way_back_are_not_the_name_of_the_site(link: str) -> None:
    written = body_of(f"{link}<h1>Harbour</h1><p>{WORDS}", title="Harbour")
    assert "class=s" not in written


def test_a_link_to_skip_the_menu_may_go_where_no_main_content_stands_out() -> None:
    written = body_of(f"<a href=#content>Skip</a><div id=content><h1>H</h1><p>One.</p></div><p>{WORDS}")
    assert "Skip" not in written


# ---- accessibility: what axe and Lighthouse find


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("Your town <input name=t><input name=u>", "Your town"),
        ("<table><tr><td>Town<td><input name=t><tr><td>Post<td><input name=p></table>", "Town"),
        ("<input type=checkbox name=t> I agree<input name=u>", "I agree"),
        ("<h2>Go</h2><input name=t><button>Find</button>", "Find"),
        ("<input name=t value='Search here'><input name=u>", "Search here"),
        ("<input name=town><input name=u>", "town"),
        ("<label for=t>Town</label> <input name=t id=t>", None),
        ("<label>Town <input name=t></label>", None),
        ("<input name=t placeholder=Town>", None),
    ],
)
def test_a_field_has_a_name(form: str, name: str | None) -> None:
    tree = parse(body_of(f"<h1>H</h1><form action=/s>{form}</form>"))
    assert next(each.attr("aria-label") for each in tree.select("[name]")) == name


@pytest.mark.parametrize("listed", ["<dt>One<dt>Two", "<dd>One<dd>Two", "<div><dt>One</div><dt>Two"])
def test_a_list_of_terms_without_descriptions_is_a_plain_list(listed: str) -> None:
    assert "<ul><li>One<li>Two</ul>" in body_of(f"<h1>H</h1><dl>{listed}</dl>")
    assert "<dl><dt>One<dd>Two</dl>" in body_of("<h1>H</h1><dl><dt>One<dd>Two</dl>")


def test_keys_reach_what_is_wider_than_the_window() -> None:
    assert "<pre>ls</pre>" in body_of("<h1>H</h1><pre>ls</pre>")
    assert "<pre tabindex=0>" in body_of(f"<h1>H</h1><pre>{'ls ' * 20}</pre>")
    wide = f"<table><tr>{'<th>a' * 4}<tr>{'<td>b' * 4}<tr><th><td>1<td>2<td>3</table>"
    written = body_of(f"<h1>H</h1>{wide}")
    assert "<table tabindex=0>" in written
    assert "<tr><td><td>1" in written  # a header that says nothing is none


def head_of(root: str, head: str, body: str) -> str:
    page = compose(f"<!DOCTYPE html><html{root}><head><title>T</title>{head}</head><body>{body}", url_path="/p.html")
    assert isinstance(page, ComposedPage), page
    return page.text.partition("<style>")[0]


@pytest.mark.parametrize(
    ("root", "head", "body", "language"),
    [
        (" lang=fr", "", WORDS * 3, "fr"),
        ("", "", f"<p>{WORDS * 4}", "en"),
        ("", "<meta property=og:locale content=nl_BE>", "<p>x", "nl-BE"),
        ("", "<meta http-equiv=Content-Language content=de>", "<p>x", "de"),
        ("", "", "<p>" + "東京の港に船が入り、荷を下ろす人は夜明けの前に岸に集まっていた。" * 3, "ja"),
        ("", "", "<p>" + "این کتاب است که در آن را به زبان فارسی نوشته است. " * 4, "fa"),
        ("", "", "<p>1 2 3 Foo bar baz", None),
    ],
)
def test_a_page_without_a_language_has_that_of_its_words(root: str, head: str, body: str, language: str | None) -> None:
    found = parse(head_of(root, head, body)).select_one("html")
    assert found is not None and found.attr("lang") == language


def test_readers_may_enlarge_the_page_which_does_not_load_itself_anew() -> None:
    head = "<meta name=viewport content='width=device-width, user-scalable=no, maximum-scale=1'>"
    written = head_of("", f"{head}<meta http-equiv=refresh content=1800>", "<p>x")
    assert "scalable" not in written and "refresh" not in written
    assert written.count("viewport") == 1


@pytest.mark.parametrize(
    ("head", "body", "description"),
    [
        ("<meta name=description content='Own words'>", WORDS * 9, "Own words"),
        ("<meta property=og:description content='Said elsewhere'>", "<p>x", "Said elsewhere"),
        ("<meta name=description content=' '>", f"<h1>H</h1><p>Short.<p>{WORDS}<p>{WORDS * 6}", WORDS.strip()),
        ("", f"<h1>H</h1><p>{WORDS * 9}", (WORDS * 2)[:155].rpartition(" ")[0]),
        ("", f"<h1>A title</h1><ul>{'<li>Ten <b>w</b>ords' * 20}</ul>", "A title " + "Ten words " * 14 + "Ten"),
        ("", "<h1>H</h1><p>Ships came in at dawn.", None),
    ],
)
def test_a_page_has_a_description(head: str, body: str, description: str | None) -> None:
    metas = parse(head_of("", head, body)).select("meta[name=description]")
    assert [each.attr("content") for each in metas if (each.attr("content") or "").strip()] == [
        *filter(None, [description])
    ]


def test_what_opens_a_landing_page_stands_first() -> None:
    hero = "<header class=masthead><div>Welcome to our studio!</div><div>It's nice to meet you</div></header>"
    written = body_of(
        f"<nav><a href=#a>A</a> <a href=#b>B</a></nav>{hero}<main id=a><h2>Services</h2><p>{WORDS}</main>"
    )
    assert written.index("nice to meet") < written.index("Services")


def test_a_form_that_says_and_sends_what_another_does_is_there_once() -> None:
    form = "<form action=/s><label for=q{0}>Search</label><input id=q{0} name=q><button>Go</button></form>"
    cart = "<form action=/cart><input type=hidden name=id value={0}><input name=count><button>Add</button></form>"
    body = f"<div class=top>{form.format(1)}</div><main><h1>T</h1><p>{WORDS}</p>{cart.format(1)}{cart.format(2)}</main>"
    written = body_of(f"{body}<div class=drawer>{form.format(2)}</div>")
    assert written.count("action=/s") == 1
    assert written.count("action=/cart") == 2


def test_choices_without_an_action_and_buttons_that_empty_a_field_elsewhere_are_left_out() -> None:
    palette = "<form class=palette><input type=radio name=p aria-label=Dark><input type=radio name=p></form>"
    search = "<form action=/s><input name=q><nav><button type=reset title=Clear></button></nav></form>"
    written = body_of(f"<header>{palette}{search}</header><main><h1>T</h1><p>{WORDS}</p></main>")
    assert "radio" not in written and "Clear" not in written
    assert "name=q" in written
    assert "Cart" not in body_of(f"<main><h1>T</h1><p>{WORDS}</p></main><form><button>Cart 0</button></form>")
    sent = body_of(f"<main><h1>T</h1><p>{WORDS}</p><form action=/vote><input type=radio name=p>Yes</form></main>")
    assert "type=radio" in sent


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("ctl00$ctl02$btnSearch", "Search"),
        ("search_go", "search"),
        ("sa", "OK"),
        ("find", "find"),
        ("a[query]", "query"),
    ],
)
def test_the_name_that_a_program_has_for_a_button_is_not_shown_as_it_is(name: str, label: str) -> None:
    written = body_of(
        f"<main><h1>T</h1><form action=/s><input name=q><input type=submit name='{name}' value=''></form>"
    )
    assert f">{label}</button>" in written


def test_counters_of_who_shared_a_page_are_left_out_where_only_a_script_would_share_it() -> None:
    tool = "<div class=b><a href='javascript:void(0)'>Recomendar en Facebook</a> <span class=contador>0</span></div>"
    linked = "<div class=b><a href=https://facebook.example/us>Our Facebook page</a></div>"
    sentence = (
        "<p>She writes on <a href=#>Facebook</a>, which few of the fishermen read before they have slept well.</p>"
    )
    written = body_of(f"<main><h1>T</h1>{tool}<p>{WORDS}</p>{sentence}{linked}</main>")
    assert "Recomendar" not in written and ">0<" not in written
    assert "Our Facebook page" in written and "She writes on Facebook" in written


def test_rows_of_cards_are_one_grid_and_entries_of_a_menu_are_no_cards() -> None:
    card = "<div class=c><h3><a href=/{0}>The story of the {0} harbour</a></h3><p>What it is about.</p></div>"
    rows = "".join(f"<div class=row>{card.format(n)}{card.format(n + 1)}</div>" for n in (1, 3))
    written = body_of(f"<main><h1>T</h1>{rows}</main>")
    assert written.count("<div class=g>") == 1
    menu = "".join(f"<li><h2><a href=/{name}>{name}</a></h2></li>" for name in ("Local", "Sport", "Ocio"))
    assert "class=g" not in body_of(f"<h1>T</h1><ul>{menu}</ul><p>{WORDS}</p>")


def test_words_of_a_card_are_not_underlined_with_its_title() -> None:
    card = "<a href=/a><h3>Ships come in</h3><p>At dawn, and nobody was awake.</p></a>"
    assert "<a class=o href=/a><h3>" in body_of(f"<main><h2>T</h2>{card}<p>{WORDS}</p></main>").replace("h2>", "h3>")


def test_a_title_below_the_link_of_its_picture_is_said_once() -> None:
    items = "".join(
        f"<li><a href=/{n}.jpg><img src={n}.jpg alt='Jets of star {n}'></a><div><div class=t>Jets of star {n}</div>"
        f"<div>{WORDS}</div></div>"
        for n in range(3)
    )
    assert body_of(f"<main><h1>T</h1><ul>{items}</ul></main>").count("Jets of star 1") == 1


def test_a_label_before_a_title_is_apart_and_names_of_files_are_no_words() -> None:
    written = body_of(
        "<main><h1>T</h1><h2><span class='label label--region'>Regio</span>Plafond stort in</h2>"
        f"<p>{WORDS}</p><a href=https://fair.example/><img src=x alt='SIGNATURE - Foire autumn.jpg'></a></main>"
    )
    assert "Regio Plafond" in written
    assert "SIGNATURE" not in written and ">fair.example</a>" in written


def test_links_that_jump_within_the_page_are_left_out_with_the_words_around_them() -> None:
    jump = "<div class=mw-jump>Jump to: <a href=#nav>navigation</a>, <a href=#q>search</a></div>"
    written = body_of(f"<main><h1>T</h1>{jump}<p>{WORDS}</p></main><nav id=nav><a href=/a>A</a></nav><p id=q>Q</p>")
    assert "Jump" not in written and "navigation<" not in written


def test_a_link_that_says_a_space_is_called_as_the_host_that_it_leads_to() -> None:
    body = f"<main><h1>T</h1><p>{WORDS}</p></main><a class=i href=http://tide.example/b><span>&nbsp;</span></a>"
    assert "<a href=http://tide.example/b>tide.example</a>" in body_of(body)


def test_a_type_stands_in_one_line_with_what_it_is_of() -> None:
    rows = "<tr><td colspan=2><h2>Functions</h2>" + "".join(
        f"<tr><td>void</td><td><a href=#f{n}>open_{n}</a> ({'const struct decoder *, ' * 6}int)</td>" for n in range(3)
    )
    assert '<p>void <a href="#f1">open_1</a> (const' in body_of(
        f"<main><h1>T</h1><table>{rows}</table></main>"
    ).replace("=#f1", '="#f1"')


def test_words_between_items_belong_to_the_item_before() -> None:
    items = "<li><a href=/a>Overview</a></li><br><br>What it is about.<li><a href=/b>Licence</a>"
    assert body_of(f"<main><h1>T</h1><ul>{items}</ul><p>{WORDS}</p></main>").count("<li") == 2


def test_a_list_of_many_names_is_no_path() -> None:
    names = "".join(f"<a href=/u{n}>user {n}</a> " for n in range(20))
    written = body_of(f"<div class=breadcrumb>{names}</div><main><h1>T</h1><p>{WORDS}</p></main>")
    assert "<nav class=b" not in written and "/u19" in written


@pytest.mark.parametrize(
    "link",
    [
        "<span class=mw-editsection><span>[</span><a href='/w?action=edit'>edit</a><span>]</span></span>",
        "<a href=https://git.test/edit/a.md>Edit this page</a>",
        "<a href=https://git.test/edit/a.md title='Edit this page'><svg></svg></a>",
        "<a href=https://git.test/edit/a.md>Edit on GitHub</a>",
    ],
)
def test_what_is_for_those_who_write_a_page_is_left_out_of_the_article(link: str) -> None:
    written = body_of(f"<main><h1>T</h1><p>{WORDS}</p><h2>Part{link}</h2><p>{WORDS}</p>{link}</main>")
    main, _, rest = written.partition("</main>")
    assert "dit" not in main
    assert "<h2>Part</h2>" in main
    assert rest.count("href=https://git.test/edit/a.md") == ("git.test" in link)


def test_a_link_that_speaks_of_editing_stays() -> None:
    written = body_of(f"<main><h1>T</h1><p>{WORDS}<a href=how.html>How to edit this page</a></p></main>")
    assert "<a href=how.html>How to edit this page</a>" in written


def test_ids_of_what_other_pages_link_to_stay_and_those_of_the_frame_go() -> None:
    written = body_of(
        f"<div id=wrapper><div id=inner><section id=part><h1>T</h1><p id=word>{WORDS}</p></section></div></div>"
        "<form action=/s><label for=q>Query</label><input id=q name=q><input id=go type=submit></form>"
        "<footer><p id=imprint>Imprint</p></footer>"
    )
    assert [each.attr("id") for each in parse(written).select("[id]")] == ["part", "word", "q"]


def test_a_face_is_not_said() -> None:
    written = body_of(f"<h1>T</h1><p>{WORDS}</p><div><img src=/avatar/7.png alt='avatar for user Ann'><b>Ann</b></div>")
    assert "avatar" not in written


def test_only_selectors_of_the_page_are_in_its_sheet() -> None:
    page = compose(f"<!DOCTYPE html><title>T</title><body><h1>H</h1><p>{WORDS}</p><h2>A</h2>", url_path="/p.html")
    assert isinstance(page, ComposedPage)
    assert "h1,h2{" in page.text
    assert "h3" not in page.text and "nav ul" not in page.text and "img" not in page.text


def test_a_page_without_a_title_has_that_of_its_heading() -> None:
    page = compose(f"<!DOCTYPE html><body><h1>The <b>quay</b></h1><p>{WORDS}</p>", url_path="/p.html")
    assert isinstance(page, ComposedPage)
    assert "<title>The quay</title>" in page.text


def test_a_menu_that_a_script_would_open_stays_only_where_it_leads_somewhere() -> None:
    menu = "<div class=dropdown-menu><h6>{0}</h6><a href=#>Alert</a><a href={1}>All</a></div>"
    written = body_of(f"<h1>Board</h1><p>{WORDS}</p>{menu.format('Alerts', '#')}{menu.format('Messages', 'all.html')}")
    assert "Alerts" not in written and "Messages" in written and "href=all.html" in written


def test_the_foot_of_a_table_is_below_it() -> None:
    written = body_of(
        "<h1>T</h1><table><thead><tr><th>Name<th>Age<tfoot><tr><td>Mean<td>40<tbody><tr><td>Ada<td>36</table>"
    )
    assert sorted(("Name", "Ada", "Mean"), key=written.index) == ["Name", "Ada", "Mean"]


def test_a_tooltip_out_of_the_window_stays_hidden() -> None:
    sheet = ".tip span{position:absolute;margin-left:-999em}.tip:hover span{margin-left:0}"
    written = body_of(f"<h1>T</h1><p>{WORDS} <a class=tip href=f>Font()<span>makes a font</span></a></p>", sheet)
    assert "<span hidden>makes a font</span>" in written
    assert "hidden" not in body_of(f"<h1>T</h1><p>{WORDS} <a class=tip href=f>Font()<span>x y</span></a></p>")


def test_a_heading_with_its_number_is_the_title() -> None:
    written = body_of(f"<h2>3. Kicking off</h2><p>{WORDS}</p>", title="Kicking off \u2014 manual")
    assert written.startswith("<main><h1>3. Kicking off</h1>")


def test_a_folded_list_of_pages_beside_the_content_keeps_its_links() -> None:
    folded = "<div id=collapsePages class=collapse><a href=register.html>Register</a><a href=404.html>Lost</a></div>"
    written = body_of(
        f"<div>{folded}</div><div id=content><h1>Board</h1><p>{WORDS * 4}</p></div>", ".collapse{display:none}"
    )
    assert "<a href=register.html>Register</a>" in written and "<a href=404.html>Lost</a>" in written
