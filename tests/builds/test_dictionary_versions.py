"""Files encoded with what browsers hold of earlier builds: style sheets, scripts, and the dictionaries of pages."""

from __future__ import annotations

import hashlib
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.samples.sheet_versions import sheet
from tests.sites.built import BuiltSite

from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.dictionaries.versions import Version, coding_of
from adaptc.compile.engine.reporting import Silent
from adaptc.core.model import MOST_SLASHES, dictionary_coding, is_servable_coding, name_of_coding
from adaptc.core.urls import pattern_of
from adaptc.formats.dictionary import DictionaryCodec, name_of
from adaptc.serve.verify.cases import pattern_of_versions
from adaptc.workflow.watch.builder_session import BuilderSession

ON: dict[str, Any] = {"codings__dictionaries": True, "build__levels": ("full",), "build__effort": "fast"}


def holding(text: str, count: int = 40) -> bytes:
    """Return a text whose digest has no more slashes than servers replace, as of nearly all."""
    return next(
        text_of
        for number in range(count)
        if is_servable_coding(dictionary_coding(name_of(text_of := f"{text}/* {number} */".encode())))
    )


def published(site: BuiltSite, *paths: str, **settings: Any) -> None:
    links = "".join(f"<link rel=stylesheet href='/{path}'>" for path in paths if path.endswith("css"))
    scripts = "".join(f"<script src='/{path}'></script>" for path in paths if path.endswith("js"))
    site.write({"index.html": f"<!DOCTYPE html><title>Page</title>{links}{scripts}<p>Words</p>"})
    site.build(**{**ON, **settings})


def deltas(site: BuiltSite, level: str = "full") -> dict[str, bytes]:
    """Return what is encoded with earlier versions, by directory and path."""
    root = site.output / level
    return {file.relative_to(root).as_posix(): file.read_bytes() for file in root.glob("dcz-*/**/*") if file.is_file()}


def assert_delta(site: BuiltSite, path: str, earlier: bytes, level: str = "full") -> None:
    body = deltas(site, level)[f"{dictionary_coding(name_of(earlier))}/{path}"]
    content = (site.output / level / "id" / path).read_bytes()
    assert DictionaryCodec(earlier, "fast").decode(body, 10**6) == content
    assert len(body) < (site.output / level / "br" / path).stat().st_size / 4


# ---- names

NAMES = {
    "/assets/app.css": "/assets/app.css",
    "/assets/index-B2x4Yz_a.js": "/assets/index-*.js",
    "/assets/index-DiwrgTda.js": "/assets/index-DiwrgTda.js",  # a word, as far as can be told
    "/main.3f2a9c1b.chunk.js": "/main.*.chunk.js",
    "/s/bootstrap-datepicker.min.js": "/s/bootstrap-datepicker.min.js",
    "/jquery-3.6.0.min.js": "/jquery-3.6.0.min.js",
    "/v2024/app.mjs": "/v2024/app.mjs",
    "/3f2a9c1b3f2a9c1b.js": "/3f2a9c1b3f2a9c1b.js",
    "/a/x_0123456789abcdef.css": "/a/x_*.css",
    "/a b.css": None,
    "/c++.js": None,
    "/photo.png": None,
    "/css": None,
}


@pytest.mark.parametrize("path", NAMES)
def test_the_versions_of_a_file_have_one_pattern(path):
    assert pattern_of(path) == NAMES[path]


def test_the_pattern_that_answers_are_compared_with_is_the_same():
    rng = random.Random(3)
    for _ in range(4000):
        path = "/" + "".join(rng.choices("aZ0123_-./~", k=rng.randrange(1, 24))) + rng.choice([".js", ".css", ".a.mjs"])
        assert pattern_of(path) == pattern_of_versions(path), path


def test_directories_have_a_name_for_each_slash_that_servers_replace():
    name = "a/b+c/d" + "e" * 36
    assert dictionary_coding(name) == "dcz-a_b+c_d" + "e" * 36
    assert name_of_coding(dictionary_coding(name)) == name
    assert is_servable_coding(dictionary_coding("/" * MOST_SLASHES + "e" * 40))
    assert not is_servable_coding(dictionary_coding("/" * (MOST_SLASHES + 1) + "e" * 39))
    content = b"some content"
    version = Version(hashlib.sha256(content).hexdigest(), "id", "key")
    assert coding_of(version) == dictionary_coding(name_of(content))


# ---- style sheets and scripts


