"""A page that is composed from what it says."""

from __future__ import annotations

import pytest
from turbohtml import Document

from tests.samples.html5lib import tree_cases

from adaptc.compile.passes.composed.blocks import is_layout_table
from adaptc.compile.passes.composed.layout import Layout, accents
from adaptc.compile.passes.composed.reader import ComposedPage, Settings, compose
from adaptc.compile.passes.composed.writer import BadTemplate
from adaptc.formats.html.contract import CONTRACT_CHECKS
from adaptc.formats.html.document import encode_page, parse, parse_bare, read_page
from adaptc.formats.html.landmarks import find_landmarks
from adaptc.formats.html.visible_text import image_text, is_hidden, link_label, math_text

HEAD = "<!DOCTYPE html><html lang=en><head><title>T</title></head>"


def lost_from_article(before: Document, after: Document) -> list[str]:
    return CONTRACT_CHECKS["article"](before)(after)


def read(text: str) -> str:
    """Return the body of a page's text-only version."""
    page = compose(text, url_path="/a/page.html")
    assert isinstance(page, ComposedPage), page
    assert CONTRACT_CHECKS["article"](parse(text))(parse(page.text)) == []
    return page.text.partition("<body")[2].partition(">")[2]


def content(body: str) -> str:
    """Return the content of a page that consists of this and has a heading."""
    return read(f"{HEAD}<body><h1>H</h1>{body}").removeprefix("<main><h1>H</h1>").removesuffix("</main>")


ARTICLE = """<!DOCTYPE html><html lang=de dir=ltr><head><meta charset=iso-8859-1><title>A &amp; B - Site</title>
<base href=/deep/><link rel=stylesheet href=a.css><link rel=canonical href=c><link rel=alternate hreflang=fr href=fr>
<link rel="alternate stylesheet" href=b.css><meta name=robots content=noindex><meta name=generator content=x>
<meta http-equiv=refresh content="60; url=x"><script>var a</script><style>p{color:red}</style></head><body class=x>
<header><div class=logo><a href=/><img src=logo.png alt=Zeitung></a></div>
<nav><ul><li><a href=/a>Eins</a><li><a href=/b>Zwei</a><li><a href=/a>Eins</a><li><a href=#>Menu</a></ul></nav></header>
<main><article><h1 id=top style="color:red">Titel</h1><p class=lead>Ein <span>erster</span> <b onclick=x()>Satz</b>,
<a href=more.html target=_blank>mehr</a>.</p>
<figure><img src=p.jpg alt="Ein Bild"><figcaption>Wort</figcaption></figure>
<script>more()</script><div>Schluß</div></article></main><aside>Neben</aside><footer>Fuß</footer></body></html>"""


def test_an_article() -> None:
    assert read(ARTICLE) == (
        "<header><p class=s><a href=/>Zeitung</a></p>"
        "<nav><ul><li><a href=/a>Eins</a></li><li><a href=/b>Zwei</a></li></ul></nav></header>"
        "<main><h1 id=top>Titel</h1><p>Ein erster <b>Satz</b>, <a href=more.html>mehr</a>.</p>"
        "<figure><p><i>[Ein Bild]</i></p><p>Wort</p></figure><p>Schluß</p></main>"
        "<aside><p>Neben</p></aside><footer><p>Fuß</p></footer>"
    )


def test_a_page_that_is_asked_for_again_has_the_titles_of_today() -> None:
    text = f"{HEAD}<body><h1>H</h1><p>A page that leads on: <a href=b.html><i></i></a></p>"
    asked: list[str] = []

    def written(title: str) -> str:
        page = compose(text, url_path="/a.html", title_of=lambda url: asked.append(url) or title)
        assert isinstance(page, ComposedPage)
        return page.text

    assert "<a href=b.html>First</a>" in written("First")
    assert written("First") == written("First") and asked == ["b.html"] * len(asked) and len(asked) >= 3
    assert "<a href=b.html>Second</a>" in written("Second")


def test_the_head_keeps_what_matters() -> None:
    page = compose(ARTICLE, url_path="/x.html")
    assert isinstance(page, ComposedPage)
    head = page.text.partition("<style>")[0]
    assert head == (
        "<!DOCTYPE html><html lang=de dir=ltr><head><meta charset=windows-1252><base href=/deep/>"
        '<meta http-equiv=refresh content="60; url=x"><link rel=canonical href=c>'
        "<link rel=alternate hreflang=fr href=fr><meta name=robots content=noindex>"
        "<meta name=viewport content=width=device-width,initial-scale=1><title>A & B - Site</title>"
        "<link rel=icon href=data:,>"
    )
    assert dict(page.left_out)["script"] == 2 and dict(page.left_out)["img"] == 2
    style = page.text.partition("<style>")[2].partition("</style>")[0]
    assert len(style) <= 1000 and "color-scheme:light dark" in style and "@media print" in style


@pytest.mark.parametrize(("story", "words"), [("", "Write to us"), ("<p>" + "A story. " * 20, "A story.")])
def test_what_is_around_a_short_story_describes_the_page(story: str, words: str) -> None:
    page = f"{HEAD}<body><main><h1>Contact</h1>{story}</main><aside><p>{'Write to us at any time. ' * 5}</aside>"
    composed = compose(page, url_path="/a.html")
    assert isinstance(composed, ComposedPage)
    assert f'<meta name=description content="{words}' in composed.text


def test_it_survives_encoding_as_the_source() -> None:
    source = read_page(ARTICLE.encode("latin-1"))
    page = compose(source.text, url_path="/x.html")
    assert isinstance(page, ComposedPage)
    encoded = encode_page(source, page.text)
    assert encoded is not None and read_page(encoded).text == page.text and "Schluß".encode("latin-1") in encoded


def test_without_a_declared_encoding_nothing_beyond_ascii_is_added() -> None:
    links = "".join(f"<li><a href={n}>Link {n}</a>" for n in range(12))
    body = read(f"{HEAD}<body><nav><ul>{links}</ul></nav><main><h1>H</h1><p>&eacute;&nbsp;x ü</p></main>")
    assert "<summary>Menu</summary>" in body and "&#233;&#160;x ü" in body
    page = compose(f"<html lang=ja><title>T</title><nav><ul>{links}</ul></nav><main>x</main>", url_path="/")
    assert isinstance(page, ComposedPage) and "<summary>&#12513;&#12491;&#12517;&#12540;</summary>" in page.text
    page = compose(f"{HEAD}<body>x", url_path="/")
    assert isinstance(page, ComposedPage) and "charset" not in page.text


