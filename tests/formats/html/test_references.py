"""The references of a page."""

from __future__ import annotations

import pytest

from adaptc.core.model import Reference, Role
from adaptc.formats.html.document import parse
from adaptc.formats.html.references import base_href, embedded_references, reference_urls, references


def urls(html: str) -> list[tuple[Role, str, str]]:
    return [(each.role, each.url, each.where) for each in references(parse(html))]


CASES = [
    ("<a href=u>", Role.LINK, "a href"),
    ("<map><area href=u></map>", Role.LINK, "area href"),
    ("<form action=u></form>", Role.LINK, "form action"),
    ("<button formaction=u></button>", Role.LINK, "button formaction"),
    ("<blockquote cite=u></blockquote>", Role.LINK, "blockquote cite"),
    ("<img longdesc=u>", Role.LINK, "img longdesc"),
    ("<meta http-equiv=Refresh content='5; URL=u'>", Role.LINK, "meta refresh"),
    ("<link rel=stylesheet href=u>", Role.STYLESHEET, "link rel=stylesheet"),
    ("<link rel='Alternate StyleSheet' href=u>", Role.STYLESHEET, "link rel=alternate stylesheet"),
    ("<link rel='shortcut icon' href=u>", Role.ICON, "link rel=shortcut icon"),
    ("<link rel=apple-touch-icon href=u>", Role.ICON, "link rel=apple-touch-icon"),
    ("<link rel=preload as=image href=u>", Role.PRELOAD, "link rel=preload"),
    ("<link rel=modulepreload href=u>", Role.PRELOAD, "link rel=modulepreload"),
    ("<link rel=preload as=image imagesrcset='u 2x'>", Role.PRELOAD, "link imagesrcset"),
    ("<link rel=manifest href=u>", Role.MANIFEST, "link rel=manifest"),
    ("<link rel=canonical href=u>", Role.META, "link rel=canonical"),
    ("<link href=u>", Role.META, "link"),
    ("<meta property=og:image content=u>", Role.META, "meta og:image"),
    ("<meta name=twitter:image content=u>", Role.META, "meta twitter:image"),
    ("<meta name=msapplication-TileImage content=u>", Role.META, "meta msapplication-tileimage"),
    ("<script src=u></script>", Role.SCRIPT, "script src"),
    ("<script type='Text/JavaScript ' src=u></script>", Role.SCRIPT, "script src"),
    ("<script language=JavaScript1.2 src=u></script>", Role.SCRIPT, "script src"),
    ("<script type=module src=u></script>", Role.MODULE, "script src"),
    ("<script nomodule src=u></script>", Role.LAZY, "script src"),
    ("<script type=text/template src=u></script>", Role.LAZY, "script src"),
    ("<img src=u>", Role.IMAGE, "img src"),
    ("<img srcset='u 2x'>", Role.IMAGE, "img srcset"),
    ("<picture><source srcset=u></picture>", Role.IMAGE, "source srcset"),
    ("<input type=image src=u>", Role.IMAGE, "input src"),
    ("<body background=u>", Role.IMAGE, "body background"),
    ("<table><td background=u>", Role.IMAGE, "td background"),
    ("<video poster=u></video>", Role.IMAGE, "video poster"),
    ("<video src=u></video>", Role.MEDIA, "video src"),
    ("<audio><source src=u></audio>", Role.MEDIA, "source src"),
    ("<video><track src=u></video>", Role.MEDIA, "track src"),
    ("<iframe src=u></iframe>", Role.FRAME, "iframe src"),
    ("<frameset><frame src=u></frameset>", Role.FRAME, "frame src"),
    ("<object data=u></object>", Role.OBJECT, "object data"),
    ("<object><param name=movie value=u></object>", Role.OBJECT, "param value"),
    ("<embed src=u>", Role.OBJECT, "embed src"),
    ("<svg><image href=u /></svg>", Role.IMAGE, "image href"),
    ("<svg><use xlink:href=u /></svg>", Role.IMAGE, "use xlink:href"),
    ("<svg><feimage href=u /></svg>", Role.IMAGE, "feImage href"),
    ("<svg><a xlink:href=u></a></svg>", Role.LINK, "a xlink:href"),
    ("<svg><script href=u></script></svg>", Role.SCRIPT, "script href"),
    ("<svg><rect fill='url(u)'/></svg>", Role.CSS_URL, "rect fill"),
    ("<p style='background:url(u)'>", Role.CSS_URL, "p style"),
    ("<style>p{background:url(u)}</style>", Role.CSS_URL, "style url()"),
    ("<style>@import 'u';</style>", Role.IMPORT, "style @import"),
    ("<html manifest=u>", Role.MANIFEST, "html manifest"),
    ("<template><img src=u></template>", Role.IMAGE, "img src"),
    ("<noscript><img src=u></noscript>", Role.IMAGE, "img src"),
    ("<iframe srcdoc='<img src=u>'></iframe>", Role.IMAGE, "iframe srcdoc, img src"),
    ("<astro-island component-url=u></astro-island>", Role.MODULE, "astro-island component-url"),
]


