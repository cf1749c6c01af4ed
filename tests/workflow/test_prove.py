"""``adaptc prove``: faults that are seeded into levels are found, and what is as promised is not loaded again."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image, ImageOps

from tests.samples.drawn import drawing, encoded
from tests.samples.seeds import seeds
from tests.sites.built import BuiltSite
from tests.sites.shown import URL, side_by_side

from adaptc.browser.answers import Answer, Server
from adaptc.browser.evidence import WIDTHS
from adaptc.browser.judge import CONTENT, LAYOUT, PIXELS, Difference, PageView, differences, view_page
from adaptc.browser.robot import Robot
from adaptc.cli.main import run
from adaptc.compile.engine.proof import prover
from adaptc.compile.engine.proof.stage import sample_pages
from adaptc.compile.engine.reporting import Silent
from adaptc.core.diagnostics import UsageError
from adaptc.workflow.prove import Proof, prove

LEVELS = ("lossless", "moderate", "extreme")
WORDS = " ".join(f"word{number}" for number in range(120))
PAGE = f"""<!DOCTYPE html>
<html lang=en><head><meta charset=utf-8><title>News</title>
<meta name=viewport content="width=device-width"><link rel=stylesheet href=site.css></head>
<body><nav><a href=/>Home</a> <a href=/about.html>About</a></nav>
<main><h1 id=top>News</h1><p>{WORDS}</p><p><img src=map.png width=60 height=40 alt="The map of the town"></p>
<p><a href=/one.html>One</a> <a href=/two.html>Two</a></p>
<form action=/search><input name=q> <button name=go>Search</button></form></main></body></html>
"""
CSS = "body { margin: 1em; color: #222; background: #fff } nav { background: #eee; padding: 10px } h1 { color: #800 }\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltSite:
    """A site of four pages at three levels."""
    site = BuiltSite(tmp_path_factory.mktemp("prove"))
    others = {name: PAGE.replace("News", name) for name in ("about.html", "one.html", "two.html")}
    site.write({"index.html": PAGE, **others, "site.css": CSS, "map.png": encoded(drawing())})
    site.build(build__levels=list(LEVELS))
    return site


@pytest.fixture
def fresh(built: BuiltSite, tmp_path: Path) -> Iterator[Callable[[], Proof]]:
    """Prove the page index.html of the built site, with a cache of its own; what a test changes is put back."""
    before = {path: (built.output / path).read_bytes() for path in _files(built.output)}
    config = built.config(build__levels=list(LEVELS), build__cache=tmp_path / "cache")
    yield lambda: prove(config, ["index.html"], (), 1, Silent())
    for path in _files(built.output):
        if path not in before:
            (built.output / path).unlink()
    for path, content in before.items():
        (built.output / path).unlink(missing_ok=True)
        (built.output / path).write_bytes(content)


def _files(output: Path) -> list[str]:
    return [str(file.relative_to(output)) for level in LEVELS for file in (output / level).rglob("*") if file.is_file()]


def seed(site: BuiltSite, level: str, before: str, after: str) -> None:
    """Replace text in the page of a level. The files of trees are links into the cache."""
    file = site.output / level / "id/index.html"
    text = file.read_text("utf-8")
    assert before in text
    file.unlink()
    file.write_text(text.replace(before, after), "utf-8")


pytestmark = pytest.mark.chromium


@pytest.fixture(autouse=True)
def _few_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are proven at one width, and what differs is looked at twice: a load takes half a second of CPU time."""
    monkeypatch.setattr(prover, "_LOADS", 2)
    monkeypatch.setattr(prover, "WIDTHS", WIDTHS[:1])


def test_what_was_built_keeps_its_promises(
    chromium: str, fresh: Callable[[], Proof], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prover, "WIDTHS", WIDTHS)
    proof = fresh()
    assert proof.is_kept, proof.diagnostics()
    assert [(each.case.level, each.case.width) for each in proof.verdicts] == list(itertools.product(LEVELS, WIDTHS))


OVERLAY = "<div style='position:fixed;inset:0;background:#fff;z-index:9'></div></main>"


