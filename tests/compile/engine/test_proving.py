"""``build --prove``: the passes that break a promise are found and dropped, and no others."""

from __future__ import annotations

import asyncio
import errno
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.samples.drawn import drawing, encoded
from tests.sites.built import BuiltSite
from tests.sites.decorated import photo

from adaptc.browser.answers import Answer, Server
from adaptc.browser.chromium import Chromium, in_chromium
from adaptc.browser.evidence import WIDTHS
from adaptc.browser.judge import LAYOUT, Difference, PageView, view_page
from adaptc.browser.tab import BrowserError
from adaptc.cli.main import run
from adaptc.compile import pipeline
from adaptc.compile.analyse.demotions import Demotion, Demotions, demotions_of, with_demotions
from adaptc.compile.engine import stages
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.proof import prover, search, stage
from adaptc.compile.engine.proof.search import Suspect, find_culprit
from adaptc.compile.engine.proof.verdict import UNLOADABLE, Answers, Case, Verdict, VerdictStore
from adaptc.compile.engine.reporting import Silent
from adaptc.compile.engine.stages import STAGES, Build, Stage
from adaptc.compile.engine.state.state import State, state_path
from adaptc.compile.page.context import PageContext, Report
from adaptc.compile.passes.composed import compose_page
from adaptc.compile.view import Alternate, Alternates, Asset, DerivingView, Options, Outcome, View
from adaptc.core.diagnostics import UsageError
from adaptc.core.model import Action
from adaptc.formats.html.edit import Editor
from adaptc.report.figures import proof_sentence
from adaptc.report.summary import render_summary
from adaptc.workflow.configuration import load_config
from adaptc.workflow.prove import prove

# ---- the search, without a browser

MODERATE = ("moderate", "index.html")
SUSPECTS: list[Suspect] = [(("moderate", "site.css"), "styles"), *((MODERATE, name) for name in "abcdefg")]
CASE = Case("index.html", "moderate", 412, LAYOUT)
BROKEN = Verdict(CASE, (Difference("layout", "it moved"),))


def culprit(bad: set[str], demotions: Demotions = {}) -> tuple[Suspect | None, int]:  # noqa: B006
    """Search where a page breaks by the passes ``bad``; return what is blamed, and how often a page was judged."""
    judged = []

    async def judge(under: Demotions) -> Verdict | None:
        judged.append(under)
        dropped = {each.name for names in under.values() for each in names}
        return BROKEN if bad - dropped else None

    found = asyncio.run(find_culprit(demotions, SUSPECTS, BROKEN, judge))
    return (found[0] if found else None), len(judged)


@pytest.mark.parametrize("suspect", SUSPECTS)
def test_the_pass_to_blame_is_found(suspect: Suspect) -> None:
    found, judged = culprit({suspect[1]})
    assert found == suspect
    assert judged <= 4


def test_of_several_the_first_is_blamed() -> None:
    assert culprit({"c", "f"})[0] == (MODERATE, "c")


def test_no_pass_is_blamed_where_a_page_is_broken_without_any() -> None:
    assert culprit({"something else"}) == (None, 1)


def test_the_order_of_demotions_does_not_matter() -> None:
    found = [((level, path), Demotion(name, "x")) for level in "ab" for path in "pq" for name in ("one", "two")]
    assert list(with_demotions({}, found).items()) == list(with_demotions({}, reversed(found)).items())


# ---- builds with bad passes

LEVELS = ("lossless", "moderate", "extreme")
WORDS = " ".join(f"word{number}" for number in range(120))
PAGE = f"""<!DOCTYPE html>
<html lang=en><head><meta charset=utf-8><title>News</title>
<meta name=viewport content="width=device-width"><link rel=stylesheet href=site.css></head>
<body><nav><a href=/>Home</a> <a href=/about.html>About</a></nav>
<main><h1 id=top>News</h1><p>{WORDS}</p><p><img src=town.png width=300 height=200 alt="The town from above"></p>
<p><a href=/about.html>More</a></p></main></body></html>
"""
CSS = "body { margin: 1em; color: #222; background: #fff } nav { background: #eee; padding: 10px } h1 { color: #800 }\n"


