"""Where a composed page's story is, what stands beside it, and whose page it is."""

from __future__ import annotations

import re

import pytest

from adaptc.compile.passes.composed.reader import ComposedPage, compose
from adaptc.formats.html.contract import CONTRACT_CHECKS
from adaptc.formats.html.document import parse

PARAGRAPH = f"<p>{'The harbour master counts the ships that leave the bay each morning. ' * 4}</p>"
TEASER = "<div><a href={0}><h5>{0} of the day</h5></a><p>What {0} is about, in one short sentence.</p></div>"


def composed(body: str, title: str = "Ships") -> str:
    """The body of a page that is composed of this."""
    source = f"<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>{title}</title></head><body>{body}"
    page = compose(source, url_path="/a.html")
    assert isinstance(page, ComposedPage), page
    assert CONTRACT_CHECKS["article"](parse(source))(parse(page.text)) == []
    return page.text.partition("</style>")[2]


def story(beside: str, paragraphs: str = PARAGRAPH * 2) -> str:
    return f"<div class=page><div class=story><h1>Ships</h1><p>By Ada</p>{paragraphs}{beside}{PARAGRAPH}</div></div>"


TEASERS = "".join(map(TEASER.format, ("Cod", "Tide", "Sail")))


@pytest.mark.parametrize(
    "beside",
    [
        f"<div class=box><div>{TEASERS}</div></div>",
        f"<div class=box><h4>On our front page</h4><div>{TEASERS}</div></div>",
        f"<aside>{TEASER.format('Cod')}</aside>",
        f"<div class=read-more><h4>Read on</h4>{TEASER.format('Cod')}<h6>News</h6>{TEASERS}</div>",
    ],
)
def test_blocks_whose_headings_lead_to_other_stories_come_after_it(beside: str) -> None:
    inner, _, rest = composed(story(beside)).partition("</main>")
    assert inner.count("The harbour master") == 12 and "Cod of the day" not in inner
    assert "Cod of the day" in rest and "By Ada" in inner


@pytest.mark.parametrize(
    ("beside", "paragraphs"),
    [
        (f"<div>{TEASERS.replace('href=', 'href=#')}</div>", PARAGRAPH),  # to parts of the story
        (f"<div>{TEASER.format('Cod')}</div>", PARAGRAPH),  # one link of its own
        (f"<div>{PARAGRAPH}{TEASERS}</div>", PARAGRAPH),  # its text, with headings
        (f"<div>{TEASERS * 20}</div>", "<p>Twenty shops that we like.</p>"),  # the story is a list
        ("<div><h2>Knots</h2><p>One.</p><h2>Sails</h2><p>Two.</p></div>", PARAGRAPH),
    ],
)
def test_what_belongs_to_a_story_stays_in_it(beside: str, paragraphs: str) -> None:
    body = composed(story(beside, paragraphs))
    inner = body.partition("</main>")[0]
    assert ("Cod of the day" if "Cod" in beside else "Knots") in inner


POST = (
    "<div class=post id=p{0}><h3><a href='t.php?p={0}#p{0}'>Re: Wheel</a></h3><p class=author>by Anna</p><p>{1}</div>"
)
SEARCH = "<form action=s><input name=q><button>Go</button></form>"
HEAD = f"<div id=page-header><h1>Riders</h1><p>Of old bicycles</p>{SEARCH}</div>"


@pytest.mark.parametrize("title", ["Wheel - Riders", "Riders - Wheel"])
def test_a_page_of_a_forum_has_the_name_of_the_forum_and_the_title_of_the_topic(title: str) -> None:
    posts = "".join(
        POST.format(n, "It makes a noise whenever I ride uphill, once per turn of the wheel.") for n in range(3)
    )
    body = composed(f"{HEAD}<div role=main><h2><a href=t.php>Wheel</a></h2>{posts}</div>", title)
    assert "<p class=s>Riders</p>" in body and "<h1><a href=t.php>Wheel</a></h1>" in body
    assert body.count("Riders") == 1 and body.count("name=q") == 1
    assert "class=c" not in body and body.count("<h2") == 3  # posts of a conversation, below each other