def test_no_embedded_object_is_left() -> None:
    body = content(
        "<p>x<img src=a><iframe src=f.html title=Map></iframe><video src=v.mp4></video><embed src=e>"
        "<object data=o>old</object>"
        "<picture><source srcset=s><img src=b alt='A cat'></picture><svg><title>t</title></svg><canvas>z</canvas></p>"
        "<audio><source src=dir/a.ogg></audio><input type=image src=i.png>"
    )
    assert not parse_bare(body).select("img, iframe, video, audio, object, embed, svg, canvas, source, [src]")
    assert body == (
        "<p>x</p><p><a href=f.html>Map</a></p><p><a href=v.mp4>v.mp4</a></p>"
        "<p><a href=e>e</a></p><p>old<i>[A cat]</i></p>"
        "<p><a href=dir/a.ogg>a.ogg</a></p>"
    )


@pytest.mark.parametrize(
    ("drawing", "said"),
    [
        ("<text>Client</text><g><text>Ser<tspan>ver</tspan></text></g><text>Client</text>", "<i>[Client, Server]</i>"),
        ("<foreignObject><div>Yes</div></foreignObject><defs><text>x</text></defs>", "<i>[Yes]</i>"),
        ("<title>Search</title><path d='M0 0'/>", ""),  # an icon
        ("<text display=none style='display:none'>x</text>", ""),
        (f"<text>{'x' * 2001}</text>", ""),
    ],
)
def test_the_labels_of_a_drawing_are_words_of_the_page(drawing: str, said: str) -> None:
    assert content(f"<p>It asks:</p><svg>{drawing}</svg>") == "<p>It asks:</p>" + (said and f"<p>{said}</p>")
    named = content(f"<p>It asks:</p><svg role=img aria-label='A request'>{drawing}</svg>")
    assert named == "<p>It asks:</p><p>" + (said.replace("[", "[A request: ") or "<i>[A request]</i>") + "</p>"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # runs of text
        ("<div>a<div>b</div>c</div>", "<p>a</p><p>b</p><p>c</p>"),
        ("a<br><br>b<br>c", "<p>a</p><p>b<br>c</p>"),
        ("<font><p>a<p>b</font>", "<p>a</p><p>b</p>"),
        ("<p>&nbsp;</p><p> </p><div><br></div><p>x", "<p>x</p>"),
        ("<p>a <em>b</em><tt>c</tt> &lt;d&gt; &amp;amp;", "<p>a <em>b</em><code>c</code> &lt;d> &amp;amp;</p>"),
        ("<p lang=fr>un</p><p>x <span lang=he dir=rtl>y</span>",
         "<div lang=fr><p>un</p></div><p>x <span lang=he dir=rtl>y</span></p>"),
        ("<p>x <label for=c title=Linux>&#xf17c;/&#xf179;</label> <i class=fa>&#xf015;</i>y&#xf179;",
         "<p>x <label for=c>Linux</label> y&#61817;</p>"),
        ("<p>x <a href=/h title=Home><i>&#xf015;</i></a> <button disabled>&#xf0c9;</button>z",
         "<p>x <a href=/h>Home</a> z</p>"),
        ("<p>x<ruby>漢<rt>かん</rt></ruby><abbr title=World>W</abbr><sub>2</sub>",
         "<p>x<ruby>漢<rt>かん</rt></ruby><abbr title=World>W</abbr><sub>2</sub></p>"),
        # headings, lists, quotes
        ("<h2><div>a</div><div>b</div></h2><h3></h3>", "<h2>a b</h2>"),
        ("<ol start=3><li value=4><p>a<p>b<li><li>c</ol>", "<ol start=3><li value=4>a<p>b</p><li>c</ol>"),
        ("<ul><li>a<ul><li>b</ul></ul><ul></ul>", "<ul><li>a<ul><li>b</ul></ul>"),
        ("<ul><li>a</li><ul><li>b</ul></ul>", "<ul><li>a<ul><li>b</ul></ul>"),
        ("<ul><li><ul><li>a<li>b</ul></ul>", "<ul><li>a<li>b</ul>"),
        ("<dl><dt>a<dd>b<div><dt>c<dd><p>d</div></dl>", "<dl><dt>a<dd>b<dt>c<dd>d</dl>"),
        ("<blockquote>a</blockquote><hr><hr>b", "<blockquote><p>a</p></blockquote><hr><p>b</p>"),
        ("<details open><summary>a</summary>b</details>", "<details open><summary>a</summary><p>b</p></details>"),
        # preformatted text keeps its white space
        ("<pre>\n\n a <span class=k>if</span>\n  <b>b</b>\n\n</pre>", "<pre> a if\n  <b>b</b></pre>"),
        ("<pre><div>a</div><div>b</div>c<br>d</pre>", "<pre>a\nb\nc\nd</pre>"),
        # links
        ("<a href=a>x</a><a href=b>y</a>", "<p><a href=a>x</a> <a href=b>y</a></p>"),
        ("<a href=#>x</a> <a href='javascript:f()'>y</a> <a>z</a>", "<p>x y z</p>"),
        ("<a href='{{url}}/x'>x</a>{}", "<p><a href={{url}}/x>x</a>{}</p>"),
        ("<a href=a><div>x</div></a>b", "<p><a href=a>x</a>b</p>"),
        ("<a href=a><h2>x</h2><p>y</p></a>", "<a class=o href=a><h2>x</h2><p>y</p></a>"),
        ("<a href=a.pdf><img src=i></a>", "<p><a href=a.pdf>a.pdf</a></p>"),
        ("<a href=/n><img src=i></a><a href=/n>News</a>", "<p><a href=/n>News</a></p>"),
        ("<map><area href=a alt=North><area href=b alt=South></map>", "<p><a href=a>North</a> <a href=b>South</a></p>"),
        # what is hidden goes
        ("<p hidden>a</p><p style='Display: none'>b</p><i class=fa aria-hidden=true>c</i>"
         "<i class=material-icons>menu</i>d",
         "<p>d</p>"),
        ("<dialog>a</dialog><p hidden=until-found>b<template>c</template></p>", "<p>b</p>"),
        ("<dialog id=a>a</dialog><button commandfor=a command=show-modal>Open</button>", "<p id=a>a</p>"),
        ("<a class=skip-link href=#main>Skip</a><p>a<a class=headerlink href=#a>¶</a>", "<p>a</p>"),
        ("<pre class=line-numbers>x = 1</pre><pre><span class=lineno>1 </span>y</pre>", "<pre>x = 1</pre><pre>y</pre>"),
        ("<pre><span class=ln>1</span>x\n<i class=ln>2</i>y</pre><p><span class=ln>7</span> lines</p>",
         "<pre>x\ny</pre><p>7 lines</p>"),
        # formulas
        ("<math><mfrac><mi>a</mi><mn>2</mn></mfrac><msup><mi>x</mi><mn>2</mn></msup></math>", "<p>a/2x^2</p>"),
        ("<script type='math/tex'>x &lt; 1</script>", "<p><code>x &amp;lt; 1</code></p>"),
        ("<span><span style='display:none'><math><mi>R</mi></math></span><img aria-hidden=true alt='R = f'></span>",
         "<p><i>[R = f]</i></p>"),
        # noscript is what is shown now, but not its excuses
        ("<noscript><p>The plain <a href=t>table</a></noscript>", "<p>The plain <a href=t>table</a></p>"),
        ("<noscript>Please enable JavaScript.</noscript>b", "<p>b</p>"),
        # the same image once more, for those without scripts
        (
            "<a href=t><img src=x data-src=y alt='A ship'> <noscript><img src=y alt='A ship'></noscript></a>",
            "<p><a href=t>A ship</a></p>",
        ),
        (
            "<img src=x alt='A ship'><noscript><img src=y alt='A boat'></noscript>",
            "<p><i>[A ship]</i></p><p><i>[A boat]</i></p>",
        ),
    ],
)  # fmt: skip
def test_content(source: str, expected: str) -> None:
    assert content(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<table><caption>c<tr><th>a<th>b<tr><td>1<td colspan=2>2</table>",
         "<table><caption>c</caption><tr><th>a<th>b<tr><td>1<td colspan=2>2</table>"),
        ("<table border=1><tr><td>a<td><p>b<p>c<tr><td><td></table>", "<table><tr><td>a<td>b<p>c</p></table>"),
        ("<table><tr><td><h2>a</h2>b<td>c</table>", "<h2>a</h2><p>b</p><p>c</p>"),
        ("<table role=presentation><tr><td>a<td>b<tr><td>c<td>d</table>", "<p>a b</p><p>c d</p>"),
        ("<table><tr><td><table border=1><tr><td>a<td>b<tr><td>c<td>d</table><td>e</table>",
         "<table><tr><td>a<td>b<tr><td>c<td>d</table><p>e</p>"),
        ("<table class=navheader summary=n><tr><td><a href=p>Prev</a><td>Title<tr><td>a<td>b</table>",
         "<p><a href=p>Prev</a> Title</p><p>a b</p>"),
    ],
)  # fmt: skip
def test_tables(source: str, expected: str) -> None:
    assert content(source) == expected


