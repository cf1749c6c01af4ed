"""A cache by URL: another machine does not do again what one did, whatever the state of the store."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.servers.s3 import new_bucket, s3_server, use_endpoint
from tests.sites.built import BuiltSite

from adaptc.compile.engine.cache.remote import pack_bundle, pack_index, read_index
from adaptc.core.diagnostics import Fault, RemoteError, UsageError
from adaptc.core.digest import digest_bytes
from adaptc.core.remote import Remote

pytest.importorskip("fsspec")

PAGE = (
    "<!DOCTYPE html>\n<html lang=en>\n<title>{n}</title>\n<link rel=stylesheet href=a.css>\n<p>" + "some words \n" * 99
)


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    site = BuiltSite(tmp_path / "first")
    sheet = "\n".join(f".class-{n} p {{ color: #112233; margin: {n}px }}" for n in range(200))
    site.write({**{f"{n}.html": PAGE.format(n=n) for n in range(3)}, "a.css": sheet})
    Image.linear_gradient("L").save(site.docroot / "image.png")
    return site


def shared(site: BuiltSite) -> Path:
    """The cache of a site, and of its copies."""
    return next(each for each in site.root.parents if (each / "first").exists()) / "shared"


def build(site: BuiltSite, **overrides: Any) -> list[str]:
    """Build with the cache; return its warnings."""
    result = site.build(build__remote_cache=f"file://{shared(site)}", **overrides)
    return [str(each) for each in result.diagnostics if each.id == "remote-cache-failed"]


def packs(site: BuiltSite) -> dict[str, int]:
    """Return the sizes of the files of the cache."""
    return {name: file.size for name, file in Remote(f"file://{shared(site)}").files().items()}


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of codecs, in the order in which they were used."""
    done: list[str] = []

    def noting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any, **options: Any) -> Any:
            done.append(name)
            return function(*arguments, **options)

        return noted

    from adaptc.formats import codings
    from adaptc.formats.image import recompress

    monkeypatch.setattr(codings, "encode_if_smaller", noting("encode", codings.encode_if_smaller))
    monkeypatch.setattr(recompress, "recompress", noting("image", recompress.recompress))
    return done


def test_another_machine_does_no_work_of_codecs_and_gets_the_same_bytes(site: BuiltSite, work: list[str]) -> None:
    assert build(site) == []
    assert work
    work.clear()
    other = site.clean()
    assert build(other) == []
    assert work == []
    assert other.trees() == site.trees()


def test_a_bucket_as_the_store(site: BuiltSite, work: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with s3_server() as endpoint:
        use_endpoint(monkeypatch, endpoint)
        bucket = new_bucket(endpoint)
        site.build(build__remote_cache=f"{bucket.url}/cache")
        work.clear()
        other = site.clean()
        result = other.build(build__remote_cache=f"{bucket.url}/cache")
    assert [each.id for each in result.diagnostics if each.id == "remote-cache-failed"] == []
    assert work == []
    assert other.trees() == site.trees()


def test_what_was_fetched_is_not_stored_again(site: BuiltSite) -> None:
    build(site)
    before = packs(site)
    build(site.clean())
    assert packs(site) == before


def test_only_what_changed_is_made_and_stored(site: BuiltSite, work: list[str]) -> None:
    build(site)
    before = packs(site)
    other = site.clean()
    other.write({"0.html": PAGE.format(n="other")})
    work.clear()
    build(other)
    assert 0 < work.count("encode") <= 6  # a page at two levels in three codings
    assert "image" not in work
    added = packs(site).keys() - before.keys()
    assert len(added) == 2
    work.clear()
    third = other.clean("third")
    build(third)
    assert work == []
    assert third.trees() == other.trees()


def test_a_machine_that_only_reads_stores_nothing(site: BuiltSite) -> None:
    assert build(site, build__remote_cache_readonly=True) == []
    assert packs(site) == {}


def test_a_build_with_nothing_to_do_asks_for_nothing(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    build(site)
    monkeypatch.setattr(Remote, "files", None)
    assert build(site) == []


@pytest.mark.parametrize("kind", [".pack", ".index"])
@pytest.mark.parametrize(
    "damage", [lambda content: content[: len(content) // 2], lambda content: content[:9] + b"x" + content[10:]]
)
def test_a_damaged_store_costs_time_only(
    site: BuiltSite, work: list[str], kind: str, damage: Callable[[bytes], bytes]
) -> None:
    build(site)
    for file in shared(site).rglob(f"*{kind}"):
        file.write_bytes(damage(file.read_bytes()))
    work.clear()
    other = site.clean()
    (warning,) = build(other)
    assert "damaged); what it lacks is made here" in warning
    assert work
    assert other.trees() == site.trees()


def test_names_of_artifacts_lead_nowhere_else(site: BuiltSite) -> None:
    build(site)
    for file in shared(site).rglob("*.index"):
        keys = read_index(file.read_bytes())
        pack, index = pack_index((key, pack_bundle({"o../../../../evil": b"evil"})) for key in keys)
        file.unlink()
        for kind, content in (("pack", pack), ("index", index)):
            (file.parent / f"{digest_bytes(index)}.{kind}").write_bytes(content)
    other = site.clean()
    (warning,) = build(other)
    assert "is damaged" in warning
    assert not list(site.root.parent.rglob("evil*"))
    assert other.trees() == site.trees()


def test_files_of_another_kind_are_left_alone(site: BuiltSite) -> None:
    (shared(site) / "packs").mkdir(parents=True)
    (shared(site) / "packs/readme.txt").write_text("dear")
    assert build(site) == []
    assert "packs/readme.txt" in packs(site)


@pytest.mark.parametrize("method", ["files", "read", "write"])
def test_a_store_that_cannot_be_reached_is_reported_once(
    site: BuiltSite, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(site)
    other = site.clean()
    other.write({"0.html": PAGE.format(n="other")})

    def fail(*_: object) -> None:
        raise RemoteError(Fault.FAILED, "no route to host")

    monkeypatch.setattr(Remote, method, fail)
    assert build(other) == [
        "warning: the remote cache failed (no route to host); what it lacks is made here [remote-cache-failed]"
    ]
    assert (other.output / "lossless/id/0.html").exists()


def test_two_machines_at_once(site: BuiltSite) -> None:
    others = [site.clean(name) for name in ("one", "two")]
    threads = [threading.Thread(target=build, args=(each,)) for each in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    build(site)
    assert others[0].trees() == others[1].trees() == site.trees()


def test_a_url_of_no_store(site: BuiltSite) -> None:
    with pytest.raises(UsageError, match="nonsense"):
        site.build(build__remote_cache="nonsense://bucket")
