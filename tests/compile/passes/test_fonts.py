"""fonts and page-fonts: fonts for text go, icons stay."""

from __future__ import annotations

import pytest

from tests.sites.small import SmallSite

from adaptc.compile.passes.fonts import reduce_sheet_fonts
from adaptc.compile.pipeline import BY_NAME, Step
from adaptc.compile.view import Asset, Settings

TEXT = "@font-face{font-family:Lato;src:url(lato.woff2)}"
ICONS = "@font-face{font-family:FontAwesome;src:url(fa.woff2)}"
USE = "p{font-family:Lato,serif}"
HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"
FILES = {"a.css": TEXT + USE, "lato.woff2": "x", "fa.woff2": "x"}


def sheet(content, keep=(), which="all"):
    site = SmallSite({"a.css": content})
    outcome = reduce_sheet_fonts(
        Asset("a.css", "text/css", site.contents["a.css"]), site.view(), {"keep": keep, "which": which}
    )
    return outcome.content, [action.reason for action in outcome.actions]


def test_faces_for_text_go_and_the_family_falls_back():
    assert sheet(TEXT + ICONS + USE) == ((ICONS + USE).encode(), ["1 faces for text"])


def test_families_stay_on_request():
    assert sheet(TEXT + USE, keep=("LATO",)) == (None, [])


def test_of_foreign_fonts_those_of_the_site_stay():
    there = "@font-face{font-family:Faraway;src:url(https://fonts.example/f.woff2)}"
    mixed = "@font-face{font-family:Mixed;src:url(//fonts.example/f.woff2),url(f.woff)}"
    local = "@font-face{font-family:Local;src:local(Arial)}"
    assert sheet(TEXT + there + mixed + local + USE, which="foreign")[0] == (TEXT + mixed + local + USE).encode()


def test_imports_from_services_go_but_for_icons():
    icons = '@import "https://fonts.googleapis.com/icon?family=Material+Icons";'
    text = "@import url(https://fonts.googleapis.com/css?family=Lato);"
    assert sheet(text + icons + USE)[0] == (icons + USE).encode()


def test_a_sheet_in_another_encoding_stays():
    assert sheet(b"\xe9" + TEXT.encode()) == (None, ["it is not UTF-8"])


def page(head, **site):
    files = {"index.html": f"{HEAD}{head}<body><p>text", **FILES}
    done = SmallSite(files, **site).rewrite(
        steps=(Step(BY_NAME["page-fonts"], {"keep": (), "which": "all"}),), promise="words"
    )
    assert not done.demoted, done.diagnostics
    return (files["index.html"].encode() if done.content is None else done.content).decode()


@pytest.mark.parametrize(
    ("head", "left"),
    [
        (f"<style>{TEXT}{USE}</style>", f"<style>{USE}</style>"),
        (f"<style>{ICONS}</style>", f"<style>{ICONS}</style>"),
        ("<link rel=stylesheet href=//fonts.googleapis.com/css?family=Lato>", ""),
        ("<link rel=preload as=font href=lato.woff2>", ""),
        (f"<style>{ICONS}</style><link rel=preload as=font href=fa.woff2>", None),
        ("<link rel=stylesheet href=//fonts.googleapis.com/icon?family=Material+Icons>", None),
        (f"<template><style>{TEXT}</style></template>", None),
    ],
)
def test_what_goes_and_what_stays(head, left):
    assert page(head) == f"{HEAD}{head if left is None else left}<body><p>text"


@pytest.mark.parametrize("settings", [Settings(csp="default-src 'self'")])
def test_under_a_policy_all_stays(settings):
    head = f"<style>{TEXT}</style>"
    assert head in page(head, settings=settings)