def test_a_first_heading_in_the_head_that_is_the_page_s_title_stays_that() -> None:
    body = composed(f"<header><h1>Wheel</h1></header><main><h2>Noise</h2>{PARAGRAPH}</main>", "Wheel - Riders")
    assert "<h1>Wheel</h1>" in body


def test_links_that_are_called_so_skip_the_menu_wherever_they_stand() -> None:
    body = composed(
        f"<p>All about ships</p><p class=skiplink><a href=#c>Jump to content</a></p><h1>H</h1><a id=c></a>{PARAGRAPH}"
    )
    assert "Jump to content" not in body


@pytest.mark.parametrize("alternative", ["User Image", "Product image", "Author avatar"])
def test_the_word_for_the_place_of_an_image_is_not_said(alternative: str) -> None:
    assert alternative not in composed(f"<main><h1>H</h1><p>Words.</p><img src=a.jpg alt='{alternative}'></main>")


def test_a_logo_is_not_said_beside_the_name() -> None:
    body = composed(
        "<header><a class=brand href=/><img src=l.png alt='Herald Logo'><b>Herald 3</b></a></header><h1>H</h1><p>x"
    )
    assert "<p class=s><a href=/>Herald 3</a></p>" in body


def test_no_space_of_a_link_is_underlined() -> None:
    assert "<p>In <a href=d>de</a> | <a href=e>en</a></p>" in composed(
        "<main><h1>H</h1><p>In<a href=d>&nbsp;de&nbsp;</a>|<a href=e>&nbsp;en&nbsp;</a></p></main>"
    )


def test_words_for_screen_readers_are_apart_from_the_next_one() -> None:
    body = composed(
        "<main><h1>H</h1><p><a href=p><i></i><span class=sr-only>Post</span></a><span>by Anna</span></main>"
    )
    assert "<a href=p>Post</a> by Anna" in body


def test_the_title_of_a_journal_is_that_of_its_entry() -> None:
    head = "<div class=header><h1><a href=/>The Log</a></h1></div>"
    body = composed(f"{head}<div class=main><h2>1 May</h2><h3>Ships</h3>{PARAGRAPH}</div>")
    assert "<p class=s><a href=/>The Log</a></p>" in body and "<h1>Ships</h1>" in body


@pytest.mark.parametrize(
    "frame",
    ["src=//platform.twitter.com/widgets/tweet_button.html", "src=https://www.facebook.com/plugins/like.php?href=x",
     "src=https://ads.example/1 title=Advertisement", "src='//ad.doubleclick.net/adi/J;sz=120x600;ord=1'",
     "src='//example.test/left;sz=120x600'"],
)  # fmt: skip
def test_frames_of_advertisements_and_of_buttons_that_share_are_left_out(frame: str) -> None:
    body = composed(
        f"<main><h1>H</h1>{PARAGRAPH}<iframe {frame}></iframe><iframe src=//maps.example/x></iframe></main>"
    )
    assert body.count("<a ") == 1 and "maps.example" in body


def test_links_of_advertisers_for_visitors_without_scripts_are_left_out() -> None:
    link = "<a href='https://ad.doubleclick.net/jump/J;sz=120x600;ord=1'>{}</a>"
    inner = f"<noscript>{link.format('<img src=ad.gif>')}</noscript>{link.format('Our partner')}"
    body = composed(f"<main><h1>Ships</h1>{PARAGRAPH}<p>{inner}</p></main>")
    assert body.count("<a ") == 1 and ">Our partner</a>" in body


def test_a_field_does_not_show_the_mark_that_a_template_would_fill_in() -> None:
    body = composed(
        f"<h1>H</h1>{PARAGRAPH}<form action=s><input name=q value='{{{{ query }}}}'><button>Go</button></form>"
    )
    assert "query" not in body and "name=q" in body