FAULTS = (
    (PIXELS, "<style>", "<style media=print>", {"layout", "pixels"}),
    (PIXELS, "#800", "#801", {"pixels"}),
    (LAYOUT, "<style>", "<style media=print>", {"layout"}),
    (LAYOUT, "padding: 10px", "padding: 13px", {"layout"}),
    (LAYOUT, "/one.html", "/other.html", {"links"}),
    (LAYOUT, "id=top", "id=bottom", {"names"}),
    (LAYOUT, "word7 ", "", {"text"}),
    (LAYOUT, "</main>", "<script>lost()</script></main>", {"errors"}),
    (LAYOUT, "</main>", "<img src=gone.png hidden></main>", {"failed", "missing", "weight"}),
    (LAYOUT, "</main>", OVERLAY, {"covered", "blank"}),
    (LAYOUT, "<!DOCTYPE html>", "", {"mode"}),
    (CONTENT, "</main>", OVERLAY, {"covered", "blank"}),
    (CONTENT, "/one.html", "/two.html", {"links"}),
    (CONTENT, "name=q", "name=other", {"controls"}),
    (CONTENT, " ".join(f"word{number}" for number in range(30, 50)), "", {"words"}),
    (CONTENT, "<main>", "<main hidden>", {"words", "links", "controls"}),
    (CONTENT, "<main>", "<main style=opacity:0>", {"words", "links", "controls"}),
    (CONTENT, "</main>", "<script>location='https://example.com/'</script></main>", {"departure"}),
)


def test_seeded_faults_are_found(chromium: str) -> None:
    page = PAGE.replace("<link rel=stylesheet href=site.css>", f"<style>{CSS}</style>")
    pages = [page, *(page.replace(before, after) for _, before, after, _ in FAULTS)]
    assert len(set(pages)) == len({(before, after) for _, before, after, _ in FAULTS}) + 1
    original, *views = look_at(chromium, *pages)
    for (promised, before, after, kinds), view in zip(FAULTS, views, strict=True):
        found = {each.kind for each in differences((original,), view, promised)}
        assert kinds <= found, (before, after)
        assert not differences((original,), original, promised)


BY_MARKUP, BY_SHEET = PAGE.replace("map.png", "photo.jpg"), PAGE.replace("site.css", "photo.css")


WITH_FORMATS = {"web": ("pictures", "sheet-pictures"), "lossless": ("alternates",)}
# Which format a level has: each once, with ADAPTC_FUZZ both
FORMATS = ({"web": "avif", "lossless": "webp"}, {"web": "webp", "lossless": "avif"})


@pytest.mark.parametrize("number", [seed for seed in seeds(0) if seed < len(FORMATS)])
def test_a_wrong_image_in_another_format_is_found(chromium: str, tmp_path: Path, number: int) -> None:
    formats = FORMATS[number]
    site, pages = BuiltSite(tmp_path), ["index.html", "sheet.html"]
    photo = Image.radial_gradient("L").resize((300, 200)).convert("RGB")
    sheets = {"site.css": CSS, "photo.css": CSS + "main { background: url(photo.jpg); height: 300px }\n"}
    site.write({"index.html": BY_MARKUP, "sheet.html": BY_SHEET, **sheets, "map.png": encoded(drawing())})
    site.write({"photo.jpg": encoded(photo, "JPEG", quality=98)})
    settings: dict[str, Any] = {"build__levels": list(WITH_FORMATS)}
    for level, passes in WITH_FORMATS.items():
        for name in passes:
            settings |= {
                f"levels__{level}__{name}__formats": [formats[level]],
                f"levels__{level}__{name}__target": 0.96,
            }
    config = site.config(**settings)
    site.build(**settings)
    assert prove(config, pages, (), 1, Silent()).is_kept
    for level, kind in formats.items():
        wrong = encoded(ImageOps.invert(photo), kind.upper())
        copies = list((site.output / level).rglob("*." + kind))
        assert copies
        for copy in copies:  # the files of trees are links into the cache
            copy.unlink()
            copy.write_bytes(wrong)
    proven = prove(config, pages, (), 1, Silent()).verdicts
    likeness = [each for each in proven if any(other.kind == "likeness" for other in each.differences)]
    assert {(each.case.level, each.case.page) for each in likeness} == set(itertools.product(WITH_FORMATS, pages))


