"""What a link is, which sheets apply, what classes an element has, and what a control does: as Chromium has it."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

from tests.servers.browser import Browser, serving

from adaptc.core.model import Role
from adaptc.formats.html.document import parse
from adaptc.formats.html.forms import control_type, find_forms
from adaptc.formats.html.links import (
    applied_in_page,
    applies_to_screen,
    applies_unconditionally,
    is_style_sheet,
    link_role,
    preloads,
    rel_tokens,
    screen_medium,
)
from adaptc.formats.html.syntax import class_names, class_words

_RED = 'href="data:text/css,p{color:red}"'
_NONE = 'href="data:text/css,"'
_STYLE = "p{color:red}</style>"
# Sheets, and whether the paragraph of the page is red with them on a screen
SHEETS = {
    f"<link rel=stylesheet {_RED}>": True,
    f"<link rel=STYLESHEET {_RED}>": True,
    f'<link rel="next\fstylesheet" {_RED}>': True,
    f'<link rel="stylesheet\vnext" {_RED}>': False,
    f'<link rel="stylesheet\xa0next" {_RED}>': False,
    f'<link rel="stylesheet\x1fnext" {_RED}>': False,
    f"<link rel=stylesheet/less {_RED}>": False,
    f'<link rel="icon stylesheet" {_RED}>': True,
    f'<link rel="preload stylesheet" as=style {_RED}>': True,
    f'<link rel="alternate stylesheet" title=a {_RED}>': False,
    f'<link rel="alternate stylesheet" title="" {_RED}>': False,
    f'<link rel="alternate stylesheet" {_RED}>': False,
    f'<link rel="alternate stylesheet" title=a {_RED}><link rel=stylesheet title=a {_NONE}>': True,
    f"<link rel=stylesheet title=a {_RED}>": True,
    f"<link rel=stylesheet title=b {_NONE}><link rel=stylesheet title=a {_RED}>": False,
    f"<link rel=stylesheet title=b media=print {_NONE}><link rel=stylesheet title=a {_RED}>": False,
    f"<link rel=stylesheet title=b disabled {_NONE}><link rel=stylesheet title=a {_RED}>": True,
    f'<link rel="alternate stylesheet" title=b {_NONE}><link rel=stylesheet title=a {_RED}>': True,
    f"<link rel=stylesheet title=b type=text/less {_NONE}><link rel=stylesheet title=a {_RED}>": True,
    f"<link rel=stylesheet title=b><link rel=stylesheet title=a {_RED}>": True,
    f"<link rel=stylesheet title=b {_NONE}><style title=a>{_STYLE}": False,
    f"<link rel=stylesheet disabled {_RED}>": False,
    f"<link rel=stylesheet disabled=false {_RED}>": False,
    f"<style disabled>{_STYLE}": True,
    f"<link rel=stylesheet type=text/less {_RED}>": False,
    f'<link rel=stylesheet type="" {_RED}>': True,
    f'<link rel=stylesheet type=" TEXT/CSS " {_RED}>': True,
    f'<link rel=stylesheet type="text/css; charset=utf-8" {_RED}>': True,
    f"<style type=text/less>{_STYLE}": False,
    f'<style type="">{_STYLE}': True,
    f"<style type=TEXT/CSS>{_STYLE}": True,
    f'<style type=" text/css ">{_STYLE}': False,
    f'<style type="text/css; charset=utf-8">{_STYLE}': False,
    f"<link rel=stylesheet media=print {_RED}>": False,
    f'<link rel=stylesheet media=" SCREEN " {_RED}>': True,
    f'<link rel=stylesheet media="print, screen" {_RED}>': True,
    f'<link rel=stylesheet media="not print" {_RED}>': True,
    f'<link rel=stylesheet media="not screen" {_RED}>': False,
    f'<link rel=stylesheet media="not all" {_RED}>': False,
    f"<link rel=stylesheet media=tv {_RED}>": False,
    f"<link rel=stylesheet media=speech {_RED}>": False,
    f"<style media=print>{_STYLE}": False,
    f'<style media="only screen">{_STYLE}': True,
    f"<link rel=stylesheet media=print onload=\"this.media='all'\" {_RED}>": True,
    f"<template><style>{_STYLE}</template>": False,
}
# The values of class, and whether one of the classes is "a"
CLASSES = {"a": True, "b\ta\nc": True, "a\fb": True, "a\vb": False, "a\xa0b": False, "a\x1cb": False, "A": False}
# Controls and their types
CONTROLS = {
    "<button>": "submit",
    "<button type>": "submit",
    "<button type=menu>": "submit",
    '<button type=" button ">': "submit",
    "<button type=Button>": "button",
    "<button type=reset>": "reset",
    "<input>": "text",
    "<input type=menu>": "text",
    '<input type=" button">': "text",
    "<input type=HIDDEN>": "hidden",
}


@pytest.mark.parametrize("markup", SHEETS)
def test_sheets_that_apply_to_a_screen(markup: str) -> None:
    tree = parse(f"<!doctype html>{markup}<p>a")
    sheets = [each for each in applied_in_page(tree) if applies_to_screen(each)]
    is_red = any("color:red" in (each.attr("href") or each.text) for each in sheets)
    assert is_red == SHEETS[markup]


@pytest.mark.parametrize("value", CLASSES)
def test_classes_are_separated_by_ascii_white_space(value: str) -> None:
    element = parse(f'<p class="{value}">').select_one("p")
    assert element is not None
    assert ("a" in class_names(element)) == CLASSES[value]


@pytest.mark.parametrize("markup", CONTROLS)
def test_types_of_controls(markup: str) -> None:
    control = parse(markup).select_one("button, input")
    assert control is not None
    assert control_type(control) == CONTROLS[markup]


_SCRIPT = """JSON.stringify([...document.querySelectorAll('iframe')].map(({contentWindow: page}) =>
  [getComputedStyle.call(page, page.document.querySelector('p')).color === 'rgb(255, 0, 0)',
   page.document.querySelector('button, input')?.type ?? null]))"""


@pytest.mark.chromium
def test_the_tables_are_what_a_browser_does(browser: Browser, tmp_path: Path) -> None:
    pages = [f"{markup}<p>a" for markup in SHEETS]
    pages += [f'<style>.a{{color:red}}</style><p class="{value}">a' for value in CLASSES]
    pages += [f"<p>{markup}" for markup in CONTROLS]
    frames = (f'<iframe srcdoc="{html.escape("<!doctype html>" + page)}"></iframe>' for page in pages)
    (tmp_path / "index.html").write_text("<!doctype html><meta charset=utf-8>" + "".join(frames), encoding="utf-8")
    with serving(tmp_path) as base:
        browser.view(base + "index.html")
        found = json.loads(browser.evaluate(_SCRIPT))
    tables = [*((is_red, None) for is_red in (*SHEETS.values(), *CLASSES.values()))]
    expected = [*tables, *((False, kind) for kind in CONTROLS.values())]
    assert dict(zip(pages, map(tuple, found), strict=True)) == dict(zip(pages, expected, strict=True))


@pytest.mark.parametrize(
    ("markup", "is_unconditional"),
    [
        ('<link rel=stylesheet type=text/css href="a.css">', True),
        ('<link rel=stylesheet media=" ALL " href="a.css">', True),
        ('<link rel=stylesheet media=screen href="a.css">', False),
        ('<link rel=stylesheet title=a href="a.css">', False),
        ('<link rel=stylesheet onload="a()" href="a.css">', False),
        ('<link rel=stylesheet disabled href="a.css">', False),
        ('<link rel="alternate stylesheet" href="a.css">', False),
        ("<link rel=stylesheet>", False),
        ("<style>a{}</style>", True),
        ("<style type=text/less>a{}</style>", False),
    ],
)
def test_sheets_that_apply_unconditionally(markup: str, is_unconditional: bool) -> None:
    element = parse(markup).select("link, style")[0]
    assert applies_unconditionally(element) == is_unconditional


@pytest.mark.parametrize(
    ("markup", "tokens", "role"),
    [
        ("<link>", frozenset(), Role.META),
        ('<link rel="Shortcut  ICON">', frozenset({"shortcut", "icon"}), Role.ICON),
        ('<link rel="alternate\nstylesheet">', frozenset({"alternate", "stylesheet"}), Role.STYLESHEET),
        ('<link rel="stylesheet\xa0icon">', frozenset({"stylesheet\xa0icon"}), Role.META),
        ('<link rel="preload icon">', frozenset({"preload", "icon"}), Role.ICON),
        ('<link rel="mas\u212a-icon">', frozenset({"mas\u212a-icon"}), Role.META),
    ],
)
def test_link_types(markup: str, tokens: frozenset[str], role: Role) -> None:
    link = parse(markup).select("link")[0]
    assert (rel_tokens(link), link_role(link)) == (tokens, role)


def test_a_preload_is_for_its_destination() -> None:
    link = parse("<link rel=PRELOAD as=Image href=a.png>").select("link")[0]
    assert (preloads(link, "image"), preloads(link, "font"), is_style_sheet(link)) == (True, False, False)


@pytest.mark.parametrize(
    ("attributes", "medium"),
    [
        ("", ""),
        ("media=' Screen '", ""),
        ("media=ALL", ""),
        ("media='(min-width: 40em)'", "(min-width: 40em)"),
        ("media=print onload=\"this.media='all'\"", ""),
        ('media=print onload="a()"', "print"),
    ],
)
def test_the_medium_once_a_sheet_is_loaded(attributes: str, medium: str) -> None:
    assert screen_medium(parse(f"<link rel=stylesheet {attributes}>").select("link")[0]) == medium


def test_words_of_class_and_id() -> None:
    element = parse('<p class="mainNav HTMLParser-2" id=top_bar>').select("p")[0]
    assert class_words(element) == ("main", "nav", "html", "parser", "2", "top", "bar")


@pytest.mark.parametrize(
    ("markup", "has_effect"),
    [
        ("<form action=/a><input name=b>{}</form>", {"": True, "type=reset": True, "type=button": False}),
        ("<form action='javascript:a()'><input name=b>{}</form>", {"": False, "popovertarget=c": True}),
        ("<form id=f action=/a><input name=b></form>{}", {"": False, "form=f": True, "form=f type=button": False}),
        ("{}", {"": False, "type=submit": False, "commandfor=c": True, "onclick=a()": False}),
    ],
)
def test_buttons_that_do_something_without_scripts(markup: str, has_effect: dict[str, bool]) -> None:
    found = {}
    for attributes in has_effect:
        tree = parse(markup.format(f"<button {attributes}>a</button>"))
        found[attributes] = find_forms(tree).has_effect(tree.select("button")[0])
    assert found == has_effect