def test_words_in_fields_that_send_nothing_stay() -> None:
    fields = (
        "<p>Code <textarea readonly>\na &lt;b>\n  c\n</textarea> <input readonly value=example.org/x>"
        "<input value=typed><input type=range readonly value=5><textarea>{{ code }}</textarea> end</p>"
    )
    assert content(fields) == "<p>Code  <code>a &lt;b><br>&#160;&#160;c</code>  <code>example.org/x</code> end</p>"


def test_forms_keep_their_controls() -> None:
    form = (
        "<form action=/find method=POST id=f enctype=multipart/form-data onsubmit=x() class=y>"
        '<input type=hidden name=h value="a b">'
        "<label for=q>Find</label><input id=q name=q required placeholder=words><select name=s><optgroup label=g>"
        "<option value=1 selected>One<option>Two</select><textarea name=t>\n\n a&lt;</textarea>"
        "<input type=checkbox name=c checked><input type=image src=go.png alt=Go name=i>"
        "<button type=button>Scripted</button>"
        "<button name=b value=v><b>Send</b></button>"
        "<fieldset><legend>More</legend><input type=radio name=r value=1></fieldset></form>"
    )
    assert content(form + "<p>x") == (
        '<form action=/find method=POST enctype=multipart/form-data><input type=hidden name=h value="a b">'
        "<p><label for=q>Find</label><input id=q name=q required placeholder=words> "
        "<select aria-label=s name=s><optgroup label=g>"
        "<option value=1 selected>One<option>Two</optgroup></select> "
        "<textarea aria-label=t name=t>\n\n a&lt;</textarea> "
        "<input aria-label=c type=checkbox name=c checked> <button name=i.x value=0>Go</button> "
        "<button name=b value=v>Send</button></p>"
        "<fieldset><legend>More</legend><p><input aria-label=r type=radio name=r value=1></p></fieldset></form><p>x</p>"
    )


def test_a_form_that_starts_between_table_rows_keeps_its_controls() -> None:
    form = (
        "<table border=1><form action=/f><input type=hidden name=h><tr><td>Name<td><input name=n>"
        "<tr><td><td><input type=submit></form></table>"
    )
    after = parse(content(form))
    assert [(form.attr("id"), form.attr("action")) for form in after.select("form")] == [("f1", "/f")]
    assert [control.attr("form") for control in after.select("input")] == ["f1"] * 3


def test_controls_that_need_scripts_go() -> None:
    body = content(
        "<input name=a><button>Load</button><form action='javascript:f()'><input name=q>y</form><form>z</form>"
    )
    assert body == "<p>y</p><p>z</p>"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<h2><button type=button aria-controls=a>Why?</button></h2><div id=a>So</div>", "<h2>Why?</h2><p id=a>So</p>"),
        ("<dl><dt><button>Why?</button><dd>So</dl>", "<dl><dt>Why?<dd>So</dl>"),
        (
            "<button><svg></svg><b>404 </b><div><p>No such book</p></div></button>",
            "<p><b>404 </b></p><p>No such book</p>",
        ),
        ("<h2>Why? <button>Copy</button></h2><p>So", "<h2>Why?</h2><p>So</p>"),
        ("<h2><button hidden>Why?</button></h2><p>So", "<p>So</p>"),
        ("<button aria-expanded=false>Why?</button> <div>So</div>", "<p>Why?</p><p>So</p>"),
        ("<nav><button aria-expanded=false>Menu</button><ul><li>a</ul></nav>", "<ul><li>a</ul>"),
        ("<button aria-expanded=false aria-haspopup=menu>Act</button><div>x</div>", "<p>x</p>"),
        ("<button aria-expanded=false>More</button><span>x</span>", "<p>x</p>"),
        ("<p>a</p><button>Copy</button>", "<p>a</p>"),
    ],
)
def test_buttons_that_hold_a_heading_or_paragraphs_are_content(source: str, expected: str) -> None:
    assert content(source) == expected


