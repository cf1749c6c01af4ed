"""What images are for, on small sites that show one thing each."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from tests.sites.decorated import classified, flat, labels, photo, shape

from adaptc.compile.analyse.decorations.labels import SAMPLED_PAGES, Label, sample

ARTICLE = "<h1>Title</h1><p>" + "Some words of an article. " * 20


def pages(markup: str, number: int = 6) -> dict[str, str | bytes]:
    """Return pages with the same markup before an article."""
    return {f"page{one}.html": f"{markup}{ARTICLE}" for one in range(number)}


def test_a_logo_stands_first_on_all_pages_and_leads_home() -> None:
    files = pages("<header><a href=./><img src=mark.png alt=Acme></a></header>")
    found = classified({**files, "index.html": ARTICLE, "mark.png": flat(120, 40)})
    assert {use.label for use in found} == {Label.LOGO}
    assert "links to the home page" in found[0].reasons
    assert "used by 6 of 7 pages" in found[0].reasons


def test_a_logo_by_its_name_on_a_single_page() -> None:
    markup = "<nav><a class=navbar-brand href='#'><img src=logo.svg></a></nav>"
    assert labels({"index.html": markup + ARTICLE, "logo.svg": b"<svg/>"}) == {"logo.svg": "logo"}


def test_marks_of_others_are_content() -> None:
    row = "".join(f"<a href=https://{name}.example/x><img src=logos/{name}.png></a>" for name in "abc")
    files: dict[str, str | bytes] = {f"logos/{name}.png": flat(200, 90) for name in "abc"}
    assert set(labels({"index.html": f"{ARTICLE}<div class=clients>{row}</div>", **files}).values()) == {"content"}


def test_a_page_with_many_marks_keeps_two() -> None:
    row = "".join(f"<p><img src=logo{name}.png> words words" for name in "abcd")
    files: dict[str, str | bytes] = {f"logo{name}.png": flat(99 + ord(name), 90) for name in "abcd"}
    found = labels({"index.html": f"<div class=brand>{row}</div>", **files}, "[logo]\nthreshold = 1")
    assert sorted(found.values()) == ["content", "content", "logo", "logo"]


def test_a_photograph_of_an_article_is_its_story() -> None:
    files = {**pages(""), "page0.html": f"{ARTICLE}<figure><img src=p.png alt='A view of the town'></figure>"}
    found = classified({**files, "p.png": photo(600, 400)})
    assert found[0].label is Label.STORY
    assert "in a figure" in found[0].reasons
    assert "looks like a photograph" in found[0].reasons


def test_bullets_arrows_and_spacers_are_decoration() -> None:
    markup = (
        "<ul><li><img src=dot.gif alt='*'> One<li><img src=dot.gif alt='*'> Two<li><img src=dot.gif alt='*'> Three</ul>"
        "<p><img src=arrow.png alt=''> More words</p><img src=clear.png width=1 height=20>"
    )
    files = {**pages(markup), "dot.gif": flat(9, 9), "arrow.png": flat(11, 11), "clear.png": flat(1, 1)}
    assert set(labels(files).values()) == {"decoration"}


def test_the_sign_of_a_notice_is_decoration() -> None:
    markup = "<table><tr><td><img src=note.png alt=[Note]><td>Mind the gap.</table>"
    assert labels({**pages(markup), "note.png": flat(48, 48)}) == {"note.png": "decoration"}


def test_icons_that_a_manual_explains_stay() -> None:
    rows = "".join(f"<tr><td><img src=icons/{name}.png><td>Draws a {name}." for name in ("line", "circle", "path"))
    files: dict[str, str | bytes] = {f"icons/{name}.png": flat(24, 24) for name in ("line", "circle", "path")}
    assert set(labels({**pages(""), "page0.html": f"<table>{rows}</table>", **files}).values()) == {"content"}


def test_the_only_content_of_a_link_stays() -> None:
    markup = "<p><a href=other.html><img src=next.png alt=Next></a></p>"
    (use,) = classified({"index.html": markup, "other.html": ARTICLE, "next.png": flat(16, 16)})
    assert use.label is Label.CONTENT
    assert use.reasons[0] == "the only content of a link"


def test_buttons_of_forms_and_image_maps_stay() -> None:
    markup = "<form><input type=image src=dot.png alt=''></form><img src=bullet.png alt='' usemap='#m'>"
    found = labels({"index.html": markup, "dot.png": flat(9, 9), "bullet.png": flat(9, 9)})
    assert set(found.values()) == {"content"}


def test_backgrounds_are_decoration_but_for_marks_and_thumbnails() -> None:
    card = "<a class=card href=x style='background-image:url({}.png)'></a>"
    html = (
        "<style>body{background:url(bg.png)} header .logo{background:url(logo.png)}</style>"
        f"<header><span class=logo></span></header>{ARTICLE}" + "".join(map(card.format, "abc"))
    )
    files: dict[str, str | bytes] = {f"{name}.png": photo(200, 200) for name in "abc"}
    found = labels({"index.html": html, "bg.png": flat(50, 50), "logo.png": flat(90, 40), **files})
    assert found.pop("bg.png") == "decoration"
    assert found.pop("logo.png") == "logo"
    assert set(found.values()) == {"content"}


def test_a_background_with_a_name_of_its_own_is_a_picture() -> None:
    html = "<div role=img aria-label='The harbour' style='background:url(a.png)'></div>"
    assert labels({"index.html": html, "a.png": photo(200, 200)}) == {"a.png": "content"}


def test_advertisements_and_trackers() -> None:
    html = (
        "<img src=https://ad.doubleclick.net/x.gif><img src=//stats.example/p width=1 height=1>"
        "<a href=https://shop.example/buy><img class=ad-slot src=offer.png width=468 height=60></a>"
        "<img src=//cdn.example/photo.jpg width=300 height=250 alt='A view of the town'>"
    )
    found = labels({"index.html": html, "offer.png": photo(468, 60)})
    assert list(found.values()) == ["ad", "ad", "ad", "story"]


@pytest.mark.parametrize(
    ("alt", "label"),
    [
        ("300x300 ads", "ad"),
        ("728\u00d790 Advertisement", "ad"),
        ("Your banner here: sponsored", "ad"),
        ("300 x 300", "content"),
        ("Banner", "content"),
        ("An advertisement of 1922", "content"),
        ("Ads by hand", "content"),
    ],
)
def test_an_image_whose_text_says_nothing_but_advertisement_is_one(alt: str, label: str) -> None:
    html = f"{ARTICLE}<div><img src=a.jpg alt='{alt}'></div>"
    found = labels({"index.html": html, "a.jpg": photo(300, 300)})["a.jpg"]
    assert found == label or (label == "content" and found != "ad")


@pytest.mark.parametrize(("alt", "says"), [("Card image cap", False), ("A card of 1922", True)])
def test_words_for_any_picture_say_nothing(alt: str, says: bool) -> None:
    (found,) = classified({"index.html": f"{ARTICLE}<div><img src=a.jpg alt='{alt}'></div>", "a.jpg": photo(300, 300)})
    assert (f'alt "{alt}"' in found.reasons) == says


def jpeg(width: int, height: int) -> bytes:
    """A JPEG in one colour, whose pixels are not those of a photograph."""
    output = io.BytesIO()
    Image.new("RGB", (width, height), "navy").save(output, "JPEG")
    return output.getvalue()


FAST = "<h3>Fast</h3><p>It takes a tenth of the time that it took before, and no more memory than that.</p>"
ANN = "<h3>Ann</h3><p>She leads the team that made the engine, and wrote the first of its parts alone.</p>"
LOGO = "<img src=IMAGE class=browser-icon alt='Opera browser logo'>"


@pytest.mark.parametrize(
    ("markup", "image", "is_decoration"),
    [
        (f"<div><img src=IMAGE alt=image class=icon>{FAST}</div>", flat(48, 48), True),
        (f"<div><img src=IMAGE alt=image class=icon>{FAST}</div>", flat(150, 150), False),
        (f"<div><img src=IMAGE alt=image>{ANN}</div>", jpeg(48, 48), False),
        (f"<ul><li>{LOGO}<p>Opera</ul>", photo(64, 64), True),
        (f"<ul><li>{LOGO}<p>Works</ul>", photo(64, 64), False),
        ("<div><img src=icons/map.png alt=image><h3>Where we are</h3></div>", flat(24, 24), True),
        ("<div><img src=map.png alt=image><h3>Where we are</h3></div>", flat(600, 400), False),
        (f"<p>{'Words. ' * 20}<a href=https://g.example/><img src=IMAGE> Grunt</a> and more.", flat(15, 20), True),
    ],
)
def test_icons_and_marks_next_to_their_own_text_are_decoration(markup: str, image: bytes, is_decoration: bool) -> None:
    path = "icons/map.png" if "icons/map" in markup else "map.png" if "map.png" in markup else "a.png"
    files = {**pages(""), "page0.html": f"{ARTICLE}{markup.replace('IMAGE', path)}", path: image}
    assert (labels(files)[path] == "decoration") is is_decoration


def test_what_moves_while_something_loads_is_no_control() -> None:
    frames = [Image.new("RGB", (24, 24), colour) for colour in ("navy", "white")]
    output = io.BytesIO()
    frames[0].save(output, "GIF", save_all=True, append_images=frames[1:])
    markup = "<style>.slider{background:url(a.gif) no-repeat 50% 50%}</style><div class=slider></div>"
    assert labels({**pages(markup), "a.gif": output.getvalue()}) == {"a.gif": "decoration"}


def test_what_lies_over_a_section_is_decoration() -> None:
    assert labels(
        {"index.html": f"{ARTICLE}<div><img src=fog-low.png alt=''></div>", "fog-low.png": photo(300, 300)}
    ) == {"fog-low.png": "decoration"}


def test_a_reference_that_is_used_twice_has_the_label_that_matters_more() -> None:
    html = f"<div style='background:url(a.png)'>Words</div><a href=x><img src=a.png></a>{ARTICLE}"
    (use,) = classified({"index.html": html, "a.png": photo(200, 200)})
    assert (use.label, use.kind) == (Label.CONTENT, "img")


def test_the_tags_of_a_page_win() -> None:
    html = (
        "<div data-adapt=keep><img src=dot.png alt=''></div>"
        "<figure data-adapt=drop><img src=p.png alt='A view of the town'></figure>"
        "<p data-adapt=drop><img data-adapt=keep src=q.png alt=''></p>"
        "<p data-adapt='other word'><img src=bullet.png alt=''>"
    )
    names = ("dot", "p", "q", "bullet")
    files: dict[str, str | bytes] = {f"{name}.png": flat(9, 9) for name in names}
    found = classified({"index.html": html, **files})
    assert [use.label.value for use in found] == ["content", "decoration", "content", "decoration"]
    assert found[0].reasons[0] == 'data-adapt="keep"'


def test_tags_hold_at_the_levels_they_name() -> None:
    html = "<img src=dot.png alt='' data-adapt='keep moderate; drop extreme'>"
    files: dict[str, str | bytes] = {"index.html": html, "dot.png": flat(9, 9)}
    found = [labels(files, levels=levels)["dot.png"] for levels in ((), ("moderate",), ("extreme",))]
    assert found == ["decoration", "content", "decoration"]


@pytest.mark.parametrize(
    ("tags", "levels", "verdict"),
    [
        ("keep moderate", ("planned", "moderate"), "content"),
        ("drop extreme; keep moderate", ("planned-2", "planned", "moderate"), "content"),
        ("keep moderate; drop planned", ("planned", "moderate"), "decoration"),
        ("keep moderate; drop planned", ("planned-2", "planned", "moderate"), "decoration"),
        ("drop planned; keep moderate", ("moderate",), "content"),
        ("keep planned", ("moderate",), "decoration"),
    ],
)
def test_tags_hold_at_levels_that_extend_those_they_name(tags: str, levels: tuple[str, ...], verdict: str) -> None:
    html = f"<img src=dot.png alt='' data-adapt='{tags}'>"
    assert labels({"index.html": html, "dot.png": flat(9, 9)}, levels=levels) == {"dot.png": verdict}


def test_the_users_rules_win_over_the_tags_of_the_page() -> None:
    html = "<p class=team data-adapt=drop><img src=a.png alt=''></p><p><img src=img/dot.png alt=''>"
    files: dict[str, str | bytes] = {"index.html": html, "a.png": flat(9, 9), "img/dot.png": flat(9, 9)}
    rules = "[[keep]]\nselector = '.team img'\n[[keep]]\nurl = 'img/*'\nlevels = ['moderate']\n"
    assert labels(files, rules) == {"a.png": "content", "img/dot.png": "decoration"}
    assert labels(files, rules, ("moderate",)) == {"a.png": "content", "img/dot.png": "content"}
    assert classified(files, rules)[0].reasons[0] == "the rule keep .team img"


def test_keep_beats_drop_among_the_users_rules() -> None:
    rules = "[[drop]]\nurl = '*'\n[[keep]]\nurl = 'a.*'\n"
    files: dict[str, str | bytes] = {"index.html": "<img src=a.png><img src=b.png>"}
    assert labels({**files, "a.png": flat(90, 90), "b.png": flat(90, 90)}, rules) == {
        "a.png": "content",
        "b.png": "decoration",
    }


def test_a_tag_on_an_element_keeps_the_background_of_a_rule() -> None:
    html = "<style>p{background:url(a.png)}</style><p>x<p data-adapt=keep>y"
    assert labels({"index.html": html, "a.png": flat(9, 9)}) == {"a.png": "content"}


def test_a_page_in_a_damaged_encoding_is_read_all_the_same() -> None:
    content = b"<meta charset=utf-8><p>\xff\xfe<img src=dot.png alt=''>"
    assert labels({"index.html": content, "dot.png": flat(9, 9)}) == {"dot.png": "decoration"}


def test_large_sites_are_counted_by_sample() -> None:
    every = [f"{number}.html" for number in range(3 * SAMPLED_PAGES)]
    chosen = sample(every, ["1.html"])
    assert len(chosen) == SAMPLED_PAGES + 1
    assert "1.html" in chosen
    assert sample(every[:10], []) == every[:10]


def test_only_the_pages_asked_for_are_labelled_with_counts_of_the_whole_site() -> None:
    files = {**pages("<img src=dot.png alt=''>"), "dot.png": flat(9, 9)}
    (use,) = classified(files, pages=["page3.html"])
    assert use.page == "page3.html"
    assert "used by 6 of 6 pages" in use.reasons


CONTROLS = [
    "<button class=go style='background:url(a.png) no-repeat'></button>",
    "<form><input type=submit value='' style='background:url(a.png)'></form>",
    "<style>i{background:url(a.png)}</style><a class=prev href=#><i></i><b class=sr-only>Back</b></a>",
    "<style>.search-icon{background:url(a.png)}</style><div class=search-icon></div>",
    "<style>.navbar-toggler-icon{background-image:url(a.png)}</style><span class=navbar-toggler-icon></span>",
]


@pytest.mark.parametrize("markup", CONTROLS)
def test_the_background_of_a_control_without_text_is_content(markup: str) -> None:
    assert labels({**pages(markup + "<p>Words</p>"), "a.png": flat(16, 16)}) == {"a.png": "content"}


def test_the_background_of_a_control_with_text_is_decoration() -> None:
    markup = "<style>.menu{background:url(a.png)}</style><button class=menu>Menu</button>"
    assert labels({**pages(markup), "a.png": flat(16, 16)}) == {"a.png": "decoration"}


@pytest.mark.parametrize("rule", ["text-indent:-9999px", "font-size:0", "color:transparent"])
def test_an_image_in_the_place_of_hidden_text_is_content(rule: str) -> None:
    html = f"<style>.tour{{background:url(a.png) no-repeat;{rule}}}</style><p class=tour>Take the tour</p>{ARTICLE}"
    assert labels({"index.html": html, "a.png": flat(200, 40)}) == {"a.png": "content"}


def test_text_may_be_hidden_by_another_rule() -> None:
    html = "<style>.hide{text-indent:-999em}.tour{background:url(a.png) no-repeat}</style><p class='tour hide'>Tour</p>"
    assert labels({"index.html": html, "a.png": flat(200, 40)}) == {"a.png": "content"}


def test_photographs_of_sibling_cards_are_content_those_of_sections_are_not() -> None:
    names = ("town", "coast", "top", "end")
    sheet = "".join(f".{name}{{background-image:url({name}.png)}}" for name in names)
    html = (
        f"<style>{sheet}</style><div><section class=top>Words</section>"
        "<div><div class=town>Town</div><div class=coast>Coast</div></div><section class=end>Words</section></div>"
    )
    files: dict[str, str | bytes] = {f"{name}.png": photo(400, 300) for name in names}
    found = labels({"index.html": html + ARTICLE, **files})
    assert found == {"town.png": "content", "coast.png": "content", "top.png": "decoration", "end.png": "decoration"}


def test_portraits_as_backgrounds_are_content_and_what_lies_under_a_header_is_not() -> None:
    html = (
        "<header class=profile style='background-image:url(city.jpg)'><h1>Ann</h1></header>"
        "<nav><span class=avatar style='background-image:url(ann.jpg)'></span> Ann</nav>"
        f"<div><span class=avatar style='background-image:url(faces/9.jpg)'></span></div>{ARTICLE}"
    )
    files = {"city.jpg": photo(800, 300), "ann.jpg": photo(200, 200), "faces/9.jpg": photo(200, 150)}
    found = labels({"index.html": html, **files})
    assert found == {"city.jpg": "decoration", "ann.jpg": "content", "faces/9.jpg": "content"}


def marks(count: int, height: int = 40) -> tuple[str, dict[str, str | bytes]]:
    """Markup of marks that lead to as many hosts, and their files."""
    names = [f"m{number}" for number in range(count)]
    row = "".join(f"<p><a href=https://{name}.example/><img src={name}.png alt={name}></a>" for name in names)
    return row, {f"{name}.png": flat(3 * height, height + number) for number, name in enumerate(names)}


@pytest.mark.parametrize(
    ("count", "around", "label"),
    [
        (1, "<h2>Our sponsors</h2>{}", "ad"),
        (1, "<div class=sponsor-box>{}</div>", "ad"),
        (4, "<h2>With thanks to</h2>{}", "ad"),
        (1, "<h2>With thanks to</h2>{}", "content"),
        (4, "<h2>Our customers</h2>{}", "content"),
    ],
)
def test_marks_of_sponsors_are_advertisements(count: int, around: str, label: str) -> None:
    row, files = marks(count)
    found = labels({"index.html": f"{ARTICLE}{around.format(row)}", **files}, "[logo]\nthreshold = 99")
    assert set(found.values()) == {label}


def test_thumbnails_of_other_sites_are_content() -> None:
    row, files = marks(5, 150)
    assert set(labels({"index.html": f"{ARTICLE}{row}", **files}, "[logo]\nthreshold = 99").values()) <= {
        "content",
        "story",
    }


def test_a_badge_that_leads_to_another_site_is_an_advertisement() -> None:
    html = "<a href=https://validator.example/check><img src=valid.png alt=Valid></a>"
    assert labels({"index.html": html, "valid.png": flat(88, 31)}) == {"valid.png": "ad"}


@pytest.mark.parametrize(("alt", "label"), [("home", "decoration"), ("", "decoration"), ("A red house", "content")])
def test_an_icon_next_to_its_label_says_no_more_than_the_label(alt: str, label: str) -> None:
    html = f"{ARTICLE}<p><img src=a.png width=32 height=32 alt='{alt}'> <a href=x>Home page</a></p>"
    assert labels({"index.html": html, "a.png": photo(32, 32)}) == {"a.png": label}


def test_a_large_shape_in_one_colour_is_decoration_unless_it_is_named() -> None:
    html = "<p><img src=a.png></p><p><img src=b.png alt='Outline of the island'></p>"
    files: dict[str, str | bytes] = {"a.png": shape(600, 400), "b.png": shape(500, 400)}
    assert labels({"index.html": html + ARTICLE, **files})["a.png"] == "decoration"
    assert labels({"index.html": html + ARTICLE, **files})["b.png"] != "decoration"


def test_drawings_with_an_empty_alt_next_to_their_headings_are_decoration() -> None:
    card = "<div><img src={0}.png alt=''><h3>Heading</h3><p>It does {0}.</p></div>"
    files: dict[str, str | bytes] = {f"{name}.png": flat(120, 100) for name in "abc"}
    html = f"{ARTICLE}<div>{''.join(map(card.format, 'abc'))}</div>"
    assert set(labels({**pages(""), "page0.html": html, **files}).values()) == {"decoration"}


LARGE = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 900 600'>{}</svg>"
SHAPES = "<path d='M9 9h80v80z'/><circle r='40'/>"
COLUMNS = "<div><div><img src=a.svg alt=image></div><div><h2>Plan</h2><p>Some words of it.</p></div></div>"


@pytest.mark.parametrize(
    ("part", "drawing", "label"),
    [
        (COLUMNS, SHAPES, "decoration"),
        (
            "<div><h3>Plan</h3></div><div><p><img src=a.svg alt=''></p><p>Some words of it.</p></div>",
            SHAPES,
            "decoration",
        ),
        (COLUMNS, f"{SHAPES}<text>Profit</text>", "story"),
        (COLUMNS.replace("alt=image", "alt='How orders reach the shop'"), SHAPES, "story"),
        (COLUMNS.replace("<p>", "<h3>More</h3><p>"), SHAPES, "story"),
        ("<h2>Plan</h2><p>Some words of it.</p><p><img src=a.svg alt=''></p>", SHAPES, "story"),
    ],
    ids=["column", "card", "words", "alt", "headings", "figure"],
)
def test_a_large_drawing_without_words_that_comes_with_one_heading_is_decoration(
    part: str, drawing: str, label: str
) -> None:
    files = {**pages(""), "page0.html": f"{ARTICLE}<section>{part}</section>", "a.svg": LARGE.format(drawing).encode()}
    assert labels(files)["a.svg"] == label


def test_the_mark_of_a_customer_that_comes_with_a_heading_stays() -> None:
    files = {**pages(""), "page0.html": ARTICLE + COLUMNS.replace("a.svg", "customers/a.svg")}
    assert labels({**files, "customers/a.svg": LARGE.format(SHAPES).encode()})["customers/a.svg"] == "content"


def test_an_icon_directly_before_a_heading_is_next_to_that() -> None:
    text = f"<p>{'Some words of it. ' * 20}</p>"
    part = f"<img src=monitor.svg alt=image><h4>One</h4>{text}<p><img src=cloud.svg alt=image></p><h4>Two</h4>{text}"
    icon = LARGE.replace("900 600", "24 24").format(SHAPES).encode()
    found = labels({**pages(""), "page0.html": f"{ARTICLE}<div>{part}</div>", "monitor.svg": icon, "cloud.svg": icon})
    assert set(found.values()) == {"decoration"}


@pytest.mark.parametrize(("target", "label"), [("#", "decoration"), ("#more", "decoration"), ("mark.svg", "content")])
def test_an_icon_before_the_text_of_a_link_goes_wherever_the_link_leads_but_to_a_picture(
    target: str, label: str
) -> None:
    markup = f"<header><a href={target}><img src=icons/acme.svg width=36 height=36> Acme</a></header>"
    files: dict[str, str | bytes] = {"icons/acme.svg": b"<svg/>", "mark.svg": b"<svg/>"}
    assert labels({"index.html": f"<h1>Title</h1>{markup}{ARTICLE}", **files}) == {"icons/acme.svg": label}