def test_words_after_a_picture_or_a_date_are_apart() -> None:
    assert "<i>[The bay]</i> It is" in composed(
        "<main><h1>H</h1><p><img src=b.jpg alt='The bay'>It is calm.</p></main>"
    )
    assert "1 May</p>" not in composed("<main><h1>H</h1><p><time>1 May</time><span>By Ada</span> and others</p></main>")
    assert "1 May By Ada" in composed("<main><h1>H</h1><p><time>1 May</time><span>By Ada</span> and others</p></main>")


def test_a_button_whose_words_a_style_draws_has_its_name() -> None:
    body = composed(f"<h1>H</h1>{PARAGRAPH}<form action=s><input name=q><input type=submit name=Find value=''></form>")
    assert ">Find</button>" in body and "name=Find value" in body


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("<tr><td><input type=checkbox><td>A<td>1<tr><td><td>B<td>2", "<tr><td>A<td>1<tr><td>B<td>2"),
        ("<tr><td rowspan=2><img src=n.png><th>Note<td>!<tr><td>Words<td>?", "<tr><th>Note<td>!<tr><td>Words<td>?"),
        ("<tr><td>A<td><td>1<tr><td>B<td>x<td>2", "<tr><td>A<td><td>1<tr><td>B<td>x<td>2"),
        ("<tr><td colspan=2>A<td>1<tr><td><td>B<td>2", "<tr><td colspan=2>A<td>1<tr><td><td>B<td>2"),
    ],
)  # fmt: skip
def test_a_column_that_says_nothing_is_left_out(rows: str, expected: str) -> None:
    body = composed(f"<main><h1>H</h1><p>Words.</p><table border=1>{rows}</table></main>")
    assert f">{expected}</table>" in body


def test_fields_stay_below_each_other() -> None:
    fields = "".join(f"<div><label>{name} <input name={name}></label></div>" for name in ("city", "street", "code"))
    body = composed(f"<h1>H</h1>{PARAGRAPH}<form action=s><div class=meta>{fields}</div><button>Go</button></form>")
    assert body.count("<p><label>") == 3 and "class=m" not in body


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<span>Ann</span><link itemprop=a href=/t><span><time>May 4</time></span>", "Ann May 4"),
        ("<span>SKU: A1</span><span>Category: Hats</span>", "SKU: A1 Category: Hats"),
        ("<cite>Ann wrote:</cite>What now", "Ann wrote:</cite> What now"),
        ("<span class=visually-hidden>Price</span><span>€9</span>", "Price €9"),
        ("<b>Java</b><i>Script</i>", "<b>Java</b><i>Script</i>"),
        ("<code><span>a:</span>hover</code>", "<code>a:hover</code>"),
        ("<time>May 4</time>, in Rome", "May 4, in Rome"),
    ],
)
def test_dates_labels_and_words_for_screen_readers_are_apart(markup: str, expected: str) -> None:
    assert expected in composed(f"<main><h1>Ships</h1>{PARAGRAPH}<p>{markup}</p></main>")


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<div><div>Prep time:</div><div>10 mins</div></div>", "<p class=m>Prep time: 10 mins</p>"),
        ("<div class=meta><div>by</div><div>Ann</div><div>|</div><div>May 4</div></div>", "by Ann | May 4</p>"),
        ("<section><div>Prep time:</div><div>10 mins</div><p>Stir.</p></section>", "<p>Prep time:</p><p>10 mins</p>"),
    ],
)
def test_a_label_and_its_value_make_one_line(markup: str, expected: str) -> None:
    assert expected in composed(f"<main><h1>Ships</h1>{PARAGRAPH}{markup}</main>").replace("&#183;", "\u00b7")