def test_below_an_added_heading_no_rank_is_skipped() -> None:
    """Lighthouse and axe find ``heading-order``: the page had an ``<h5>`` as its first heading, and no ``<h1>``."""
    assert read(
        f"{HEAD}<body><h5>a</h5><p>x<h6>b</h6><p>y<h3 id=z>c</h3><p><a href=#z>w</a>z<a href='/?q=\"<h5>'>&lt;h5>"
    ) == (
        "<main><h1>T</h1><h2>a</h2><p>x</p><h3>b</h3><p>y</p><h2 id=z>c</h2>"
        "<p><a href=#z>w</a>z<a href='/?q=\"<h5>'>&lt;h5></a></p></main>"
    )
    assert content("<h5>a</h5><p>x<h1>b</h1><h3>c</h3>") == "<h2>a</h2><p>x</p><h2>b</h2><h3>c</h3>"
    assert read(f"{HEAD}<body><h3>a</h3><h1>H</h1><h5>b</h5>") == "<main><h2>a</h2><h1>H</h1><h2>b</h2></main>"


def test_ids_stay_where_links_may_lead() -> None:
    source = (
        "<div id=wrap><div id=sec><h2>a</h2></div><p id=p>b<span id=s></span>c</p><a name=n></a><h3>d</h3>"
        "<div id=chart>e</div><div id=own>f</div><a href=#own>g</a></div>"
    )
    assert content(source) == (
        "<a id=wrap></a><h2 id=sec>a</h2><p id=p>b<a id=s></a>c</p><h3 id=n>d</h3><p id=chart>e</p><p id=own>f</p>"
        "<p><a href=#own>g</a></p>"
    )


def test_the_target_of_a_skip_link_has_no_id_for_it() -> None:
    page = (
        "<body><a href=#c>Skip to content</a><a href=#s>Skip to search</a><div id=c><p>t</p><h1>H</h1></div><p id=s>x"
    )
    assert read(f"{HEAD}{page}") == "<main><p>t</p><h1>H</h1><p id=s>x</p></main>"
    assert read(f"{HEAD}{page}<p><a href=#c>Top</a>").startswith("<main><p id=c>t")


def test_a_list_of_links_in_what_is_called_the_head_is_a_menu() -> None:
    links = "".join(f"<li><a href=/{number}>Part {number}</a>" for number in range(9))
    logo = "<h1 class=logo><a href=/><img src=l.png alt=Herald></a></h1>"
    story = f"<div class=content><h2>Title</h2><p>{'A story that is told. ' * 20}</p></div>"
    assert "<nav><details>" in read(f"{HEAD}<body><div class=header>{logo}<ul>{links}</ul></div>{story}")
    head = f"<div class=story-header><h1>Title</h1><ul>{links}</ul></div>"  # of an article
    assert "<details>" not in read(f"{HEAD}<body>{head}<p>{'A story that is told. ' * 20}")


@pytest.mark.parametrize("tools", ["<ul><li>-<li>+</ul>", "<span class=a>Smaller</span> <a href=#>Larger</a>"])
def test_what_its_heading_calls_a_tool_goes(tools: str) -> None:
    assert content(f"<div><h4>Text Size</h4>{tools}</div><p>x") == "<p>x</p>"
    assert "Text size" in content(f"<div><h4>Text size of headings</h4>{tools}</div><p>x")
    assert "Print" in content(f"<div><h4>Print</h4>{tools}<a href=p.pdf>As a file</a></div><p>x")


def test_a_sign_alone_is_no_paragraph() -> None:
    assert content("<p>x<div>|</div><div>\u00d7</div><p>y<table><tr><td>-<td>1</table>").startswith("<p>x</p><p>y</p>")
    assert "<li>-" in content("<p>x<ul><li>-<li>+</ul>")


def test_the_link_of_a_picture_is_called_by_its_caption_and_not_by_the_icon_over_it() -> None:
    picture = "<a href=/a><i class='fa fa-plus'></i><img src=a.jpg></a>"
    card = f"<div>{picture}<div class=caption><div>Threads</div>x</div></div>"
    assert content(card).startswith("<p><a href=/a>Threads</a></p>")
    assert content(card.replace("caption", "b")).startswith("<p><a href=/a>plus</a></p>")
    other = card.replace("href=/a", "href=/b").replace("Threads", "Lines")
    cards = content(f"<div class=row>{card}{other}{card.replace('href=/a', 'href=/c')}</div>")
    assert cards.count("Lines") == 1


def test_a_column_of_dashes_is_none() -> None:
    rows = "".join(f"<tr><td>name{number}<td>\u2014<td>what {number} does" for number in range(3))
    assert content(f"<table>{rows}</table>").count("<td>") == 6
    assert content(f"<table>{rows}<tr><td>a<td>b<td>c</table>").count("<td>") == 12


def test_long_navigation_is_grouped() -> None:
    inner = "".join(f"<li><a href=s{n}>Sub {n}</a>" for n in range(100))
    tree = "".join(f"<li><a href=c{n}>Chapter {n}</a><ul>{inner if n == 1 else ''}</ul>" for n in range(20))
    body = read(f"{HEAD}<body><div class=sidebar><ul>{tree}</ul></div><main><h1>H</h1><p>x</main>")
    assert len(parse(body).select("nav details a")) == 120
    assert [each.text for each in parse(body).select("nav p")] == ["Chapter 1"]


def test_a_logo_does_not_replace_the_whole_navigation() -> None:
    links = "".join(f"<li><a href=s{n}>Page {n}</a>" for n in range(100))
    body = read(f"{HEAD}<body><nav><a href=/>Name</a><ul>{links}</ul></nav><main><h1>H</h1><p>x</main>")
    assert len(parse(body).select("nav a")) == 101


@pytest.mark.parametrize(
    "line",
    [
        "<h2><a name=x>T</a></h2>",
        "<h2>T<span id=x></span></h2>",
        "<h2 id=y>T<a name=x></a></h2>",
        "<details><summary><b id=x>T</b></summary>d</details>",
        "<fieldset><legend><b id=x>T</b></legend>d</fieldset>",
        "<p>T</p><div class=nav-tabs id=x></div>",
        "<p>T</p><div hidden><b id=x>h</b></div>",
        "<div id=x><ol><li></ol></div>",
        "<ul id=x></ul>",
        "<ul><li id=x><li>T</ul>",
        "<blockquote id=x><img src=a></blockquote>",
        "<pre id=x> </pre>",
        "<table border=1><tr id=x><td><tr><td>a<td>b</table>",
    ],
)
def test_links_within_the_page_find_what_they_name(line: str) -> None:
    assert parse(content(f"<a href=#x>to x</a>{line}<p>end")).select_one("#x") is not None


