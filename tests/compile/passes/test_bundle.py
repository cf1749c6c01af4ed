"""bundle: a page carries what it loads, and has the same in a sidecar file."""

from __future__ import annotations

import email
import gzip
from pathlib import Path

import pytest

from tests.sites.built import BuiltSite
from tests.sites.small import SmallSite

from adaptc.compile.pipeline import BY_NAME, Step

HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"
GIF = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"
URI = "data:image/gif;base64,R0lGODlhAQABAAAAADs="
FILES = {
    "css/a.css": "@font-face{font-family:F;src:url(f.woff2)}p{background:url(../i.gif);font-family:F}",
    "css/f.woff2": b"wOF2" + bytes(20),
    "i.gif": GIF,
    "a.js": "document.title+='!'",
}


def made(body, *, head="", limit=5_000_000, **site):
    files = {"index.html": f"{HEAD}{head}<body><p>text{body}", **FILES}
    done = SmallSite(files, **site).rewrite(steps=(Step(BY_NAME["bundle"], {"limit": limit}),))
    assert not done.demoted, done.diagnostics
    return (files["index.html"].encode() if done.content is None else done.content).decode(), done


def test_everything_moves_into_the_page_whatever_it_costs():
    head = "<link rel=icon href=i.gif><link rel=stylesheet href=css/a.css>"
    text, done = made("<img src=i.gif><b style='background:url(i.gif)'>x</b><script src=a.js></script>", head=head)
    assert "<script>document.title+='!'</script>" in text
    assert text.count(URI) == 4
    assert "url(data:font/woff2;base64,d09GMg" in text
    assert done.embeds == ()


def test_what_lossless_leaves_alone_stays():
    text, _ = made("<img ismap src=i.gif><img srcset='i.gif 1x'><script defer src=a.js></script>")
    assert "<img ismap src=i.gif><img srcset='i.gif 1x'><script defer src=a.js>" in text


def test_a_file_that_is_used_often_stays_a_file():
    big = GIF + bytes(40_000)
    files = {"index.html": f"{HEAD}<body><p>text" + "<img src=big.gif>" * 3, "big.gif": big}
    done = SmallSite(files).rewrite(steps=(Step(BY_NAME["bundle"], {"limit": 5_000_000}),))
    assert done.content is None


def test_a_page_with_too_many_bytes_to_bundle_is_reported():
    text, done = made("<img src=i.gif>", limit=10)
    assert "src=i.gif" in text
    assert [str(each) for each in done.diagnostics] == [
        f"index.html: note: is not bundled: its files have {len(GIF)} bytes, more than 10 [bundle-too-large]"
    ]


# ---- the sidecar file


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    page = HEAD + "<link rel=stylesheet href=css/a.css><p>text<img src=i.gif><iframe src=b.html></iframe>"
    return BuiltSite(tmp_path).write({"index.html": page, "b.html": HEAD + "<p>b", **FILES})


def parts(content: bytes) -> dict[str, bytes]:
    message = email.message_from_bytes(content)
    return {
        str(part["Content-Location"]): part.get_payload(decode=True)
        for part in message.walk()
        if not part.is_multipart()
    }


def test_the_file_holds_the_page_and_what_it_loads(site: BuiltSite) -> None:
    site.build(build__levels=["full", "bundle"], site__base_url="http://x.example/")
    contents = parts((site.output / "bundle/id/index.html.bundle").read_bytes())
    root = "http://x.example/"
    assert next(iter(contents)) in (root, root + "index.html")
    names = [url.removeprefix(root) for url in contents]
    assert names[1:] == ["css/a.css", "css/f.woff2", "i.gif", "b.html"]
    assert contents[root + "i.gif"] == GIF
    assert next(iter(contents.values())) == (site.docroot / "index.html").read_bytes()


def test_the_file_has_encodings_and_goes_with_its_page(site: BuiltSite) -> None:
    site.build(build__levels=["full", "bundle"])
    plain, packed = (site.output / f"bundle/{coding}/index.html.bundle" for coding in ("id", "gz"))
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    (site.docroot / "index.html").unlink()
    site.build(build__levels=["full", "bundle"])
    assert not plain.exists() and not packed.exists()


def test_the_file_follows_what_it_holds(site: BuiltSite) -> None:
    site.build(build__levels=["full", "bundle"])
    site.write({"css/f.woff2": b"wOF2" + b"\1" * 20})
    site.build(build__levels=["full", "bundle"])
    assert b"wOF2" + b"\1" * 20 in parts((site.output / "bundle/id/index.html.bundle").read_bytes()).values()


def test_a_name_that_the_site_uses_is_not_taken(site: BuiltSite) -> None:
    site.write({"b.html.bundle": "mine"})
    result = site.build(build__levels=["full", "bundle"])
    assert "bundle-name-taken" in {each.id for each in result.diagnostics}
    assert site.read("b.html.bundle", "bundle") == b"mine"
