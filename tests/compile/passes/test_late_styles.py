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


SWITCH = (
    "<script>document.querySelectorAll('link[data-beasties-media]').forEach(function(l)"
    "{l.media=l.getAttribute('data-beasties-media');l.removeAttribute('data-beasties-media')})</script>"
)
SWITCHED = "<link rel=stylesheet href={} media=print data-beasties-media={}>"


def test_a_sheet_to_which_a_script_gives_its_medium_is_applied() -> None:
    """Beasties in Angular 22."""
    assert rewritten(SWITCHED.format("a.css", "all") + SWITCH) == "<link rel=stylesheet href=a.css>"
    medium = rewritten(SWITCHED.format("a.css", "'(min-width: 9em)'") + SWITCH)
    assert medium == '<link rel=stylesheet href=a.css media="(min-width: 9em)">'


def test_the_script_stays_while_a_link_needs_it() -> None:
    elsewhere = SWITCHED.format("https://cdn.example/a.css", "all")
    assert rewritten(SWITCHED.format("a.css", "all") + elsewhere + SWITCH) == (
        "<link rel=stylesheet href=a.css>" + elsewhere + SWITCH
    )


@pytest.mark.parametrize(
    "script",
    [
        SWITCH.replace(".media=", ".title="),
        SWITCH.replace("})<", "});go()<"),
        SWITCH.replace("<script", "<script defer"),
    ],
)
def test_a_script_that_does_something_else_is_none(script: str) -> None:
    assert rewritten(SWITCHED.format("a.css", "all") + script) == ""


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
