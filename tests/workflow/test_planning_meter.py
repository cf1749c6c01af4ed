"""The measure of harm: a page that was built is compared with its source, by its pixels, words and controls."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from tests.samples.drawn import drawing, encoded
from tests.sites.built import BuiltSite

from adaptc.cli.command import ExitCode, InvocationBox
from adaptc.cli.main import cli, run
from adaptc.compile.engine.cache.derived import remember_in
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.page.page_harm import (
    CONTROLS,
    LINKS,
    SCRIPTS,
    STYLES,
    WORDS,
    Matcher,
    PageContent,
    ShownFiles,
    data_content,
    harm_of_losses,
    shown_urls,
)
from adaptc.core.urls import SiteAddress
from adaptc.formats.html.document import parse
from adaptc.serve.calibrate.profile import LevelCost, profile_of, write_profile
from adaptc.serve.capacity.utilization import Cost
from adaptc.workflow.configuration import load_config
from adaptc.workflow.planning import plan as ladder
from adaptc.workflow.planning import plan as search
from adaptc.workflow.planning.trials import HarmMeter

PICTURE = encoded(drawing().resize((240, 180)), "PNG")
OTHER = encoded(drawing(31).rotate(90).resize((240, 180)), "PNG")


MENU = "<button type=button aria-controls=m></button>"


def content(markup: str) -> PageContent:
    return PageContent.of(parse(f"<!doctype html>{markup}"), has_styles="<style" in markup)


# ---- what is not an image


@pytest.mark.parametrize(
    ("before", "after", "harm"),
    [
        ("<p>one two three four", "<p>one two", WORDS / 2),
        ("<a href=a>a</a><a href=b>a</a>", "<a href=a>a</a> a", LINKS / 2),
        ("<input name=q><input type=hidden>", "<input name=q disabled>", CONTROLS),
        (f"{MENU}<nav id=m>a b", "<nav id=m>a b", 0.0),
        (f"{MENU}<nav id=m>a b", "<a href=#m>=</a><nav id=m>a b", 0.0),
        (f"{MENU}<nav id=m>a b", "<nav id=m>a", WORDS / 2),
        (f"{MENU}<nav id=m>a b<input>", "<nav id=m>a b", CONTROLS),
        (f"{MENU}<nav id=other>a b", "<nav id=other>a b", CONTROLS),
        ("<form><button aria-controls=m></button></form><p id=m>a", "<p id=m>a", CONTROLS),
        ("<style>p{}</style><p class=a>", "<p class=a>", STYLES),
        ("<style>p{}</style><p class='a b'>", "<style>p{}</style><p class=a>", STYLES / 2),
        ("<script>x()</script>", "", SCRIPTS),
        ("<script type=application/json>{}</script>", "", 0.0),
        ("<iframe src=a width=640 height=400></iframe>", "<a>a</a>", 0.25),
        ("<p>same <a href=a>words</a>", "<p>same <a href=a>words</a> and more", 0.0),
    ],
)
def test_what_is_lost_has_its_harm(before: str, after: str, harm: float) -> None:
    assert harm_of_losses(content(before), content(after)) == pytest.approx(harm)


# ---- the images that a page shows


def shown(markup: str, **files: bytes) -> list[bytes]:
    named = {name.replace("_", "."): each for name, each in files.items()}
    return list(ShownFiles(SiteAddress(None), named.get).of("index.html", parse(f"<!doctype html>{markup}")))


def test_images_are_found_in_markup_sheets_and_data_uris() -> None:
    uri = f"data:image/png;base64,{base64.b64encode(b'C').decode()}"
    assert shown(f"<img src=a.png><img src={uri}>", a_png=b"A") == [b"A", b"C"]
    assert shown("<link rel=stylesheet href=s.css>", s_css=b"@import 't.css';p{background:url(a.png)}",
                 t_css=b"b{background:url(b.png)}", a_png=b"A", b_png=b"B") == [b"A", b"B"]  # fmt: skip
    assert shown("<style>p{background:url(a.png)}</style><b style='background:url(b.png)'>", a_png=b"A", b_png=b"B")


def test_sheets_that_import_each_other_are_read_once() -> None:
    sheet = b"@import 's.css';p{background:url(a.png)}"
    assert shown("<link rel=stylesheet href=s.css>", s_css=sheet, a_png=b"A") == [b"A"]


def test_what_browsers_pass_over_is_not_shown() -> None:
    assert shown('<img src=a.png srcset="b.png 300w" sizes=600px>', a_png=b"A", b_png=b"B") == [b"B"]
    assert list(shown_urls("p{background:url(a.png);background:image-set(url(b.webp) 0.5x)}")) == ["b.webp"]
    assert list(shown_urls("p{background:url(a.png)}q{background:image-set(url(b.webp) 0.5x)}")) == ["a.png", "b.webp"]


def test_data_uris_are_decoded() -> None:
    assert data_content("data:image/svg+xml,%3Csvg/%3E") == b"<svg/>"
    assert data_content("data:image/png;base64,A") is None
    assert data_content("data:text/html,a") is None


def test_an_image_is_found_again_by_its_pixels() -> None:
    matcher = Matcher()
    picture, other = matcher.picture(PICTURE), matcher.picture(OTHER)
    copy = matcher.picture(encoded(drawing().resize((120, 90)), "JPEG"))
    assert matcher.likeness(picture, [picture], 240) == 1.0
    assert 0.5 < matcher.likeness(picture, [copy, other], 240) < 1.0
    assert matcher.likeness(picture, [other, matcher.picture(b"no image")], 240) == 0.0
    assert matcher.likeness(picture, [], 240) == 0.0


def test_images_are_compared_once_for_all_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = encoded(drawing().resize((120, 90)), "JPEG")

    def likeness() -> tuple[float, float]:
        matcher = Matcher(remember_in(Store(tmp_path)))
        picture, unknown = matcher.picture(PICTURE), matcher.picture(b"no image")
        return matcher.likeness(picture, [matcher.picture(copy)], 240), matcher.likeness(unknown, [picture], 240)

    first = likeness()
    assert 0.5 < first[0] < 1.0 and first[1] == 0.0
    with monkeypatch.context() as patched:
        patched.setattr("adaptc.formats.image.copiers.likeness", lambda *_: pytest.fail("compared again"))
        patched.setattr("adaptc.formats.image.vips.decode_upright", lambda *_: pytest.fail("decoded again"))
        assert likeness() == first
    for record in (path for path in (tmp_path / "records").rglob("*") if path.is_file()):
        record.write_bytes(b"damaged")
    assert likeness() == first


# ---- a whole level

CONFIGURATION = '[build]\njobs = 1\neffort = "fast"\n\n[codings]\nbr = false\nzst = false\n'
PAGE = """<!doctype html><title>t</title><h1>News</h1><p>{}</p>
<p>Some words about the picture, which are long enough to make up the story of this page.</p>"""


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    page = PAGE.format("<img src=photo.png width=240 height=180 alt=A>")
    (tmp_path / "adaptc.toml").write_text(CONFIGURATION, "utf-8")
    return BuiltSite(tmp_path).write({"index.html": page, "photo.png": PICTURE, "words.html": PAGE.format("None")})


def test_a_level_is_measured_on_what_was_built(site: BuiltSite) -> None:
    level = site.root / "level"
    meter = HarmMeter(load_config(None, {"docroot": site.docroot}), None)
    assert meter.of_level(level) == 0.0  # nothing was built, so that the original is sent
    level.mkdir()
    (level / "index.html").write_text(PAGE.format("A"), "utf-8")
    (image,) = meter._images("index.html").values()
    assert meter.of_level(level) == pytest.approx(image.worth / 2)
    viewed = HarmMeter(load_config(None, {"docroot": site.docroot}), {"index.html": 0, "words.html": 3})
    assert viewed.of_level(level) == 0.0


# ---- the command


@pytest.fixture(autouse=True)
def few_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try few multipliers: a search among many is tested without builds."""
    for module in (search, ladder):
        monkeypatch.setattr(module, "PRICES", (100.0, 30_000.0, 30_000_000.0))


