"""Whether a dictionary of style sheets and scripts would pay, as one of pages does: sites, and what visits would take.

A visit of three random pages loads the sheets and scripts of its first page, and then those that are new. With a
dictionary it loads that after the first page, and the new ones encoded with it. Candidates are those of pages
(``dictionary_search``), made of the files themselves; the best is shown. Sheets that sheets import count, too.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import adaptc
from adaptc.compile.analyse.dictionary_search import FIELDS, SampledPage, candidates_of
from adaptc.core.media import CSS, HTML, JS
from adaptc.formats.codings import encode
from adaptc.formats.dictionary import MOST_BYTES, DictionaryCodec, nameable
from adaptc.report.manifest import MANIFEST

VISITS, PAGES, MOST_FILES = 400, 3, 60


@dataclass(frozen=True)
class Files:
    """The sheets and scripts of a site: their contents, their bytes in Brotli, and those that each page loads."""

    contents: Mapping[str, bytes]
    sent: Mapping[str, int]
    pages: Sequence[frozenset[str]]


def read(docroot: Path) -> Files:
    """Build level ``full`` for what pages load, and read the files."""
    with tempfile.TemporaryDirectory() as scratch:
        settings = {"docroot": docroot, "output": Path(scratch), "build.effort": "fast", "build.levels": ("full",)}
        adaptc.build(adaptc.load_config(None, settings))
        rows = json.loads((Path(scratch) / MANIFEST).read_text())["resources"]
    pages = [loaded(rows, number) for number, row in enumerate(rows) if row["media_type"] == HTML]
    contents = {
        path: content
        for path in sorted(frozenset[str]().union(*pages))
        if len(content := (docroot / path).read_bytes()) < MOST_BYTES
    }
    return Files(contents, {path: len(encode(content, "br", "fast")) for path, content in contents.items()}, pages)


def loaded(rows: Sequence[Mapping[str, Any]], number: int) -> frozenset[str]:
    """Return the sheets and scripts that a file loads, with those that these import."""
    found, pending = set[int](), [number]
    while pending:
        references = rows[pending.pop()].get("references", ())
        new = {one for one in references if rows[one]["media_type"] in (CSS, JS)} - found
        found |= new
        pending += new
    return frozenset(rows[one]["path"] for one in found)


def visit(files: Files, pages: Sequence[int], encoded: Mapping[str, int] | None, download: int) -> int:
    """Return the bytes of sheets and scripts of a visit, with a dictionary of so many bytes or without one."""
    held, total = set[str](), download
    for number, page in enumerate(pages):
        new = (files.pages[page] & files.contents.keys()) - held
        sizes = files.sent if encoded is None or number == 0 else encoded
        total += sum(sizes[path] for path in new)
        held |= new
    return total


def best(files: Files, visits: Sequence[Sequence[int]], rng: random.Random) -> tuple[float, int]:
    """Return the mean bytes of a visit with the best dictionary, and the bytes of that as sent."""
    chosen = rng.sample(sorted(files.contents), min(MOST_FILES, len(files.contents)))
    sampled = [SampledPage(files.contents[path], files.sent[path]) for path in chosen]
    results = []
    for content in dict.fromkeys(filter(None, candidates_of(sampled))):
        codec = DictionaryCodec(nameable(content), "fast")
        sizes = {path: min(files.sent[path], len(codec.encode(one))) for path, one in files.contents.items()}
        sent = len(encode(codec.dictionary, "br", "max")) + FIELDS
        results.append((fmean([visit(files, pages, sizes, sent) for pages in visits]), sent))
    return min(results)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sites", nargs="+", type=Path)
    for docroot in parser.parse_args().sites:
        files, rng = read(docroot.absolute()), random.Random(1)
        if not files.contents:
            print(docroot.name, "has no style sheets or scripts", flush=True)
            continue
        visits = [rng.sample(range(len(files.pages)), min(PAGES, len(files.pages))) for _ in range(VISITS)]
        plain = fmean([visit(files, pages, None, 0) for pages in visits])
        first = fmean([visit(files, pages[:1], None, 0) for pages in visits])
        total, sent = best(files, visits, rng)
        figures = f"{plain:.0f} bytes a visit, {plain - first:.0f} of them after the first page"
        print(f"{docroot.name}: {figures}; best dictionary {sent}, visit {total / plain:.3f}", flush=True)


if __name__ == "__main__":
    main()
