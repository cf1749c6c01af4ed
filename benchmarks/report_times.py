"""How soon a report is there, and how long filtering and sorting its pages takes, in a headless Chromium.

Give it ``report.html`` of a build. Prints milliseconds, medians of five loads at each width: the first contentful
paint, the end of loading, and the longest of one filter and a click on each column, until the next frame.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from adaptc.browser import find_chromium

WIDTHS = (1280, 412)
_LOADS = 5
_LOADING = """async () => {
    while (!performance.getEntriesByName("first-contentful-paint").length) await new Promise(requestAnimationFrame);
    const painted = performance.getEntriesByName("first-contentful-paint")[0].startTime;
    return [painted, performance.getEntriesByType("navigation")[0].loadEventEnd];
}"""
_USING = """async words => {
    const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    const timed = async act => {
        const begun = performance.now();
        act();
        await frame();
        return performance.now() - begun;
    };
    const field = document.querySelector("input[type=search]");
    const filter = () => { field.value = words; field.dispatchEvent(new Event("input", {bubbles: true})) };
    const times = [await timed(filter)];
    for (const button of document.querySelectorAll("th button")) times.push(await timed(() => button.click()));
    return times;
}"""


def times(page: Page, report: Path, words: str) -> tuple[float, float, float]:
    """Return the first paint, the end of loading, and the longest of filtering and sorting."""
    page.goto(report.as_uri(), wait_until="load")
    paint, loaded = page.evaluate(_LOADING)
    return paint, loaded, max(page.evaluate(_USING, words))


def main() -> None:
    """Measure the reports that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", nargs="+", type=Path, metavar="REPORT")
    parser.add_argument("--words", default="index", help="what to filter by")
    parser.add_argument("--chromium", default=find_chromium())
    options = parser.parse_args()
    print("| report | bytes, compressed | width | first paint | loaded | longest reaction |")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox"])
        for report in options.reports:
            content = report.read_bytes()
            size = f"{len(content):,}, {len(gzip.compress(content)):,}"
            for width in WIDTHS:
                rows = []
                for _ in range(_LOADS):
                    page = browser.new_page(viewport={"width": width, "height": 900})
                    rows.append(times(page, report.resolve(), options.words))
                    page.close()
                figures = " | ".join(f"{statistics.median(column):.0f}" for column in zip(*rows, strict=True))
                print(f"| {report} | {size} | {width} | {figures} |")
        browser.close()


if __name__ == "__main__":
    main()
