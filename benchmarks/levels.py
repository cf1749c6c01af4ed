"""What levels make of real sites: mean requests and bytes a page against full, pages with the same text, demotions.

Each DOCROOT is built at full and the levels to measure. "Sent" is the best coding of each file; a page counts with all
that it embeds. The share of pages with the same visible text compares each page of the level's tree with its source.
What was dropped, or left as it is, is counted by pass and kind of diagnostic.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import adaptc
from adaptc.compile.engine.state.state import State, state_path
from adaptc.core.model import PRIVATE
from adaptc.formats.html.document import Irreversible, parse, read_page
from adaptc.formats.html.visible_text import visible_text
from adaptc.report.documents import LEDGER
from adaptc.report.figures import PageFigures
from adaptc.report.ledger import Ledger

MANY = 10  # embedded objects: the pages on which the papers' figures were measured have more
FIGURES = ("requests", "identity_bytes", "transfer_bytes")
WIDTHS = (10, 13, 13)
NUMBER = re.compile(r"\d+")
DEMOTIONS = ("contract-broken", "pass-larger", "edit-refused", "page-unchanged")

Row = dict[str, PageFigures]  # one page, by level


@dataclass
class Measured:
    """The pages of one site or of all, and what else was counted of each level."""

    rows: list[Row] = field(default_factory=list)
    same_text: Counter[str] = field(default_factory=Counter)
    demotions: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, other: Measured) -> None:
        self.rows += other.rows
        self.same_text += other.same_text
        for level, counted in other.demotions.items():
            self.demotions.setdefault(level, Counter()).update(counted)


def measure(docroot: Path, levels: tuple[str, ...], effort: str) -> Measured:
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch) / "opt"
        config = adaptc.load_config(None, {
            "docroot": docroot, "output": output, "build.effort": effort, "build.levels": ("full", *levels),
        })  # fmt: skip
        adaptc.build(config)
        rows: dict[str, Row] = {}
        with contextlib.closing(Ledger(output / PRIVATE / LEDGER)) as ledger:
            for page in ledger.pages():
                rows.setdefault(page.path, {})[page.level] = page
        with contextlib.closing(State(state_path(output), read_only=True)) as state:
            return Measured(list(rows.values()), same_texts(docroot, output, rows, levels), demotions(state))


def same_texts(docroot: Path, output: Path, pages: Iterable[str], levels: Iterable[str]) -> Counter[str]:
    same: Counter[str] = Counter(dict.fromkeys(levels, 0))
    for page in pages:
        source = text_of(docroot / page)
        same.update(level for level in levels if text_of(output / level / "id" / page) == source)
    return same


def text_of(page: Path) -> str | None:
    try:
        return visible_text(parse(read_page(page.read_bytes()).text))
    except Irreversible:
        return None


def demotions(state: State) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for result in state.results():
        for said in result.diagnostics:
            if said.id in DEMOTIONS:
                found.setdefault(result.level, Counter())[general(said.message)] += 1
    return found


def general(message: str) -> str:
    """Return a message without what is only true of its page: what is quoted behind a colon, and numbers."""
    head, mark, reason = message.partition(": ")
    kind = reason.partition(": ")[0]
    return NUMBER.sub("N", head + mark + kind + (")" if "(" in kind and ")" not in kind else ""))


def table(name: str, measured: Measured, levels: tuple[str, ...]) -> Iterator[str]:
    many = [row for row in measured.rows if row["full"].requests > MANY + 1]
    for which, rows in (("all pages", measured.rows), (f"more than {MANY} objects", many)):
        if rows:
            yield f"{name}, {which}: {len(rows):,}"
            yield f"  {'level':12} {'requests':>17} {'bytes':>20} {'bytes sent':>20}"
            yield from (line(level, rows) for level in ("full", *levels))
    for level in levels:
        yield f"  {level}: visible text the same on {measured.same_text[level] / max(len(measured.rows), 1):.1%}"
        yield from (f"    {count:,} x {said}" for said, count in measured.demotions.get(level, Counter()).most_common())


def line(level: str, rows: list[Row]) -> str:
    shares = [(mean(level, rows, of), mean("full", rows, of)) for of in FIGURES]
    shown = "  ".join(
        f"{value:{width},.1f} {value / full:6.1%}" for width, (value, full) in zip(WIDTHS, shares, strict=True)
    )
    return f"  {level:12} {shown}"


def mean(level: str, rows: list[Row], figure: str) -> float:
    return fmean(getattr(row[level], figure) for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docroots", type=Path, nargs="+", metavar="DOCROOT")
    parser.add_argument("--level", action="append", required=True, help="may be given again")
    parser.add_argument("--effort", default="fast", choices=("fast", "default", "max"))
    arguments = parser.parse_args()
    levels, total = tuple(arguments.level), Measured()
    for docroot in arguments.docroots:
        measured = measure(docroot, levels, arguments.effort)
        total.add(measured)
        print(*table(docroot.name, measured, levels), sep="\n", flush=True)
    if len(arguments.docroots) > 1:
        print(*table("all sites", total, levels), sep="\n")


if __name__ == "__main__":
    main()