def test_a_search_form_in_the_navigation_stays() -> None:
    body = read(f"{HEAD}<body><nav><a href=a>A</a><form action=s><input name=q></form></nav><main><h1>H</h1>x</main>")
    assert body == (
        "<header><form action=s><p><input aria-label=q name=q></p></form>"
        "<nav><ul><li><a href=a>A</a></li></ul></nav></header>"
        "<main><h1>H</h1><p>x</p></main>"
    )


def test_a_heading_above_the_main_content_leads_it() -> None:
    body = read(f"{HEAD}<body><header><div><h1>Big</h1><p>by me</div></header><main><p>x</main><footer>f</footer>")
    assert body == "<main><h1>Big</h1><p>by me</p><p>x</p></main><footer><p>f</p></footer>"


def test_a_page_without_a_heading_gets_its_title() -> None:
    assert read(f"{HEAD}<body><p>x") == "<main><h1>T</h1><p>x</p></main>"
    assert read("<title>1.2 Doors - Manual</title><h2>1.2 Doors</h2><p>x") == "<main><h1>1.2 Doors</h1><p>x</p></main>"


def test_an_index_page_keeps_all_its_links_in_order() -> None:
    links = "".join(f"<tr><td><a href={n}.html>Entry {n}</a><td>text {n}" for n in range(200))
    body = read(f"{HEAD}<body><h1>Index</h1><table>{links}</table>")
    assert [a.attr("href") for a in parse(body).select("a")] == [f"{n}.html" for n in range(200)]


def test_a_redirect_leads_on() -> None:
    body = read('<meta http-equiv=refresh content="0;url=../new.html"><title>Moved</title>')
    assert body == "<main><h1>Moved</h1><p><a href=../new.html>../new.html</a></p></main>"
    page = compose("<noscript><meta http-equiv=refresh content='0;url=no.html'></noscript><p>x", url_path="/")
    assert isinstance(page, ComposedPage) and "refresh" not in page.text


@pytest.mark.parametrize(
    ("page", "path", "reason"),
    [
        ("<div>" * 3000 + "x", "/", "its elements are nested more than 120 levels deep"),
        ("<div id=app></div><script src=app.js></script>", "/", "it shows no text without its scripts"),
        ("<html xmlns='http://www.w3.org/1999/xhtml'><body>x</body></html>", "/a.XHTML",
         "it is served as XML, whose markup is stricter"),
        ("<p><a href=#x></a><ul id=x></ul><script src=app.js></script>", "/", "it shows no text without its scripts"),
        ("<frameset cols=20,*><frame src=toc.html><frame src=body.html><noframes>x</noframes></frameset>", "/",
         "its content is in frames"),
    ],
)  # fmt: skip
def test_pages_without_a_text_only_version(page: str, path: str, reason: str) -> None:
    assert compose(page, url_path=path) == reason


@pytest.mark.parametrize("direction", ["rtl", "auto"])
def test_direction_and_language_stay(direction: str) -> None:
    page = compose(f"<html xml:lang=ar><body dir={direction}><p>\u0627\u0644\u0644\u063a\u0629", url_path="/")
    assert isinstance(page, ComposedPage)
    tree = parse(page.text)
    assert tree.root is not None and tree.root.attr("lang") == "ar"
    assert (tree.select_one("body") or tree.root).attr("dir") == direction


def test_main_content_is_found_or_not() -> None:
    def main(body: str) -> str | None:
        main = find_landmarks(parse(body)).main
        return None if main is None else main.attr("id") or main.tag

    assert main("<main>a</main>lots and lots of text around it") == "main"
    assert main("<div id=content>most of the text</div>rest") == "content"
    assert main("<div id=content>little</div>most of the text stands here") is None
    assert main("<article>a</article><article>b</article>") is None
    assert main("<article>alone</article>x") == "article"


def test_link_heavy_content_is_not_navigation() -> None:
    tree = parse("<body><div class=menu><a href=a>all</a> <a href=b>there is</a></div>")
    assert find_landmarks(tree).navigation == ()
    tree = parse("<body><div class=menu><a href=a>a</a></div><p>text enough to be the page, and more than the menu")
    assert [each.attr("class") for each in find_landmarks(tree).navigation] == ["menu"]


@pytest.mark.parametrize("toggle", ["role=tab", "data-bs-toggle=tab", "data-toggle=pill"])
def test_titles_of_tabs_stay_with_what_they_open(toggle: str) -> None:
    tabs = f"<ul class='nav' role=tablist><li><a {toggle} href=#a>Preview</a><li><a {toggle} href=#b>Code</a></ul>"
    page = "<nav><a href=x.html>Elsewhere</a></nav><h1>H</h1><div class=nav-wrapper>{}</div><p id=a>one<p id=b>two"
    assert read(f"{HEAD}<body>{page.format(tabs)}") == (
        "<header><nav><ul><li><a href=x.html>Elsewhere</a></li></ul></nav></header>"
        "<main><h1>H</h1><ul><li><a href=#a>Preview</a><li><a href=#b>Code</a></ul>"
        "<p id=a>one</p><p id=b>two</p></main>"
    )
    elsewhere = tabs.replace("#a", "a.html")
    assert "<a href=a.html>Preview</a>" in read(f"{HEAD}<body>{page.format(elsewhere)}").partition("</nav>")[0]


def test_words_for_images_and_links() -> None:
    def link(inner: str, href: str = "https://example.org/x/file.html?q") -> str:
        element = parse(f"<a href='{href}'>{inner}</a>").select_one("a")
        assert element is not None
        return link_label(element)

    assert link(" some <b>te</b>xt ") == "some text"
    assert link("<svg><title>Search</title></svg>") == "Search"
    assert link("<i class='fa fa-circle fa-stack-2x'></i><i class='fab fa-github'></i>") == "github"
    assert (link("<img src=a alt=logo>"), link("<img src=a>", "/")) == ("file", "\u2302")
    assert link("<img src=a>", "/x/a-tale_of.two.html") == "a tale of.two"
    images = parse("<img alt='a.png'><img alt='[Note]'><img alt='The logo'><img alt=x role=none><img title=t>").select(
        "img"
    )
    assert list(map(image_text, images)) == ["", "Note", "", "", "t"]
    formulas = parse(
        "<math alttext='x'></math><math><annotation encoding=application/x-tex>\\pi</annotation></math>"
    ).select("math")
    assert list(map(math_text, formulas)) == ["x", "\\pi"]


