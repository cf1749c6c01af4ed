"""axe finds nothing in what adaptc writes for people: report, proof, plots, and the preview."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.samples.proof_reports import pages
from tests.servers.axe import LAPTOP, PHONE, violations
from tests.servers.browser import Browser, serving
from tests.sites.built import BuiltSite

from adaptc.report.charts import PlanPoint, plan_chart
from adaptc.workflow.preview.server import PreviewServer

pytestmark = pytest.mark.chromium


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of what is written: a report with all that it may have, a proof, a plot."""
    folder = tmp_path_factory.mktemp("written")
    plot = plan_chart([PlanPoint("moderate", 2.0, 0.1), PlanPoint("chosen", 4.0, 0.2, is_chosen=True)])
    shown = f"<!doctype html><html lang=en><title>Plot</title><main><h1>Plot</h1>{plot}</main>"
    for name, text in {**pages(), "plot.html": shown}.items():
        (folder / name).write_text(text, "utf-8")
    with serving(folder) as address:
        yield address


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, LAPTOP])
@pytest.mark.parametrize("name", ["report.html", "proof.html", "plot.html"])
def test_nothing_is_found_in_what_a_command_writes(
    browser: Browser, place: str, name: str, width: int, scheme: str
) -> None:
    assert violations(browser, place + name, width, scheme) == []


@pytest.mark.parametrize("width", [PHONE, LAPTOP])
def test_nothing_is_found_in_the_preview(browser: Browser, tmp_path: Path, width: int) -> None:
    site = BuiltSite(tmp_path).write({"index.html": "<!doctype html><title>T</title><p>" + "words " * 99})
    site.build()
    with PreviewServer(site.config(), 0) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        assert violations(browser, server.url, width) == []
        server.shutdown()


def test_a_report_with_long_names_is_as_wide_as_the_window(browser: Browser, tmp_path: Path) -> None:
    name = f"{'examples_of_everything_' * 4}/{'a_page_with_a_long_name_' * 4}.html"
    site = BuiltSite(tmp_path).write({name: "<!doctype html><title>T</title><img src=gone.png><p>" + "words " * 99})
    site.build(build__levels=["full", "lossless"])
    view = browser.view((site.output / "report.html").as_uri(), width=PHONE)
    assert view.errors == []
    assert browser.evaluate("document.documentElement.scrollWidth") == PHONE


def test_axe_finds_what_is_wrong(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<!doctype html><title>T</title><h1>x</h1><img src=x.png>")
    (tmp_path / "x.png").write_bytes(b"")
    with serving(tmp_path) as address:
        found = violations(browser, address, PHONE)
    assert {each.partition(":")[0] for each in found} >= {"image-alt", "html-has-lang"}