def plan(site: BuiltSite, *arguments: str) -> tuple[int, str]:
    """Run the command in the root of the site; return its exit code and what it printed."""
    options = ["-C", str(site.root), "plan", "site", "-o", "opt", *arguments]
    result = CliRunner().invoke(cli, options, obj=InvocationBox(), standalone_mode=False)
    assert result.exception is None
    return int(result.return_value), result.output


def test_a_plan_writes_its_level_and_builds_can_use_it(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site.root)
    code, output = plan(site, "--bytes", "0.6", "--keep", "images")
    assert code == ExitCode.DONE
    assert "Chosen: " in output
    config = load_config(None, {"docroot": site.docroot, "output": site.output, "build.levels": ["full", "planned"]})
    assert config.levels.values["planned"]["extends"] in ("lossless", "moderate")
    written = Path("adaptc.toml").read_text("utf-8")
    assert written.startswith(CONFIGURATION)
    assert "# --bytes 0.6 --keep images\n# price: bytes that a page may take to avoid a harm of 1" in written
    assert not (site.output / ".adaptc/plan").exists()


def test_a_dry_run_prints_the_level(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site.root)
    code, output = plan(site, "-j", "1", "--requests", "5", "--dry-run", "--name", "mine", "--chart", "plan.svg")
    chart = ElementTree.fromstring(Path("plan.svg").read_bytes())
    assert [each.get("class") for each in chart.findall(".//{*}circle")].count("chosen") == 1
    assert (code, "[levels.mine]" in output) == (ExitCode.DONE, True)
    assert Path("adaptc.toml").read_text("utf-8") == CONFIGURATION


