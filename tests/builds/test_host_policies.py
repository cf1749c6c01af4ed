"""Header fields that the files of hosts set bind pages as the markup does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.samples.drawn import drawing, encoded, photo
from tests.sites.built import BuiltSite

LEVELS = {"build__levels": ("full", "lossless", "moderate", "web", "unhydrated", "extreme")}
STYLE = "h1 { color: green }\n"
INLINE = "document.title += '!' ;  // twice\n"
PAGE = f"""<!DOCTYPE html><html lang=en><meta charset=utf-8><title>A</title><link rel=stylesheet href=/s.css>
<body><main><h1>Title</h1><img src=/i.png alt=i width=20 height=20><p>{"words and more words " * 30}</p></main>
<script>{INLINE}</script><script src=/a.js></script>"""
FILES: dict[str, str | bytes] = {
    "index.html": PAGE,
    "free/index.html": PAGE,
    "s.css": STYLE,
    "a.js": "document.body.title = 'a'\n",
    "i.png": encoded(drawing(16)),
}
STRICT = "default-src 'self'"
KEYS = [{"key": "Content-Security-Policy", "value": STRICT}]
HOSTS = {
    "_headers": f"/\n  Content-Security-Policy: {STRICT}\n",
    "netlify.toml": f'[[headers]]\nfor = "/index.html"\n[headers.values]\nContent-Security-Policy = "{STRICT}"\n',
    "vercel.json": json.dumps({"headers": [{"source": "/((?!free).*)", "headers": KEYS}]}),
    "firebase.json": json.dumps({"hosting": {"headers": [{"source": "*.html", "headers": KEYS}]}}),
    "serve.json": json.dumps({"headers": [{"source": "!(free)", "headers": KEYS}]}),
    "staticwebapp.config.json": json.dumps(
        {
            "globalHeaders": {"content-security-policy": STRICT},
            "routes": [{"route": "/free/*", "headers": {"content-security-policy": ""}}],
        }
    ),
    ".htaccess": f'<Files index.html>\nHeader set Content-Security-Policy "{STRICT}"\n</Files>\n',
}


def pages(site: BuiltSite, name: str) -> dict[str, str]:
    files = {level: site.output / level / "id" / name for level in LEVELS["build__levels"]}
    return {level: file.read_text() for level, file in files.items() if level != "full"}


def is_strict(page: str) -> bool:
    """Whether a page would work under ``STRICT``: nothing of its files is in it."""
    return "<style" not in page and "data:" not in page and "'a'" not in page


@pytest.mark.parametrize("name", HOSTS)
def test_a_policy_of_a_host_binds_the_pages_that_it_matches(tmp_path: Path, name: str) -> None:
    site = BuiltSite(tmp_path).write({**FILES, name: HOSTS[name]})
    site.build(**LEVELS)
    bound = pages(site, "index.html")
    assert all(is_strict(page) for level, page in bound.items() if level not in ("extreme", "text"))
    assert INLINE in bound["lossless"]
    if name != ".htaccess":  # which binds every page of this name
        assert not is_strict(pages(site, "free/index.html")["lossless"])


def test_a_policy_that_changes_makes_pages_outdated(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write({**FILES, "_headers": "/*\n  X-Frame-Options: DENY\n"})
    site.build(**LEVELS)
    assert not is_strict(pages(site, "index.html")["lossless"])
    assert site.built(**LEVELS) == {}
    site.write({"_headers": "/*\n  X-Frame-Options: SAMEORIGIN\n"})
    assert not any(name.endswith(".html") for name in site.built(**LEVELS))
    site.write({".htaccess": HOSTS[".htaccess"].replace("<Files index.html>\n", "").replace("</Files>\n", "")})
    built = site.built(**LEVELS)
    assert built["lossless/index.html"] == "DecisionChanged"
    assert is_strict(pages(site, "index.html")["lossless"]) and site.built(**LEVELS) == {}
    site.remove(".htaccess")
    assert site.built(**LEVELS)["lossless/index.html"] == "DecisionChanged"


def test_a_policy_that_allows_everything_changes_nothing(tmp_path: Path) -> None:
    policy = "default-src 'self' 'unsafe-inline' data:; frame-ancestors 'none'"
    site = BuiltSite(tmp_path).write({**FILES, "_headers": f"/*\n  Content-Security-Policy: {policy}\n"})
    other = BuiltSite(tmp_path / "other").write(FILES)
    for each in (site, other):
        each.build(**LEVELS)
    assert pages(site, "index.html") == pages(other, "index.html")


def test_a_sheet_that_a_host_does_not_send_as_one_stays_a_file(tmp_path: Path) -> None:
    plain = "/css/*\n  Content-Type: text/plain\n"
    page = PAGE.replace("/s.css", "/css/s.css")
    site = BuiltSite(tmp_path).write({**FILES, "index.html": page, "css/s.css": STYLE, "_headers": plain})
    site.build(**LEVELS)
    assert "href=/css/s.css" in pages(site, "index.html")["lossless"]
    site.write({"_headers": plain.replace("plain", "css")})
    site.build(**LEVELS)
    assert "<style" in pages(site, "index.html")["lossless"]


def test_what_a_link_field_preloads_stays_a_file(tmp_path: Path) -> None:
    link = '/*\n  Link: </s.css>; rel=preload; as=style, </a.js>; rel="preload"; as=script, </x>; rel=next\n'
    link += "  Link: </i.png>; rel=preload; as=image, </b.jpg>; rel=preload; as=image\n"
    page = PAGE.replace("<p>", "<img src=/b.jpg alt=b width=720 height=480><p>")
    photograph = encoded(photo(720, 480), "JPEG", quality=95)
    site = BuiltSite(tmp_path).write({**FILES, "index.html": page, "b.jpg": photograph, "_headers": link})
    site.build(**LEVELS)
    for level, page in pages(site, "index.html").items():
        if level not in ("extreme", "text"):
            assert all(each in page for each in ("/s.css", "/a.js", "src=/b.jpg")), level


@pytest.mark.parametrize(
    ("declared", "label", "is_inlined"), [("", "koi8-r", False), ("utf-8", "koi8-r", False), ("koi8-r", "koi8-r", True)]
)
def test_the_encoding_of_a_header_field_is_that_of_the_page(
    tmp_path: Path, declared: str, label: str, is_inlined: bool
) -> None:
    meta = f"<meta charset={declared}>" if declared else ""
    page = f"<!doctype html>{meta}<title>\u0416</title><link rel=stylesheet href=s.css>  <p class=a>\u0436 \u2500 words"
    files: dict[str, str | bytes] = {
        "index.html": page.encode("koi8-r"),
        "s.css": '@charset "utf-8";p::before{content:"\u0436"}',
        "_headers": f"/*.html\n  Content-Type: text/html; charset={label}\n",
    }
    site = BuiltSite(tmp_path).write(files)
    site.build(build__levels=("full", "lossless"))
    built = (site.output / "lossless/id/index.html").read_bytes().decode("koi8-r")
    assert "\u0436 \u2500 words" in built and "<title>\u0416</title>" in built
    assert ("<style" in built) is is_inlined
    assert '"\u0436"' in built or not is_inlined