def test_a_changed_sheet_is_encoded_against_what_it_was(tmp_path):
    site = BuiltSite(tmp_path)
    old, new = holding(sheet(1)), holding(sheet(2))
    site.write({"app.css": old})
    published(site, "app.css")
    assert not deltas(site)
    site.write({"app.css": new})
    published(site, "app.css")
    assert_delta(site, "app.css", old)
    before = {file: file.stat().st_mtime_ns for file in site.output.glob("full/**/*")}
    published(site, "app.css")
    assert before == {file: file.stat().st_mtime_ns for file in site.output.glob("full/**/*")}


def test_without_the_content_itself_in_the_tree(tmp_path):
    site, changed = BuiltSite(tmp_path), {"build__identity": "changed"}
    old, new = holding(sheet(1)), holding(sheet(2))
    for content in (old, new):
        site.write({"app.css": content})
        published(site, "app.css", **changed)
    (body,) = deltas(site).values()
    assert DictionaryCodec(old, "fast").decode(body, 10**6) == new


def test_a_script_with_a_hash_in_its_name_is_encoded_against_the_one_with_another_hash(tmp_path):
    site = BuiltSite(tmp_path)
    old, new = (f"/*{name}*/{sheet(number)}" for number, name in enumerate("ab"))
    site.write({"js/index-a1b2c3d4.js": f"`{old}`"})
    published(site, "js/index-a1b2c3d4.js")
    site.remove("js/index-a1b2c3d4.js")
    site.write({"js/index-e5f6a7b8.js": f"`{new}`"})
    published(site, "js/index-e5f6a7b8.js")
    assert_delta(site, "js/index-e5f6a7b8.js", f"`{old}`".encode())


def test_several_files_of_one_pattern_have_no_earlier_version(tmp_path):
    site = BuiltSite(tmp_path)
    site.write({"chunk-a1b2c3d4.js": f"`{sheet(1)}`", "chunk-e5f6a7b8.js": f"`{sheet(2)}`"})
    published(site, "chunk-a1b2c3d4.js", "chunk-e5f6a7b8.js")
    site.write({"chunk-a1b2c3d4.js": f"`{sheet(3)}`"})
    published(site, "chunk-a1b2c3d4.js", "chunk-e5f6a7b8.js")
    assert not deltas(site)


@pytest.mark.parametrize("back", [0, 1, 2])
def test_how_many_versions_back(tmp_path, back):
    site, versions = BuiltSite(tmp_path), [holding(sheet(number)) for number in range(4)]
    for content in versions:
        site.write({"app.css": content})
        published(site, "app.css", codings__versions_back=back)
    older = versions[-2::-1][:back]
    assert set(deltas(site)) == {f"{dictionary_coding(name_of(content))}/app.css" for content in older}
    for content in older:
        assert_delta(site, "app.css", content)


def test_a_version_that_returns_is_not_its_own_earlier_version(tmp_path):
    site, one, other = BuiltSite(tmp_path), holding(sheet(1)), holding(sheet(2))
    for content in (one, other, one):
        site.write({"app.css": content})
        published(site, "app.css", codings__versions_back=3)
    assert_delta(site, "app.css", other)
    assert len(deltas(site)) == 1


def test_what_the_cache_removes_is_kept_for_the_next_build(tmp_path):
    site, old, new = BuiltSite(tmp_path), holding(sheet(1)), holding(sheet(2))
    site.write({"app.css": old})
    published(site, "app.css")
    site.write({"app.css": new})
    shutil.rmtree(site.output / "full")
    Store(site.output / ".adaptc/cache").collect(0)
    published(site, "app.css")
    assert_delta(site, "app.css", old)


def test_a_damaged_earlier_version_is_not_used(tmp_path):
    site, old, new = BuiltSite(tmp_path), holding(sheet(1)), holding(sheet(2))
    site.write({"app.css": old})
    published(site, "app.css")
    shutil.rmtree(site.output / ".adaptc/cache")
    for file in (site.output / ".adaptc/earlier").iterdir():
        file.chmod(0o644)
        file.write_bytes(b"damaged")
    site.write({"app.css": new})
    published(site, "app.css")
    assert not deltas(site)