@pytest.mark.parametrize(("html", "role", "where"), CASES)
def test_each_place(html: str, role: Role, where: str) -> None:
    assert urls(html) == [(role, "u", where)]


@pytest.mark.parametrize(
    "attribute",
    ["data-src", "data-original", "data-lazy-src", "data-bg", "data-background-image", "data-setbg"],
)
def test_lazy_loading(attribute: str) -> None:
    assert urls(f"<div {attribute}='a/b.png'></div>") == [(Role.LAZY, "a/b.png", f"div {attribute}")]


def test_a_lazy_srcset_is_a_srcset() -> None:
    assert [url for _, url, _ in urls("<img data-srcset='a.png 1x, b.png 2x'>")] == ["a.png", "b.png"]


@pytest.mark.parametrize(("srcset", "is_embedded"), [("b", False), ("b 1x", False), ("b 9w", False), ("b 2x", True)])
def test_a_source_set_with_a_choice_for_each_screen_passes_over_src(srcset: str, is_embedded: bool) -> None:
    tree = parse(f"<img src=a srcset='{srcset}'>")
    assert ("a" in [each.url for each in embedded_references(tree)]) is is_embedded


def test_a_lazy_css_url() -> None:
    assert urls("<div data-bg='url(a.png)'></div>") == [(Role.LAZY, "a.png", "div data-bg")]


@pytest.mark.parametrize("value", ["dark", "#fff", "", '{"a": 1.5}', "a. b"])
def test_an_option_is_no_url(value: str) -> None:
    assert urls(f"<div data-bg='{value}' data-image='{value}'></div>") == []


@pytest.mark.parametrize(
    "html",
    [
        "<p>x</p>",
        "<meta name=description content=u>",
        "<param name=wmode value=u>",
        "<p src=u href=u data=u action=u poster=u content=u>",
        "<script>var a = '<img src=u>'</script>",
        "<!-- <img src=u> -->",
        "<textarea><img src=u></textarea>",
    ],
)
def test_what_is_no_reference(html: str) -> None:
    assert urls(html) == []


def test_character_references_are_resolved() -> None:
    assert urls("<a href='?a=1&amp;b=&#x32;'>") == [(Role.LINK, "?a=1&b=2", "a href")]


def test_places() -> None:
    html = "<p>x\n  <img src=a><style>\n\n b{c:url(d)}</style><style>p{c:url(e)}</style>"
    assert list(references(parse(html))) == [
        Reference(Role.IMAGE, "a", "img src", 2, 3),
        Reference(Role.CSS_URL, "d", "style url()", 4, 6),
        Reference(Role.CSS_URL, "e", "style url()", 4, 32),
    ]


@pytest.mark.parametrize(
    ("html", "href"),
    [
        ("<p>", None),
        ("<base target=_top><base href=a/><base href=b/>", "a/"),
        ("<template><base href=a/></template>", None),
        ("<body><base href=''>", ""),
    ],
)
def test_base(html: str, href: str | None) -> None:
    assert base_href(parse(html)) == href


def test_of_a_picture_the_source_counts_that_all_windows_take_at_the_latest() -> None:
    narrow, others = "<source media=(width<9px) srcset=s.avif>", "<source type=image/jxl srcset=x.jxl>"
    modern = "<source type=image/avif srcset=a.avif><source type=image/webp srcset=w.webp>"

    def urls(sources: str) -> list[str]:
        tree = parse(f"<picture>{sources}<img src=a.jpg></picture>")
        return [reference.url for reference in embedded_references(tree)]

    assert urls(narrow + modern) == ["a.avif"]
    assert urls(narrow + others) == ["s.avif", "x.jxl", "a.jpg"]


def test_the_urls_of_references_are_found_without_their_places() -> None:
    tree = parse(
        "<base href=a/><style src=z>@import 'b.css';p{background:url(c.png)}</style><a href=d ping=e>"
        "<img srcset='f 1x, g 2x' src=h><template><script src=i></script></template>"
        "<p style='background:url(j)'><iframe srcdoc='<img src=k>'></iframe><svg fill='url(l.svg#m)'></svg>"
    )
    assert list(reference_urls(tree)) == [reference.url for reference in references(tree)]
    assert {"b.css", "c.png", "f", "g", "h", "i", "j", "k"} <= set(reference_urls(tree))
