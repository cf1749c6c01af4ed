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


ELSEWHERE = SWITCHED.format("https://cdn.example/a.css", "all")


@pytest.mark.parametrize(
    "markup",
    [
        SWITCHED.format("a.css", "all") + ELSEWHERE + SWITCH,  # the script is needed
        SWITCH + SWITCHED.format("a.css", "all"),  # it does not see what comes after it
    ],
)
def test_links_stay_with_a_script_that_one_of_them_needs_and_after_it(markup: str) -> None:
    assert markup.replace(SWITCH, "") in (rewritten(markup) or markup).replace(SWITCH, "")


def test_a_sheet_with_its_medium_moves_into_the_page() -> None:
    """The script does not count as one that looks for sheets."""
    files = {"index.html": HEAD + SWITCHED.format("a.css", "all") + SWITCH + "<p>x", "a.css": "p{margin:0}"}
    steps = (Step(BY_NAME["late-styles"], {}), Step(BY_NAME["used-styles"], {}))
    content = SmallSite(files).rewrite(steps=steps, promise="words").content
    assert content == f"{HEAD}<style>p{{margin:0}}</style><p>x".encode()


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