def test_hidden_and_layout() -> None:
    page = parse("<p aria-hidden=true>a</p><div aria-hidden=true><a href=x>b</a></div><table><tr><td>c</table>")
    assert [is_hidden(each) for each in page.select("body > p, body > div")] == [True, False]
    assert is_layout_table(page.select("table")[0])


def test_losses_are_sentences() -> None:
    before = parse(ARTICLE)
    page = compose(ARTICLE, url_path="/")
    assert isinstance(page, ComposedPage) and lost_from_article(before, parse(page.text)) == []
    after = page.text.replace("erster", "").replace("<a href=/b>", "<a href=/c>").replace("lang=de", "lang=en")
    assert CONTRACT_CHECKS["article"](before)(parse(after)) == [
        "text of the article is gone: 'erster'", "1 link is gone: /b", "lang was 'de' and is 'en'",
    ]  # fmt: skip
    form = parse("<form action=a><input name=q><input name=r></form>")
    assert lost_from_article(form, parse("<form action=a><input name=q></form>")) == [
        "a form is gone or sends less: get a (q, r)"
    ]
    many = "".join(f"<a href={n}>a{n}</a>" for n in range(5))
    assert lost_from_article(parse(many), parse("a0a1a2a3a4")) == ["5 links are gone: 0, 1, 2, ..."]
    assert lost_from_article(parse("<p>one<p>two<p>three<p>four"), parse(""))[0].count("'") == 6


def test_deep_markup_is_compared() -> None:
    before = parse("<main>" + "<div>" * 500 + "<a href=x>text</a>")
    assert lost_from_article(before, parse("text")) == ["1 link is gone: x"]


def test_every_malformed_page_keeps_its_text() -> None:
    for text in tree_cases():
        page = compose(text, url_path="/")
        assert isinstance(page, str) or lost_from_article(parse_bare(text), parse_bare(page.text)) == [], text


def styled(body: str, css: str) -> str:
    """The content of a page with a style sheet."""
    made = compose(f"<title>T</title><h1>T</h1>{body}", url_path="index.html", sheets_of=lambda _: (css,))
    assert not isinstance(made, str)
    return made.text.partition("<body>")[2].removeprefix("<main><h1>T</h1>").removesuffix("</main>")


@pytest.mark.parametrize(
    ("css", "expected"),
    [
        (".b{display:none}", "<p>Why?</p><p>So</p>"),
        (".b{max-height:0;overflow:hidden}", "<p>Why?</p><p>So</p>"),
        (".b{color:red}", "<p>So</p>"),
    ],
)
def test_a_button_is_the_title_of_what_it_opens(css: str, expected: str) -> None:
    assert styled("<button>Why?</button><div class=b>So</div>", css) == expected


@pytest.mark.parametrize(
    ("body", "css", "expected"),
    [
        ("<div class=r><span>Sessions</span><span>12</span></div>", ".r{display:flex}", "Sessions 12"),
        ("<p>Inbox<span class=b>4</span>new", ".b{float:right}", "Inbox 4 new"),
        ("<p>Inbox<span class=b>42</span>", ".b{display:inline-block}", "Inbox 42"),
        ("<div class=r><a href=a>Home</a><b>Charts</b></div>", ".r{display:grid}", "<a href=a>Home</a> <b>Charts</b>"),
        ("<p><b>W</b>ord<i>s</i>", "", "<b>W</b>ord<i>s</i>"),
        ("<p><b>W</b>ord", "b{display:inline-block}", "<b>W</b>ord"),
        ("<div class=r><span>a</span>, <span>b</span>.</div>", ".r{display:flex}", "a, b."),
        ("<div class=r><span>a</span><br><span>b</span></div>", ".r{display:flex}", "a<br>b"),
    ],
)
def test_boxes_next_to_each_other_are_no_word(body: str, css: str, expected: str) -> None:
    assert styled(body, css) == f"<p>{expected}</p>"


FORM = "<form action=a><input name=q>{}<button>Go</button></form>"


@pytest.mark.parametrize(
    ("message", "css", "is_hidden"),
    [
        ("<p class=h>A name is required.</p>", ".h{display:none}", True),
        ("<p class=h id=sent>Sent! <a href=b>Next</a></p>", ".h{display:none}", True),
        ("<span class=h>A name is required.</span>", ".h{display:none}", True),
        ("<p class=h>A name is required.</p>", ".h{color:red}", False),
        ("<p class=h>Help on a small window</p>", "@media(min-width:600px){.h{display:none}}", False),
        ("<p class=h>Help for the field</p>", ".h{display:none}form:focus-within .h{display:block}", False),
        ("<div class=h>More <input name=more></div>", ".h{display:none}", False),
        ("<p class=h id=help>Help</p><a data-target='#help' href=help.html>?</a>", ".h{display:none}", False),
    ],
)
def test_what_a_form_says_once_it_is_sent_stays_hidden(message: str, css: str, *, is_hidden: bool) -> None:
    text = styled(FORM.format(message), css)
    assert message.partition(">")[2][:4] in text
    assert (" hidden>" in text) == is_hidden
    assert styled("<p class=h>Item</p>", ".h{display:none}") == "<p>Item</p>"  # a script shows it, as a tab


# ---- the parts of a page


def composed(body: str, css: str = "", head: str = "", **settings: str) -> str:
    """The body of a page with a style sheet."""
    page = compose(
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>T</title>{head}</head><body>{body}",
        url_path="/a.html", sheets_of=lambda _: (css,), settings=Settings(**settings),
    )  # fmt: skip
    assert isinstance(page, ComposedPage), page
    return page.text.partition("</style>")[2].partition(">")[2].partition(">")[2]


def card(name: str) -> str:
    return (
        f"<div class=card><a href={name}><img src={name}.jpg alt='Photo of {name}'></a><span class=kicker>News</span>"
        f"<h3><a href={name}>{name}</a></h3><time>9 May</time><p>What {name} is about, in a sentence that is longer "
        f"than the pieces of a line of small print.</p><a href={name}>Read more</a></div>"
    )


def test_a_story_of_a_front_page_has_one_link() -> None:
    text = composed(f"<main><h1>H</h1><div>{card('one')}{card('two')}</div></main>")
    assert text.count("href=one") == text.count("href=two") == 1
    assert "Read more" not in text and "Photo of" not in text
    assert (
        "<div class=g><div class=c><p class=m>News</p><h2><a href=one>one</a></h2><p class=m>9 May</p><p>What" in text
    )


