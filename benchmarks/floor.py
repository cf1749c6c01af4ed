"""The CPU time of a clean build against that of its codecs and parsers alone.

The floor: each page that a level adapts is parsed twice, its source and what became of it; each style sheet is parsed
likewise; each image that was written is decoded and encoded once, in the format of its source; each text is encoded
once in each of the codings that the trees have of it. Equal contents count once for all levels. What is above the floor
is our own code, files, the state, imports, processes, images in data URIs, and encodings that were tried and not used.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mozjpeg_lossless_optimization
import tinycss2

from adaptc.core import media
from adaptc.core.digest import digest_bytes
from adaptc.core.model import CODINGS, IDENTITY
from adaptc.formats import codings
from adaptc.formats.html.document import Irreversible, parse, read_page
from adaptc.formats.image import mozjpeg
from adaptc.formats.image.exact import exact_jpeg, exact_png
from adaptc.formats.image.vips import decode_upright, load, vips

LEVELS = ("full", "lossless", "moderate", "extreme", "text")
_QUALITY = 60
_AVIF_EFFORT = {"fast": 1, "default": 2, "max": 6}


def build(docroot: Path, output: Path, levels: tuple[str, ...], effort: str) -> float:
    """Build a site anew; return the CPU seconds of all processes."""
    shutil.rmtree(output, ignore_errors=True)
    command = [sys.executable, "-P", "-m", "adaptc", "-q", "build", str(docroot), "-o", str(output)]
    before = _children()
    options = [f"--level={level}" for level in levels]
    subprocess.run([*command, "--effort", effort, *options], check=False, stdout=subprocess.DEVNULL)
    return _children() - before


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Floor:
    """Does what codecs and parsers must do for the trees of an output, and counts the CPU seconds by kind."""

    def __init__(self, docroot: Path, output: Path, effort: Any) -> None:
        self.docroot, self.output, self.effort = docroot, output, effort
        self.seconds = dict.fromkeys(("pages", "sheets", "images", "codings"), 0.0)
        self._seen = set[tuple[str, str]]()

    def of(self, level: str) -> float:
        """Return the seconds of a level that those before it do not have."""
        before = sum(self.seconds.values())
        tree = self.output / level
        for path, content in _files(tree / IDENTITY):
            source = self.docroot / path
            self._parse(path, content, source.read_bytes() if source.is_file() else b"")
        for coding in CODINGS:
            for path, _ in _files(tree / coding):
                own = tree / IDENTITY / path
                self._encode((own if own.is_file() else self.docroot / path).read_bytes(), coding)
        return sum(self.seconds.values()) - before

    def _parse(self, path: str, content: bytes, source: bytes) -> None:
        kind = media.by_name(path)
        if content == source:
            return
        if kind == media.HTML:
            self._take("pages", content, _parse_page)
            self._take("pages", source, _parse_page)
        elif kind == media.CSS:
            self._take("sheets", content, tinycss2.parse_stylesheet_bytes)
            self._take("sheets", source, tinycss2.parse_stylesheet_bytes)
        elif kind is not None and kind.startswith("image/") and kind != media.SVG:
            self._take("images", source or content, self._encode_image)

    def _encode(self, content: bytes, coding: str) -> None:
        self._take("codings", content, lambda text: codings.encode_if_smaller(text, coding, self.effort), coding)

    def _encode_image(self, content: bytes) -> None:
        try:
            if content.startswith(b"\xff\xd8"):
                exact_jpeg(content, self.effort)
            elif content.startswith(b"\x89PNG"):
                exact_png(content, self.effort)
            elif load(content).get("vips-loader") == "heifload_buffer":
                options = {"compression": "av1", "effort": _AVIF_EFFORT[self.effort]}
                decode_upright(content).heifsave_buffer(Q=_QUALITY, **options)
            else:
                decode_upright(content).webpsave_buffer(Q=_QUALITY)
        except vips().Error as error:
            print(f"an image is not counted: {error}", file=sys.stderr)

    def _take(self, kind: str, content: bytes, work: Callable[[bytes], Any], how: str = "") -> None:
        key = (kind + how, digest_bytes(content))
        if content and key not in self._seen:
            self._seen.add(key)
            begun = time.process_time()
            work(content)
            self.seconds[kind] += time.process_time() - begun


def _parse_page(content: bytes) -> None:
    try:
        parse(read_page(content).text)
    except Irreversible:
        parse(content.decode("utf-8", "replace"))


def _files(tree: Path) -> Iterator[tuple[str, bytes]]:
    for directory, folders, names in os.walk(tree):
        folders.sort()
        for name in sorted(names):
            file = Path(directory) / name
            if file.is_file():
                yield str(file.relative_to(tree)), file.read_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docroots", nargs="+", type=Path)
    parser.add_argument("--effort", default="fast", choices=("fast", "default", "max"))
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--level", action="append", help="each alone, and then all together", dest="levels")
    arguments = parser.parse_args()
    alone = tuple(arguments.levels or LEVELS)
    mozjpeg.optimize_jpeg = mozjpeg_lossless_optimization.optimize  # not in a process of its own, which is not counted
    print("site            levels      build  floor  build/floor  pages sheets images codings")
    ratios = []
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch) / "opt"
        for docroot in arguments.docroots:
            for levels in (*((level,) for level in alone), alone)[: None if len(alone) > 1 else 1]:
                took, needed = [], []
                for _ in range(arguments.runs):
                    took.append(build(docroot, output, levels, arguments.effort))
                    floor = Floor(docroot, output, arguments.effort)
                    needed.append(sum(map(floor.of, levels)))
                work, least = statistics.median(took), statistics.median(needed)
                ratios.append(work / least if least else 0.0)
                parts = " ".join(f"{seconds:6.2f}" for seconds in floor.seconds.values())
                name = levels[0] if len(levels) == 1 else "all"
                print(f"{docroot.name:15} {name:9} {work:7.2f} {least:6.2f} {ratios[-1]:8.2f}     {parts}", flush=True)
    print(f"mean of work / floor: {statistics.mean(filter(None, ratios)):.2f}")


if __name__ == "__main__":
    main()
