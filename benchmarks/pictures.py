"""The pictures of the documentation: a page of the example site at each level, its report, proof and preview.

Takes the output of ``make demo``, and writes ``levels.webp``, ``report.webp`` and ``preview.webp`` into
``docs/pictures``, and ``proof.webp`` where ``adaptc prove -o demo`` ran.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Page, sync_playwright

from adaptc.browser import find_chromium
from adaptc.config.config import Config
from adaptc.workflow.configuration import load_config
from adaptc.workflow.preview.server import PreviewServer
from benchmarks.web_level import hosted

LEVELS = ("full", "moderate", "extreme", "text")
# CSS pixels of a window, and those of a level in the picture
WIDTH, HEIGHT = 1280, 1120
SMALL = (640, 560)
GAP, CAPTION = 16, 44
WHITE, INK = "#ffffff", "#1d2327"


def screenshot(page: Page, address: str) -> Image.Image:
    page.goto(address, wait_until="networkidle")
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def captions(output: Path) -> dict[str, str]:
    """Return the name of each level with what a page takes on the mean."""
    means = {level["name"]: level["mean"] for level in json.loads((output / "manifest.json").read_text())["levels"]}
    return {
        name: f"{name}: {mean['requests']:.1f} requests, {mean['transfer'] / 1000:.1f} kB a page"
        for name, mean in means.items()
    }


def save(picture: Image.Image, file: Path) -> None:
    small = picture.resize((WIDTH * 3 // 4, HEIGHT * 3 // 4), Image.Resampling.LANCZOS)
    small.save(file, quality=80, method=6)


def previewed(page: Page, config: Config) -> Image.Image:
    """Return what ``adaptc preview`` shows."""
    with PreviewServer(config, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        picture = screenshot(page, server.url)
        server.shutdown()
    return picture


def side_by_side(shots: list[tuple[str, Image.Image]]) -> Image.Image:
    """Return two columns of pictures, each below its caption."""
    width, height = SMALL[0] + GAP, SMALL[1] + CAPTION
    sheet = Image.new("RGB", (2 * width + GAP, (len(shots) + 1) // 2 * height + GAP), WHITE)
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(20)
    for number, (caption, shot) in enumerate(shots):
        left, top = GAP + number % 2 * width, number // 2 * height
        pen.text((left, top + 12), caption, INK, font)
        sheet.paste(shot.resize(SMALL, Image.Resampling.LANCZOS), (left, top + CAPTION))
        pen.rectangle((left - 1, top + CAPTION - 1, left + SMALL[0], top + CAPTION + SMALL[1]), outline="#c9ced3")
    return sheet


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="that of make demo")
    parser.add_argument("--docroot", type=Path, default=Path("examples/newsroom/site"))
    parser.add_argument("--page", default="index.html")
    parser.add_argument("--chromium", default=find_chromium())
    parser.add_argument("--into", type=Path, default=Path("docs/pictures"))
    given = parser.parse_args()
    given.into.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=given.chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        shots, texts = [], captions(given.output)
        for level in LEVELS:
            tree = Path(scratch, level)
            command = [sys.executable, "-m", "adaptc", "-q", "export", level, tree, given.docroot, "-o", given.output]
            subprocess.run(command, check=True)
            with hosted(tree) as host:
                shots.append((texts[level], screenshot(page, f"{host}/{given.page}")))
        side_by_side(shots).save(given.into / "levels.webp", quality=80, method=6)
        for name in ("report", "proof"):
            if (given.output / f"{name}.html").exists():
                shown = screenshot(page, (given.output / f"{name}.html").absolute().as_uri())
                save(shown, given.into / f"{name}.webp")
        config = load_config(overrides={"docroot": given.docroot, "output": given.output})
        save(previewed(page, config), given.into / "preview.webp")
        browser.close()


if __name__ == "__main__":
    main()
