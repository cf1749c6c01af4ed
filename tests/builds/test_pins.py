"""What a text of the site checks by a digest keeps its bytes and its name, at every level."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

from tests.samples.drawn import drawing, encoded, photo_file
from tests.sites.built import BuiltSite

from adaptc.compile.engine.reporting import Silent
from adaptc.formats.codings import decode
from adaptc.workflow.export.export import export_site

LEVELS = {"build__levels": ("full", "lossless", "moderate", "extreme", "text")}
SCRIPT = "// the application\nvar greeting = 'hello';\ndocument.title = greeting;\n"
STYLE = "/* colours */\n\nbody { color : black }\n\n"
PAGE = """<!DOCTYPE html>
<title>App</title>

<link rel=stylesheet href=s.css>
<p>Words   here</p><script src=a.js defer></script>
"""
FILES: dict[str, str | bytes] = {"a.js": SCRIPT, "s.css": STYLE, "i.png": encoded(drawing()), "index.html": PAGE}


def content(name: str) -> bytes:
    value = FILES[name]
    return value if isinstance(value, bytes) else value.encode()


def digest(name: str, algorithm: str = "sha1") -> str:
    return hashlib.new(algorithm, content(name)).hexdigest()


def integrity(name: str, algorithm: str = "sha384") -> str:
    return f"{algorithm}-{base64.b64encode(hashlib.new(algorithm, content(name)).digest()).decode()}"


def ngsw(names: tuple[str, ...]) -> str:
    return json.dumps({"configVersion": 1, "hashTable": {f"/{name}": digest(name) for name in names}})


ALL = tuple(FILES)
TABLES = {
    "ngsw.json": ngsw(ALL),
    "_framework/blazor.boot.json": json.dumps({"resources": {n: integrity(n, "sha256") for n in ALL}}),
    "service-worker-assets.js": "self.assetsManifest = "
    + json.dumps({"assets": [{"hash": integrity(n, "sha256"), "url": n} for n in ALL], "version": "8SRYRAjF"}),
    "runtime.js": "var sri=" + json.dumps({n: integrity(n) for n in ALL}),
    "sw.js": "precache([" + ",".join(f"{{url:'{n}',revision:'{digest(n, 'sha256')[:20]}'}}" for n in ALL) + "])",
    "_headers": "/*\n  Content-Security-Policy: script-src " + " ".join(f"'{integrity(n)}'" for n in ALL),
    "php.json": json.dumps([integrity(n, "sha512") for n in ALL]).replace("/", "\\/"),
    "import.html": "<script type=importmap>" + json.dumps({"integrity": {f"./{n}": integrity(n) for n in ALL}}),
}


def levels_of(site: BuiltSite, name: str) -> set[bytes]:
    files = [site.output / level / "id" / name for level in LEVELS["build__levels"]]
    return {file.read_bytes() for file in files if file.exists()}


TABLES |= {f"{name}.sha256": TABLES["ngsw.json"] for name in ("i.png", "font.woff2")}


@pytest.mark.parametrize("table", TABLES)
def test_files_with_digests_in_a_text_keep_their_bytes(tmp_path: Path, table: str) -> None:
    site = BuiltSite(tmp_path).write({**FILES, table: TABLES[table]})
    site.build(**LEVELS)
    assert {name: levels_of(site, name) for name in ALL} == {name: {content(name)} for name in ALL}
    assert not list(site.output.glob("*/webp/*")) and not list(site.output.glob("*/avif/*"))


def test_without_a_table_they_change(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write(FILES)
    site.build(**LEVELS)
    assert all(len(levels_of(site, name)) > 1 for name in ("a.js", "s.css", "index.html"))


def test_names_with_digests_and_queries_do_not_pin(tmp_path: Path) -> None:
    style = f"s.{digest('s.css', 'sha256')}.css"
    short = f"a.{digest('a.js', 'sha256')[:8]}.js"
    page = PAGE.replace("s.css", style).replace("a.js", f"{short}?v={digest('a.js')}")
    table = f'var names = {{1: "{digest("a.js", "sha256")[:8]}"}}'
    site = BuiltSite(tmp_path).write({"index.html": page, style: STYLE, short: SCRIPT, "names.js": table})
    site.build(**LEVELS)
    assert len(levels_of(site, style)) > 1 and len(levels_of(site, short)) > 1


def test_a_change_of_one_text_changes_what_is_pinned(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write({**FILES, "ngsw.json": ngsw(ALL)})
    result = site.build(**LEVELS)
    assert [each.id for each in result.diagnostics if "pinned" in each.id] == ["pinned-by-digest"]
    assert site.built(**LEVELS) == {}
    site.write({"ngsw.json": ngsw(("s.css",))})
    built = site.built(**LEVELS)
    assert built["lossless/a.js"] == built["lossless/index.html"] == "DecisionChanged"
    assert "lossless/s.css" not in built
    assert len(levels_of(site, "a.js")) > 1 and levels_of(site, "s.css") == {content("s.css")}
    clean = BuiltSite(tmp_path / "clean").write({**FILES, "ngsw.json": ngsw(("s.css",))})
    clean.build(**LEVELS)
    trees = [
        {name: file for name, file in each.trees().items() if not name.endswith((".html", ".json"))}
        for each in (site, clean)
    ]
    assert trees[0] == trees[1]
    site.remove("ngsw.json")
    site.build(**LEVELS)
    assert len(levels_of(site, "s.css")) > 1


def test_versions_and_lengths_that_may_not_fit_are_said(tmp_path: Path) -> None:
    flutter = "const RESOURCES = " + json.dumps({name: digest(name, "md5") for name in ("a.js", "s.css")})
    worker = "var files = [" + f"{{url: '/a.js?x', size: {len(content('a.js'))}}}, {{url: 's.css', size: 1}}]"
    godot = 'engine({"fileSizes": ' + json.dumps({"i.png": len(content("i.png"))}) + "})"
    texts = {"flutter_service_worker.js": flutter, "sub/worker.js": worker, "game.js": godot}
    site = BuiltSite(tmp_path).write({**FILES, **texts})
    found = site.build(**LEVELS).diagnostics
    said = {str(each.location): each.message.split(" files")[0] for each in found if each.id == "versions-outdated"}
    assert said == {"flutter_service_worker.js": "lists 2", "sub/worker.js": "lists 1", "game.js": "lists 1"}
    assert len(levels_of(site, "a.js")) > 1


def test_digests_of_empty_files_say_nothing(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write({**FILES, "empty.js": "", "sums.txt": hashlib.sha1(b"").hexdigest()})
    assert not [each for each in site.build(**LEVELS).diagnostics if each.id == "pinned-by-digest"]


def worker(names: tuple[str, ...]) -> str:
    return "precache([" + ",".join(f"{{url:'{name}',revision:'{digest(name, 'md5')}'}}" for name in names) + "])"


def test_what_a_worker_has_without_a_network_is_not_shown_by_a_copy_that_it_lacks(tmp_path: Path) -> None:
    page, picture = PAGE.replace("<p>", "<img src=p.png alt=p><p>"), photo_file(600, 400, "PNG")
    trees = []
    for name in ("listed", "other"):
        version = hashlib.md5(picture if name == "listed" else b"other").hexdigest()
        table = f"precache([{{url:'p.png',revision:'{version}'}}])"
        site = BuiltSite(tmp_path / name).write({**FILES, "index.html": page, "p.png": picture, "sw.js": table})
        site.build(build__levels=("full", "web"))
        trees.append((site.output / "web" / "id" / "index.html").read_text("utf-8"))
    assert "_adaptc/" not in trees[0] and "_adaptc/" in trees[1]


def test_an_export_tells_a_worker_the_versions_of_its_own_files(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write({**FILES, "sw.js": worker(ALL)})
    layout = {"build__levels": ("full", "web")}
    site.build(**layout)
    done = export_site(site.config(**layout), "web", site.root / "public", "suffix", Silent())
    assert done.written
    texts = {name: (site.root / "public" / name).read_bytes() for name in (*ALL, "sw.js")}
    versions = re.findall(r"[0-9a-f]{32}", texts["sw.js"].decode())
    assert versions == [hashlib.md5(texts[name]).hexdigest() for name in ALL]
    assert texts["index.html"] != content("index.html")
    for file in (site.root / "public").glob("sw.js.*"):
        assert decode(file.read_bytes(), file.suffix[1:], None) == texts["sw.js"]
    again = export_site(site.config(**layout), "web", site.root / "public", "suffix", Silent())
    assert (again.written, again.removed) == (0, 0)
