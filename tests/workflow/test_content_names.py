"""``adaptc export --content-names``: what pages load gets names that change with it, and nothing leads elsewhere."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.samples.drawn import photo_file
from tests.servers.command import run_adaptc
from tests.sites.built import BuiltSite

from adaptc.compile.engine.reporting import Silent
from adaptc.core.diagnostics import UsageError
from adaptc.core.urls import Reach, SiteAddress, document_base
from adaptc.formats.codings import decode
from adaptc.formats.css.references import css_references
from adaptc.formats.html.document import parse
from adaptc.formats.html.references import base_href, references
from adaptc.workflow.export.export import Export, export_site
from adaptc.workflow.export.names import ContentNames

HEAD = "<!doctype html><html lang=en><meta charset=utf-8><title>T</title>"
WORDS = "<p>" + "words and words " * 60
SHEET = "body{background:url(../img/ground.png)}@font-face{font-family:a;src:url('../img/a.woff2')}h1{color:red}"
FILES: dict[str, str | bytes] = {
    "index.html": f"{HEAD}<link rel=stylesheet href=css/site.css><script src=js/plain.js defer></script>"
    "<script src=js/where.js></script><script type=module src=js/module.js></script>"
    f"<img src=img/photo.jpg srcset='img/photo.jpg 1x, img/large.jpg 2x' alt=p><img src=img/named.jpg alt=n>{WORDS}",
    "deep/page.html": f"{HEAD}<base href=../><link rel=stylesheet href=/css/site.css>"
    f"<img src=img/photo.jpg alt=p>{WORDS}",
    "policy.html": f"{HEAD}<meta http-equiv=content-security-policy content=\"img-src 'self' data:; style-src "
    f'https://cdn.example"><link rel=stylesheet href=css/base.css>{WORDS}',
    "shown.html": f"{HEAD}<pre class=brush><link rel=stylesheet href=css/shown.css></pre>{WORDS}",
    "css/shown.css": "h4{color:green}",
    "css/site.css": SHEET,
    "css/importing.css": "@import url(base.css);h2{color:red}",
    "css/base.css": "h3{color:blue}",
    "js/plain.js": "document.title += ' of a page'",
    "js/where.js": "const own = document.currentScript.src; fetch('data.json')",
    "js/module.js": "import './other.js'",
    "js/other.js": "console.log('other')",
    "data.json": '{"picture": "img/named.jpg"}',
    "img/photo.jpg": photo_file(300, 200),
    "img/large.jpg": photo_file(600, 400),
    "img/named.jpg": photo_file(310, 200),
    "img/ground.png": photo_file(60, 40, "PNG"),
    "img/a.woff2": b"no font at all",
}
LAYOUT = {"build__levels": ("full",), "build__effort": "fast"}
PLACE = re.compile(r"_adaptc/named/[0-9a-f]{8}/(.+)")


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    made = BuiltSite(tmp_path).write(FILES)
    made.build(**LAYOUT)
    return made


def export(site: BuiltSite, to: str = "public", encodings: str = "none", **options: bool) -> Export:
    options = {"content_names": True, **options}
    return export_site(site.config(**LAYOUT), "full", site.root / to, encodings, Silent(), **options)


def read(site: BuiltSite, name: str, to: str = "public") -> bytes:
    return (site.root / to / name).read_bytes()


def files(site: BuiltSite, to: str = "public") -> dict[str, bytes]:
    root = site.root / to
    return {os.fspath(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}


def targets(path: str, content: bytes) -> set[str]:
    """The files to which a page or a sheet of an export refers."""
    address, text = SiteAddress(""), content.decode()
    base, found = address.url_of(path), css_references(text) if path.endswith(".css") else ()
    if path.endswith(".html"):
        tree = parse(text)
        base, found = document_base(base, base_href(tree)), references(tree)
    resolved = [address.resolve(base, each.url) for each in found]
    return {each.path for each in resolved if each.reach is Reach.LOCAL}


def test_what_no_other_text_names_has_a_second_name_and_pages_refer_to_it(site: BuiltSite) -> None:
    done = export(site)
    assert set(done.names) == {
        "css/site.css", "img/photo.jpg", "img/large.jpg", "img/ground.png", "img/a.woff2", "js/plain.js"
    }  # fmt: skip
    found = files(site)
    assert found.keys() >= {*FILES, *done.names.values()}  # also under their own names
    for path, name in done.names.items():
        match = PLACE.fullmatch(name)
        assert match is not None and match[1] == path
        assert path.endswith(".css") or found[name] == found[path]
    used = targets("index.html", found["index.html"])
    expected = ("css/site.css", "js/plain.js", "img/photo.jpg", "img/large.jpg")
    assert used == {*(done.names[path] for path in expected), "js/where.js", "js/module.js", "img/named.jpg"}
    assert targets("deep/page.html", found["deep/page.html"]) == {
        done.names[p] for p in ("css/site.css", "img/photo.jpg")
    }
    moved = done.names["css/site.css"]
    assert targets(moved, found[moved]) == {done.names["img/ground.png"], done.names["img/a.woff2"]}


def test_every_reference_leads_to_a_file(site: BuiltSite) -> None:
    export(site)
    found = files(site)
    for path, content in found.items():
        if path.endswith((".html", ".css")):
            assert targets(path, content) <= found.keys(), path


def test_pages_whose_policy_forbids_the_name_or_that_show_it_and_sheets_that_import_stay(site: BuiltSite) -> None:
    export(site)
    export(site, "plain", content_names=False)
    for path in (
        "policy.html",
        "shown.html",
        "css/importing.css",
        "css/base.css",
        "css/site.css",
        "js/module.js",
        "data.json",
    ):
        assert read(site, path) == read(site, path, "plain")


def test_a_changed_file_has_another_name_and_so_does_the_sheet_that_uses_it(site: BuiltSite) -> None:
    before = export(site).names
    site.write({"img/ground.png": photo_file(64, 40, "PNG")})
    site.build(**LAYOUT)
    done = export(site)
    assert {path for path in before if before[path] != done.names[path]} == {"img/ground.png", "css/site.css"}
    assert before["css/site.css"] not in files(site)
    assert targets("index.html", read(site, "index.html")) >= {done.names["css/site.css"]}


def test_the_same_site_has_the_same_export_and_a_second_one_writes_nothing(site: BuiltSite) -> None:
    first = export(site)
    again = export(site)
    assert (again.written, again.kept, again.removed) == (0, first.written, 0)
    export(site, "other")
    assert files(site) == files(site, "other")
    export(site, content_names=False)
    assert not any(name.startswith("_adaptc/named/") for name in files(site))


def test_what_is_known_of_the_same_files_is_not_found_again(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    first = export(site)
    counted = list[str]()
    found = ContentNames._found
    monkeypatch.setattr(ContentNames, "_found", lambda self: counted.append("") or found(self))
    assert export(site, "other").names == first.names
    assert not counted
    site.write({"data.json": '{"picture": "img/photo.jpg"}'})
    site.build(**LAYOUT)
    assert "img/photo.jpg" not in export(site).names
    assert len(counted) == 1


def test_new_names_are_encoded_as_the_files_are(site: BuiltSite) -> None:
    done = export(site, encodings="suffix")
    for name in ("index.html", done.names["css/site.css"], done.names["js/plain.js"]):
        coded = [coding for coding in ("br", "gz", "zst") if (site.root / "public" / f"{name}.{coding}").exists()]
        assert coded or name.endswith(".js")  # which is too short
        for coding in coded:
            assert decode(read(site, f"{name}.{coding}"), coding, None) == read(site, name)


def test_a_file_whose_digest_is_written_somewhere_keeps_its_name(tmp_path: Path) -> None:
    made = BuiltSite(tmp_path).write(FILES)
    from base64 import b64encode
    from hashlib import sha256

    digest = b64encode(sha256(SHEET.encode()).digest()).decode()
    pinned = str(FILES["index.html"]).replace("href=css/", f"integrity=sha256-{digest} href=css/")
    made.write({"index.html": pinned})
    made.build(**LAYOUT)
    done = export(made)
    assert "css/site.css" not in done.names and "img/photo.jpg" in done.names


def test_what_a_sheet_that_stays_refers_to_is_loaded_under_one_name(tmp_path: Path) -> None:
    files = {
        "index.html": f"{HEAD}<link rel=stylesheet href=css/a.css><link rel=stylesheet href=css/b.css>"
        f"<script>theme = 'css/b.css'</script>{WORDS}",
        "css/a.css": "@font-face{font-family:a;src:url(../f.woff2)}h1{background:url(../a.png)}",
        "css/b.css": "@font-face{font-family:b;src:url(../f.woff2)}",
        "f.woff2": b"no font at all",
        "a.png": photo_file(60, 40, "PNG"),
    }
    made = BuiltSite(tmp_path).write(files)
    made.build(**LAYOUT)
    names = export(made).names
    assert set(names) == {"css/a.css", "a.png"}
    sheet = names["css/a.css"]
    assert targets(sheet, read(made, sheet)) == {names["a.png"], "f.woff2"}
    assert targets("css/b.css", read(made, "css/b.css")) == {"f.woff2"}


def test_hosts_hear_that_these_names_never_change(site: BuiltSite) -> None:
    export(site)
    assert read(site, "_headers").decode() == (
        "/_adaptc/named/*\n  Cache-Control: public, max-age=31536000, immutable\n"
    )


def test_what_does_not_go_together_is_refused(site: BuiltSite) -> None:
    with pytest.raises(UsageError, match="--ladder and --content-names do not go together"):
        export(site, ladder=True)
    site.write({"_adaptc/named/x.txt": "mine"})
    site.build(**LAYOUT)
    with pytest.raises(UsageError, match=r"the site has a file _adaptc/named/x\.txt of its own"):
        export(site)


def test_the_commands_say_the_names(tmp_path: Path) -> None:
    made = BuiltSite(tmp_path).write(FILES)
    options = ("--content-names", "--format", "json")
    command = ("-C", os.fspath(made.root))
    done = run_adaptc(*command, "web", "site", "public", "--no-browser", "--level", "full", *options)
    assert done.returncode == 0, done.stderr
    again = run_adaptc(*command, "export", "full", "public", "site", "--encodings", "none", *options)
    assert again.returncode == 0, again.stderr
    names = json.loads(again.stdout)["names"]
    assert PLACE.fullmatch(names["css/site.css"])
    assert (made.root / "public" / names["css/site.css"]).is_file()
