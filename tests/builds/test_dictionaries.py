"""Dictionaries of levels: their format, the search, and the stage of the build that keeps them up to date."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
from typing import Any

import pytest
import zstandard

from tests.sites.built import BuiltSite

from adaptc.compile.analyse.decisions import DeliveryCost
from adaptc.compile.analyse.dictionary_search import FIELDS, SampledPage, search
from adaptc.compile.engine.reporting import Silent
from adaptc.compile.engine.trees.gate import Gate
from adaptc.core.quantities import written_bytes
from adaptc.formats.codings import CodingError
from adaptc.formats.dictionary import MAGIC, DictionaryCodec, name_of, nameable
from adaptc.report.summary import render_summary
from adaptc.workflow.api import engine_of
from adaptc.workflow.check.check import Status, check, repair
from adaptc.workflow.export.export import export_site
from adaptc.workflow.watch.builder_session import BuilderSession

COST = DeliveryCost(0.83, 0.033, 3.0, 0.3)
ON = {"codings__dictionaries": True, "build__levels": ("lossless",), "build__effort": "fast"}
WORDS = [f"{chr(97 + n % 26)}{n * n % 9973:x}" for n in range(4000)]


def text(seed: int, words: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


SHARED = "".join(f"<li><a href='#{n}'>{text(n, 6)}</a></li>\n" for n in range(60))


def page(number: int, shared: str = SHARED) -> str:
    return f"<!DOCTYPE html><title>Page {number}</title><ul>{shared}</ul><p>{text(1000 + number, 80)}</p>"


def site_of(root, pages: int = 6) -> BuiltSite:
    return BuiltSite(root).write({f"p{number}.html": page(number) for number in range(pages)})


def dictionary_of(site: BuiltSite, level: str = "lossless") -> dict[str, Any] | None:
    levels = json.loads((site.output / "manifest.json").read_text())["levels"]
    return next(row.get("dictionary") for row in levels if row["name"] == level)


def coded_files(site: BuiltSite, level: str = "lossless") -> set[str]:
    return {file.relative_to(site.output / level).as_posix() for file in (site.output / level).glob("dcz-*/**/*.html")}


# ---- the format


def test_a_body_has_the_magic_number_the_hash_and_a_frame_of_the_raw_dictionary():
    dictionary, content = page(1).encode(), page(2).encode()
    body = DictionaryCodec(dictionary, "default").encode(content)
    assert body[:8] == MAGIC == b"\x5e\x2a\x4d\x18\x20\x00\x00\x00"
    assert body[8:40] == hashlib.sha256(dictionary).digest()
    raw = zstandard.ZstdCompressionDict(dictionary, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    assert zstandard.ZstdDecompressor(dict_data=raw).decompress(body[40:]) == content
    assert len(body) < len(content) / 4


def test_a_name_is_the_hash_as_requests_have_it_and_the_name_of_a_file():
    dictionary = nameable(b"what pages share")
    assert dictionary.startswith(b"what pages share\n")
    assert base64.b64decode(name_of(dictionary) + "=") == hashlib.sha256(dictionary).digest()
    assert name_of(dictionary).isalnum()
    assert nameable(b"what pages share") == dictionary


def test_a_body_of_another_dictionary_a_cut_one_and_a_large_one_are_refused():
    content = page(2).encode()
    codec, other = DictionaryCodec(b"one dictionary", "fast"), DictionaryCodec(b"another one", "fast")
    body = codec.encode(content)
    assert codec.decode(body, len(content)) == content
    for wrong, limit in ((other.encode(content), 10**6), (body[:-1], 10**6), (body[:39], 10**6), (body, 10)):
        with pytest.raises(CodingError):
            codec.decode(wrong, limit)


# ---- the search


def sampled(contents: list[str]) -> list[SampledPage]:
    return [SampledPage(content.encode(), len(zstandard.compress(content.encode()))) for content in contents]


def test_what_pages_share_becomes_the_dictionary():
    found = search(sampled([page(number) for number in range(30)]), None, COST, "fast")
    assert found.dictionary is not None and found.visit is not None
    assert SHARED[200:900].encode() in found.dictionary
    assert text(1000, 80).encode() not in found.dictionary
    assert found.visit.pays and found.visit.coded < found.visit.plain / 2


def test_none_pays_where_pages_share_nothing():
    found = search(sampled([page(number, shared="") for number in range(30)]), None, COST, "fast")
    assert found.dictionary is None


def test_a_visit_of_one_page_pays_for_no_dictionary():
    cost = DeliveryCost(0.83, 0.033, 1.0, 0.0)
    assert search(sampled([page(number) for number in range(30)]), None, cost, "fast").dictionary is None


def test_the_last_dictionary_is_kept_while_another_would_save_little_more():
    pages = [page(number) for number in range(30)]
    first = search(sampled(pages), None, COST, "fast").dictionary
    little = [content.replace("Page", "Sheet") for content in pages]
    assert search(sampled(little), first, COST, "fast").dictionary == first
    other = "".join(f"<li>{text(5000 + number, 6)}</li>\n" for number in range(60))
    much = search(sampled([page(number, other) for number in range(30)]), first, COST, "fast").dictionary
    assert much not in (first, None)


def test_none_pays_where_some_visits_would_take_many_more_bytes():
    """Pages in groups: the mean of all visits is smaller, but those that see two groups pay for both."""
    mixed = [page(number, SHARED * 2 if number % 5 else "") for number in range(40)]
    found = search(sampled(mixed), None, COST, "fast")
    assert found.visit is not None
    saving = found.visit.without - found.visit.first
    assert 0 < saving < 10 * found.visit.loss
    assert found.dictionary is None


def test_equal_pages_give_an_equal_dictionary():
    pages = sampled([page(number) for number in range(30)])
    assert search(pages, None, COST, "fast").dictionary == search(pages, None, COST, "fast").dictionary


# ---- the stage


def test_pages_are_encoded_with_the_dictionary_of_their_level(tmp_path):
    site = site_of(tmp_path)
    site.build(**ON)
    described = dictionary_of(site)
    assert described is not None
    dictionary = (site.output / "lossless/id" / str(described["path"])).read_bytes()
    assert hashlib.sha256(dictionary).hexdigest() == described["sha256"]
    directory = f"dcz-{name_of(dictionary)}"
    assert coded_files(site) == {f"{directory}/p{number}.html" for number in range(6)}
    codec = DictionaryCodec(dictionary, "fast")
    for number in range(6):
        body = (site.output / "lossless" / directory / f"p{number}.html").read_bytes()
        assert codec.decode(body, 10**6) == site.read(f"p{number}.html")
    assert float(described["next"]) < float(described["first"])
    assert (site.output / "lossless/br" / str(described["path"])).exists()


def test_they_are_off_by_default_and_removed_when_turned_off(tmp_path):
    site = site_of(tmp_path)
    off = {**ON, "codings__dictionaries": False}
    site.build(**off)
    assert not coded_files(site) and dictionary_of(site) is None
    site.build(**ON)
    assert coded_files(site)
    site.build(**off)
    assert not list(site.output.glob("lossless/dcz-*")) and dictionary_of(site) is None
    assert not list(site.output.glob("lossless/*/_adaptc"))


def test_two_builds_of_one_site_are_equal_and_a_build_of_nothing_new_does_nothing(tmp_path):
    one, other = site_of(tmp_path / "one"), site_of(tmp_path / "other")
    one.build(**ON)
    other.build(**ON)
    assert dictionary_of(one) == dictionary_of(other)
    before = {
        file: file.stat().st_mtime_ns for file in one.output.rglob("*") if file.is_file() and ".adaptc" not in str(file)
    }
    one.build(**ON)
    assert before == {file: file.stat().st_mtime_ns for file in before}


def test_a_changed_page_keeps_the_dictionary_and_gets_a_new_body(tmp_path):
    site = site_of(tmp_path, 20)
    site.build(**ON)
    before = dictionary_of(site)
    assert before is not None
    (directory,) = site.output.glob("lossless/dcz-*")
    old = (directory / "p3.html").read_bytes()
    site.write({"p3.html": page(77)})
    site.build(**ON)
    assert dictionary_of(site) is not None and dictionary_of(site)["path"] == before["path"]
    dictionary = (site.output / "lossless/id" / str(before["path"])).read_bytes()
    body = (directory / "p3.html").read_bytes()
    assert body != old
    assert DictionaryCodec(dictionary, "fast").decode(body, 10**6) == site.read("p3.html")


def test_another_site_gets_another_dictionary_and_nothing_of_the_old_one_stays(tmp_path):
    site, settings = site_of(tmp_path), {**ON, "codings__versions_back": 0}
    site.build(**settings)
    (old,) = site.output.glob("lossless/dcz-*")
    other = "".join(f"<li>{text(5000 + number, 6)}</li>\n" for number in range(60))
    site.write({f"p{number}.html": page(number, other) for number in range(6)})
    site.build(**settings)
    (new,) = site.output.glob("lossless/dcz-*")
    assert new != old
    (dictionary,) = site.output.glob("lossless/id/_adaptc/*.dict")
    assert dictionary.stem == new.name.removeprefix("dcz-")


def test_a_removed_page_leaves_no_body(tmp_path):
    site = site_of(tmp_path)
    site.build(**ON)
    site.remove("p2.html")
    site.build(**ON)
    assert {name.rpartition("/")[2] for name in coded_files(site)} == {f"p{number}.html" for number in (0, 1, 3, 4, 5)}


def test_pages_that_are_never_adapted_are_not_in_a_dictionary(tmp_path):
    secret = "".join(f"<li>{text(7000 + number, 6)}</li>\n" for number in range(60))
    site = site_of(tmp_path).write({f"private/{number}.html": page(number, secret) for number in range(30)})
    site.build(**ON, serve__exclude=("/private",))
    (dictionary,) = site.output.glob("lossless/id/_adaptc/*.dict")
    assert text(5, 6).encode() in dictionary.read_bytes()
    assert text(7005, 6).encode() not in dictionary.read_bytes()


def test_most_viewed_pages_decide_where_there_are_logs(tmp_path):
    other = "".join(f"<li>{text(5000 + number, 6)}</li>\n" for number in range(60))
    site = site_of(tmp_path).write({f"rare/{number}.html": page(number, other) for number in range(30)})
    line = '192.0.2.{0} - - [21/Nov/2026:12:00:{0:02} +0000] "GET /p{1}.html HTTP/1.1" 200 9 "-" "Firefox"\n'
    log = tmp_path / "access.log"
    log.write_text("".join(line.format(number, number % 6) for number in range(60)))
    site.build(**ON, select__logs=(str(log),))
    (dictionary,) = site.output.glob("lossless/id/_adaptc/*.dict")
    assert text(5, 6).encode() in dictionary.read_bytes()
    assert text(5005, 6).encode() not in dictionary.read_bytes()


def test_why_there_is_none(tmp_path):
    site = BuiltSite(tmp_path).write({f"p{number}.html": page(number, "") for number in range(6)})
    result = site.build(**ON)
    (row,) = result.figures.dictionaries
    assert row.path is None and "more bytes" in row.reason
    assert not coded_files(site)


def test_summary_and_report_have_the_first_page_and_the_next(tmp_path):
    site = site_of(tmp_path).write({"p0.html": page(0)})
    result = site.build(**ON)
    (row,) = result.figures.dictionaries
    first, following = written_bytes(row.first), written_bytes(row.next)
    summary = render_summary(result.figures)
    assert f"  lossless  first page {first}, next page {following}; the dictionary {written_bytes(row.sent)}" in summary
    assert f"a page alone is {first}, with it {following}" in result.report.read_text()
    assert row.visit is not None and row.visit.pages == 3
    assert row.visit.without == pytest.approx(3 * row.first)
    assert row.visit.later == pytest.approx(3 * row.next)
    assert row.visit.first == pytest.approx(row.first + row.sent + FIELDS + 2 * row.next)
    expected = 0.7 * row.visit.first + 0.3 * row.visit.later
    assert row.visit.mean == pytest.approx(0.7 * expected + 0.3 * row.visit.without)
    visit, later = written_bytes(row.visit.first), written_bytes(row.visit.later)
    assert f"a visit of 3 pages {visit}, a later one {later}, without" in summary
    assert f"A visit of 3 pages is {visit}, a later one {later};" in result.report.read_text()
    manifest = dictionary_of(site)
    assert manifest is not None and manifest["visit"]["mean"] == pytest.approx(row.visit.mean, abs=1)
    assert site.build(**ON).figures.dictionaries == (row,)


def test_check_finds_damaged_missing_and_foreign_files_and_repairs_them(tmp_path):
    site = site_of(tmp_path)
    site.build(**ON)
    config = site.config(**ON)
    assert not check(config, every_file=True).findings
    (directory,) = site.output.glob("lossless/dcz-*")
    (dictionary,) = site.output.glob("lossless/id/_adaptc/*.dict")
    content, status = dictionary.read_bytes(), dictionary.stat()
    (directory / "p1.html").unlink()
    (directory / "foreign.html").write_text("x")
    dictionary.chmod(0o644)
    dictionary.write_bytes(bytes(len(content)))
    os.utime(dictionary, ns=(status.st_atime_ns, status.st_mtime_ns))
    verdict = check(config, every_file=True)
    found = {(finding.status, finding.file) for finding in verdict.findings if finding.file}
    assert found == {
        (Status.FOREIGN, f"lossless/{directory.name}/foreign.html"),
        (Status.CORRUPT, f"lossless/id/_adaptc/{dictionary.name}"),
        (Status.MISSING, f"lossless/{directory.name}/p1.html"),
    }
    repair(config, verdict, Silent())
    assert not check(config, every_file=True).findings
    assert dictionary.read_bytes() == content


def test_what_is_encoded_with_a_dictionary_is_withdrawn_with_its_page(tmp_path):
    site = site_of(tmp_path)
    site.build(**ON)
    engine = engine_of(site.config(**ON), Silent())
    gate = Gate(engine.trees.publisher, engine.spec.state_path)
    gate.invalidate(["p1.html"])
    gate.close()
    assert {name.rpartition("/")[2] for name in coded_files(site)} == {f"p{number}.html" for number in (0, 2, 3, 4, 5)}


def test_levels_are_compared_without_dictionaries(tmp_path):
    """A page that stays as it is at the level above has nothing of the dictionary of that level."""
    site = site_of(tmp_path)
    site.build(**ON)
    both = {**ON, "build__levels": ("lossless", "moderate")}
    site.build(**both)
    directories = {file.name for file in site.output.glob("*/dcz-*")}
    for level in ("lossless", "moderate"):
        (own,) = site.output.glob(f"{level}/dcz-*")
        (dictionary,) = site.output.glob(f"{level}/id/_adaptc/*.dict")
        assert dictionary.stem == own.name.removeprefix("dcz-")
        assert len(coded_files(site, level)) == 6
    assert len(directories) in (1, 2)


@pytest.mark.parametrize(
    "change", [{"codings__dictionaries": False}, {"codings__versions_back": 0}, {"cost__pages_per_visit": 5.0}]
)
def test_a_check_notices_that_settings_of_dictionaries_changed(tmp_path, change):
    site = site_of(tmp_path)
    other = {**ON, **change}
    for built, wanted in ((other, ON), (ON, other)):
        site.build(**built)
        for every_file in (False, True):
            assert not check(site.config(**built), every_file=every_file).findings
            assert Status.RECIPE in {
                each.status for each in check(site.config(**wanted), every_file=every_file).findings
            }


def test_a_watcher_withdraws_first_and_encodes_again_with_the_best_encodings(tmp_path):
    site = site_of(tmp_path, 20)
    session = BuilderSession(site.config(**{**ON, "build__effort": "default"}), lambda *_: None, Silent())
    try:
        session.build_site()
        assert not coded_files(site)
        session.build_best()
        (directory,) = site.output.glob("lossless/dcz-*")
        assert len(coded_files(site)) == 20
        site.write({"p3.html": page(77)})
        session.invalidator.invalidate(["p3.html"], whole=False)
        assert f"{directory.name}/p3.html" not in coded_files(site)
        session.build_changed()
        assert f"{directory.name}/p3.html" not in coded_files(site)
        assert len(coded_files(site)) == 19
        session.build_best()
        assert len(coded_files(site)) == 20
        dictionary = (site.output / f"lossless/id/_adaptc/{directory.name.removeprefix('dcz-')}.dict").read_bytes()
        body = (directory / "p3.html").read_bytes()
        assert DictionaryCodec(dictionary, "default").decode(body, 10**6) == site.read("p3.html")
    finally:
        session.close()


def test_an_export_has_neither_dictionaries_nor_what_they_encode(tmp_path):
    site = site_of(tmp_path)
    site.build(**ON)
    export_site(site.config(**ON), "lossless", tmp_path / "public", "parallel", Silent())
    names = {file.name for file in (tmp_path / "public").rglob("*")}
    assert {"id", "br", "p1.html"} <= names
    assert not [name for name in names if name.endswith(".dict") or name.startswith("dcz")]