TOOLS = "<a class='icon print'>Print</a><a href='javascript:share()'>Share</a>"


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        (TOOLS, ""),
        ("<a href=/print>Print</a>", "<a href=/print>Print</a>"),
        ("<a name=print>Print</a>", "Print"),  # an anchor
        ("<a class=icon>Printing</a>", "Printing"),
    ],
)
def test_tools_that_only_a_script_hears_are_left_out(tools: str, expected: str) -> None:
    assert f"</h1>{expected and f'<p>{expected}</p>'}<p>The" in composed(
        f"<main><h1>Ships</h1><div>{tools}</div>{PARAGRAPH}</main>"
    ).replace(" id=print", "")


HOME = "<link rel=canonical href=https://www.bay.test/a>"


@pytest.mark.parametrize(
    ("header", "title", "expected"),
    [
        (f"{HOME}<a href=https://epaper.bay.test/>ePaper</a><a href=https://www.bay.test/>The Bay</a>", "", "The Bay"),
        ("<a class=logo href='#w=deals'>deals</a><a href=/>The Bay</a>", "", "The Bay"),
        ("<a class=logo href=/start title='Visit the main page'></a>", "Ships - The Bay", "The Bay"),
        ("<a class=logo href=/><img src=l.png alt='The Bay - news, sport, weather and tides'></a>", "", "The Bay"),
    ],
)
def test_the_site_is_called_what_it_is(header: str, title: str, expected: str) -> None:
    body = composed(f"{header}<main><h1>Ships</h1>{PARAGRAPH}</main>", title or "Ships")
    name = body.partition("<p class=s>")[2].partition("</p>")[0]
    assert name.partition(">")[2].removesuffix("</a>") == expected


def test_a_title_ends_before_the_name_of_the_site() -> None:
    body = composed(f"<a class=logo href=/>The Bay</a><div class=content>{PARAGRAPH}</div>", "Ships | The Bay | News")
    assert "<h1>Ships</h1>" in body


@pytest.mark.parametrize("current", ["Ships", "", "<span>Ships</span>"])
def test_a_path_that_ends_with_the_title_of_the_page_is_one(current: str) -> None:
    path = f"<nav class=woo-breadcrumb><a href=/>Home</a> / <a href=/bay/>Bay</a> / {current}</nav>"
    body = composed(f"{path}<main><h1>Ships</h1>{PARAGRAPH}</main>")
    assert "<nav class=b" in body and body.index("<nav class=b") < body.index("<main>")
    other = composed(
        f"{path.replace('Ships', '')[:-6]} closed on Mondays in winter and spring</nav><main><h1>Ships</h1>"
    )
    assert "<nav class=b" not in other and "closed on Mondays" in other


def test_a_list_of_stories_with_their_times_is_no_byline() -> None:
    stories = "".join(
        f"<li><a href=/{n}>A story of the {n}th harbour</a><p class=timestamp>{n} hours ago" for n in range(4)
    )
    body = composed(
        f"<div class=story><h1>Ships</h1><p>By Ada</p><div class='widget latest_headlines'><h2>Latest</h2>"
        f"<ul>{stories}</ul></div>{PARAGRAPH * 3}</div>"
    )
    inner = body.partition("</main>")[0]
    assert "3th harbour" not in inner and "3 hours ago" not in inner and "3th harbour" in body


def test_buttons_are_named_where_a_font_draws_their_words() -> None:
    icons = "<button title=Go>\ue900</button><input type=submit value='\uf002' title=Find>"
    form = f"<form action=/s><input name=q title=Words>{icons}</form>"
    body = composed(f"<main><h1>Ships</h1>{PARAGRAPH}{form}</main>")
    assert ">Go</button>" in body and ">Find</button>" in body