def test_what_an_icon_font_draws_is_no_word(chromium: str) -> None:
    icons = (
        "<i style='font-family: \"Material Icons\"'>favorite face lock</i> <i class=material-icons>mail chat</i> Other"
    )
    page = "<!DOCTYPE html><title>t</title><main>{} words</main>"
    original, same, less = look_at(chromium, page.format(icons), page.format("Other"), page.format(""))
    assert differences((original,), same, CONTENT) == ()
    assert [each.kind for each in differences((original,), less, CONTENT)] == ["words"]


def look_at(program: str, *pages: str) -> list[PageView]:
    """Return what pages show on a phone."""
    looks = (lambda browser, page=page: view_page(browser, serving(page), URL, 412) for page in pages)
    return side_by_side(program, looks)


def serving(page: str) -> Server:
    """A server of a page and its image."""
    files = {"": Answer(page.encode(), "text/html"), "map.png": Answer(encoded(drawing()), "image/png")}
    return lambda url: files.get(url.removeprefix(URL))


def test_what_a_page_changes_by_itself_is_no_difference(chromium: str, tmp_path: Path) -> None:
    site = BuiltSite(tmp_path)
    # digits that all change: one of a clock that is rarely another one would not be masked when it is
    clock = "<p id=c></p><script>c.textContent = Math.random().toFixed(16)</script>"
    site.write(
        {"index.html": PAGE.replace("</main>", f"{clock}</main>"), "site.css": CSS, "map.png": encoded(drawing())}
    )
    site.build(build__levels=["lossless"])
    proof = prove(site.config(build__levels=["lossless"]), [], (), 3, Silent())
    assert proof.is_kept, proof.diagnostics()


MENU = """<!DOCTYPE html><title>t</title><style>ul { display: none } .open ul { display: block }</style>
<main><button onclick="this.parentNode.classList.toggle('open')">Menu</button><ul><li>One</ul>
<p>Words of the day, which the harbour master counts with the ships that leave with the tide in the morning.</main>
"""


