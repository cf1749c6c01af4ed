"""``adaptc publish``: what is sent, with which header, in which order, and what is left alone."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from tests.servers.s3 import Bucket, new_bucket, refusing_server, s3_server, use_endpoint
from tests.sites.built import BuiltSite

from adaptc.cli.main import run
from adaptc.compile.engine.reporting import Silent
from adaptc.core.diagnostics import Busy, Fault, RemoteError, UsageError
from adaptc.core.remote import Headers, Remote
from adaptc.workflow.publish.publish import Publication, publish_site
from adaptc.workflow.publish.target import EXPIRY, RECORD, hold_lease

fsspec = pytest.importorskip("fsspec")
MemoryFileSystem = pytest.importorskip("fsspec.implementations.memory").MemoryFileSystem

PAGE = "<!DOCTYPE html>\n<html lang=en>\n<title>A page</title>\n<link rel=stylesheet href={sheet}>\n<p>words"


def files(color: str = "112233", sheet: str = "a.css") -> dict[str, str | bytes]:
    """A site of two pages that load one sheet."""
    text = "\n".join(f".class-{n} p {{ color: #{color}; margin: {n}px }}" for n in range(400))
    page = PAGE.format(sheet=f"/{sheet}")
    return {"index.html": page, "deep/page.html": page, sheet: text, "note.bin": b"\0\1"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltSite:
    """A site that tests only read."""
    site = BuiltSite(tmp_path_factory.mktemp("built")).write(files())
    site.build(build__levels=["full"])
    return site


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    site = BuiltSite(tmp_path).write(files())
    site.build(build__levels=["full"])
    return site


def folder(site: BuiltSite) -> str:
    return f"file://{site.root}/public"


def publish(site: BuiltSite, url: str, overrides: dict[str, Any] | None = None, **options: Any) -> Publication:
    chosen = {"build__levels": ["full"], "publish__url": url, **(overrides or {})}
    return publish_site(site.config(**chosen), Silent(), **options)


def names(site: BuiltSite) -> set[str]:
    root = site.root / "public"
    return {os.fspath(file.relative_to(root)) for file in root.rglob("*") if file.is_file()}


# ---- what is sent


def test_the_first_time_all_is_sent_and_then_nothing(site: BuiltSite) -> None:
    first = publish(site, folder(site))
    assert set(first.sent) == set(files()) == names(site) - {RECORD}
    assert (first.kept, first.removed, first.purged, first.diagnostics) == (0, (), (), ())
    assert (site.root / "public/index.html").read_bytes() == site.read("index.html", "full")
    before = (site.root / "public" / RECORD).stat().st_mtime_ns
    again = publish(site, folder(site))
    assert (again.sent, again.kept, again.size) == ((), 4, 0)
    assert (site.root / "public" / RECORD).stat().st_mtime_ns == before


def test_only_what_changed_is_sent_and_its_url_is_to_be_purged(site: BuiltSite) -> None:
    publish(site, folder(site))
    site.write({"deep/index.html": PAGE, "index.html": PAGE + "more"})
    site.build(build__levels=["full"])
    listed = site.root / "purge.txt"
    done = publish(site, folder(site), purge_list=listed)
    assert set(done.sent) == {"index.html", "deep/index.html"}
    assert listed.read_text() == "/\n/index.html\n"  # what was never there is in no cache


def test_what_somebody_else_replaced_is_sent_again(site: BuiltSite) -> None:
    publish(site, folder(site))
    (site.root / "public/index.html").write_bytes(b"x" * len(site.read("index.html", "full")))
    (site.root / "public/note.bin").unlink()
    assert set(publish(site, folder(site)).sent) == {"index.html", "note.bin"}


def test_what_is_gone_stays_until_it_is_to_be_deleted(site: BuiltSite) -> None:
    publish(site, folder(site))
    (site.root / "public/CNAME").write_text("example.org")
    site.remove("deep/page.html")
    site.build(build__levels=["full"])
    assert publish(site, folder(site)).removed == ()
    done = publish(site, folder(site), removes=True)
    assert (done.removed, done.purged) == (("deep/page.html",), ("/deep/page.html",))
    assert names(site) == {"index.html", "a.css", "note.bin", "CNAME", RECORD}


def test_an_encoding_that_a_file_has_no_longer_goes_at_once(site: BuiltSite) -> None:
    suffix = {"publish__encodings": "suffix"}
    publish(site, folder(site), suffix)
    assert {"a.css.br", "a.css.gz", "a.css.zst"} <= names(site)
    site.write({"a.css": "p{}"}).build(build__levels=["full"])
    assert set(publish(site, folder(site), suffix).removed) >= {"a.css.br", "a.css.gz", "a.css.zst"}
    assert "a.css" in names(site)


def test_a_dry_run_says_all_and_does_nothing(site: BuiltSite) -> None:
    done = publish(site, folder(site), is_dry=True)
    assert (set(done.sent), done.size) == (set(files()), 0)
    assert not (site.root / "public").exists()


def test_files_that_publishing_did_not_write_are_not_overwritten(site: BuiltSite) -> None:
    (site.root / "public").mkdir()
    (site.root / "public/index.html").write_text("dear")
    with pytest.raises(UsageError, match=r"did not write: index\.html; --adopt"):
        publish(site, folder(site))
    assert (site.root / "public/index.html").read_text() == "dear"
    publish(site, folder(site), adopts=True)
    assert (site.root / "public/index.html").read_bytes() == site.read("index.html", "full")


def test_a_damaged_record_is_told(site: BuiltSite) -> None:
    publish(site, folder(site))
    for damage in (b"", b"\x1f\x8b", gzip.compress(b"[]"), gzip.compress(b'{"schema":9}')):
        (site.root / "public" / RECORD).write_bytes(damage)
        with pytest.raises(UsageError, match="is not a record of this version"):
            publish(site, folder(site))


def test_a_level_must_be_named_if_there_are_more(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write(files())
    site.build()
    with pytest.raises(UsageError, match="there are: full, lossless"):
        publish(site, folder(site), {"build__levels": None})
    assert publish(site, folder(site), {"build__levels": None, "publish__level": "full"}).level == "full"


@pytest.mark.parametrize("url", ["nonsense://bucket", "webdav://host"])
def test_a_url_that_cannot_be_opened(site: BuiltSite, url: str) -> None:
    with pytest.raises(UsageError, match=re.escape(url)):
        publish(site, url)


def test_a_page_is_not_sent_where_an_asset_cannot_be(site: BuiltSite) -> None:
    sheet = site.output / "full/id/a.css"
    sheet.unlink()
    sheet.write_text("damaged")
    done = publish(site, folder(site), removes=True)
    assert [str(each) for each in done.diagnostics if each.id == "publish-failed"] == [
        "a.css: error: was not published (it changed since it was built) [publish-failed]"
    ]
    assert names(site) == {"note.bin", RECORD}
    assert (done.sent, done.removed, done.size) == (("note.bin",), (), 2)


def test_names_of_any_bytes(tmp_path: Path) -> None:
    page = "<!DOCTYPE html><title>t</title>"
    odd = {"a b%41.html": page, "ü[x]*?#.html": page, os.fsdecode(b"latin-\xe4.html"): page, "~/x::y.html": page}
    site = BuiltSite(tmp_path).write(odd)
    site.build(build__levels=["full"])
    done = publish(site, folder(site))
    assert [each.id for each in done.diagnostics] == ["name-unpublishable"]
    assert {"a b%41.html", "ü[x]*?#.html", "~/x::y.html"} < names(site)
    site.remove("ü[x]*?#.html")
    site.build(build__levels=["full"])
    site.remove(os.fsdecode(b"latin-\xe4.html"))
    site.build(build__levels=["full"])
    assert publish(site, folder(site), removes=True).purged == ("/%C3%BC%5Bx%5D*%3F%23.html",)
    assert {"a b%41.html", "~/x::y.html", RECORD} == names(site)


# ---- interruptions


class Lost(RemoteError):
    """The network is gone."""

    def __init__(self) -> None:
        super().__init__(Fault.FAILED, "connection lost")


def lose_network(patch: pytest.MonkeyPatch, after: int) -> None:
    """Fail every request that writes, from the one with this number on."""
    requests, lock = count(), threading.Lock()
    write, remove = Remote.write, Remote.remove

    def count_request() -> None:
        with lock:
            if next(requests) >= after:
                raise Lost

    def counted_write(remote: Remote, name: str, content: bytes, headers: Headers) -> None:
        count_request()
        write(remote, name, content, headers)

    def counted_remove(remote: Remote, name: str) -> None:
        count_request()
        remove(remote, name)

    patch.setattr(Remote, "write", counted_write)
    patch.setattr(Remote, "remove", counted_remove)


def assert_whole(site: BuiltSite) -> None:
    """Each page at the target finds the sheets to which it refers."""
    root = site.root / "public"
    for page in root.rglob("*.html"):
        for sheet in re.findall(r"href=/(\w+\.css)", page.read_text()):
            assert (root / sheet).is_file(), (page, sheet)


def test_wherever_it_is_interrupted_pages_have_their_assets_and_the_next_run_ends_it(
    site: BuiltSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(site, folder(site))
    site.remove("a.css")
    site.write(files(sheet="b.css")).build(build__levels=["full"])
    site.remove("note.bin")
    site.build(build__levels=["full"])
    before = site.root / "before"
    shutil.move(site.root / "public", before)
    for after in count():
        shutil.copytree(before, site.root / "public")
        with monkeypatch.context() as patch:
            lose_network(patch, after)
            with suppress(Lost):
                publish(site, folder(site), removes=True)
                break
        assert_whole(site)
        shutil.rmtree(site.root / "public/.adaptc/locks", ignore_errors=True)  # which expire
        publish(site, folder(site), removes=True)
        assert names(site) == {"index.html", "deep/page.html", "b.css", RECORD}
        assert publish(site, folder(site), removes=True).kept == 3
        shutil.rmtree(site.root / "public")
    assert after == 8  # lock, record, three objects sent and two removed, record; the lock may stay


def test_what_was_sent_before_an_interruption_is_not_sent_again_and_is_purged(
    site: BuiltSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(site, folder(site))
    site.write(files("445566") | {"index.html": PAGE + "new"}).build(build__levels=["full"])
    write = Remote.write

    def fail_page(remote: Remote, name: str, content: bytes, headers: Headers) -> None:
        if name == "index.html":
            raise Lost
        write(remote, name, content, headers)

    with monkeypatch.context() as patch, pytest.raises(Lost):
        patch.setattr(Remote, "write", fail_page)
        publish(site, folder(site))
    done = publish(site, folder(site))
    assert done.sent == ("index.html",)
    assert done.purged == ("/", "/a.css", "/index.html")
    assert publish(site, folder(site)).purged == ()


def test_what_a_killed_publisher_left_is_removed(site: BuiltSite) -> None:
    publish(site, folder(site))
    (site.root / "public/deep/.adaptc-123-456").write_bytes(b"half")
    publish(site, folder(site))
    assert "deep/.adaptc-123-456" not in names(site)


# ---- two at once


def test_publishers_exclude_each_other(site: BuiltSite) -> None:
    with hold_lease(Remote(folder(site))), pytest.raises(Busy, match=r"another publisher holds the lock \(.+, process"):
        publish(site, folder(site))
    assert publish(site, folder(site)).sent
    assert not list((site.root / "public/.adaptc/locks").iterdir())


def test_the_lock_of_a_killed_publisher_expires(site: BuiltSite) -> None:
    locks = site.root / "public/.adaptc/locks"
    locks.mkdir(parents=True)
    (locks / "0123").write_text("host, process 1")
    with pytest.raises(Busy):
        publish(site, folder(site))
    long_ago = time.time() - EXPIRY - 5
    os.utime(locks / "0123", (long_ago, long_ago))
    assert publish(site, folder(site)).sent
    assert not list(locks.iterdir())


def test_a_publisher_that_lost_its_lock_stops(site: BuiltSite) -> None:
    remote = Remote(folder(site))
    with hold_lease(remote) as lease:
        lease.renew()
        lease.require()
        remote.remove(lease.name)
        lease.renew()
        with pytest.raises(Busy, match="took the lock over"):
            lease.require()
    assert remote.files() == {}


def test_a_lock_that_may_not_be_removed_is_told(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Remote, name: str) -> None:
        raise RemoteError(Fault.ACCESS, f"{name}: Access Denied")

    monkeypatch.setattr(Remote, "remove", refuse)
    with pytest.raises(RemoteError, match="Access Denied; what was sent is published, but the lock stays") as raised:
        publish(site, folder(site))
    assert raised.value.fault is Fault.ACCESS
    assert set(files()) < names(site)


# ---- S3


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with s3_server() as endpoint:
        yield endpoint


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    use_endpoint(monkeypatch, endpoint)
    return new_bucket(endpoint)


def test_a_bucket_sends_what_was_published_with_its_header(built: BuiltSite, bucket: Bucket) -> None:
    overrides = {"publish__encodings": "gzip", "publish__cache_control": {"deep/*": "max-age=60"}}
    assert len(publish(built, bucket.url, overrides).sent) == 4
    body, header = bucket.get("a.css")
    assert gzip.decompress(body) == built.read("a.css", "full")
    assert (header["Content-Type"], header["Content-Encoding"]) == ("text/css", "gzip")
    assert header["Cache-Control"] == "max-age=0, must-revalidate"
    body, header = bucket.get("note.bin")
    assert (body, header["Content-Type"], header["Content-Encoding"]) == (b"\0\1", "application/octet-stream", None)
    assert bucket.get("deep/page.html")[1]["Cache-Control"] == "max-age=60"
    again = publish(built, bucket.url, overrides)
    assert (again.sent, again.kept) == ((), 4)
    overrides["publish__encodings"] = "none"
    assert "a.css" in publish(built, bucket.url, overrides).sent
    body, header = bucket.get("a.css")
    assert (body, header["Content-Encoding"]) == (built.read("a.css", "full"), None)


def test_a_folder_of_a_bucket_holds_nothing_of_its_neighbours(built: BuiltSite, bucket: Bucket) -> None:
    other = Remote(f"{bucket.url}/site2")
    other.write("index.html", b"other", Headers("text/html"))
    publish(built, f"{bucket.url}/site", removes=True)
    assert publish(built, f"{bucket.url}/site", removes=True).kept == 4
    assert list(other.files()) == ["index.html"]
    assert (other.read("index.html", 1, 3), other.read("gone.html", 1, 3)) == (b"th", None)
    with hold_lease(Remote(f"{bucket.url}/site")), pytest.raises(Busy):
        publish(built, f"{bucket.url}/site")


@pytest.mark.parametrize(
    ("url", "variables", "code", "complaint"),
    [
        ("s3://no-such-bucket", {}, 2, "adaptc: s3://no-such-bucket/.adaptc/locks/"),
        ("s3://bucket", {"AWS_ACCESS_KEY_ID": "", "AWS_EC2_METADATA_DISABLED": "true"}, 6, "credentials"),
        ("s3://bucket", {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, 8, "Could not connect"),
    ],
)
def test_what_is_wrong_is_said_in_a_line_and_by_the_exit_code(
    url: str,
    variables: dict[str, str],
    code: int,
    complaint: str,
    built: BuiltSite,
    bucket: Bucket,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr("s3fs.S3FileSystem.retries", 1)
    pytest.importorskip("s3fs").S3FileSystem.clear_instance_cache()
    assert run(["publish", url, os.fspath(built.docroot), "-o", os.fspath(built.output)]) == code
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(("status", "error", "code"), [(403, "AccessDenied", 6), (503, "SlowDown", 8)])
def test_a_store_that_refuses(
    status: int,
    error: str,
    code: int,
    built: BuiltSite,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr("s3fs.S3FileSystem.retries", 1)
    with refusing_server(status, error) as endpoint:
        use_endpoint(monkeypatch, endpoint)
        assert run(["publish", "s3://bucket", os.fspath(built.docroot), "-o", os.fspath(built.output)]) == code
        said = capsys.readouterr().err
        assert re.fullmatch(rf"adaptc: s3://bucket/\.adaptc/locks/\w+: It says {error}\.\n", said)
        result = built.clean(error).build(build__remote_cache="s3://bucket/cache")
    (warning,) = (each for each in result.diagnostics if each.id == "remote-cache-failed")
    assert f"It says {error}." in str(warning)


def test_the_result_for_programs(built: BuiltSite, bucket: Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [bucket.url, os.fspath(built.docroot), "-o", os.fspath(built.output)]
    assert run(["publish", "--dry-run", *arguments]) == 0
    assert f"send index.html\n{bucket.url}: would send 4 files, kept 0, would remove 0\n" in capsys.readouterr().out
    assert run(["publish", "--format", "json", *arguments]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["url"], done["level"], done["dry_run"], done["kept"]) == (bucket.url, "full", False, 0)
    assert done["sent"][-2:] == ["deep/page.html", "index.html"]


# ---- other stores


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        (
            "gs",
            {"content_type": "a/b", "fixed_key_metadata": {"content_encoding": "gzip", "cache_control": "no-store"}},
        ),
        (
            "abfs",
            {"content_settings": {"content_type": "a/b", "content_encoding": "gzip", "cache_control": "no-store"}},
        ),
    ],
)
def test_each_store_gets_header_fields_in_its_own_words(protocol: str, options: dict[str, Any]) -> None:
    said: list[dict[str, Any]] = []

    def pipe_file(_self: object, _path: str, _content: bytes, **options: Any) -> None:
        said.append(options)

    kind = type("Recording", (MemoryFileSystem,), {"protocol": protocol, "pipe_file": pipe_file})
    fsspec.register_implementation(protocol, kind, clobber=True)
    Remote(f"{protocol}://bucket").write("name", b"", Headers("a/b", "gzip", "no-store"))
    assert said == [options]


class Google(MemoryFileSystem):  # type: ignore[misc]
    """A store in memory that takes header fields as gcsfs does."""

    protocol = "gs"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    headers: ClassVar[dict[str, dict[str, Any]]] = {}

    def pipe_file(self, path: str, value: bytes, *_: object, **options: Any) -> None:
        self.headers[os.path.basename(path)] = options
        super().pipe_file(path, value)

    def put_file(self, lpath: str, rpath: str, **options: Any) -> None:
        self.pipe_file(rpath, Path(lpath).read_bytes(), **options)


@pytest.fixture
def google() -> type[Google]:
    fsspec.register_implementation("gs", Google, clobber=True)
    Google.store.clear()
    return Google


def test_a_store_as_google_has_it(site: BuiltSite, google: type[Google]) -> None:
    shared = {"build__remote_cache": "gs://bucket/cache", "build__levels": ["full"]}
    first, second = site.clean("one"), site.clean("two")
    for machine in (first, second):
        problems = {each.id for each in machine.build(**shared).diagnostics}
        assert "remote-cache-failed" not in problems
    assert second.trees() == first.trees()
    assert set(publish(second, "gs://bucket/site", {"publish__encodings": "gzip"}).sent) == set(files())
    sheet = {"content_encoding": "gzip", "cache_control": "max-age=0, must-revalidate"}
    assert google.headers["a.css"] == {"content_type": "text/css", "fixed_key_metadata": sheet}
    second.remove("note.bin")
    second.write({"index.html": PAGE}).build(**shared)
    done = publish(second, "gs://bucket/site", {"publish__encodings": "gzip"}, removes=True)
    assert (done.sent, done.removed, done.kept) == (("index.html",), ("note.bin",), 2)


@pytest.mark.parametrize(
    ("error", "fault", "sentence"),
    [
        (FileNotFoundError("http://host/storage/v1/b/bucket/o"), Fault.MISSING, "there is no such bucket, folder or"),
        (OSError("Forbidden: http://host/o\nno access"), Fault.ACCESS, "Forbidden: http://host/o no access"),
    ],
)
def test_what_google_says_is_made_clear(
    google: type[Google], error: OSError, fault: Fault, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pipe_file(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(google, "pipe_file", pipe_file)
    with pytest.raises(RemoteError, match=f"^gs://bucket/name: {sentence}") as raised:
        Remote("gs://bucket").write("name", b"", Headers("a/b"))
    assert raised.value.fault is fault


def test_what_azure_says_of_a_missing_container_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    error = type("ResourceNotFoundError", (Exception,), {})("There is no such container.\nRequestId:7\nContent: <xml>")

    def cat_file(*_: object, **__: object) -> bytes:
        raise error

    remote = Remote("memory://bucket")
    monkeypatch.setitem(sys.modules, "azure.core.exceptions", SimpleNamespace(AzureError=Exception))
    monkeypatch.setattr(type(remote._fs), "cat_file", cat_file)
    with pytest.raises(RemoteError, match=r"^memory://bucket/a: There is no such container\.$") as raised:
        remote.read("a")
    assert raised.value.fault is Fault.MISSING
