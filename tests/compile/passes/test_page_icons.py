"""page-icons: of the icons for tabs and bookmarks one stays, in the page if it is small."""

from __future__ import annotations

import base64
import re
from io import BytesIO

import pytest
from PIL import Image

from tests.sites.small import SmallSite

from adaptc.compile.pipeline import BY_NAME, Step
from adaptc.compile.view import Settings

HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"
FILES = {"a.png": b"\x89PNG\r\n\x1a\n" + b"a" * 40, "b.png": b"\x89PNG\r\n\x1a\n" + b"b" * 900, "f.ico": b"\0\0\1\0"}
SMALL = "<link rel=icon href=a.png sizes=16x16>"
LARGE = "<link rel='shortcut icon' href=b.png>"
TOUCH = "<link rel=apple-touch-icon href=b.png>"


def made(head, csp=None, largest=500, files=None):
    contents = {"index.html": f"{HEAD}{head}<body><p>text", **FILES, **(files or {})}
    site = SmallSite(contents, settings=Settings(csp=csp))
    done = site.rewrite(steps=(Step(BY_NAME["page-icons"], {"largest": largest}),), promise="words")
    assert not done.demoted, done.diagnostics
    text = (site.contents["index.html"] if done.content is None else done.content).decode()
    return text[len(HEAD) : text.index("<body")]


def test_the_smallest_icon_moves_into_the_page_and_the_others_are_removed():
    text = made(LARGE + SMALL + TOUCH)
    assert text.count("<link") == 1
    assert "sizes=16x16" in text
    assert "data:image/png;base64," in text


def test_a_large_icon_stays_a_file():
    assert made(LARGE) == LARGE


def test_icons_of_telephones_go_even_where_there_is_no_other():
    assert made(TOUCH) == ""


@pytest.mark.parametrize(
    "icons",
    [
        "<link rel=icon href=a.png media='(prefers-color-scheme:dark)'><link rel=icon href=b.png>",
        "<link rel=icon href=https://x.example/b.png><link rel=icon href=missing.png>",
        "<link rel=icon href=f.ico>",
        "<link rel=manifest href=m.json>",
    ],
)
def test_icons_stay_that_are_a_set_or_not_understood(icons):
    assert made(icons) == icons


def test_under_a_policy_nothing_becomes_a_data_uri():
    assert made(SMALL + LARGE, csp="default-src 'self'") == SMALL


def test_icons_of_other_sites_and_missing_ones_go_where_there_is_one_of_the_site():
    text = made("<link rel=icon href=https://x.example/b.png>" + SMALL + "<link rel=icon href=missing.png>")
    assert text.count("<link") == 1
    assert "data:image/png" in text


@pytest.mark.parametrize(("format_", "name"), [("ICO", "i.ico"), ("PNG", "i.png")])
def test_a_large_icon_becomes_one_for_a_tab(format_, name):
    output = BytesIO()
    picture = Image.radial_gradient("L").convert("RGBA")
    picture.save(output, format_, **({"sizes": [(16, 16), (48, 48), (256, 256)]} if format_ == "ICO" else {}))
    head = f"<link rel=icon sizes=any href={name}>"
    text = made(head, largest=2048, files={name: output.getvalue()})
    match = re.fullmatch(r'<link rel=icon( sizes=any)? href="?data:image/png;base64,([\w+/=]+)"?>', text)
    assert match
    assert Image.open(BytesIO(base64.b64decode(match[2]))).size == (32, 32)


@pytest.mark.parametrize("script", ["head({favicon: 'b.png'})", "</script><script type=module src=a.js>"])
def test_an_icon_stays_a_file_that_a_script_may_write_into_the_head_again(script):
    head = f"{LARGE}<script>{script}</script>"
    assert made(head, largest=5000, files={"a.js": "import './c.js'", "c.js": "head('/b.png')"}) == head
    assert "data:" in made(f"{LARGE}<script>head()</script>", largest=5000)


def test_icons_that_a_script_looks_for_stay():
    script = "<script>document.querySelector('link[rel=\"apple-touch-icon\"]').href = dark</script>"
    assert made(LARGE + SMALL + TOUCH + script).count("<link") == 3
    assert made(LARGE + SMALL + TOUCH + "<script>icon()</script>").count("<link") == 1
