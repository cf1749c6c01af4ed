"""late-styles: sheets that a load handler applies."""

from __future__ import annotations

import pytest

from tests.sites.small import SmallSite

from adaptc.compile.pipeline import BY_NAME, Step

HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"


def rewritten(link: str) -> str:
    site = SmallSite({"index.html": HEAD + link + "<p>x", "a.css": "p{margin:0}", "a.txt": "x"})
    content = site.rewrite(steps=(Step(BY_NAME["late-styles"], {}),), promise="words").content
    return "" if content is None else content.decode().removeprefix(HEAD).removesuffix("<p>x")


@pytest.mark.parametrize(
    "link",
    [
        "<link rel=stylesheet media=print href=a.css onload=\"this.media='all'\">",
        "<link rel=stylesheet media=print href=a.css onload=\"this.onload=null; this.media='all';\">",
        "<link rel=stylesheet media=print href=a.css onload=\"if(media!='all')media='all'\">",
        "<link rel=preload as=style href=a.css onload=\"this.onload=null;this.rel='stylesheet'\">",
        "<link rel=preload as=style href=a.css onload=\"this.rel='stylesheet';this.removeAttribute('onload')\">",
    ],
)
def test_a_sheet_that_its_handler_applies_is_applied(link: str) -> None:
    assert rewritten(link) == "<link rel=stylesheet href=a.css>"


def test_the_medium_is_that_of_the_handler() -> None:
    link = "<link rel=stylesheet media=print href=a.css onload=\"this.media='screen'\">"
    assert rewritten(link) == "<link rel=stylesheet media=screen href=a.css>"


@pytest.mark.parametrize(
    "link",
    [
        "<link rel=stylesheet href=a.css onload=loaded()>",
        "<link rel=stylesheet media=print href=a.css onload=\"this.media='all';loaded()\">",
        "<link rel=preload as=style href=a.css onload=loaded()>",
        "<link rel=preload as=script href=a.css onload=\"this.rel='stylesheet'\">",
        "<link rel=stylesheet media=print href=https://cdn.example/a.css onload=\"this.media='all'\">",
        "<link rel=stylesheet media=print href=a.txt onload=\"this.media='all'\">",
        "<noscript><link rel=stylesheet media=print href=a.css onload=\"this.media='all'\"></noscript>",
    ],
)
def test_any_other_handler_or_sheet_stays(link: str) -> None:
    assert rewritten(link) == ""
