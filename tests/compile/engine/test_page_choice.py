"""As which level a page is made, where a level names others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.samples.drawn import drawing, encoded
from tests.sites.built import BuiltSite

from adaptc.cli.command import ExitCode
from adaptc.cli.main import run
from adaptc.compile.engine.state.results import UnitResult
from adaptc.compile.engine.unit.choices import MadePage, choose_page
from adaptc.compile.engine.unit.weights import PageWeight
from adaptc.config.rulebook import Level

WORDS = "<p>Some words about the picture, which are long enough to make up the story of this page.</p>" * 3
PAGE = f"<!doctype html><title>t</title><style>h1{{color:red}}</style><h1>News</h1>{WORDS}"
PICTURE = encoded(drawing().resize((240, 180)), "JPEG")


def made(name: str, content: bytes = b"") -> MadePage:
    return MadePage(name, UnitResult("mine", "p.html", "text/html", ()), content)


@pytest.mark.parametrize(
    ("price", "for_request", "chosen"), [(10.0, 0.0, "text"), (1000.0, 0.0, "mine"), (1000.0, 500.0, "text")]
)
def test_bytes_requests_and_harm_add_up(price: float, for_request: float, chosen: str) -> None:
    weights = {b"": PageWeight(3, (900, 400, 900, 400)), b"short": PageWeight(1, (100, 90, 100, 90))}
    pages = {id(page.result): page for page in (made("mine"), made("text", b"short"))}
    result = choose_page(
        Level("mine", 3, "t", "article", price=price, request=for_request),
        list(pages.values()),
        lambda result: weights[pages[id(result)].content],
        lambda content: 1.0 if content else 0.0,
    )
    assert result.actions[0].subject == f"as {chosen}"
    assert ("not as text: 90 bytes, 1 requests, harm 1.0000" in result.actions[0].reason) is (chosen == "mine")


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    return BuiltSite(tmp_path).write({"index.html": PAGE + "<img src=a.jpg width=240 height=180>", "a.jpg": PICTURE})


def explained(site: BuiltSite, price: float, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Build a level whose pages may be made as text; return its page, and what is said of it."""
    own = f'extends = "moderate"\npromise = "article"\ninstead = ["lossless", "text"]\nprice = {price}\n'
    file = site.root / "adaptc.toml"
    file.write_text(f"[levels.mine]\n{own}", "utf-8")
    options = ["--config", str(file), "-o", str(site.output), "-q"]
    assert run(["build", str(site.docroot), *options, "-j", "1", "--level", "full", "--level", "mine"]) is ExitCode.DONE
    capsys.readouterr()
    run(["explain", "index.html", "--config", str(file), "-o", str(site.output)])
    return site.read("index.html", "mine").decode(), capsys.readouterr().out


def test_a_page_is_made_as_what_it_is_worth_and_says_so(site: BuiltSite, capsys: pytest.CaptureFixture[str]) -> None:
    cheap, text = explained(site, 10.0, capsys)
    dear, page = explained(site, 10_000_000.0, capsys)
    assert ("<img" in cheap, "<img" in dear) == (False, True)
    assert "as text" in text and "at 10 bytes for a harm of 1; not as mine: " in text
    assert "at 10,000,000 bytes for a harm of 1; not as" in page and "text: " in page