def test_a_list_of_cards_stays_a_list() -> None:
    items = "".join(f"<li>{card(name)}</li>" for name in ("one", "two", "three"))
    text = composed(f"<main><h1>H</h1><ul>{items}</ul></main>")
    assert text.count("<li class=c>") == 3 and "<ul class=g>" in text


def test_articles_with_linked_headings_are_no_cards() -> None:
    text = composed(f"<main>{''.join(f'<h2><a href=#s{n}>S{n}</a></h2><p>{n}</p>' for n in range(3))}</main>")
    assert "class=c" not in text


HIDDEN = ".drawer{display:none}.tip{display:none}.tip:hover{display:inline}"


def test_what_is_hidden_around_the_content_stays_hidden_but_its_links_and_forms_are_there() -> None:
    text = composed(
        "<div class=drawer><p>Your basket is empty</p><a href=basket.html>Basket</a><form action=/go><input name=q>"
        "<button>Go</button></form></div><main><h1>H</h1>"
        "<p>Words <a href=x>x<span class=tip>what x is</span></a>.</main>",
        HIDDEN,
    )
    assert "Your basket" not in text and "<a href=basket.html>Basket</a>" in text and "<form action=/go>" in text
    assert "<a href=x>x<span hidden>what x is</span></a>" in text


def test_what_a_link_opens_is_there() -> None:
    text = composed("<main><h1>H</h1><a href=#terms>Terms</a></main><div class=drawer id=terms>All terms</div>", HIDDEN)
    assert "<p id=terms>All terms</p>" in text


def test_hidden_images_have_no_words() -> None:
    text = composed(
        "<main><h1>H</h1><img class=drawer src=a alt='never shown'><p>x</p><img src=b alt='A ship'>"
        "<img src=c alt=product-img><img src=d alt=pixel width=1 height=1>"
        "<figure><img src=e alt='The harbour'><figcaption>The harbour in May</figcaption></figure></main>",
        HIDDEN,
    )
    assert "[A ship]" in text and text.count("[") == 1


def test_controls_outside_of_their_form_come_with_it() -> None:
    text = composed(
        "<nav><a href=a>A</a><input name=far form=f></nav><main><h1>H</h1><form id=f action=/f><input name=near></form>"
    )
    assert "<input aria-label=far name=far form=f>" in text and "<form id=f action=/f>" in text


