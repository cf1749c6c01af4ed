"""The facts of a file: references, digests, sizes, and what is wrong with its links."""

from __future__ import annotations

import zlib

import pytest

from adaptc.compile.analyse.facts import Facts, affected_targets, gather
from adaptc.core import media
from adaptc.core.digest import content_digests, digest_bytes
from adaptc.core.urls import SiteAddress
from adaptc.site.site import Site, Source

PATHS = {
    "index.html": media.HTML,
    "sub/page.html": media.HTML,
    "sub/index.html": media.HTML,
    "dir/file.txt": "text/plain",
    "s.css": media.CSS,
    "t.css": media.CSS,
    "a.js": media.JS,
    "i.png": media.PNG,
    "i.svg": media.SVG,
}
SITE = Site.of(
    {path: Source("", 1, media_type) for path, media_type in PATHS.items()},
    SiteAddress("https://example.org/docs/"),
    ("index.html",),
)


def facts(content: str, path: str = "sub/page.html", media_type: str = media.HTML) -> Facts:
    return gather(path, content.encode(), media_type, SITE)


def test_what_a_page_embeds_each_once_in_order() -> None:
    found = facts(
        '<link rel=stylesheet href=../s.css><script src="/docs/a.js"></script><img src=../i.png><img src="../i.png?2">'
        '<img src=../gone.png><a href=../index.html>x</a><link rel=stylesheet href=../s.css><iframe src="./"></iframe>'
    )
    assert found.embeds == (
        ("stylesheet", "s.css"),
        ("script", "a.js"),
        ("image", "i.png"),
        ("frame", "sub/index.html"),
    )
    assert set(found.targets) == {"s.css", "a.js", "i.png", "gone.png", "index.html", "sub/"}
    assert [one.message for one in found.diagnostics] == ["img src points to ../gone.png, but there is no such file"]


def test_an_image_that_a_browser_passes_over_is_not_embedded() -> None:
    found = facts('<picture><source type=image/webp srcset="../i.png"><img src="../i.svg"></picture>')
    assert found.embeds == (("image", "i.png"),)
    assert found.images == ("i.png", "i.svg") and "i.svg" in found.targets
    assert facts('<img src="../i.svg" srcset="../i.png 300w">').embeds == (("image", "i.png"),)
    twice = '<picture><source type=image/webp srcset="../i.png"><img src="../i.svg"></picture><img src="../i.svg">'
    assert facts(twice).embeds == (("image", "i.png"), ("image", "i.svg"))


def test_the_modules_of_an_island_are_embedded() -> None:
    found = facts('<astro-island component-url="../a.js" renderer-url="../a.js" client="load"></astro-island>')
    assert found.embeds == (("module", "a.js"),)


def test_the_base_element_counts() -> None:
    found = facts('<base href="/docs/"><img src="i.png"><base href="/nowhere/">')
    assert found.embeds == (("image", "i.png"),)
    assert facts('<base href="https://cdn.example.net/"><img src="i.png">').embeds == ()


def test_places_of_diagnostics() -> None:
    (said,) = facts('<!DOCTYPE html>\n<p>\n  <a href="gone.html">').diagnostics
    assert str(said.location) == "sub/page.html:3:3"


@pytest.mark.parametrize(
    ("markup", "kind"),
    [
        ('<a href="gone.html">', "missing-target"),
        ('<a href="../dir/gone/">', "missing-target"),
        ('<img srcset="gone.png 2x">', "missing-target"),
        ('<a href="http://[">', "bad-url"),
        ('<a href="/elsewhere/">', "outside-docroot"),
    ],
)
def test_links_that_lead_nowhere(markup: str, kind: str) -> None:
    assert [one.id for one in facts(markup).diagnostics] == [kind]


@pytest.mark.parametrize(
    "markup",
    [
        '<a href="../dir/">a directory is answered by its listing</a>',
        '<a href="../dir">',
        '<a href="./">',
        '<a href="/docs/">',
        '<a href="#part">',
        '<a href="mailto:a@example.org">',
        '<a href="https://example.net/gone.html">',
        '<meta property="og:image" content="https://example.org/docs/gone.png">',
        '<img data-src="{{ image }}">',
        '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">',
    ],
)
def test_links_that_are_fine_or_not_ours_to_check(markup: str) -> None:
    assert facts(markup).diagnostics == ()


