"""Scores of Lighthouse (npm lighthouse) for pages of sites at each level, next to those of the original.

Of each site up to three pages stay, with all other files. adaptc looks at them with a browser, builds the levels and
exports each. Trees are served over HTTP/1.1 with Brotli for text, as static hosts do, and judged by Lighthouse with its
own settings (a phone). Performance is the median of ``--runs``, in turn; the other categories are the same each time.
Prints a row for each page and level, the audits that are worse than the original's, and how many scores are.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from adaptc.browser import find_chromium
from benchmarks.web_level import chosen_pages, copy_site, hosted

ORIGINAL = "original"
LEVELS = ("lossless", "web", "moderate", "extreme", "text")
PERFORMANCE = "performance"
CATEGORIES = (PERFORMANCE, "accessibility", "best-practices", "seo")
# The levels that promise to be as fast; of the lower ones that is not asked, though they are faster
FAST = ("lossless", "web")
# A whole point of 100: Lighthouse rounds scores to that
_POINT = 0.01


@dataclass(frozen=True)
class Judgement:
    """Scores by category, 0 to 1; and the audits that failed, with the pieces of markup that they name."""

    scores: dict[str, float]
    failed: dict[str, tuple[str, ...]]


def make_trees(site: Path, scratch: Path, levels: list[str], effort: str) -> list[str]:
    """Build and export the levels of a site, those that ``scratch`` does not hold; return its pages."""
    pages = chosen_pages(site, 3)
    if not (scratch / ORIGINAL).exists():
        copy_site(site, scratch / ORIGINAL, pages)
    ours, output = [sys.executable, "-P", "-m", "adaptc"], ["-o", str(scratch / "opt")]
    wanted = [argument for level in ("full", *levels) for argument in ("--level", level)]
    build = ["build", str(scratch / ORIGINAL), *output, *wanted, "--browser=all", "--effort", effort]
    subprocess.run([*ours, *build], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for level in levels:
        export = ["export", level, str(scratch / level), str(scratch / ORIGINAL), *output, "--encodings", "none"]
        subprocess.run([*ours, *export], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return pages


def judge(command: list[str], url: str, chromium: str) -> Judgement:
    """Run Lighthouse on a page. Raises ``CalledProcessError``."""
    options = ["--output=json", "--quiet", "--chrome-flags=--headless=new --no-sandbox"]
    chosen = f"--only-categories={','.join(CATEGORIES)}"
    ran = subprocess.run(
        [*command, url, *options, chosen],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "CHROME_PATH": chromium},
    )
    report = json.loads(ran.stdout)
    scores = {name: report["categories"][name]["score"] or 0.0 for name in CATEGORIES}
    counted = {
        each["id"] for name in CATEGORIES[1:] for each in report["categories"][name]["auditRefs"] if each["weight"]
    }
    audits = [audit for audit in report["audits"].values() if audit["id"] in counted and audit["score"] == 0]
    return Judgement(scores, {audit["id"]: tuple(_pieces(audit)) for audit in audits})


def _pieces(audit: dict[str, object]) -> Iterator[str]:
    details = audit.get("details")
    items = details.get("items", ()) if isinstance(details, dict) else ()
    for item in items:
        yield str((item.get("node") or {}).get("snippet") or item.get("description") or item.get("url") or "")[:120]


def rows(site: str, page: str, judged: dict[str, list[Judgement]], worse: dict[str, int]) -> Iterator[str]:
    """Yield a row for each level of a page, and a line for each audit that is worse than the original's."""
    medians = {tree: _medians(runs) for tree, runs in judged.items()}
    for tree, scores in medians.items():
        cells = [f"{100 * scores[name]:.0f}" for name in CATEGORIES]
        yield f"| {site} {page} | {tree} | {' | '.join(cells)} |"
        for name in CATEGORIES:
            is_asked = name != PERFORMANCE or tree in FAST
            if is_asked and scores[name] < medians[ORIGINAL][name] - _POINT / 2:
                worse[name] += 1
        for audit in judged[tree][0].failed.keys() - judged[ORIGINAL][0].failed.keys():
            yield f"  worse: {audit}: {'; '.join(judged[tree][0].failed[audit][:3])}"


def _medians(runs: list[Judgement]) -> dict[str, float]:
    return {name: statistics.median(run.scores[name] for run in runs) for name in CATEGORIES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, nargs="+")
    parser.add_argument("--lighthouse", default="npx lighthouse", help="the command that runs Lighthouse")
    parser.add_argument("--level", action="append", choices=LEVELS, help="only this level; may be repeated")
    parser.add_argument("--trees", type=Path, help="where trees are kept, and taken from if they are there")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--effort", default="fast", choices=("fast", "default", "max"))
    parser.add_argument("--chromium", default=find_chromium())
    arguments = parser.parse_args()
    command, levels = shlex.split(arguments.lighthouse), arguments.level or list(LEVELS)
    worse: dict[str, int] = defaultdict(int)
    print(f"| page | level | {' | '.join(CATEGORIES)} |")
    for site in arguments.sites:
        with tempfile.TemporaryDirectory() as directory:
            scratch = (arguments.trees or Path(directory)) / site.name
            scratch.mkdir(parents=True, exist_ok=True)
            for page in make_trees(site, scratch, levels, arguments.effort):
                judged: dict[str, list[Judgement]] = defaultdict(list)
                for _ in range(arguments.runs):
                    for tree in (ORIGINAL, *levels):
                        with hosted(scratch / tree) as host:
                            judged[tree].append(judge(command, f"{host}/{quote(page)}", arguments.chromium))
                print("\n".join(rows(site.name, page, judged, worse)), flush=True)
    print(", ".join(f"{name}: {worse[name]} scores lower than the original's" for name in CATEGORIES))


if __name__ == "__main__":
    main()