def test_the_parts_of_a_frame_have_their_places() -> None:
    text = composed(
        "<header><div class=logo><a href=/>Herald</a></div><nav><ul><li><a href=a>A</a><ul><li><a href=b>B</a></ul>"
        "</ul></nav></header><nav class=breadcrumb><a href=/s>Section</a></nav><nav class=toc><a href=#x>X</a>"
        "<a href=#y>Y</a></nav><main><h1>H</h1><h2 id=x>X</h2><h2 id=y>Y</h2></main>"
        "<nav class=pagination><a href=2>2</a></nav>"
        "<aside>Beside</aside><footer>Foot<ul><li><a href=i>I</a><li><a href=j>J</a><li><a href=k>K</a></ul></footer>"
    )
    order = ["<p class=s><a href=/>Herald</a>", "href=a", "href=b", "<nav class=b", "/s", "#x", "<main>", "href=2"]
    order += ["<aside>", "<footer>", "href=i"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_a_byline_is_one_line() -> None:
    long = "The council met on Monday to talk about the harbour wall, which the storm had broken in two. " * 2
    text = composed(f"<main><h1>H</h1><div>By Ann</div><div>9 May</div><div>Local</div><p>{long}</p></main>")
    assert "<p class=m>By Ann · 9 May · Local</p>" in text.replace("&#183;", "·")
    text = composed(f"<main><h1>H</h1><p>{long}</p><div class=meta><span>Ann</span><div>9 May</div></div></main>")
    assert "<p class=m>Ann · 9 May</p>" in text.replace("&#183;", "·")


def test_an_article_without_landmarks_comes_first() -> None:
    words = "The council met on Monday to talk about the harbour wall, which the storm had broken in two. " * 3
    top = "<div class=top><ul><li>Sign up<li>Log in</ul></div>"
    text = composed(f"{top}<div><h1>H</h1><p>{words}</p><p>{words}</p></div><div>z</div>")
    assert text.index("<h1>") < text.index("Sign up") and "<aside>" in text


def test_a_title_by_other_witnesses() -> None:
    data = '{"@type": "NewsArticle", "headline": "Storm &amp; tide", "publisher": {"name": "Herald"}}'
    text = composed("<main><p>x</main>", head=f"<script type=application/ld+json>{data}</script>")
    assert "<h1>Storm & tide</h1>" in text and "<p class=s>Herald</p>" in text


# ---- what a site may choose


def test_a_line_at_the_top() -> None:
    text = composed("<main><h1>H</h1>x</main>", notice="on", full="https://full.example{path}")
    assert (
        text.startswith("<p class=n role=note>A light edition is shown")
        and 'href="https://full.example/a.html"' in text
    )
    assert composed("<main><h1>H</h1>x</main>", notice="Busy today.").startswith("<p class=n role=note>Busy today.</p>")


def test_a_template_of_the_site() -> None:
    assert composed(
        "<main><h1>H</h1>x</main>", template="{{ page.start }}<head><style></style></head><b>{{ page.main }}</b>"
    )
    template = "<style></style></head><body>{{ page.main.upper() }}"
    assert composed("<main><h1>H</h1>x</main>", template=template) == "<H1>H</H1><P>X</P>"
    with pytest.raises(BadTemplate):
        composed("<main>x</main>", template="{{ page.nothing }}")


@pytest.mark.parametrize(
    ("css", "head", "light", "dark"),
    [
        ("", "", "#0b57d0", "#8ab4f8"),
        ("", "<meta name=theme-color content=#8a1538>", "#8a1538", "#e24171"),
        (":root{--brand:#060}main a{color:var(--brand)}", "", "#060", "#009900"),
        ("a{color:#333}", "", "#0b57d0", "#8ab4f8"),  # no hue
        ("a{color:#ff0}", "", "#797900", "#ff0"),  # no contrast
    ],
)
def test_the_colour_of_the_site_where_it_can_be_read(css: str, head: str, light: str, dark: str) -> None:
    tree = parse(f"<head>{head}<body><main><h1>H</h1><a href=x>x</a></main>")
    colours = accents(tree, Layout(tree, (css,), ""))
    assert [as_hex_long(each) for each in colours] == [as_hex_long(light), as_hex_long(dark)]


def as_hex_long(colour: str) -> str:
    return colour if len(colour) == 7 else "#" + "".join(2 * digit for digit in colour[1:])


# ---- what only its looks say


@pytest.mark.parametrize("label", ["Advertisement", "Anzeige", "\u5e83\u544a", " ADVERTISEMENT\n"])
def test_the_label_of_an_advertisement_is_left_out(label: str) -> None:
    words = "<p>The harbour master counts the ships that leave with the tide."
    slot = f"<div class=slot><span>{label}</span><iframe src=https://ads.example/></iframe></div>"
    body = f"<main><h1>T</h1>{words}{slot}{words}</main>"
    written = composed(body)
    assert label.strip() not in written
    assert not CONTRACT_CHECKS["article"](parse(body))(parse(written))


def test_a_link_or_a_heading_that_is_called_so_stays() -> None:
    body = "<main><h1>T</h1><h2>Advertising</h2><p>Words<p><a href=ads.html>Advertising</a></main>"
    assert composed(body).count("Advertising") == 2


@pytest.mark.parametrize(
    ("root", "words", "is_turned"),
    [
        ("<html lang=ar>", "\u0645\u0639\u0627\u0631\u0636\u0648\u0646", True),
        ("<html>", "\u05e9\u05dc\u05d5\u05dd \u05e9\u05dc\u05d5\u05dd, HTML", True),
        ("<html lang=ar dir=ltr>", "\u0645\u0639\u0627\u0631\u0636\u0648\u0646", False),
        ("<html lang=ar>", "In English, with \u0645\u0639", False),
    ],
)
def test_a_page_that_runs_from_the_right_says_so(root: str, words: str, is_turned: bool) -> None:
    page = compose(
        f"<!doctype html>{root}<head><title>{words}</title><body><main><p>{words}</main>", url_path="/a.html"
    )
    assert isinstance(page, ComposedPage)
    assert ("dir=rtl" in page.text.partition("<head>")[0]) == is_turned


PARAGRAPH = (
    "<p>The harbour master counts the ships that leave with the tide, and writes their names into a book of his. "
)


@pytest.mark.parametrize(
    "beside",
    [
        "<div id=comments><h3>Two comments</h3><p>Anna: I have seen it.</p><p>Bert: It was my ship.</p></div>",
        "<ul class=sharetools><li><a href=//share.example/f>F</a><li><a href=//share.example/t>T</a></ul>",
        "<aside><h3>Related</h3><a href=r1>A story of ships</a> <a href=r2>A story of tides</a></aside>",
        "<div class=more-news><a href=r1>A story of ships</a> <a href=r2>A story of tides</a></div>",
    ],
)
def test_what_stands_beside_a_story_comes_after_it(beside: str) -> None:
    story = f"<h1>Ships</h1><p>By Ada</p>{PARAGRAPH * 2}{beside}{PARAGRAPH * 2}"
    body = read(f"{HEAD}<body><div class=page><div class=story>{story}</div></div>")
    inner, _, rest = body.partition("</main>")
    assert inner.count("The harbour master") == 4 and "<h1>Ships</h1><p>By Ada</p>" in inner
    assert beside.partition("</")[0].rpartition(">")[2] in rest and "<a" not in inner and "<h2" not in inner


def test_a_story_stands_with_all_between_its_title_and_its_text() -> None:
    meta = "<div class=byline>By Ada</div><div class=date>1 May</div><figure><figcaption>A ship</figcaption></figure>"
    column = "<div class=column><p>Prices of fish today: herring, cod, plaice.<p><a href=f>All prices of fish</a></div>"
    body = read(
        f"{HEAD}<body><main><div><h1>Ships</h1></div>{meta}<div class=text>{PARAGRAPH * 4}</div>{column * 9}</main>"
    )
    inner = body.partition("</main>")[0]
    places = [inner.find(words) for words in ("Ships", "By Ada", "1 May", "A ship", "harbour master")]
    assert -1 not in places and places == sorted(places)
    assert "herring" not in inner and body.count("herring") == 9


def test_the_logo_of_a_page_is_not_the_title_of_its_story() -> None:
    page = f"<div class=logo><h1><a href=/>The Herald</a></h1></div><main><div><h3>T</h3></div>{PARAGRAPH * 4}</main>"
    assert "<main><h1>T</h1><p>The harbour" in read(f"{HEAD}<body>{page}").replace("<h2>", "<h1>").replace("h2>", "h1>")


def test_a_link_within_a_sentence_stays_whatever_link_was_before() -> None:
    assert content("<p>A <a href=s>Switch</a> opens.<p>See also <a href=s>Switch</a> and more.") == (
        "<p>A <a href=s>Switch</a> opens.</p><p>See also <a href=s>Switch</a> and more.</p>"
    )


def test_the_words_of_a_picture_are_apart_from_the_word_after_it() -> None:
    assert content("<p><a href=ap><img src=ap.png alt=AP></a><cite>By Ada</cite>") == (
        "<p><a href=ap>AP</a> <cite>By Ada</cite></p>"
    )


def test_a_heading_that_is_called_so_stays_in_its_section() -> None:
    body = "<div><p>Words<div class=mc-hdr>OPINION</div><p>More</div>"
    assert content(body) == "<p>Words</p><p>OPINION</p><p>More</p>"


def test_links_that_scripts_show_and_those_without_words_are_at_the_foot() -> None:
    more = "<div style='display:none'><a href=/kids>For children</a></div><a class=mark href=https://www.host.example/></a>"
    body = read(
        f"{HEAD}<body><main><h1>H</h1><p>x</main>{more}<a href=mailto:></a><noscript><a href=n>N</a></noscript>"
    )
    assert "<nav><ul><li><a href=/kids>For children</a></li></ul></nav>" in body and "mailto" not in body
    assert body.endswith("<footer><ul><li><a href=https://www.host.example/>host.example</a></li></ul></footer>")


def test_the_source_of_a_quotation_is_not_the_site() -> None:
    body = read(
        f"{HEAD}<body><blockquote>Good.<cite><a href=https://paper.example>The Paper of today</a></cite></blockquote>"
    )
    assert "<header>" not in body and "The Paper of today" in body


def test_of_phrases_that_a_script_would_choose_from_the_last_shows() -> None:
    assert "<p>Press Ctrl+F6.</p>" in content(
        "<p>Press <span><span hidden class=MAC>Command</span><span hidden>Ctrl</span></span>+F6."
    )
    assert "secret" not in content("<p>Press <span hidden>secret</span>F6.")
