"""Images in other formats: what a build makes, and who gets it."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from PIL import Image

from tests.samples.drawn import drawing, encoded, photo
from tests.servers import web
from tests.servers.web import Server
from tests.sites.built import BuiltSite
from tests.sites.served import ServedSite

from adaptc.cli.main import run
from adaptc.compile.engine.reporting import Silent
from adaptc.core.diagnostics import UsageError
from adaptc.core.model import is_negotiable, name_in_tree, path_of_name
from adaptc.formats.image import alternates as made_by
from adaptc.formats.image.alternates import alternates, lacks_codec
from adaptc.formats.image.lossy import Encoder
from adaptc.serve.emitter import emit
from adaptc.serve.servers import server_named
from adaptc.serve.verify.verification import Extent, verify_started
from adaptc.workflow.export.export import export_site
from adaptc.workflow.preview.panes import FileSource, Pane

PAGE = "<!DOCTYPE html>\n<html lang=en>\n<title>A page</title>\n<img src=drawing.png>\n" + "<p>words  and words\n" * 99
FORMATS: dict[str, Any] = {"levels__lossless": {"alternates": {"formats": ["avif", "webp"], "target": 0.95}}}
EXACT: dict[str, Any] = {"levels__lossless": {"alternates": {"formats": ["webp", "avif"]}}}
BOTH = "image/avif,image/webp,*/*;q=0.8"


FILES: dict[str, str | bytes] = {
    "index.html": PAGE,
    "drawing.png": encoded(drawing(), compress_level=1),
    "img/a photo%41.JPG": encoded(photo(160, 120), "JPEG", quality=92),
    "a.css": "p{background:url('img/a photo%2541.JPG')}",  # effort "fast" leaves unused photographs alone
    "still.gif": encoded(drawing(5), "GIF"),
    "moving.gif": encoded(drawing(5), "GIF", save_all=True, append_images=[drawing(9)]),
}


@pytest.fixture(scope="module")
def site() -> Iterator[BuiltSite]:
    """A built site where a server without rights may read."""
    root = Path(tempfile.mkdtemp(prefix="adaptc-formats-"))
    root.chmod(0o755)
    made = BuiltSite(root).write(FILES)
    made.build(**FORMATS)
    yield made
    shutil.rmtree(root)


def in_formats(site: BuiltSite) -> dict[str, int]:
    """Return the sizes of the files in other formats by their names in the output."""
    found = [*site.output.glob("*/avif/**/*"), *site.output.glob("*/webp/**/*")]
    return {str(file.relative_to(site.output)): file.stat().st_size for file in found if file.is_file()}


# ---- what is made


def test_alternates_stand_beside_and_are_smaller(site: BuiltSite) -> None:
    assert set(in_formats(site)) == {
        "lossless/avif/img/a photo%41.JPG.avif",
        "lossless/webp/img/a photo%41.JPG.webp",
        "lossless/webp/drawing.png.webp",
        "lossless/webp/still.gif.webp",
    }
    for path, size in in_formats(site).items():
        own = path.split("/", 2)[2].rpartition(".")[0]
        assert size < len(site.read(own)), path
    assert len(site.read("img/a photo%41.JPG.avif", coding="avif")) < len(
        site.read("img/a photo%41.JPG.webp", coding="webp")
    )


def test_the_manifest_names_them(site: BuiltSite) -> None:
    manifest = json.loads((site.output / "manifest.json").read_text())
    (row,) = (one for one in manifest["resources"] if one["path"] == "still.gif")
    assert set(row["levels"]["lossless"]["files"]) == {"id", "webp"}
    assert row["levels"]["lossless"]["files"]["webp"]["size"] == in_formats(site)["lossless/webp/still.gif.webp"]
    assert set(row["levels"]["full"]["files"]) == {"id"}


def test_exact_alternates_have_the_same_pixels(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write(FILES)
    site.build(**EXACT)
    assert set(in_formats(site)) == {"lossless/webp/drawing.png.webp", "lossless/webp/still.gif.webp"}
    with Image.open(io.BytesIO(site.read("drawing.png.webp", coding="webp"))) as image:
        assert image.convert("RGB").tobytes() == drawing().tobytes()


def test_they_go_with_their_source_and_with_the_setting(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write(FILES)
    site.build(**EXACT)
    assert site.built(**EXACT) == {}
    (site.output / "lossless" / "webp" / "still.gif.webp").unlink()
    assert site.built(**EXACT) == {"lossless/still.gif": "OutputMissing"}
    assert "lossless/webp/still.gif.webp" in in_formats(site)
    site.remove("still.gif")
    site.write({"drawing.png": encoded(photo(90, 60), "JPEG")})  # misnamed: another format than the name says
    site.build(**EXACT)
    assert in_formats(site) == {}
    site.write({"drawing.png": FILES["drawing.png"]})
    site.build(**EXACT)
    assert set(in_formats(site)) == {"lossless/webp/drawing.png.webp"}
    site.build()
    assert in_formats(site) == {}


def test_a_check_knows_them(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    site = BuiltSite(tmp_path).write({"still.gif": FILES["still.gif"], "index.html": PAGE})
    settings = '[build]\neffort = "fast"\n[levels.lossless.alternates]\nformats = ["webp"]\n'
    (tmp_path / "adaptc.toml").write_text(f'docroot = "site"\noutput = "opt"\n{settings}')
    given = ["--config", str(tmp_path / "adaptc.toml")]
    assert run([*given, "build", "--allow-empty"]) == 0
    assert [run([*given, "check", how]) for how in ("--quick", "--content")] == [0, 0]
    (site.output / "lossless" / "webp" / "still.gif.webp").write_bytes(b"x")
    assert [run([*given, "check", how]) for how in ("--quick", "--content")] == [1, 1]
    assert "lossless/webp/still.gif.webp" in capfd.readouterr().err


def test_what_was_made_once_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = BuiltSite(tmp_path).write({"drawing.png": FILES["drawing.png"]})
    cache = {"build__cache": tmp_path / "cache"}
    site.build(**EXACT, **cache)
    before = site.trees()
    shutil.rmtree(site.output)
    monkeypatch.setitem(made_by.EXACT_ENCODERS, "webp", None)
    site.build(**EXACT, **cache)
    assert {path: content for path, content in site.trees().items() if "/webp/" in path} == {
        path: content for path, content in before.items() if "/webp/" in path
    }


def test_a_missing_codec_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made_by, "lacks_codec", lambda name: "no av1 encoder" if name == "avif" else None)
    site = BuiltSite(tmp_path).write({"drawing.png": FILES["drawing.png"]})
    said = {str(one) for one in site.build(**FORMATS).diagnostics}
    assert said == {
        "drawing.png: warning: has no alternate in avif, which this libvips cannot write or read (no av1 encoder) "
        "[image-codec-missing]"
    }
    assert set(in_formats(site)) == {"lossless/webp/drawing.png.webp"}
    monkeypatch.undo()
    shutil.rmtree(site.output / "lossless")
    assert site.build(**FORMATS).diagnostics == ()


def test_the_codecs_are_there() -> None:
    assert lacks_codec("webp") is None
    assert lacks_codec("avif") is None


def test_a_libvips_without_the_operation_lacks_the_codec(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Encoder(lambda image, _effort, quality: image.no_such_save_buffer(Q=quality))
    monkeypatch.setitem(made_by.ENCODERS, "no", encoder)
    assert lacks_codec("no") == "no reason given"


def test_what_is_written_must_be_readable_to_be_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(made_by.ENCODERS, "unread", Encoder(lambda _image, _effort, _quality: b"no image"))
    assert lacks_codec("unread") == "unable to load from buffer"


def test_an_unknown_format_is_refused(site: BuiltSite) -> None:
    wrong = {"levels__lossless": {"alternates": {"formats": ["bmp"]}}}
    with pytest.raises(
        UsageError, match=r'option formats of pass alternates must be \[\] or \["avif"\] or .*, not \["bmp"\]'
    ):
        site.build(**wrong)


def test_an_alternate_is_smaller_than_the_next_one() -> None:
    content = encoded(photo(160, 120), "JPEG", quality=92)
    (avif, webp) = alternates(content, ("avif", "webp"), below=len(content), effort="fast", target=0.95)
    assert (avif.format, webp.format) == ("avif", "webp")
    assert len(avif.content) < len(webp.content) < len(content)
    assert alternates(content, ("webp",), below=len(webp.content), effort="fast", target=0.95) == ()
    assert alternates(content[:50], ("webp",), below=10**6, effort="fast", target=0.9) == ()


@pytest.mark.parametrize(
    ("path", "holds"), [("a.png", True), ("b/A.JPEG", True), ("png", False), ("a.webp", False), ("a.png/b", False)]
)
def test_names_say_what_may_have_alternates(path: str, holds: bool) -> None:
    assert is_negotiable(path) is holds
    assert name_in_tree("webp", path) == f"{path}.webp"
    assert name_in_tree("br", path) == path
    assert [path_of_name(one, name_in_tree(one, path)) for one in ("webp", "br")] == [path, path]


# ---- who gets them


@pytest.fixture(params=["apache", "nginx"])
def server(request: pytest.FixtureRequest, site: BuiltSite) -> Iterator[Server]:
    with ServedSite(site, request.param, FORMATS).start(flag=False) as running:
        yield running


@pytest.mark.servers
@pytest.mark.parametrize(
    ("accept", "served"),
    [
        (BOTH, "avif"),
        ("image/webp", "webp"),
        ("IMAGE/WEBP;q=0.5, */*", "webp"),
        ("image/avif;q=0, image/webp", "webp"),
        ("image/avif; q=0.000,image/webp;q=0", "id"),
        ("image/*, */*", "id"),
        ("image/avif-x", "id"),
        ("", "id"),
    ],
)
def test_the_format_is_one_that_the_client_names(site: BuiltSite, server: Server, accept: str, served: str) -> None:
    path = "img/a photo%41.JPG"
    reply = server.get("/" + quote(path), accept=accept, accept_encoding="br")
    assert reply.headers["x-adapt"] == f"lossless/{served}"
    assert reply.headers["content-type"] == {"id": "image/jpeg"}.get(served, f"image/{served}")
    assert reply.headers["vary"].replace(" ", "") == "Accept-Encoding,Accept"
    assert "content-encoding" not in reply.headers
    assert reply.body == site.read(name_in_tree(served, path), coding=served)


@pytest.mark.servers
def test_other_files_do_not_vary_by_media_types(server: Server) -> None:
    reply = server.get("/", accept=BOTH, accept_encoding="br")
    assert (reply.headers["vary"], reply.headers["x-adapt"]) == ("Accept-Encoding", "lossless/br")
    assert server.get("/moving.gif", accept=BOTH).headers["x-adapt"] == "lossless/id"
    assert server.get("/drawing.png", accept=BOTH).headers["x-adapt"] == "lossless/webp"
    assert server.get("/nothing.png", accept=BOTH).status == 404


@pytest.mark.servers
def test_htaccess(tmp_path: Path, site: BuiltSite) -> None:
    served = ServedSite(BuiltSite(tmp_path).write(FILES), "htaccess", FORMATS)
    served.emitted(flag=False)
    (served.site.docroot / ".adaptc-trees").symlink_to(served.site.output)
    shutil.copy(served.site.output / "serve" / "htaccess", served.site.docroot / ".htaccess")
    inside = f'<Directory "{served.site.output}">\nRequire all granted\n</Directory>'
    with web.apache(served.site.root / "server", served.site.docroot, inside) as server:
        for accept, kind in ((BOTH, "webp"), ("image/avif", "id"), ("image/webp;q=0", "id")):
            reply = server.get("/still.gif", accept=accept)
            assert reply.headers["x-adapt"] == f"lossless/{kind}"
            assert reply.headers["content-type"] == {"id": "image/gif"}.get(kind, "image/webp")
            assert reply.headers["vary"].replace(" ", "") == "Accept-Encoding,Accept"
        assert server.get("/", accept=BOTH).headers["vary"] == "Accept-Encoding"


@pytest.mark.servers
@pytest.mark.parametrize("kind", ["apache", "nginx"])
def test_the_matrix_passes(site: BuiltSite, kind: str) -> None:
    config = site.config(**FORMATS, serve__buckets=True, serve__reject=True)
    tally = verify_started(config, server_named(kind), Extent(), Silent())
    assert {str(one) for one in tally.diagnostics} == set()
    assert tally.requests["lossless", "format"] > 80
    assert tally.requests["reject", "format"] == 36


MISTAKES = {
    "apache does not say that images vary": ("apache.conf", "Header merge Vary Accept\n", "", "Vary"),
    "apache calls all the same": (
        "apache.conf",
        "[T={{ media_types[format] }},",
        "[T=image/x-unknown,",
        "Content-Type",
    ),
    "nginx does not ask": (
        "nginx-http.conf",
        "_{{ format }} { default none;",
        "_{{ format }} { default avif;",
        "X-Adapt",
    ),
    "nginx says that all varies": (
        "nginx-http.conf",
        "default {{ p.vary | arg }};",
        'default "Accept-Encoding, Accept";',
        "Vary",
    ),
}


@pytest.mark.servers
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_server_that_does_not_negotiate_is_found(site: BuiltSite, tmp_path: Path, mistake: str) -> None:
    template, right, wrong, found = MISTAKES[mistake]
    text = resources.files("adaptc.templates").joinpath(f"{template}.j2").read_text()
    assert right in text
    (tmp_path / f"{template}.j2").write_text(text.replace(right, wrong))
    config = site.config(**FORMATS, serve__templates=tmp_path, serve__flag=False)
    tally = verify_started(config, server_named(mistake.split()[0]), Extent(), Silent())
    said = [str(one) for one in tally.diagnostics]
    assert any(found in line for line in said), said


# ---- beside servers


def test_without_formats_nothing_of_them_is_emitted(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write(FILES)
    site.build()
    emitted = emit(site.config(), ["apache", "nginx", "htaccess"])
    lines = [line for file in emitted.files for line in file.read_text().splitlines(keepends=True)]
    text = "".join(line for line in lines if not line.strip().startswith("Action "))  # types that are sent as they are
    assert [word for word in ("webp", "avif", "Vary Accept\n", "_kind", "gif") if word in text] == []


def test_the_preview_sends_what_the_browser_takes(site: BuiltSite) -> None:
    shelf = FileSource(site.output, site.docroot, ("full", "lossless"), lambda _: False)
    path, pane = "img/a photo%41.JPG", Pane("left", "lossless", "auto")
    for accept, kind in ((BOTH, "avif"), ("image/webp", "webp"), ("image/avif;q=0", "id"), ("", "id")):
        chosen = shelf.choose(pane, path, "br", accept)
        assert chosen is not None
        assert (chosen.coding, chosen.plain_size) == (kind, len(site.read(path)))
    plain = shelf.choose(Pane("left", "lossless", "id"), path, "br", BOTH)
    assert plain is not None
    assert plain.coding == "id"


@pytest.mark.parametrize(("encodings", "name"), [("suffix", "still.gif.webp"), ("parallel", "webp/still.gif.webp")])
def test_an_export_holds_them(site: BuiltSite, tmp_path: Path, encodings: str, name: str) -> None:
    export_site(site.config(**FORMATS), "lossless", tmp_path / "public", encodings, Silent())
    assert (tmp_path / "public" / name).read_bytes() == site.read("still.gif.webp", coding="webp")
