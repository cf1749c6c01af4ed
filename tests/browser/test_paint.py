"""``adaptc prove --line``: what a phone on an emulated line is sent and shown, and that it is measured once."""

from __future__ import annotations

import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

import brotli
import pytest

from adaptc.browser import paint
from adaptc.browser.answers import Answer, Server
from adaptc.browser.chromium import Chromium, in_chromium
from adaptc.browser.paint import LINES, Paint, loopback_host, median_paint
from adaptc.cli.prove import LINE_NAMES, paint_rows
from adaptc.compile.engine.cache.store import Store
from adaptc.compile.engine.proof import paints
from adaptc.compile.engine.proof.paints import PagePaint, Painter
from adaptc.compile.engine.proof.prover import Levels
from adaptc.compile.engine.reporting import Silent
from adaptc.report.comparisons import NO_VIEWS
from adaptc.report.html_report import ProofFigures, stream_proof
from adaptc.workflow.prove import Proof

SITE = "https://site.invalid"
URL = f"{SITE}/docs/"
STYLE = "p { color: #222 } " * 2000


def page(style: str) -> bytes:
    # the sheet of this site by its full address; one of another host that never answers
    other = "<link rel=stylesheet href=https://elsewhere.invalid/x.css>"
    return f"<!DOCTYPE html><title>t</title>{other}{style}<p>Words".encode()


def site(body: bytes) -> Server:
    files = {
        URL: Answer(body, "text/html", (("X", "y"),)),
        f"{URL}a.css": Answer(STYLE.encode(), "text/css"),
        f"{URL}a.png": Answer(b"\x89PNG", "image/png"),
    }
    return files.get


ORIGINAL = site(page(f"<link rel=stylesheet href={URL}a.css>"))
# Tasks: one before the first paint, one across it, a short one, and a long one
TASKS = [[100, 200], [300, 200], [600, 50], [700, 80]]
# Windows of shifts: 0.1, 0.2, 0.3, and 0.36, which five seconds end: a page that zoomed out had no input
SHIFTS = [[0, 0.1], [1500, 0.2], [3000, 0.1], [3900, 0.2], *([5100 + 900 * i, 0.06, True] for i in range(7))]
OBSERVER = f"""<script>PerformanceObserver = class {{
  observe({{ type }}) {{ this.type = type }}
  takeRecords() {{
    return {{
      paint: [{{ name: 'first-paint', startTime: 1 }}, {{ name: 'first-contentful-paint', startTime: 400.5 }}],
      'largest-contentful-paint': [{{ startTime: 500 }}, {{ startTime: 700 }}],
      longtask: {TASKS}.map(([startTime, duration]) => ({{ startTime, duration }})),
      'layout-shift': {SHIFTS}.map(([startTime, value, hadRecentInput]) => ({{ startTime, value, hadRecentInput }})),
    }}[this.type]
  }}
}}</script>""".replace("True", "true")
PLAIN = site(page(OBSERVER))


def test_the_loopback_stands_for_the_site_and_sends_text_encoded() -> None:
    with loopback_host(ORIGINAL, SITE) as host:
        with urllib.request.urlopen(f"{host}/docs/a.css") as sheet:
            body, headers = sheet.read(), sheet.headers
        with urllib.request.urlopen(f"{host}/docs/a.png") as image:
            assert (image.read(), image.headers["Content-Encoding"]) == (b"\x89PNG", None)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{host}/docs/gone.css")
    assert (headers["Content-Type"], headers["Content-Encoding"]) == ("text/css", "br")
    assert brotli.decompress(body).decode() == STYLE


def test_the_median_of_each_figure_counts() -> None:
    loads = [Paint(1, 9, 0.5, 4, 30, 10), Paint(3, 7, 0.0, 6, 10, 10), Paint(2, 8, 0.1, 5, 20, 10)]
    assert median_paint(loads) == Paint(2, 8, 0.1, 5, 20, 10)


@pytest.mark.chromium
def test_a_phone_is_measured_once(chromium: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paints, "_LOADS", 1)
    monkeypatch.setattr(paint, "_SETTLED", 0.3)

    def measure() -> list[PagePaint]:
        levels = Levels(ORIGINAL, {"same": ORIGINAL, "plain": PLAIN}, {})
        return Painter(chromium, levels, "4g", Store(tmp_path)).measure({"index.html": URL}, Silent())

    first = measure()
    original, same, plain = (each.paint for each in first)
    assert [each.level for each in first] == ["original", "same", "plain"]
    assert original is not None
    assert plain is not None
    assert same == original
    assert original.first >= 2 * LINES["4g"].latency  # the page, and the sheet that it names by its full address
    assert original.largest >= original.first
    assert 0 < original.before <= original.size < len(STYLE)
    assert (plain.first, plain.largest) == (400.5, 700)
    assert plain.shift == pytest.approx(0.36)
    assert (original.blocking >= 0, plain.blocking) == (True, 49.5 + 30)
    monkeypatch.setattr(Chromium, "start", lambda _: pytest.fail("a browser was started"))
    assert measure() == first


FITTING = """<meta name=viewport content="width=device-width"><style>p { margin: 0; height: 5000px }</style>
<img srcset="1x.png 1x, 2x.png 2x"><p>Words</p><img src=late.png loading=lazy width=9 height=9><script>
new Image().src = [innerWidth, innerHeight, screen.width, devicePixelRatio, visualViewport.scale].join() + '.png'
</script>"""


@pytest.mark.chromium
def test_a_quick_measurement_is_of_the_same_phone(chromium: str) -> None:
    asked = set[str]()

    def server(url: str) -> Answer | None:
        asked.add(url.removeprefix(URL))
        return Answer(FITTING.encode(), "text/html") if url == URL else None

    async def load(browser: Chromium, *, is_slow: bool) -> Paint:
        return await paint.load_by_phone(browser, server, URL, LINES["4g"], is_slow=is_slow)

    for is_slow in (True, False):
        asked.clear()
        seen = in_chromium(chromium, partial(load, is_slow=is_slow), reaches_loopback=True)
        assert asked - {f"{SITE}/favicon.ico"} == {"", "2x.png", "412,823,412,1.75,1.png"}
        assert seen.first > 0 and seen.largest > 0


def test_figures_are_in_the_text_and_in_the_page() -> None:
    found = (
        PagePaint("a.html", "text", Paint(420, 1250, 0.0123, 90, 2_300, 9_000)),
        PagePaint("a.html", "full", None, "it <hangs>"),
    )
    rows = list(paint_rows(Proof(("a.html",), (), (), Store(Path()), line="3g", paints=found)))
    assert rows[1:] == [
        ["a.html", "text", "0.42 s", "1.25 s", "0.012", "0.09 s", "2.3 kB"],
        ["a.html", "full", "not measured", "", "", "", ""],
    ]
    text = "".join(stream_proof(ProofFigures("site", ["a.html"], ["text"], NO_VIEWS, "3g", found)))
    assert "<td>1.25 s</td><td>0.012</td><td>0.09 s</td><td>2.3 kB</td>" in text
    assert "not measured: it &lt;hangs&gt;" in text
    assert "1600 kbit/s, 300 ms" in text


def test_the_command_knows_all_lines() -> None:
    assert tuple(LINES) == LINE_NAMES