def test_costs_of_a_profile_decide_and_one_of_another_machine_is_reported(
    site: BuiltSite, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(site.root)
    levels = (LevelCost("full", 4.0, 60.0, 0.2, 0.2),)
    made = profile_of("nginx/0.1", {"http1": Cost(0.001, 0.0, view=0.0)}, {}, None, levels, None, 1)
    write_profile(replace(made, machine="other", line=10.0), site.root / "cost.json")
    Path("adaptc.toml").write_text(f'{CONFIGURATION}[cost]\nprofile = "cost.json"\n', "utf-8")
    assert run(["plan", "site", "-o", "opt", "--throughput", "1x", "--dry-run", "--format", "json"]) is ExitCode.DONE
    printed = capsys.readouterr()
    record = json.loads(printed.out)
    assert "[profile-machine]" in printed.err
    assert "[calibration-network]" in printed.err
    for trial in record["trials"]:  # bytes cost nothing
        assert trial["throughput"] == pytest.approx(record["full"]["requests"] / trial["requests"], abs=0.001)


def test_what_cannot_be_reached_is_exit_code_1(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site.root)
    code, output = plan(site, "--bytes", "10", "--keep", "images", "--format", "json")
    record = json.loads(output)
    assert (code, record["level"], record["tables"]) == (ExitCode.WITH_ERRORS, None, None)
    assert record["misses"][0].endswith("bytes a page, not 10")
    assert {trial["frame"] for trial in record["trials"]} == {"lossless", "inlined", "decorated"}
    assert Path("adaptc.toml").read_text("utf-8") == CONFIGURATION


LINE = '192.0.2.1 - - [01/Jan/2026:00:00:00 +0000] "GET {} HTTP/1.1" 200 99\n'


@pytest.mark.parametrize(("path", "problems"), [("/words.html", []), ("/nothing", ["log-without-pages"])])
def test_views_are_the_weights(
    site: BuiltSite, monkeypatch: pytest.MonkeyPatch, path: str, problems: list[str]
) -> None:
    monkeypatch.chdir(site.root)
    Path("access.log").write_text(LINE.format(path) * 3, "utf-8")
    Path("adaptc.toml").write_text(f'{CONFIGURATION}[select]\nlogs = ["access.log"]\n', "utf-8")
    code, output = plan(site, "--requests", "5", "--format", "json")
    record = json.loads(output)
    has_picture = record["full"]["requests"] > 1
    assert (code, [each["id"] for each in record["diagnostics"]]) == (ExitCode.DONE, problems)
    assert has_picture is bool(problems)  # the page that was viewed has none; without views all pages count


def test_a_ladder_has_levels_with_numbers(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site.root)
    code, output = plan(site, "--ladder", "3", "--keep", "images", "--format", "json")
    record = json.loads(output)
    names = [rung["level"] for rung in record["levels"]]
    costs = [rung["cost_ms"] for rung in record["levels"]]
    assert code == ExitCode.DONE
    assert names == [f"planned-{number}" for number in range(len(names), 0, -1)]
    assert costs == sorted(costs, reverse=True)
    config = load_config(None, {"build.levels": ["full", *names]})
    numbers = [config.levels.values[name]["number"] for name in names]
    assert numbers == list(range(len(names), 0, -1))


def test_mistakes_are_usage_errors(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site.root)
    assert run(["plan", "site"]) is ExitCode.USAGE
    assert run(["plan", "site", "--bytes", "0.5", "--keep", "everything"]) is ExitCode.USAGE
    assert run(["plan", "site", "--bytes", "0.5", "--ladder", "3"]) is ExitCode.USAGE
    assert run(["plan", "site", "--bytes", "0.5", "--name", "moderate"]) is ExitCode.USAGE
    assert run(["plan", "site", "--bytes", "0.5", "--name", "Not a name"]) is ExitCode.USAGE
    Path("adaptc.toml").write_text('[levels.planned]\nextends = "moderate"\n', "utf-8")
    assert run(["plan", "site", "--bytes", "0.5"]) is ExitCode.USAGE