def test_files_whose_bytes_are_fixed() -> None:
    found = facts(
        '<script src="../a.js" integrity="sha256-x"></script><link rel=stylesheet href=../s.css integrity="">'
    )
    assert found.pinned == ("a.js", "s.css")
    assert facts('<script src="../gone.js" integrity="sha256-x"></script><script integrity=x></script>').pinned == ()


def test_a_sheet() -> None:
    text = '@import "t.css"; a { background: url(i.png) } b { background: url("gone.png") }' + "/* */" * 50
    found = facts(text, "s.css", media.CSS)
    assert found.embeds == (("import", "t.css"),)
    assert set(found.targets) == {"t.css", "i.png", "gone.png"}
    assert [str(one.location) for one in found.diagnostics] == ["s.css:1:63"]
    assert found.transfer == len(zlib.compress(text.encode(), 6))


def test_a_script_and_an_image_have_a_digest_and_a_size() -> None:
    script, image = facts("let a", "a.js", media.JS), facts("...", "i.png", media.PNG)
    transfer = len(zlib.compress(b"let a", 6))
    assert script == Facts(digest_bytes(b"let a"), transfer=transfer, checks=script.checks)
    assert image == Facts(digest_bytes(b"..."), checks=image.checks)


def test_what_others_may_check_a_file_by_and_what_it_checks() -> None:
    digest = digest_bytes(b"...")
    worker = f'files = [{{url: "/i.png?v=1", size: 30}}, {{"a.js": 50}}, "{digest}"]; text.length = 12'
    found = facts(worker, "sw.js", media.JS).checks
    assert found.written == (digest[:12],) and found.lengths == (("a.js", 50), ("/i.png", 30))
    assert found.digests == content_digests(worker.encode(), digest_bytes(worker.encode()))
    assert facts(digest, "i.png.sha256", media.PNG).checks.written == (digest[:12],)
    assert facts(f"\x89PNG\0{digest}", "i.png", media.PNG).checks.written == ()
    assert facts(digest, "_headers", media.BINARY).checks.written == (digest[:12],)
    assert facts(f"{digest}\0", "x", media.BINARY).checks.written == ()


def test_a_drawing() -> None:
    found = facts('<svg xmlns="http://www.w3.org/2000/svg"><image href="gone.png"/></svg>', "i.svg", media.SVG)
    assert [one.id for one in found.diagnostics] == ["missing-target"]


def test_a_page_that_cannot_be_decoded_has_no_references() -> None:
    found = gather("index.html", b'<meta charset="utf-8"><img src=gone.png>\xff', media.HTML, SITE)
    assert found == Facts(digest_bytes(b'<meta charset="utf-8"><img src=gone.png>\xff'), checks=found.checks)


@pytest.mark.parametrize(
    ("changed", "targets"),
    [
        ("a.html", {"a.html", "a"}),
        ("index.html", {"index.html", "index", ""}),
        ("a/b/index.html", {"a/b/index.html", "a/b/index", "a/b/", "a/b", "a/", "a"}),
        ("a/x.png", {"a/x.png", "a/", "a"}),
    ],
)
def test_what_may_lead_elsewhere_when_a_file_comes_or_goes(changed: str, targets: set[str]) -> None:
    assert affected_targets([changed], ("index.html",)) == targets


def test_the_images_of_a_page_and_the_first_of_its_markup() -> None:
    found = facts(
        '<body background="../i.svg"><p style="background:url(../i.png)"><img src="../gone.png"><img src="../i.svg">'
        '<img data-src="../i.png"><a href="../i.png">x</a><video src="../dir/file.txt"></video>'
    )
    assert found.images == ("i.svg", "i.png")
    assert found.first_image is None  # the first is not there
    assert facts('<table background="../i.png"><tr><td><img src="../i.svg"></table>').first_image == "i.svg"


def test_the_images_of_a_sheet() -> None:
    css = (
        "@import 't.css'; p { background: url(i.png) } @font-face { src: url(dir/file.txt) } b { content: url(i.png) }"
    )
    assert facts(css, "s.css", media.CSS).images == ("i.png",)


def test_equal_pages_have_their_own_links() -> None:
    text = "<a href=page.html>a</a><img src=i.png>"
    above, below = facts(text, "index.html"), facts(text, "sub/page.html")
    assert (above.embeds, above.targets) == ((("image", "i.png"),), ("page.html", "i.png"))
    assert (below.embeds, below.targets) == ((), ("sub/page.html", "sub/i.png"))
    assert [str(one.location.path) for one in (*above.diagnostics, *below.diagnostics) if one.location] == [
        "index.html", "sub/page.html",
    ]  # fmt: skip
