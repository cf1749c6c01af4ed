"""What a page view costs in a site that another tool rewrote, beside the original and adaptc's level lossless.

REWRITTEN is that tool's copy of DOCROOT (jampack's, for instance). Both are built by adaptc, so that the same codings
count for both; a page counts with all that it embeds. With --target, lossless may encode images anew up to that
structural similarity, and as WebP: compare it with what the tool did to images, which is shown, too.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

from PIL import Image

import adaptc
from adaptc.core.model import PRIVATE
from adaptc.formats.image.score import Reference
from adaptc.report.documents import LEDGER
from adaptc.report.figures import PageFigures
from adaptc.report.ledger import Ledger

OPTIONS = '[levels.lossless.images]\ntarget = {0}\n\n[levels.lossless.alternates]\nformats = ["webp"]\ntarget = {0}\n'
SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".gif", ".webp"})


def pages(docroot: Path, level: str, target: float | None = None) -> dict[str, PageFigures]:
    """Return the figures of each page of a site at a level."""
    with tempfile.TemporaryDirectory() as scratch:
        file, output = Path(scratch) / "adaptc.toml", Path(scratch) / "opt"
        file.write_text("" if target is None else OPTIONS.format(target))
        config = adaptc.load_config(file, {
            "docroot": docroot.absolute(), "output": output, "build.effort": "fast", "build.levels": (level,),
        })  # fmt: skip
        adaptc.build(config)
        with contextlib.closing(Ledger(output / PRIVATE / LEDGER)) as ledger:
            return {page.path: page for page in ledger.pages()}


def opened(path: Path) -> Image.Image:
    """Return an image, RGB or RGBA, as it is scored."""
    image = Image.open(path)
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def counterpart(path: Path) -> Path:
    """Return the image in the place of another one: under its name, or as WebP beside it."""
    beside = path.with_suffix(".webp")
    return beside if beside.exists() else path


def scores(docroot: Path, rewritten: Path) -> Iterator[float]:
    """Yield the similarity of each image that was encoded anew with its size."""
    for before in sorted(path for path in docroot.rglob("*") if path.suffix.lower() in SUFFIXES):
        after = counterpart(rewritten / before.relative_to(docroot))
        if not after.exists() or after.read_bytes() == before.read_bytes():
            continue
        old, new = opened(before), opened(after)
        if old.size == new.size:
            yield Reference(old).score(new)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docroot", type=Path)
    parser.add_argument("rewritten", type=Path)
    parser.add_argument("--target", type=float, action="append", default=[], help="may be given again")
    arguments = parser.parse_args()
    views = {"original": pages(arguments.docroot, "full"), "lossless": pages(arguments.docroot, "lossless")}
    for target in arguments.target:
        views[f"lossless, images {target}"] = pages(arguments.docroot, "lossless", target)
    views["rewritten"] = pages(arguments.rewritten, "full")
    common = sorted(set.intersection(*map(set, views.values())))
    print(f"{len(common):,} pages, mean of a view\n{'':24} {'requests':>9} {'bytes':>11} {'bytes sent':>11}")
    for name, known in views.items():
        rows = [known[page] for page in common]
        figures = (fmean(row.requests for row in rows), fmean(row.identity_bytes for row in rows))
        print(f"{name:24} {figures[0]:9.2f} {figures[1]:11,.0f} {fmean(row.transfer_bytes for row in rows):11,.0f}")
    found = list(scores(arguments.docroot, arguments.rewritten))
    if found:
        print(f"{len(found)} images rewritten: structural similarity {fmean(found):.4f}, least {min(found):.4f}")


if __name__ == "__main__":
    main()
