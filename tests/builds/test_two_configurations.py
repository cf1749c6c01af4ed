"""A build after another configuration gives what a clean build gives, and before it nothing is called fresh."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import pytest

from tests.samples.drawn import drawing, encoded
from tests.samples.seeds import seeds
from tests.sites.built import BuiltSite

from adaptc.core.diagnostics import UsageError
from adaptc.workflow.check.check import check

SETTINGS: dict[str, tuple[Any, ...]] = {
    "site__base_url": (None, "https://example.org/", "https://example.org/repo/"),
    "site__index": (("index.html", "index.htm"), ("start.html",)),
    "site__exclude": ((".git",), ("notes",)),
    "site__include_hidden": (False, True),
    "site__include": ((), ("notes.bak",)),
    "site__max_file_bytes": (256 << 20, 1500),
    "site__max_pixels": (100_000_000, 1000),
    "site__csp": (None, "img-src 'self'"),
    "site__ignore_directives": ((), ("all",)),
    "build__levels": (("full", "lossless"), ("full", "lossless", "moderate", "text"), ("moderate",)),
    "build__effort": ("fast", "default"),
    "build__identity": ("complete", "changed"),
    "codings__gz": (True, False),
    "codings__br": (True, False),
    "codings__zst": (True, False),
    "codings__dictionaries": (False, True),
    "codings__versions_back": (1, 0),
    "select__share": (0.7, 0.01),
    "cost__preset": ("http1", "http2"),
    "cost__request_ms": (0.83, 20.0),
    "cost__kilobyte_ms": (0.033, 5.0),
    "cost__pages_per_visit": (3.0, 1.0),
    "cost__warm_share": (0.3, 1.0),
    "cost__dictionary_share": (0.7, 0.0),
    "cost__data_uri_budget": (8192, 0),
    "cost__data_uri_max": (2048, 100),
    "serve__exclude": ((), ("/private/",)),
    "serve__prefix": (None, "/repo"),
    "serve__access": ("server", "trees"),
    "decorations__keep": ((), ("leaf.png",)),
    "decorations__drop": ((), ("##.used",)),
}
# Settings that name a file beside the site: its name, and its text
FILES = {
    "site__server_config": ("apache2.conf", "<Location /private>\nRequire valid-user\n</Location>\n"),
    "decorations__filters": ("filters.txt", "##.used\n"),
    "decorations__rules": ("rules.toml", '[[drop]]\nselector = "img"\n'),
    "select__logs": (
        "access.log",
        '192.0.2.1 - - [01/Jan/2026:00:00:00 +0000] "GET /start.html HTTP/1.1" 200 9 "-" "Mozilla/5.0"\n' * 9,
    ),
}
LISTS = ("decorations__filters", "select__logs")
# Changes of levels
OWN_LEVELS: tuple[dict[str, Any], ...] = (
    {},
    {"lossless": {"skip": ["markup"]}},
    {"moderate": {"skip": ["styles"]}, "lossless": {"styles": {"minify": False}}},
)
STYLE = "body { background: url(/repo/leaf.png) } .used { color: #ff0000 } .unused { color: #00ff00 }\n" * 6
PAGE = """<!DOCTYPE html><html lang=en><title>{0}</title><link rel=stylesheet href={1}style.css>
<h1 class=used>{0}</h1><p><a href="{1}private/">inside</a> <a href=start.html>start</a> <img src={1}leaf.png alt="">
<script>document.title += "!"</script>"""


def site_in(root: Path) -> BuiltSite:
    """A site that leads to its files with and without a prefix; directories have two pages that may be their index."""
    pages = {
        name: PAGE.format(name, prefix) + "<p>words and more words\n" * 40
        for name, prefix in (
            ("index.html", "/repo/"),
            ("start.html", "/"),
            ("private/index.html", "/repo/"),
            ("private/start.html", "../"),
            (".hidden/index.html", "/"),
        )
    }
    rules = {
        "private/.htaccess": "Require valid-user\n",
        "notes/a.txt": "notes\n" * 50,
        "notes.bak": "older notes\n" * 50,
    }
    return BuiltSite(root).write({**pages, **rules, "style.css": STYLE, "leaf.png": encoded(drawing())})


def drawn(chance: random.Random, root: Path) -> dict[str, Any]:
    """A configuration: few settings differ from the first of their values."""
    settings = {key: chance.choice(values) if chance.random() < 0.35 else values[0] for key, values in SETTINGS.items()}
    for key, (name, text) in FILES.items():
        if chance.random() < 0.15:
            (root / name).write_text(text)
            settings[key] = (str(root / name),) if key in LISTS else str(root / name)
    own = chance.choice(OWN_LEVELS)
    return {**settings, "levels": own} if own and chance.random() < 0.4 else settings


@pytest.mark.parametrize("seed", seeds(1, 2, 3, 4, 5))
def test_two_configurations_one_after_the_other(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    site = site_in(tmp_path)
    first, second = drawn(chance, tmp_path), drawn(chance, tmp_path)
    with contextlib.suppress(UsageError):
        site.build(**first)
    expected = site.clean()
    expected.build(**second)
    is_called_fresh = not check(site.config(**second), every_file=False).findings
    assert not is_called_fresh or _trees(site) == _trees(expected), (first, second)
    site.build(**second)
    assert {path for path, _ in _trees(site).items() ^ _trees(expected).items()} == set(), (first, second)
    assert site.built(**second) == {}


def _trees(site: BuiltSite) -> dict[str, bytes]:
    """What servers send: reports name directories and times."""
    return {path: content for path, content in site.trees().items() if "/" in path}