def move_heading(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Move a box of one page."""
    return _styled(editor, page, "late-styles", "h1", "margin-top:99px")


def hide_text(text: str, page: PageContext, view: DerivingView, options: Options) -> tuple[str | None, Report]:
    """Hide the text of one page."""
    written, report = compose_page(text, page, view, options)
    hidden = "<main style=opacity:0>" if page.path == "index.html" else "<main>"
    return written and written.replace("<main>", hidden), report


def _styled(editor: Editor, page: PageContext, name: str, tag: str, style: str) -> Report:
    if page.path != "index.html":
        return Report()
    editor.set_attribute(next(editor.tree.iter_elements(tag)), "style", style)
    return Report([Action(name, "styled", tag, style)])


def widen_navigation(asset: Asset, view: View, options: Options) -> Outcome:
    """Move the boxes of every page that uses the sheet."""
    return Outcome(asset.content.replace(b"padding:10px", b"padding:13px"))


FAULTS: dict[str, dict[str, Any]] = {
    "late-styles": {"function": move_heading},  # a pass of moderate alone
    "compose": {"function": hide_text},  # of extreme
    "fonts": {"function": widen_navigation, "may_grow": True},  # of the sheet, at both
}
DROPPED = {
    ("extreme", "index.html"): ["compose"],
    ("moderate", "index.html"): ["late-styles"],
    ("moderate", "site.css"): ["fonts"],
}


@pytest.fixture(scope="module")
def bad_passes() -> Iterator[pytest.MonkeyPatch]:
    """Put faults into three passes. Pages are proven at one width, and what differs is looked at twice."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(prover, "_LOADS", 2)
        for module in (prover, search):
            patched.setattr(module, "WIDTHS", WIDTHS[:1])
        for name, fault in FAULTS.items():
            patched.setitem(pipeline.BY_NAME, name, replace(pipeline.BY_NAME[name], version=99, **fault))  # type: ignore
        yield patched


@pytest.fixture(scope="module")
def loads(bad_passes: pytest.MonkeyPatch) -> Counter[tuple[Server, str, int]]:
    """How often a page was looked at, by its server, address and width."""
    counted = Counter[tuple[Server, str, int]]()

    async def look(browser: Chromium, server: Server, url: str, width: int) -> PageView:
        counted[server, url, width] += 1
        return await view_page(browser, server, url, width)

    bad_passes.setattr(prover, "view_page", look)
    return counted


@pytest.fixture(scope="module")
def proven(
    chromium: str, loads: Counter[tuple[Server, str, int]], tmp_path_factory: pytest.TempPathFactory
) -> BuiltSite:
    """A site of two pages that was built with bad passes, and proven."""
    site = BuiltSite(tmp_path_factory.mktemp("proving"))
    site.write({"index.html": PAGE, "about.html": PAGE.replace("News", "About"), "site.css": CSS})
    site.write({"town.png": photo(300, 200)})
    build(site)
    return site


@pytest.fixture
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if a browser is started."""
    monkeypatch.setattr(Chromium, "start", lambda _: pytest.fail("a browser was started"))


def build(site: BuiltSite, **overrides: Any) -> Any:
    """Build and prove the site, with the cache of the first build."""
    return site.build(**{"build__levels": list(LEVELS), "browser__prove": 2} | overrides)


def elsewhere(site: BuiltSite, name: str) -> BuiltSite:
    """Return the same site with an output of its own."""
    other = BuiltSite(site.root / name)
    other.root.mkdir()
    (other.root / "site").symlink_to(site.docroot)
    return other


def dropped(site: BuiltSite) -> dict[tuple[str, str], list[str]]:
    state = State(state_path(site.output), read_only=True)
    return {unit: [each.name for each in names] for unit, names in demotions_of(state.decisions()).items()}


@pytest.mark.chromium
def test_exactly_the_bad_passes_are_dropped(proven: BuiltSite) -> None:
    assert dropped(proven) == DROPPED
    pages = {level: proven.read("index.html", level).decode() for level in LEVELS}
    assert "margin-top:99px" not in pages["moderate"]
    assert "opacity" not in pages["extreme"]
    assert "padding:10px" in pages["moderate"]
    assert "padding:10px" in proven.read("about.html", "moderate").decode()
    assert "padding:10px" not in proven.read("about.html", "extreme").decode()  # it is composed


@pytest.mark.chromium
def test_a_round_of_the_search_knows_what_the_last_one_saw(
    proven: BuiltSite, loads: Counter[tuple[Server, str, int]]
) -> None:
    assert max(loads.values()) == 2  # of the original, once more where a level differs


@pytest.mark.chromium
def test_the_other_passes_are_kept(proven: BuiltSite, tmp_path: Any) -> None:
    with pytest.MonkeyPatch.context() as patched:
        for name in FAULTS:
            nothing = replace(pipeline.BY_NAME[name], function=lambda *_: Report())
            asset = replace(pipeline.BY_NAME[name], function=lambda *_: Outcome(None))
            page = replace(pipeline.BY_NAME[name], function=lambda *_: (None, Report()))
            neutral = {"fonts": asset, "compose": page}.get(name, nothing)
            patched.setitem(pipeline.BY_NAME, name, neutral)  # type: ignore[misc]
        good = BuiltSite(tmp_path)
        (good.root / "site").symlink_to(proven.docroot)
        good.build(build__levels=list(LEVELS))
    for page in ("index.html", "about.html"):
        assert proven.read(page, "moderate") == good.read(page, "moderate")
    assert proven.read("index.html", "extreme") == good.read("index.html", "extreme")


@pytest.mark.chromium
def test_what_is_published_is_proven(proven: BuiltSite, no_browser: None) -> None:
    proof = prove(proven.config(build__levels=list(LEVELS)), ["index.html", "about.html"], (), 2, Silent())
    assert proof.is_kept, proof.diagnostics()


@pytest.mark.chromium
def test_what_was_proven_needs_no_browser(proven: BuiltSite, no_browser: None) -> None:
    before = proven.stamps()
    assert not build(proven).built
    proven.write({"other.css": "p { margin: 0 }"})
    built = build(proven).built
    proven.remove("other.css")
    assert {path for _, path in built} == {"other.css"}
    assert not build(proven).built
    assert {path: stamp for path, stamp in proven.stamps().items() if "/id/" in path} == {
        path: stamp for path, stamp in before.items() if "/id/" in path
    }
    assert dropped(proven) == DROPPED


@pytest.mark.chromium
def test_the_order_of_pages_does_not_matter(
    proven: BuiltSite, no_browser: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "sample_pages", lambda sizes, hits, count: sorted(sizes))
    one, other = elsewhere(proven, "one"), elsewhere(proven, "other")
    build(one, build__cache=proven.output / ".adaptc/cache")
    monkeypatch.setattr(stage, "sample_pages", lambda sizes, hits, count: sorted(sizes, reverse=True))
    build(other, build__cache=proven.output / ".adaptc/cache")
    trees = [{path: content for path, content in site.trees().items() if "/" in path} for site in (one, other)]
    assert trees[0] == trees[1]
    assert dropped(one) == DROPPED


@pytest.mark.chromium
def test_what_a_busy_machine_could_not_load_is_proven_by_the_next_build(
    proven: BuiltSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy, cache = elsewhere(proven, "busy"), proven.output / ".adaptc/cache"
    judge = search._PageSearch._judge

    async def hangs(self: Any, level: Any, prover: Any) -> Verdict:
        verdict = await judge(self, level, prover)
        is_slow = (verdict.case.level, verdict.case.page) == ("extreme", "about.html")
        return replace(verdict, differences=(Difference(UNLOADABLE, "it hangs"),)) if is_slow else verdict

    with monkeypatch.context() as patched:
        patched.setattr(search._PageSearch, "_judge", hangs)
        build(busy, build__cache=cache)
    assert ("extreme", "about.html") in dropped(busy)
    build(busy, build__cache=cache)
    assert dropped(busy) == DROPPED
    assert not build(busy, build__cache=cache).built


@pytest.mark.chromium
def test_without_a_proof_nothing_is_dropped(proven: BuiltSite, no_browser: None) -> None:
    plain, cache = elsewhere(proven, "plain"), proven.output / ".adaptc/cache"
    build(plain, build__cache=cache)
    build(plain, build__cache=cache, browser__prove=0)
    never = elsewhere(proven, "never")
    build(never, build__cache=cache, browser__prove=0)
    assert plain.trees() == never.trees()
    assert not dropped(plain)


@pytest.mark.chromium
def test_a_build_that_is_ended_at_any_point_is_gone_on_with(
    proven: BuiltSite, no_browser: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, ended = proven.output / ".adaptc/cache", elsewhere(proven, "ended")
    build(ended, build__cache=cache, browser__prove=0)  # with bad pages
    assert b"margin-top:99px" in ended.read("index.html", "moderate")
    is_proven = False
    for number, each in enumerate(STAGES, 1):
        with monkeypatch.context() as patched:
            patched.setattr(stages, "STAGES", (*STAGES[:number], Stage("end", _end)))
            with pytest.raises(KeyboardInterrupt):
                build(ended, build__cache=cache)
        is_proven |= each.name == "prove pages with a browser"
        page = ended.output / "moderate/id/index.html"
        assert not is_proven or not page.exists() or b"margin-top:99px" not in page.read_bytes()
    assert is_proven
    build(ended, build__cache=cache)
    files = {path: content for path, content in proven.trees().items() if "/" in path}
    assert {path: content for path, content in ended.trees().items() if "/" in path} == files


def _end(_build: Build) -> None:
    raise KeyboardInterrupt


@pytest.mark.chromium
def test_what_was_dropped_is_said(proven: BuiltSite, no_browser: None, capsys: pytest.CaptureFixture[str]) -> None:
    result = build(proven)
    said = {str(each.location): each.message for each in result.diagnostics if each.id == "pass-demoted"}
    assert said.keys() == {"index.html", "site.css"}
    assert said["site.css"].startswith(
        "pass fonts was dropped at moderate: in a browser about.html at 412 pixels shows "
    )
    proof = result.figures.proof
    assert (proof.pages, proof.broken, proof.left, proof.dropped, proof.as_above) == (2, 3, 0, 3, 0)
    summary = render_summary(result.figures)
    assert "2 pages proven at every level in a browser: 3 broken promises, 3 passes dropped.\n" in summary
    assert run(["explain", "-o", str(proven.output), "index.html"]) == 0
    assert "pass compose was dropped at extreme: in a browser at 412 pixels shows words: " in capsys.readouterr().out


def wrong_alternates(asset: Asset, original: bytes, view: View, options: Options) -> Alternates:
    """Make another image in place of the same in another format."""
    return Alternates(
        (Alternate("webp", encoded(drawing(), "WEBP")),), (Action("alternates", "made", asset.path, "x"),)
    )


@pytest.mark.chromium
def test_an_image_in_another_format_that_is_wrong_is_dropped(
    chromium: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "WIDTHS", WIDTHS)
    good, bad = BuiltSite(tmp_path / "good"), BuiltSite(tmp_path / "bad")
    for site in (good, bad):
        site.write({"index.html": PAGE, "site.css": CSS, "town.png": photo(300, 200)})
    good.build(build__levels=["lossless"])
    wrong = replace(pipeline.BY_NAME["alternates"], version=99, function=wrong_alternates)
    monkeypatch.setitem(pipeline.BY_NAME, "alternates", wrong)  # type: ignore[misc]
    build(bad, build__levels=["lossless"], levels__lossless__alternates__formats=["webp"])
    assert dropped(bad) == {("lossless", "town.png"): ["alternates"]}
    assert {path: content for path, content in bad.trees().items() if "/id/" in path} == {
        path: content for path, content in good.trees().items() if "/id/" in path
    }
    assert not list(bad.output.rglob("*.webp"))


@pytest.mark.chromium
def test_pages_of_the_template_of_a_broken_page_lose_its_passes(
    proven: BuiltSite, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stage, "sample_pages", lambda sizes, hits, count: ["index.html"])
    site = BuiltSite(proven.root / "alike")
    site.write({path: proven.docroot.joinpath(path).read_bytes() for path in ("index.html", "site.css", "town.png")})
    site.write(
        {"b.html": PAGE.replace("News", "Bees"), "other.html": PAGE.replace("<main>", "<div class=x>x</div><main>")}
    )
    settings = {"build__cache": proven.output / ".adaptc/cache", "browser__prove": 1}
    proof = build(site, **settings).figures.proof
    alike = {(level, "b.html"): DROPPED[level, "index.html"] for level in ("extreme", "moderate")}
    assert dropped(site) == {**DROPPED, **alike}
    assert (proof.dropped, proof.alike) == (3, 1)
    assert proof_sentence(proof).endswith("3 passes dropped, 1 page of their templates built like them.")
    assert run(["explain", "-o", str(site.output), "b.html"]) == 0
    assert "in a browser a page like it, index.html, at 412 pixels shows words: " in capsys.readouterr().out
    assert not build(site, **settings).built


@pytest.mark.chromium
def test_a_pass_that_is_mended_is_used_again(proven: BuiltSite) -> None:
    mended = elsewhere(proven, "mended")
    cache = proven.output / ".adaptc/cache"
    build(mended, build__cache=cache)
    with pytest.MonkeyPatch.context() as patched:
        nothing = replace(pipeline.BY_NAME["late-styles"], version=100, function=lambda *_: Report())
        patched.setitem(pipeline.BY_NAME, "late-styles", nothing)  # type: ignore[misc]
        build(mended, build__cache=cache)
        assert dropped(mended) == {unit: names for unit, names in DROPPED.items() if names != ["late-styles"]}


@pytest.mark.chromium
def test_what_a_server_raises_is_no_fault_of_a_page(chromium: str) -> None:
    def full(url: str) -> Answer | None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async def look(browser: Chromium) -> PageView:
        return await view_page(browser, full, "https://site.invalid/", 412)

    with pytest.raises(OSError, match="No space left"):
        in_chromium(chromium, look)


@pytest.mark.parametrize("is_busy", [False, True])
def test_a_page_that_cannot_be_loaded_is_a_fault_of_the_level_only_if_the_original_can(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_busy: bool
) -> None:
    loads = iter([False, is_busy, is_busy])  # whether the machine is too busy for the original

    class Started:
        async def start(self) -> None:
            pass

    async def look(browser: Any, server: Any, url: str, width: int) -> Any:
        if server is level or next(loads):
            raise BrowserError("it does not come to rest")
        return SimpleNamespace(answers={url: "a digest of the original"})

    def original(url: str) -> Answer | None:
        return None

    def level(url: str) -> Answer | None:
        return None

    monkeypatch.setattr(prover, "view_page", look)
    verdicts, url = VerdictStore(Store(tmp_path)), "https://site.invalid/"
    judge = prover.PageProver(Started(), verdicts, Answers(original), url, 412)  # type: ignore[arg-type]
    verdict = asyncio.run(judge.judge(CASE, Answers(level)))
    assert [each.kind for each in verdict.differences] == ([] if is_busy else [UNLOADABLE])
    assert verdict.reason == ("it does not come to rest" if is_busy else None)
    assert verdicts.find(CASE, url, Answers(original), Answers(level)) is None


def test_without_a_browser_pages_are_published_without_a_proof(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHROME_PATH", "/gone/chromium")
    site = BuiltSite(tmp_path).write({"index.html": PAGE})
    for _ in range(2):
        said = site.build(build__levels=["lossless"], browser__prove="all").diagnostics
        assert [each.message for each in said if each.id == "browser-missing"] == [
            "no Chromium was found (/gone/chromium); pages are published without a proof"
        ]


def test_how_many_pages_are_proven_is_said_in_the_configuration() -> None:
    for value, pages in ((True, 12), (False, 0), (3, 3), ("all", "all")):
        assert load_config(overrides={"browser.prove": value}).browser.prove == pages
    with pytest.raises(UsageError, match="true, false, a whole number of at least 0, or"):
        load_config(overrides={"browser.prove": "some"})