def test_the_form_of_a_search_has_no_heading() -> None:
    form = "<form action=/s><h2>Search form</h2><input name=q title=Words><input type=submit value=Find></form>"
    assert "Search form" not in composed(f"<div>{form}</div><main><h1>Ships</h1>{PARAGRAPH}</main>")


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (("1", "Stir.", "2", "Bake."), "<p>1 Stir.</p><p>2 Bake.</p>"),
        (("1", "Stir.", "2", "<a href=/bake>Bake</a>."), "<p>2 <a href=/bake>Bake</a>.</p>"),
        (("1", "Stir.", "3", "Bake."), "<p>1</p><p>Stir.</p><p>3</p><p>Bake.</p>"),  # other numbers
        (("1", "Stir."), "<p>1</p><p>Stir.</p>"),
    ],
)
def test_the_numbers_of_steps_stand_before_them(steps: tuple[str, ...], expected: str) -> None:
    inner = "".join(f"<div>{each}</div>" for each in steps)
    assert expected in composed(f"<main><h1>Ships</h1>{PARAGRAPH}<section>{inner}</section>{PARAGRAPH}</main>")


def test_a_place_may_stand_before_the_title() -> None:
    heads = "<h1><a href=/x>Another story of the day</a></h1><h1>Ships come in with the tide</h1>"
    links = "".join(f"<li><a href=/{each}>One more story of the day, number {each}</a>" for each in range(12))
    story = (
        f"<div id=content>{heads}<div class=related><ul>{links}</ul></div><div class=text>{PARAGRAPH * 3}</div></div>"
    )
    body = composed(story, "ROME: Ships come in with the tide | The Bay")
    assert "One more" not in body.partition("</main>")[0] and "One more" in body


def test_the_logo_of_somebody_else_below_a_heading_is_not_the_name_of_the_site() -> None:
    shop = (
        "<div class=box><a class=logo href=http://coupons.example/><img src=c.png alt='Coupons of the day'></a></div>"
    )
    links = "".join(f"<a href=/{n}>Part {n}</a> " for n in range(4))
    body = composed(f"<h1><a href=http://bay.example/>Bay</a></h1>{links}{PARAGRAPH}{shop}")
    assert "<p class=s>" not in body


def test_a_link_home_by_a_picture_is_called_as_the_site() -> None:
    home = "<a class=logo href=/ title='Back to the home of The Bay'><img src=l.png alt=''></a>"
    body = composed(f"{home}<main><h1>Ships</h1>{PARAGRAPH}</main>", "Ships - The Bay")
    assert ">The Bay</a></p>" in body
    assert "Back to the home" not in body


@pytest.mark.parametrize(
    ("words", "title", "name"),
    [
        ("Help Contents", "Ships - The Bay 2.1 manual", "The Bay 2.1 manual"),
        ("The Bay", "Ships - The Bay 2.1 manual", "The Bay"),
        ("The Bay", "Ships", "The Bay"),
    ],
)
def test_a_link_home_that_says_what_it_leads_to_is_not_the_name_of_the_site(words: str, title: str, name: str) -> None:
    body = composed(f"<div class=top><a href=/>{words}</a></div><main><h1>Ships</h1>{PARAGRAPH}</main>", title)
    assert f"<p class=s><a href=/>{name}</a></p>" in body


DOCBOOK = """<link rel=home href=index.en.html title="The Bay: A Harbour"><link rel=prev href=a.html title="1. Tides">
<link rel=next href=c.html title="3. Cod"><title>2. Ships</title>"""


