"""``adaptc ci``: one run, one exit code, and a summary that names what is wrong."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from adaptc.browser import paint
from adaptc.cli.ci import marker
from adaptc.cli.main import run
from adaptc.compile.engine.proof import paints

PAGE = (
    '<!DOCTYPE html>\n<html lang=en><title>{0}</title>\n<link rel=stylesheet href="one.css">\n<p>  {0}\n'
    + "<p>more\n" * 30
)
BUDGET = "[budgets.full]\npage_growth = 20\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text(PAGE.format("start"))
    (site / "b|d.html").write_text(PAGE.format("other"))
    (site / "one.css").write_text(".a  {  color : #112233 }\n" * 9)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


@pytest.fixture
def ci(place: Path) -> Callable[..., int]:
    return lambda *args: run(["ci", "site", "--effort", "fast", "-j", "1", "--prove", "0", *args])


def grow(place: Path) -> None:
    text = PAGE.format("other") + "".join(f"<p>{number * 7919}\n" for number in range(99))
    (place / "site/b|d.html").write_text(text)


def test_a_site_that_is_well(place: Path, ci: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert ci("--markdown", "summary.md", "--name", "docs") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "not proven: not asked for"
    text = (place / "summary.md").read_text()
    assert text.startswith("<!-- adaptc ci: docs -->\n### adaptc: docs: well\n")
    assert "| lossless | 2.0 |" in text or "| lossless | 1.0 |" in text
    assert "(no baseline)" in text


def test_a_page_that_grew_fails_and_is_named(
    place: Path, ci: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "adaptc.toml").write_text(BUDGET)
    assert ci("--baseline", "none.json", "--markdown", "summary.md") == 0
    assert "was not compared: there is no --baseline [budget-unchecked]" in capsys.readouterr().err
    assert "was not compared" in (place / "summary.md").read_text()
    shutil.copy(place / "opt/manifest.json", place / "old.json")
    grow(place)
    more = ("--sarif", "found.sarif", "--junit", "found.xml", "--trend", "trend.jsonl")
    assert ci("--baseline", "old.json", "--markdown", "summary.md", *more, "--format", "github") == 1
    printed = capsys.readouterr().out
    assert printed.startswith("::error title=adaptc ci::built ")
    assert "::error file=site/b|d.html,title=budget-growth::" in printed
    text = (place / "summary.md").read_text()
    assert "### adaptc: site: **not well**" in text
    assert "| b\\|d.html | full | bytes |" in text
    assert "budget-growth" in text
    assert "1 of the pages changed since the baseline, or what they load." in text
    (result,) = {row["ruleId"] for row in json.loads((place / "found.sarif").read_text())["runs"][0]["results"]}
    assert result == "budget-growth"
    assert 'type="budget-growth"' in (place / "found.xml").read_text()
    row = json.loads((place / "trend.jsonl").read_text())
    assert row["name"] == "site"
    assert row["levels"]["full"]["bytes"] > 0


def test_the_summary_shows_the_last_runs(place: Path, ci: Callable[..., int]) -> None:
    trend = ("--trend", "trend.jsonl", "--markdown", "summary.md")
    assert ci(*trend) == 0
    assert "runs" not in (place / "summary.md").read_text()
    assert ci("--name", "other", *trend) == 0
    assert "runs" not in (place / "summary.md").read_text()
    grow(place)
    assert ci(*trend) == 0
    text = (place / "summary.md").read_text()
    assert "| bytes a page, last 2 runs |  |  |" in text
    row = next(line for line in text.splitlines() if line.startswith("| full | ") and "→" in line)
    assert re.fullmatch(r"\| full \| [▁▂▃▄▅▆▇]█ \| [\d.,]+ k?B → [\d.,]+ k?B \|", row), row


@pytest.mark.parametrize("text", ["[]\n", "no json\n", '{"name": "site", "levels": {"full": {}}}\n'])
def test_a_trend_of_something_else_is_a_mistake(
    place: Path, ci: Callable[..., int], capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (place / "trend.jsonl").write_text(text)
    assert ci("--trend", "trend.jsonl") == 2
    assert "trend.jsonl is no trend of adaptc ci" in capsys.readouterr().err
    assert not (place / "opt").exists()


@pytest.mark.chromium
def test_pages_that_changed_are_proven_first_and_shown(place: Path, chromium: str) -> None:
    prove = ["ci", "site", "--effort", "fast", "-j", "1", "--prove", "1", "--markdown", "summary.md"]
    pictures = ["--pictures", "shown", "--pictures-url", "https://host.example/p"]
    assert run([*prove, *pictures]) == 0
    assert list((place / "shown").iterdir()) == []
    assert "changed" not in (place / "summary.md").read_text()
    for page in ("b|d.html", "index.html"):
        shutil.copy(place / "opt/manifest.json", place / "old.json")
        (place / "site" / page).write_text(PAGE.format("changed"))
        assert run([*prove, *pictures, "--baseline", "old.json"]) == 0
        text = (place / "summary.md").read_text()
        assert "1 of the pages changed since the baseline, or what they load." in text
        assert f"<details><summary>{page}, as it is now</summary>" in text
        (name,) = re.findall(
            r'<img src="https://host.example/p/(\w+\.webp)" width="300" alt="original, full, lossless"', text
        )
        assert (place / "shown" / name).read_bytes().startswith(b"RIFF")
    shutil.copy(place / "opt/manifest.json", place / "old.json")
    (place / "site/one.css").write_text("p { color: red }\n" * 9)
    assert run([*prove, "--baseline", "old.json"]) == 0
    text = (place / "summary.md").read_text()
    assert "2 of the pages changed since the baseline, or what they load." in text
    assert "<img" not in text


def test_one_document_for_programs(place: Path, ci: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert ci("--format", "json") == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["well"], record["proof"], record["unproven"]) == (True, None, "not asked for")
    assert record["check"]["fresh"]
    assert set(record["levels"]) == {"full", "lossless"}
    assert record["changed"] == []
    shutil.copy(place / "opt/manifest.json", place / "old.json")
    grow(place)
    assert ci("--format", "json", "--baseline", "old.json") == 0
    assert json.loads(capsys.readouterr().out)["changed"] == ["b|d.html"]


def test_mistakes_end_with_2_and_are_in_the_summary(
    place: Path, ci: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(place / "step.md"))
    for file in (place / "site").iterdir():
        file.unlink()
    assert ci() == 2
    assert "holds no page: nothing was built" in (place / "step.md").read_text()
    assert ci("--level", "losless") == 2
    assert "there is no level losless, did you mean lossless?" in (place / "step.md").read_text()


def test_an_error_of_the_build_fails(place: Path, ci: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    (place / "adaptc.toml").write_text('[diagnostics]\nmissing-target = "error"\n')
    (place / "site/one.css").unlink()
    assert ci("--markdown", "summary.md") == 1
    assert "missing-target" in (place / "summary.md").read_text()


def test_two_sites_have_markers_of_their_own() -> None:
    assert marker("docs") != marker("blog")
    assert "-->" not in marker("a-->b").removesuffix("-->")


@pytest.mark.chromium
def test_pages_are_proven_where_there_is_a_browser(
    place: Path, chromium: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ci", "site", "--effort", "fast", "-j", "1", "--prove", "1", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["proof"]["kept"]
    assert (place / "opt/proof.html").is_file()


def test_how_soon_pages_are_shown_has_a_budget(
    place: Path, ci: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "adaptc.toml").write_text("[budgets.lossless]\nlargest_paint = 1\nlayout_shift = 0\n")
    assert ci() == 0
    said = "how soon pages are shown has a limit, and was not measured: not asked for [budget-unchecked]"
    assert said in capsys.readouterr().err


@pytest.mark.chromium
def test_pages_that_are_shown_late_fail(
    chromium: str, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paints, "_LOADS", 1)
    monkeypatch.setattr(paint, "_SETTLED", 0.3)
    (place / "adaptc.toml").write_text("[budgets.lossless]\nlargest_paint = 1\n[budgets.full]\nlayout_shift = 1\n")
    assert run(["ci", "site", "--effort", "fast", "-j", "1", "--prove", "1", "--markdown", "summary.md"]) == 1
    told = capsys.readouterr().err
    assert "level lossless: the largest paint of this page on 4g is" in told
    assert "level full" not in told
    assert "| on 4g |" in (place / "summary.md").read_text()
