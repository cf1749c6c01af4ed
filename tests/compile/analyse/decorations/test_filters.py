"""Filter lists: which requests are blocked, which elements are hidden, and what is not supported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sites.stripped import NOTE, STAND_IN, StrippedSite

from adaptc.compile.analyse.decorations.filters import FilterList, Request, read_filters
from adaptc.compile.analyse.decorations.rules import configured_rules, selector_problem
from adaptc.core.diagnostics import UsageError
from adaptc.workflow.configuration import load_config


def read(*lines: str) -> FilterList:
    return read_filters("\n".join(lines), selector_problem)


def request(url: str, kind: str = "image", host: str = "example.org", *, third: bool = True) -> Request:
    return Request(url, kind, host, third)


@pytest.mark.parametrize(
    ("line", "blocked", "free"),
    [
        ("||ads.example^", "https://ads.example/x", "https://bads.example/x"),
        ("||ads.example^", "http://sub.ads.example:8080/x", "https://ads.example.org/x"),
        ("|https://x.example/ad", "https://x.example/ads", "http://x.example/?https://x.example/ad"),
        ("/banner/*.gif|", "https://x.example/banner/a/b.gif", "https://x.example/banner/a.gif?1"),
        ("-ad-", "https://x.example/top-ad-1.png", "https://x.example/topad-1.png"),
        ("^ad^", "https://x.example/ad/1", "https://x.example/ads/1"),
        ("adv.png", "https://x.example/MYADV.PNG", "https://x.example/adv_png"),
        ("||x.example/a.b", "https://x.example/a.b", "https://x.example/aXb"),
    ],
)
def test_patterns(line: str, blocked: str, free: str) -> None:
    filters = read(line)
    assert filters.blocks(request(blocked)) == line
    assert filters.blocks(request(free)) is None


@pytest.mark.parametrize(
    ("options", "fits", "fails"),
    [
        ("image", request("https://x.example/ad"), request("https://x.example/ad", "script")),
        ("image,script", request("https://x.example/ad", "script"), request("https://x.example/ad", "media")),
        ("~image", request("https://x.example/ad", "script"), request("https://x.example/ad")),
        ("third-party", request("https://x.example/ad"), request("https://x.example/ad", third=False)),
        ("~third-party", request("https://x.example/ad", third=False), request("https://x.example/ad")),
        ("1p", request("https://x.example/ad", third=False), request("https://x.example/ad")),
        (
            "domain=a.example|~b.a.example",
            request("https://x.example/ad", host="www.a.example"),
            request("https://x.example/ad", host="b.a.example"),
        ),
        ("image,domain=~a.example", request("https://x.example/ad"), request("https://x.example/ad", host="a.example")),
    ],
)
def test_options(options: str, fits: Request, fails: Request) -> None:
    filters = read(f"||x.example/ad${options}")
    assert filters.blocks(fits) is not None
    assert filters.blocks(fails) is None


def test_exceptions() -> None:
    filters = read("||ads.example^", "@@||ads.example/good/$image")
    assert filters.blocks(request("https://ads.example/good/a")) is None
    assert filters.blocks(request("https://ads.example/good/a", "script")) is not None


def test_hiding() -> None:
    filters = read("##.promo", "###ad-box", "a.example##.only", "##.shown", "#@#.shown", 'b.example##a[href^="/ad/"]')
    text = '<p class="promo only shown"><b id="ad-box"></b><a href="/ad/1">'
    assert list(filters.hidden("x.example", text)) == [".promo", "#ad-box"]
    assert list(filters.hidden("www.a.example", text)) == [".promo", "#ad-box", ".only"]
    assert list(filters.hidden("b.example", text)) == [".promo", "#ad-box", 'a[href^="/ad/"]']
    assert list(filters.hidden("b.example", "<p class=promotion>")) == []


@pytest.mark.parametrize(
    "line",
    [
        "/ad[0-9]+/",
        "||x.example^$popup",
        "||x.example^$csp=script-src 'none'",
        "x.example#?#div:-abp-has(.ad)",
        "x.example##+js(abort, a)",
        "x.example##div:has-text(ad)",
        "x.example#$#body { color: red }",
        "*$image",
    ],
)
def test_what_is_not_supported_is_told(line: str) -> None:
    filters = read("[Adblock Plus 2.0]", "! a comment", line, "||ads.example^")
    assert (filters.total, filters.left_out) == (2, (line,))


# ---- in a build


def configured(folder: Path, *lines: str) -> Path:
    (folder / "list.txt").write_text("\n".join(lines))
    file = folder / "adaptc.toml"
    file.write_text('[decorations]\nfilters = ["list.txt"]\n')
    return file


def test_a_list_of_the_configuration(tmp_path: Path) -> None:
    made = configured_rules(load_config(configured(tmp_path, "||ads.example^", "/x/", "/y/")))
    (said,) = made.diagnostics
    assert str(said) == (
        "note: 2 of 3 filters are of a kind that adaptc does not know, such as /x/ [filter-unsupported]"
    )
    assert made.rules.filters.blocks(request("https://ads.example/x")) == "||ads.example^"
    assert made.digest != configured_rules(load_config(configured(tmp_path, "||ads.example^"))).digest


def test_a_list_that_is_not_there(tmp_path: Path) -> None:
    file = configured(tmp_path)
    (tmp_path / "list.txt").unlink()
    with pytest.raises(UsageError, match=r"list\.txt: cannot be read \(No such file or directory\)"):
        configured_rules(load_config(file))


class Listed(StrippedSite):
    """A site whose user has filters."""

    lines: tuple[str, ...] = ()

    def view(self):  # type: ignore[no-untyped-def]
        from dataclasses import replace

        view = super().view()
        rules = replace(view.labelling.rules, filters=read(*self.lines))
        view.materials.labelling = replace(view.labelling, rules=rules)
        return view


def stripped(html: str, *lines: str) -> str:
    site = Listed({"index.html": f"<!DOCTYPE html><title>T</title><body>{html}</body>"})
    site.lines = lines
    return site.stripped()[0].partition("<body>")[2].removesuffix("</body>")


def test_images_scripts_and_frames_of_a_list_go() -> None:
    photo = '<figure><img src="i/photo.png" alt="A ship in the harbour at night"></figure>'
    assert stripped(photo, "/i/photo.") == photo.replace("i/photo.png", STAND_IN.format(400, 300))
    assert stripped(photo, "/i/photo.$third-party") == photo
    frame = '<iframe src="https://x.example/f"></iframe>'
    assert stripped(frame, "||x.example^$subdocument") == "<iframe></iframe>"
    script = '<script src="https://x.example/s.js"></script>'
    assert stripped(f"<i></i>{script}", "||x.example^$script") == "<i></i>"
    own = '<script src="s.js"></script>'
    assert stripped(own, "s.js$script") == own


def test_an_exception_of_a_list_keeps_what_the_rules_would_take() -> None:
    script = '<script src="https://platform.twitter.com/widgets.js"></script>'
    assert stripped(script) == ""
    assert stripped(script, "@@||platform.twitter.com^") == script


def test_what_the_author_keeps_no_list_takes() -> None:
    html = '<p data-adapt="keep"><img src="i/photo.png" alt="A ship in the harbour at night"></p>'
    assert stripped(html, "/i/photo.") == html


def test_hidden_elements_stay_in_the_page_and_load_nothing() -> None:
    html = f'<div class="promo" style="top:0">Buy! <img src="i/photo.png"></div><p>{NOTE} Take note.</p>'
    made = stripped(html, "##.promo", "@@||*$image")
    assert made.startswith(
        f'<div class="promo" style=top:0;display:none!important>Buy! <img src="{STAND_IN.format(400, 300)}">'
    )


def test_a_hidden_element_with_a_background_stays_hidden() -> None:
    html = '<div class="promo" style="background:url(i/bg.png)">Buy!</div>'
    assert "display:none!important" in stripped(html, "##.promo")