def test_the_frame_of_a_page_of_docbook() -> None:
    turning = """<table><tr><th colspan=3>2. Ships<tr><td><a accesskey=p href=a.html><img src=p.png alt=Prev></a>
    <td><a accesskey=h href=index.en.html><img src=h.png alt=Home></a><td><a accesskey=n href=c.html>Next</a></table>"""
    parts = "<dt><a href=b.html#hull>The hull of a ship</a><dt><a href=b.html#mast>The mast of a ship</a>"
    contents = f"<div class=toc><p><b>Contents</b><dl>{parts}</dl></div>"
    story = f"<div><h1>2. Ships</h1><h2 id=hull>Hull</h2>{PARAGRAPH}<h2 id=mast>Mast</h2>{PARAGRAPH * 2}</div>"
    bars = (f"<div class=navheader>{turning}</div>", f"<div class=navfooter>{turning}</div>")
    page = compose(f"{DOCBOOK}<body>{bars[0]}{contents}{story}{bars[1]}", url_path="/b.html")
    assert isinstance(page, ComposedPage)
    assert "<header><p class=s><a href=index.en.html>The Bay: A Harbour</a></p></header>" in page.text
    turned = "<li><a href=a.html>Prev: 1. Tides</a></li><li><a href=c.html>Next: 3. Cod</a></li>"
    assert page.text.endswith(f'</main><nav aria-label="Pages"><ul>{turned}</ul></nav>')
    assert '<nav aria-label="On this page"><details>' in page.text and page.text.count("2. Ships</h1>") == 1


# By texi2html and makeinfo (Texinfo) and LaTeX2HTML; the second and third bar name no relation or turn to a part
TEXINFO = """<table class=header><tr><td>[<a href=a.html title="Previous chapter"> &lt;&lt; </a>]<td>[<a href=#{0}
title="Next section"> &gt; </a>]<td>[<a href=toc.html>Up</a>]<td>&nbsp;<td>[<a href=toc.html#C>Contents</a>]</table>"""
MAKEINFO = """<div class=header><p>Next: <a href=c.html {0}>Cod</a>, Previous: <a href=a.html {1}>Tides</a>,
Up: <a href=toc.html>Log</a> &nbsp; [<a href=toc.html#C>Contents</a>]</p></div>"""
LATEX = """<p><a href=c.html><img alt=next src=n.png></a> <a href=toc.html><img alt=up src=u.png></a>
<a href=a.html><img alt=previous src=p.png></a>
<b>Next:</b> <a href=c.html>Cod</a> <b>Up:</b> <a href=toc.html>Log</a></p>"""


@pytest.mark.parametrize(
    ("bars", "turned"),
    [
        ([TEXINFO.format("hull"), TEXINFO.format("mast")],
         [("a.html", "Previous chapter"), ("#hull", "Next section"), ("toc.html", "Up"), ("toc.html#C", "Contents")]),
        ([MAKEINFO.format("rel=next", "rel=prev"), MAKEINFO.format("", "")],
         [("c.html", "Cod"), ("a.html", "Tides"), ("toc.html", "Log"), ("toc.html#C", "Contents")]),
        ([LATEX, LATEX], [("c.html", "next"), ("toc.html", "up"), ("a.html", "previous")]),
    ],
)  # fmt: skip
def test_bars_that_turn_the_pages_of_a_manual_are_one_list(bars: list[str], turned: list[tuple[str, str]]) -> None:
    body = composed(f"{bars[0]}<h1>Ships</h1>{PARAGRAPH}<h2 id=hull>Hull</h2>{bars[1]}{PARAGRAPH}<h2 id=mast>Mast</h2>")
    assert [*re.findall(r"<a href=([^ >]*)>([^<]*)</a>", body)] == turned
    assert body.count("<nav") == 1
    assert not re.search(r"Next:|Previous:|\[", body)


def test_links_without_words_in_a_heading_that_has_some_are_left_out_or_an_arrow() -> None:
    tools = "<a href=#m title='Link to this place!'><i></i></a><a href=/edit title='You may fix it here!'><i></i></a>"
    body = composed(
        f"<h1>Ships</h1>{PARAGRAPH}<h2 id=m>Masts {tools}</h2>{PARAGRAPH}<h2><a href=/sails title=Sails></a></h2>"
    )
    assert re.search(r"<h2[^>]*>Masts <a [^>]*href=/edit[^>]*>(?:→|&#8594;)</a></h2>", body)
    assert 'aria-label="You may fix it here!"' in body
    assert re.search(r"<h2[^>]*><a href=/sails>Sails</a></h2>", body)