def test_what_only_an_action_shows_is_found_by_a_robot(
    chromium: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, levels = BuiltSite(tmp_path), ["moderate", "extreme"]
    site.write({"index.html": MENU})
    site.build(build__levels=levels)
    config, robot = site.config(build__levels=levels), Robot(6)
    settings = tmp_path / "adaptc.toml"
    settings.write_text('docroot = "site"\noutput = "opt"\n[build]\nlevels = ["moderate", "extreme"]\n')
    assert run(["prove", "--config", str(settings), "--actions", "6"]) == 0
    with monkeypatch.context() as patched:
        patched.setattr(prover, "in_chromium", lambda *_: pytest.fail("a browser was started"))
        assert prove(config, [], (), 1, Silent(), robot=robot).is_kept
    seed(site, "moderate", "display:block", "display:none")
    assert prove(config, [], (), 1, Silent()).is_kept
    proof = prove(config, [], (), 1, Silent(), robot=robot)
    found = {(each.case.level, other.kind) for each in proof.verdicts for other in each.differences}
    assert found == {("moderate", "acts")}
    (said,) = proof.diagnostics()
    assert "the last: click button “Menu”: another text: without “One”" in said.message


# ---- the cache


def test_what_was_proven_is_not_loaded_again(
    chromium: str, built: BuiltSite, fresh: Callable[[], Proof], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = fresh()
    with monkeypatch.context() as patched:
        patched.setattr(prover, "in_chromium", lambda *_: pytest.fail("a browser was started"))
        assert fresh().verdicts == kept.verdicts
    seed(built, "moderate", "word7 ", "")
    first = fresh()
    assert {verdict.case.level for verdict in first.verdicts if verdict.differences} == {"moderate"}
    assert all(len(verdict.pictures) == 2 for verdict in first.verdicts)
    seed(built, "moderate", "word8 ", "")
    said = [each.diagnostics()[0].message.partition(";")[0] for each in (first, fresh())]
    assert said == [
        "level moderate does not keep its promise at 412 pixels: text: another text: without “word7”",
        "level moderate does not keep its promise at 412 pixels: text: another text: without “word7”, without “word8”",
    ]


def test_what_was_not_as_promised_is_looked_at_again(
    chromium: str, built: BuiltSite, fresh: Callable[[], Proof], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(prover, "differences", lambda *_: (Difference("text", "a busy machine"),))
        assert not fresh().is_kept
    assert fresh().is_kept


def test_levels_that_load_the_same_are_loaded_once(
    chromium: str, built: BuiltSite, fresh: Callable[[], Proof], monkeypatch: pytest.MonkeyPatch
) -> None:
    same = (built.output / "lossless/id/index.html").read_bytes()
    for level in ("moderate", "extreme"):
        (built.output / level / "id/index.html").unlink()
        (built.output / level / "id/index.html").write_bytes(same)
    widths: list[int] = []

    async def counted(*arguments: object) -> object:
        widths.append(int(str(arguments[3])))
        return await view_page(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(prover, "view_page", counted)
    fresh()
    assert widths == [WIDTHS[0]] * 2


# ---- the command


def invoke(site: BuiltSite, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    config = site.root / "adaptc.toml"
    config.write_text(f'docroot = "{site.docroot}"\noutput = "{site.output}"\n')
    code = run(["prove", "--config", str(config), *arguments])
    return code, capsys.readouterr().out


def test_the_command_says_by_its_exit_code_what_it_found(
    chromium: str, built: BuiltSite, fresh: Callable[[], Proof], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = invoke(built, capsys, "index.html")
    assert (code, said.splitlines()[1].split()) == (0, ["index.html", "ok", "ok", "ok"])
    seed(built, "extreme", "</main>", OVERLAY)
    report = tmp_path / "proof.html"
    code, said = invoke(built, capsys, "index.html", "--report", str(report))
    assert code == 1
    assert said.splitlines()[1].split() == ["index.html", "ok", "ok", "blank,", "covered"]
    page = report.read_text("utf-8")
    assert "<h1><bdi>News</bdi></h1>" in page  # as the home page says it, and the report
    broken, _, kept = page.partition("<h2>Pages</h2>")
    assert broken.count('<img src="data:image/webp;base64,') == 2
    assert "it is blank" in broken
    assert "<b>the original</b>, and at lossless" in kept


def test_the_result_is_there_for_programs(
    chromium: str, built: BuiltSite, fresh: Callable[[], Proof], capsys: pytest.CaptureFixture[str]
) -> None:
    seed(built, "moderate", "word7 ", "")
    code, said = invoke(built, capsys, "index.html", "--format", "json", "--level", "moderate")
    record = json.loads(said)
    assert (code, record["kept"], record["pages"], record["levels"]) == (1, False, ["index.html"], ["moderate"])
    assert record["verdicts"][0]["differences"] == [{"kind": "text", "message": "another text: without “word7”"}]
    code, said = invoke(built, capsys, "index.html", "--format", "junit", "--level", "moderate")
    suites = ElementTree.fromstring(said.encode())
    assert (code, suites.get("name"), suites.get("failures")) == (1, "adaptc prove", "1")


def test_what_cannot_be_proven_is_a_wrong_usage(built: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    config = built.config()
    with pytest.raises(UsageError, match=r"gone\.html is no page of the last build"):
        prove(config, ["gone.html"], (), 1, Silent())
    with pytest.raises(UsageError, match="level text was not built"):
        prove(config, [], ["text"], 1, Silent())
    with pytest.raises(UsageError, match="there is no build in"):
        prove(built.config(output=built.root / "none"), [], (), 1, Silent())
    monkeypatch.setenv("CHROME_PATH", "/gone/chromium")
    with pytest.raises(UsageError, match="no Chromium was found"):
        prove(config, [], (), 1, Silent())
    assert run(["prove", "-o", str(built.output)]) == 2


# ---- the sample


def test_the_sample_has_the_most_viewed_pages_then_some_of_each_directory_and_size() -> None:
    sizes = {f"a/{number}.html": number for number in range(1, 6)} | {"b/1.html": 7, "index.html": 9}
    assert sample_pages(sizes, {}, 6) == ["a/5.html", "index.html", "b/1.html", "a/1.html", "a/3.html", "a/4.html"]
    assert sample_pages(sizes, {"a/2.html": 5, "b/1.html": 7}, 3) == ["b/1.html", "a/2.html", "a/5.html"]
    assert sorted(sample_pages(sizes, {}, 99)) == sorted(sizes)
    assert sample_pages({}, {}, 3) == []
