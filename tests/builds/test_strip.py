"""Builds of levels that ask what images are for: what they depend on, and what changes when the site does."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.sites.built import BuiltSite
from tests.sites.stripped import IMAGES, picture

import adaptc
from adaptc.core.diagnostics import UsageError
from adaptc.workflow.configuration import load_config

LEVELS = ("full", "stripped")
OWN_LEVEL = """
[levels.stripped]
number = 2
promise = "words"
passes = ["strip-sheets", "strip"]
"""
FILLER = "<p>Enough words for the page to be one, again and again and again and again.</p>" * 3


def page(*images: str, sheet: str = "") -> str:
    shown = "".join(f'<p><img src="/i/{name}" alt=""> It is as the words beside it say.</p>' for name in images)
    link = f'<link rel=stylesheet href="/{sheet}">' if sheet else ""
    return f"<!DOCTYPE html><html><head><title>T</title>{link}</head><body>{FILLER}{shown}</body></html>"


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    return BuiltSite(tmp_path).write(IMAGES)


def build(site: BuiltSite, settings: str = "") -> adaptc.BuildResult:
    file = site.root / "adaptc.toml"
    file.write_text(OWN_LEVEL + settings)
    chosen = {"docroot": site.docroot, "output": site.output, "build.effort": "fast", "build.jobs": 1}
    return adaptc.build(load_config(file, {**chosen, "build.levels": LEVELS}), isolated=False)


def built(site: BuiltSite, settings: str = "") -> dict[str, str]:
    """Build; return the reason for each unit of the level that strips."""
    reasons = build(site, settings).built
    return {path: str(reason) for (level, path), reason in reasons.items() if level == "stripped"}


def is_stripped(site: BuiltSite, path: str, image: str) -> bool:
    return image.encode() not in site.read(path, "stripped")


def test_the_build_strips(site: BuiltSite) -> None:
    site.write({"a.html": page("note.png", sheet="s.css"), "s.css": "body { background: url(i/light-bg.png) }"})
    build(site)
    assert is_stripped(site, "a.html", "note.png")
    assert site.read("s.css", "stripped") == b"body { background: none #fffff0 }"


def test_an_image_that_changes_is_looked_at_again(site: BuiltSite) -> None:
    site.write({"a.html": page("note.png"), "b.html": page("bg.png")})
    build(site)
    site.write({"i/note.png": picture(640, 480, "red")})
    assert set(built(site)) == {"a.html", "i/note.png"}


def test_pages_that_come_turn_what_a_file_is_to_the_site(site: BuiltSite) -> None:
    """A file that one page of five uses counts against being decoration; on half of the pages it counts for it."""
    plain = {f"{name}.html": page() for name in "bcde"}
    site.write({"a.html": page("note.png"), **plain})
    build(site)
    assert built(site) == {}
    site.write({"b.html": page("note.png"), "c.html": page("note.png")})
    assert built(site) == {
        "a.html": "the decision about i/note.png changed",
        "b.html": "its source changed",
        "c.html": "its source changed",
    }
    site.write({"f.html": page()})  # the figures change, and nothing that follows from them
    assert set(built(site)) == {"f.html"}


def test_a_level_that_asks_nothing_has_no_decisions_about_images(site: BuiltSite) -> None:
    site.write({f"{name}.html": page("photo.png") for name in "abcd"})
    site.build(build__levels=("full", "halfres"))
    site.write({"e.html": page(), "f.html": page()})
    assert not [reason for reason in site.built(build__levels=("full", "halfres")).values() if "Decision" in reason]


def test_the_users_rules_are_a_part_of_the_recipe(site: BuiltSite) -> None:
    site.write({"a.html": page("note.png"), "b.html": page("photo.png")})
    build(site)
    keep = '[decorations]\nkeep = ["*/note.png"]\n'
    assert set(built(site, keep)) >= {"a.html", "b.html"}
    assert not is_stripped(site, "a.html", "note.png")
    drop = '[decorations]\ndrop = ["##img[src*=photo]"]\nrules = "own.toml"\n'
    (site.root / "own.toml").write_text('[[keep]]\nurl = "*/note.png"\n')
    build(site, drop)
    assert is_stripped(site, "b.html", "photo.png")
    assert not is_stripped(site, "a.html", "note.png")
    (site.root / "own.toml").write_text("")
    build(site, drop)
    assert is_stripped(site, "a.html", "note.png")


def test_a_selector_that_cannot_be_read_is_a_mistake_of_the_user(site: BuiltSite) -> None:
    with pytest.raises(UsageError, match=r"adaptc\.toml:\d+: decorations\.keep has ##img\[: ") as caught:
        build(site, '[decorations]\nkeep = ["##img["]\n')
    assert str(caught.value).splitlines()[0].count("decorations.keep") == 1


# ---- any history


_PAGES = [f"{name}.html" for name in "abcdefg"]
_SHOWN = ["note.png", "photo.png", "bg.png", "logo.png", "spacer.gif"]
_RULES = ["body { background: url(i/light-bg.png) }", "h1 { background: url(i/bg.png) repeat-x }", "p { top: 0 }"]


def _edit(chosen: random.Random, site: BuiltSite) -> None:
    path = chosen.choice(_PAGES)
    kind = chosen.randrange(5)
    if kind == 0 and (site.docroot / path).exists():
        site.remove(path)
    elif kind == 1:
        site.write({"s.css": "\n".join(chosen.sample(_RULES, 2))})
    elif kind == 2:
        site.write(
            {f"i/{chosen.choice(_SHOWN)}": picture(chosen.choice([8, 40, 300]), 30, chosen.choice(["red", "ivory"]))}
        )
    else:
        shown = chosen.choices(_SHOWN, k=chosen.randrange(4))
        site.write({path: page(*shown, sheet=chosen.choice(["", "s.css"]))})


@pytest.mark.parametrize("seed", range(2))
def test_a_history_of_edits_ends_like_a_clean_build(site: BuiltSite, seed: int) -> None:
    chosen = random.Random(seed)
    site.write({"s.css": _RULES[0]} | {path: page("note.png") for path in _PAGES[:4]})
    for _ in range(8):
        for _ in range(chosen.randrange(1, 4)):
            _edit(chosen, site)
        result = build(site)
        clean = site.clean()
        assert result.diagnostics == build(clean).diagnostics
        assert site.trees() == clean.trees()
        assert built(site) == {}