def test_what_folds_a_part_of_a_page_goes_from_its_heading() -> None:
    body = composed(f"<h1>Ships</h1>{PARAGRAPH}<h2>Masts <small><a href=#>[collapse]</a></small></h2>{PARAGRAPH}")
    assert "<h2>Masts</h2>" in body
    assert "Collapse" in composed(f"<h1>Ships</h1>{PARAGRAPH}<h2><a href=#>Collapse</a></h2>{PARAGRAPH}")


def test_a_sentence_of_three_links_is_no_bar_that_turns_pages() -> None:
    links = " ".join(f"<a href={name}.html>{name}</a>" for name in ("tides", "hull", "next", "up"))
    assert f"<p>See {links}</p>" in composed(f"<h1>Ships</h1>{PARAGRAPH}<p>See {links}</p>")


def test_icons_without_words_are_no_signs_that_turn_pages() -> None:
    icons = "".join(f"<a class=btn href=/{name}><i class=fa></i></a>" for name in ("in", "on", "at"))
    assert "<nav" not in composed(f"<h1>Ships</h1>{PARAGRAPH}<p class=social>{icons}</p>")


def test_a_bar_of_menus_above_the_first_paragraph_of_the_main_content_is_a_menu() -> None:
    links = "".join(f"<div><a href=/bay/{number}>Place {number}</a></div>" for number in range(20))
    bar = f"<div class=t-navbar><div>{links}</div></div>"
    assert composed(f"<div id=content><h1>Ships</h1>{bar}{PARAGRAPH * 4}</div>").count("<header><nav><details>") == 1
    in_sidebar = composed(
        f"<div id=content>{bar.replace('t-navbar', 'sidebar')}<div><h1>Ships</h1>{PARAGRAPH * 9}</div></div>"
    )
    assert in_sidebar.count("Place 7<") == 1
    below = composed(f"<div id=content><h1>Ships</h1>{PARAGRAPH * 4}{bar}</div>")
    assert "<header>" not in below
    assert below.count("Place ") == 20


def test_a_link_home_within_a_sentence_stays_in_it() -> None:
    body = composed(f"<p>A part of the log (<a href=../index.html>of the bay</a>)<h1>Ships</h1>{PARAGRAPH}")
    assert "(<a href=../index.html>of the bay</a>)" in body


def test_a_home_page_says_its_name_once() -> None:
    body = composed(
        f"<header><a class=logo href=/>The Bay</a></header><main><h1>The Bay</h1>{PARAGRAPH}</main>", "The Bay"
    )
    assert body.count("The Bay") == 1
    assert "<h1 class=s><a href=/>The Bay</a></h1>" in body


def test_ids_of_records_beside_the_story_stay_where_a_link_names_them() -> None:
    comment = "<li id=comment-{0}><b>Ada</b><p>Well said, and said in time.</p>{1}"
    linked = comment.format(7654321, "<a href=/bay.html#comment-7654321>Link</a>")
    comments = f"<div class=comments id=comments><h3>Comments</h3><ul>{linked}{comment.format(1234567, '')}</ul></div>"
    story = f"<article><h1 id=t20301>The bay</h1><p id=p1234567>{PARAGRAPH * 3}</article>"
    page = compose(f"<title>The bay</title><body><main>{story}</main>{comments}", url_path="/bay.html")
    assert isinstance(page, ComposedPage)
    ids = {each.attr("id") for each in parse(page.text).select("[id]")}
    assert {"comment-7654321", "p1234567", "t20301", "comments"} <= ids
    assert "comment-1234567" not in ids