def test_the_same_history_gives_the_same_files_and_none_gives_none(tmp_path):
    contents = [holding(sheet(number)) for number in range(3)]
    sites = [BuiltSite(tmp_path / name) for name in ("one", "other", "clean")]
    for site in sites[:2]:
        for content in contents:
            site.write({"app.css": content})
            published(site, "app.css")
    sites[2].write({"app.css": contents[-1]})
    published(sites[2], "app.css")
    assert deltas(sites[0]) == deltas(sites[1]) != {}
    assert not deltas(sites[2])


def test_levels_that_caches_do_not_keep_have_none(tmp_path):
    site, levels = BuiltSite(tmp_path), {"build__levels": ("full", "extreme")}
    for number in (1, 2):
        site.write({"app.js": f"`{sheet(number)}`"})
        published(site, "app.js", **levels)
    assert deltas(site) and not deltas(site, "extreme")


def test_excluded_paths_have_none(tmp_path):
    site = BuiltSite(tmp_path)
    for number in (1, 2):
        site.write({"private/app.css": holding(sheet(number))})
        published(site, "private/app.css", serve__exclude=("/private",))
    assert not deltas(site)


def test_turned_off_nothing_is_left(tmp_path):
    site = BuiltSite(tmp_path)
    for number in (1, 2):
        site.write({"app.css": holding(sheet(number))})
        published(site, "app.css")
    assert deltas(site) and list((site.output / ".adaptc/earlier").iterdir())
    published(site, "app.css", codings__dictionaries=False)
    assert not deltas(site) and not list((site.output / ".adaptc/earlier").iterdir())


def test_a_watcher_encodes_against_earlier_versions_with_the_best_encodings(tmp_path):
    site, old = BuiltSite(tmp_path), holding(sheet(1))
    site.write({"app.css": old})
    published(site, "app.css")
    session = BuilderSession(site.config(**{**ON, "build__effort": "default"}), lambda *_: None, Silent())
    try:
        session.build_site()
        session.build_best()
        for number in (2, 3):
            site.write({"app.css": holding(sheet(number))})
            session.invalidator.invalidate(["app.css"], whole=False)
            assert not deltas(site)
            session.build_changed()
            assert not deltas(site)
            session.build_best()
            ((name, body),) = deltas(site).items()
            assert name == f"{dictionary_coding(name_of(old))}/app.css"
            assert DictionaryCodec(old, "default").decode(body, 10**6) == holding(sheet(number))
            old = holding(sheet(number))
    finally:
        session.close()


# ---- dictionaries of pages


def pages(shared: int) -> dict[str, str]:
    numbers = random.Random(shared)
    common = "".join(f"<li>{numbers.randrange(10**30):x}</li>\n" for _ in range(200))
    texts = ("".join(f"<p>{numbers.randrange(10**30):x}" for _ in range(20)) for _ in range(6))
    return {f"p{number}.html": f"<!DOCTYPE html><title>{number}</title>{common}{t}" for number, t in enumerate(texts)}


def dictionary(site: BuiltSite) -> bytes:
    (file,) = site.output.glob("full/id/_adaptc/*.dict")
    return Path(file).read_bytes()


@pytest.mark.parametrize("back", [0, 1])
def test_pages_are_encoded_with_the_dictionary_before_too(tmp_path, back):
    site, settings = BuiltSite(tmp_path), {**ON, "codings__versions_back": back}
    site.write(pages(0)).build(**settings)
    old = dictionary(site)
    # pages of two new parts and of the old ones: what encodes them with either dictionary is smaller
    mixed = {name: pages(1)[name] + content for name, content in pages(0).items()}
    site.write(mixed).build(**settings)
    new = dictionary(site)
    assert new != old
    expected = (new, old)[: back + 1]
    names = {dictionary_coding(name_of(content)): content for content in expected}
    assert set(deltas(site)) == {f"{name}/p{number}.html" for name in names for number in range(6)}
    for file, body in deltas(site).items():
        name, _, path = file.partition("/")
        assert DictionaryCodec(names[name], "fast").decode(body, 10**6) == site.read(path, level="full")


def test_a_dictionary_that_encodes_no_page_any_more_leaves_the_tree(tmp_path):
    """Pages stay encoded with it, for those who hold it."""
    site = BuiltSite(tmp_path)
    site.write(pages(0)).build(**ON)
    old = dictionary(site)
    once = {"cost__pages_per_visit": 1.0, "cost__warm_share": 0.0}
    site.build(**{**ON, **once})
    assert not list(site.output.glob("full/id/_adaptc/*"))
    assert {name.partition("/")[0] for name in deltas(site)} == {dictionary_coding(name_of(old))}
