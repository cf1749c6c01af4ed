"""How right the classifier of images is, against labels made by hand.

LABELS is a file of JSON lines: site, page, ref, path, kind, label and, where a second reading is as good, alt_label;
a prediction of either is right. CORPORA_DIR holds the docroots, one directory a site. "Strip" is decoration or ad.

--also adds labels of other docroots. The rules are written by hand, so there is nothing to fit but their thresholds:
--leave-one-out chooses the threshold of "decoration" for each site on the other sites (the least that keeps a precision
of 0.97 there) and prints what comes of it on the site that was left out. ``classifier_fit.py`` fits weights instead.
"""

from __future__ import annotations

import argparse
import collections
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from adaptc.compile.analyse.decorations.labels import ImageLabel, classify_site
from adaptc.compile.analyse.decorations.rules import load_decoration_rules
from adaptc.config.toml import read_toml
from adaptc.core.fs import DiskTree
from adaptc.core.urls import SiteAddress
from adaptc.site.docroot import load_directory
from adaptc.site.site import Site, Source

STRIPPED = frozenset({"decoration", "ad"})
PRECISION = 0.97


@dataclass(frozen=True)
class Judged:
    """A labelled reference and what the classifier says of it; ``said`` is "missing" where it did not see it."""

    site: str
    page: str
    ref: str
    kind: str
    label: str
    right: frozenset[str]
    said: str
    score: float
    reasons: tuple[str, ...]
    signs: tuple[str, ...] = ()

    @property
    def is_right(self) -> bool:
        return self.said in self.right

    def strips(self, threshold: float = 0.0) -> bool:
        """Whether it would be left out if the threshold were that much higher."""
        return self.said == "ad" or (self.said != "logo" and self.score >= threshold)


def judged(labels: Iterable[dict[str, str]], folder: Path, rules_file: Path | None) -> Iterator[Judged]:
    by_site = collections.defaultdict(list)
    for one in labels:
        by_site[one["site"]].append(one)
    for site, found in sorted(by_site.items()):
        uses = {
            (use.page, use.ref): use for use in classified(folder / site, {one["page"] for one in found}, rules_file)
        }
        for one in found:
            yield judge(one, uses.get((one["page"], one["ref"])))


def judge(one: dict[str, str], use: ImageLabel | None) -> Judged:
    right = frozenset(filter(None, (one["label"], one.get("alt_label"))))
    said, score, reasons = (use.label.value, use.score, use.reasons) if use else ("missing", -99.0, ())
    signs = use.signs if use else ()
    return Judged(one["site"], one["page"], one["ref"], one["kind"], one["label"], right, said, score, reasons, signs)


def classified(docroot: Path, pages: set[str], rules_file: Path | None) -> Iterator[ImageLabel]:
    rules = load_decoration_rules(read_toml(rules_file) if rules_file else None)
    tree = DiskTree(docroot)
    resources = load_directory(tree).resources
    sources = {path: Source("", one.size, one.media_type, one.alias_of) for path, one in resources.items()}
    site = Site.of(sources, SiteAddress(), ("index.html", "index.htm"))
    return classify_site(tree, site, rules, sorted(pages))


@dataclass
class Strip:
    """How often "strip" was said rightly and wrongly, and how often it was missed."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    def note(self, one: Judged, threshold: float = 0.0) -> None:
        if one.strips(threshold):
            self.right += bool(one.right & STRIPPED)
            self.wrong += not one.right & STRIPPED
        elif one.label in STRIPPED and not (threshold == 0 and one.is_right):
            self.missed += 1

    @property
    def precision(self) -> float:
        return self.right / max(self.right + self.wrong, 1)

    @property
    def recall(self) -> float:
        return self.right / max(self.right + self.missed, 1)

    def __str__(self) -> str:
        counts = f"{self.right} right, {self.wrong} wrong, {self.missed} missed"
        return f"precision {self.precision:.3f}, recall {self.recall:.3f} ({counts})"


def strip(found: Iterable[Judged], threshold: float = 0.0) -> Strip:
    total = Strip()
    for one in found:
        total.note(one, threshold)
    return total


def accuracy(found: list[Judged], label: str) -> str:
    """Of what has the label, how many got it, or its second reading; of what got it, how many rightly."""
    labelled = [one for one in found if one.label == label]
    said = [one for one in found if one.said == label]
    hits, rights = sum(one.is_right for one in labelled), sum(one.is_right for one in said)
    return f"{hits} of {len(labelled)} found; of {len(said)} said, {rights} right"


def leave_one_out(found: list[Judged]) -> Strip:
    total = Strip()
    for site in sorted({one.site for one in found}):
        others = [one for one in found if one.site != site]
        threshold = best_threshold(others)
        here = strip((one for one in found if one.site == site), threshold)
        print(f"  {site:22} threshold {threshold:+.0f}: {here}")
        total.right, total.wrong = total.right + here.right, total.wrong + here.wrong
        total.missed += here.missed
    return total


def best_threshold(found: list[Judged]) -> float:
    """Return the least threshold, relative to that of the rules, that keeps the precision."""
    fitting = [step for step in range(-3, 4) if strip(found, step).precision >= PRECISION]
    return float(min(fitting, default=3))


def print_confusion(found: list[Judged]) -> None:
    counts = collections.Counter((one.label, one.said) for one in found)
    names = ["logo", "story", "content", "decoration", "ad", "missing"]
    print("label \\ said".ljust(14) + "".join(name.rjust(12) for name in names))
    for label in names[:-1]:
        print(label.ljust(14) + "".join(str(counts[label, said]).rjust(12) for said in names))


def print_kinds(found: list[Judged], threshold: float = 0.0) -> None:
    for kind in sorted({one.kind for one in found}):
        print(f"  {kind:22} {strip((one for one in found if one.kind == kind), threshold)}")


def read_labels(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def print_sites(found: list[Judged]) -> None:
    for site in sorted({one.site for one in found}):
        here = [one for one in found if one.site == site]
        print(f"  {site:22} {sum(one.is_right for one in here):3} of {len(here):3} right; strip: {strip(here)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", type=Path)
    parser.add_argument("corpora", type=Path)
    parser.add_argument("--also", nargs=2, type=Path, action="append", default=[], metavar=("LABELS", "CORPORA"))
    parser.add_argument("--rules", type=Path, help="rules over those that ship")
    parser.add_argument("--leave-one-out", action="store_true")
    arguments = parser.parse_args()
    sets = [(arguments.labels, arguments.corpora), *arguments.also]
    found = [one for path, corpora in sets for one in judged(read_labels(path), corpora, arguments.rules)]
    print(f"{len(found)} references, {sum(one.is_right for one in found)} right")
    print(f"strip: {strip(found)}")
    print(f"strip, references with one reading only: {strip(one for one in found if len(one.right) == 1)}")
    print(f"logo: {accuracy(found, 'logo')}\nstory: {accuracy(found, 'story')}\n")
    print_confusion(found)
    print("\nstrip by kind")
    print_kinds(found)
    print("\nby site")
    print_sites(found)
    if arguments.leave_one_out:
        print("\nleave one site out")
        print(f"  in all: {leave_one_out(found)}")
    print("\nwrong")
    for one in found:
        if not one.is_right:
            said = f"{one.said} {one.score:+g}"
            print(f"  {one.site}/{one.page} {one.ref.strip()}: {one.label}, said {said}: {'; '.join(one.reasons)}")


if __name__ == "__main__":
    main()