def test_one_feed_of_each_kind_is_named() -> None:
    feed = "<link rel=alternate type=application/{0}+xml href={1}.xml>"
    feeds = "".join(feed.format(*each) for each in (("rss", "all"), ("rss", "sport"), ("atom", "a"), ("json", "j")))
    page = compose(f"<title>The bay</title>{feeds}<body><h1>The bay</h1>{PARAGRAPH}", url_path="/bay.html")
    assert isinstance(page, ComposedPage)
    assert [each.attr("href") for each in parse(page.text).select("link[rel=alternate]")] == [
        "all.xml",
        "a.xml",
        "j.xml",
    ]


def test_a_field_that_only_a_tooltip_names_shows_its_name() -> None:
    form = "<form action=/s><input name=a title=Address><input type=checkbox name=b title=News></form>"
    page = compose(f"<title>The bay</title><body><h1>The bay</h1>{PARAGRAPH}{form}", url_path="/bay.html")
    assert isinstance(page, ComposedPage)
    field, box = parse(page.text).select("input")
    assert (field.attr("placeholder"), field.attr("title"), box.attr("aria-label")) == ("Address", None, "News")


def test_the_title_of_a_dialogue_is_none_of_the_page() -> None:
    dialogue = "<div role=dialog hidden><h1>Choose a theme</h1></div>"
    story = f"<main><div><h1>Cards</h1><p>What a card is.</p></div><div>{PARAGRAPH * 3}</div></main>"
    page = compose(f"<title>Card - Design</title><body>{story}{dialogue}", url_path="/card.html")
    assert isinstance(page, ComposedPage)
    assert "<main><h1>Cards</h1><p>What a card is." in page.text


def test_the_heading_of_a_part_of_the_site_is_not_its_name() -> None:
    logo = "<div class=header><a class=logo href=/><img src=l.png alt=Tab></a></div>"
    head = f"{logo}<div class=page-header><h1>Guide</h1></div>"
    source = f"<title>Alerts - Guide - Tab</title><body>{head}<main><h2>Alerts</h2>{PARAGRAPH * 3}</main>"
    page = compose(source, url_path="/alerts.html")
    assert isinstance(page, ComposedPage)
    assert "<p class=s><a href=/>Tab</a></p>" in page.text


def test_a_button_of_a_form_is_not_the_name_of_the_site() -> None:
    form = "<form action=/in><input name=user><a href=index.html class=btn>Login</a></form>"
    body = composed(f"<div class=card><h1>Welcome</h1>{form}</div>", "The Bay - Login")
    assert "<a href=index.html>Login</a>" in body.partition("<main>")[2]
    assert "class=s" not in body


def test_each_link_of_a_menu_of_folded_groups_is_in_its_own() -> None:
    groups = (
        f"<li><a href=#>{name}</a><div id=collapse{name} class=collapse><h6>{label}:</h6>{links}</div>"
        for name, label, links in (
            ("Boats", "Of the bay", "<a href=cod.html>Cod</a><a href=eel.html>Eel</a>"),
            ("Pages", "Other pages", "<a href=in.html>Login</a><a href=404.html>404 Page</a>"),
        )
    )
    menu = f"<ul class=sidebar>{''.join(groups)}<li><a href=tides.html>Tides</a><li><a href=charts.html>Charts</a></ul>"
    body = composed(f"{menu}<main><h1>Ships</h1>{PARAGRAPH}</main>")
    nav = parse(body.partition("<main>")[0])
    assert [each.text for each in nav.select("p")] == ["Boats", "Pages"]
    assert [each.text for each in nav.select("ul")] == ["CodEel", "Login404 Page", "TidesCharts"]
    assert nav.select("a")[-1].text == "Charts"


def test_a_link_of_an_arrow_alone_to_the_top_is_left_out() -> None:
    arrow = "<a class=scroll-to-top href=#page><i class='fas fa-angle-up'></i></a>"
    body = composed(f"<div id=page><h1>Ships</h1>{PARAGRAPH * 2}</div><footer><p>The Bay</p>{arrow}</footer>")
    assert "#page" not in body and "angle" not in body
