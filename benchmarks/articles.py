"""What composed pages say, against labels of which words are the article's: recall, precision, links, bytes.

    python benchmarks/articles.py SITES [--page NAME...] [--peers] [--node-modules DIR] [--show]

The labels are in ``labels/articles.jsonl``, and SITES holds a directory for each site (``labels/README.md``). Each
page is composed as for level text. Recall is the share of the article's words that the composed page says, in order;
precision is the share of the words in its ``<main>`` that are the article's. The floor of its bytes are the source's
words, link targets and controls of the source, compressed by Brotli alone. With --peers recall and precision are
measured of @mozilla/readability (npm, with jsdom; in DIR) and of trafilatura, as they are installed; a page of which
one makes nothing is refused. With --show the labelled words of each page are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import brotli
from turbohtml import Document, Element, Node, Text

from adaptc.compile.passes.composed.reader import ComposedPage, compose
from adaptc.formats.html.document import parse, read_page
from adaptc.formats.html.reader_text import keep_lines, show_panels
from adaptc.formats.html.static_text import open_shadow_roots
from adaptc.formats.html.visible_text import is_followable

LABELS = Path(__file__).parent / "labels" / "articles.jsonl"
# letters of scripts that write no spaces count one by one
WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u2e80-\u2fff\u3040-\u9fff\uf900-\ufaff]"
    r"|[^\W_\u0e00-\u0eff\u1000-\u109f\u2e80-\u9fff\uf900-\ufaff]+"
)
SILENT = frozenset(
    {"script", "style", "template", "noscript", "head", "svg", "iframe", "textarea", "select", "object", "math"}
)
BLOCKS = re.compile(
    r"(?:address|article|aside|blockquote|br|d[dlt]|div|fig.*|footer|form|h\d|header|hr|li|main|nav|[ou]l|p|pre|section|t[dhr]|table)"
)
WHOLE = 0.9995  # recall that is written as 1.000
NO_TARGET = re.compile(r"\s*(?:#.*|mailto:|tel:|https?:/*)?\s*")
READABILITY = """
const {JSDOM} = require("jsdom"), {Readability} = require("@mozilla/readability"), fs = require("fs");
for (const path of fs.readFileSync(0, "utf8").split("\\n").filter(Boolean)) {
  const {window} = new JSDOM(fs.readFileSync(path, "utf8"), {url: "http://site.test/"});
  const found = new Readability(window.document).parse();
  console.log(JSON.stringify(found && {title: found.title, byline: found.byline || "", content: found.content}));
}
"""


@dataclass(frozen=True)
class Label:
    """What one page says: selectors of its article, of parts of the frame within it, and of what never shows."""

    site: str
    page: str
    kind: str
    language: str
    article: tuple[str, ...]
    frame: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.site}/{self.page}"


@dataclass(frozen=True)
class Score:
    """Recall of the article's words in order, and precision."""

    recall: float
    precision: float


def read_labels(path: Path) -> list[Label]:
    rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return [
        Label(**{key: tuple(each) if isinstance(each, list) else each for key, each in row.items()}) for row in rows
    ]


def tree_of(path: Path) -> Document:
    return parse(read_page(path.read_bytes()).text)


def words_of(nodes: Iterable[Node], left_out: frozenset[Element] = frozenset()) -> list[str]:
    return WORD.findall("".join(_texts(nodes, left_out)).casefold())


def _texts(nodes: Iterable[Node], left_out: frozenset[Element]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, Text):
            yield node.data
        elif isinstance(node, Element) and node.tag not in SILENT and node not in left_out:
            is_block = BLOCKS.fullmatch(node.tag) is not None
            yield " " * is_block
            yield from _texts(node.children, left_out)
            yield " " * is_block


def labelled(tree: Document, label: Label) -> tuple[list[str], list[str]]:
    """Return the words of the article, and those that never show."""
    never = {each for selector in label.never for each in tree.select(selector)}
    frame = {each for selector in label.frame for each in tree.select(selector)}
    found = {each for selector in label.article for each in tree.select(selector)}
    outermost = [each for each in tree.iter_elements() if each in found and found.isdisjoint(each.ancestors)]
    return words_of(outermost, frozenset(never | frame)), words_of(never)


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the longest common subsequence (Hunt and Szymanski 1977)."""
    places: dict[str, list[int]] = {}
    for index, word in enumerate(other):
        places.setdefault(word, []).append(index)
    ends: list[int] = []
    for word in one:
        for index in reversed(places.get(word, ())):
            place = bisect_left(ends, index)
            ends[place : place + 1] = [index]
    return len(ends)


def score(article: Sequence[str], everything: Sequence[str], main: Sequence[str]) -> Score:
    counted = Counter(main)
    right = sum((counted & Counter(article)).values())
    return Score(common(article, everything) / max(len(article), 1), right / max(len(main), 1))


# ---- ours


def sheets_of(tree: Document, page: Path, site: Path) -> list[str]:
    """Return the texts of the style sheets of a page that are in it, or files of its site."""
    texts = []
    for element in tree.select("style, link[rel~=stylesheet][href]"):
        href = (element.attr("href") or "").partition("?")[0]
        if "print" in (element.attr("media") or "") or element.closest("noscript") is not None:
            continue
        file = Path(os.path.normpath((site if href.startswith("/") else page.parent) / href.lstrip("/")))
        if element.tag == "style":
            texts.append(element.text)
        elif "//" not in href and file.is_file():
            texts.append(file.read_text("utf-8", "replace"))
    return texts


def compose_page(page: Path, site: Path) -> tuple[str, float]:
    """Return a page as level text composes it, and the seconds of CPU that took."""
    source = read_page(page.read_bytes()).text
    sheets = sheets_of(parse(source), page, site)
    start = time.process_time()
    text = keep_lines(show_panels(open_shadow_roots(source)), sheets)
    result = compose(text, url_path=f"/{page.relative_to(site)}", sheets_of=lambda _: sheets)
    took = time.process_time() - start
    assert isinstance(result, ComposedPage), result
    return result.text, took


def links_of(tree: Document, never: Iterable[str] = ()) -> set[str]:
    """Return the targets of the links of a page, without those in what never shows and those within the page."""
    hidden = {each for selector in never for each in tree.select(selector)}
    links = (each for each in tree.select("a[href]") if each.closest("template, noscript") is None)
    hrefs = (each.attr("href") or "" for each in links if hidden.isdisjoint(each.ancestors))
    return {href.strip() for href in hrefs if is_followable(href) and not NO_TARGET.fullmatch(href)}


def floor_of(tree: Document) -> int:
    """Return the bytes of a page's own words, links and forms, compressed by Brotli alone."""
    body = tree.select_one("body")
    words = re.sub(r"\s+", " ", "".join(_texts(body.children if body is not None else (), frozenset())))
    controls = "".join(each.html for each in tree.select("form input, form select, form textarea, form button"))
    own = "\n".join([words, *sorted(links_of(tree)), controls])
    return len(brotli.compress(own.encode(), quality=11))


@dataclass(frozen=True)
class Composed:
    """One composed page: its score, the shares of its links and of what never shows, its bytes and their floor."""

    score: Score
    links: float
    shown: float
    bytes: int
    floor: int
    seconds: float


def measure(label: Label, sites: Path) -> Composed:
    before = tree_of(sites / label.name)
    text, took = compose_page(sites / label.name, sites / label.site)
    after = parse(text)
    article, never = labelled(before, label)
    main, body = after.select_one("main"), after.select_one("body")
    assert body is not None
    everything = words_of(body.children)
    wanted = links_of(before, label.never)
    kept = len(wanted & links_of(after)) / len(wanted) if wanted else 1.0
    shown = common(never, everything) / max(len(never), 1)
    scored = score(article, everything, words_of(main.children if main is not None else ()))
    return Composed(scored, kept, shown, len(brotli.compress(text.encode(), quality=11)), floor_of(before), took)


# ---- peers


def readability(pages: Sequence[Path], modules: Path) -> list[list[str] | None]:
    """Return the words that Readability finds on each page, with the title and the byline, ``None`` if it refuses."""
    result = subprocess.run(
        ["node", "-e", READABILITY], input="\n".join(str(page.resolve()) for page in pages), cwd=modules.parent,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows: list[dict[str, Any] | None] = [json.loads(line) for line in result.stdout.splitlines()]
    return [
        row and words_of(parse(f"<h1>{row['title']}</h1><p>{row['byline']}</p>{row['content']}").children)
        for row in rows
    ]


def trafilatura(page: Path) -> list[str] | None:
    """Return the words that trafilatura finds on a page, with the title, ``None`` if it refuses."""
    from trafilatura import bare_extraction

    found = bare_extraction(page.read_bytes(), include_comments=False, favor_recall=True)
    if found is None or not found.text:
        return None
    return WORD.findall(f"{found.title or ''}\n{found.author or ''}\n{found.text}".casefold())


# ---- the table


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path)
    parser.add_argument("--page", nargs="*", default=[], help="parts of names: SITE/PAGE")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--node-modules", type=Path, default=Path("node_modules"))
    parser.add_argument("--show", action="store_true", help="print the labelled words")
    options = parser.parse_args()
    wanted = [
        each for each in read_labels(LABELS) if not options.page or any(part in each.name for part in options.page)
    ]
    if options.show:
        for label in wanted:
            show(label, options.sites)
        return
    found = {label.name: measure(label, options.sites) for label in wanted}
    peers: list[dict[str, list[str] | None]] = []
    if options.peers:
        paths = [options.sites / label.name for label in wanted]
        peers.append(dict(zip((each.name for each in wanted), readability(paths, options.node_modules), strict=True)))
        peers.append({each.name: trafilatura(options.sites / each.name) for each in wanted})
    for line in table(wanted, options.sites, found, peers):
        print(line)


def table(
    labels: Sequence[Label], sites: Path, found: dict[str, Composed], peers: Sequence[dict[str, list[str] | None]]
) -> Iterator[str]:
    names = ["adaptc", "Readability", "trafilatura"][: 1 + len(peers)]
    yield f"| page | kind | words | {' | '.join(names)} | links | bytes, beyond the floor | ms |"
    yield "| --- " * (6 + len(names)) + "|"
    rows: list[list[Score | None]] = []
    for label in labels:
        article, _ = labelled(tree_of(sites / label.name), label)
        ours = found[label.name]
        theirs = (peer[label.name] for peer in peers)
        rows.append([ours.score, *(words and score(article, words, words) for words in theirs)])
        scores = " | ".join(f"{each.recall:.3f}, {each.precision:.2f}" if each else "refused" for each in rows[-1])
        shown = f" (shows {ours.shown:.2f} of what never shows)" if ours.shown else ""
        yield (
            f"| {label.name} | {label.kind} | {len(article):,} | {scores} | {ours.links:.2f}{shown} | "
            f"{ours.bytes:,}, {ours.bytes - ours.floor:+,} | {1000 * ours.seconds:.0f} |"
        )
    for name, column in zip(names, zip(*rows, strict=True), strict=True):
        kept = [each for each in column if each is not None]
        recall, precision = fmean(each.recall for each in kept), fmean(each.precision for each in kept)
        whole = sum(each.recall > WHOLE for each in kept)
        yield f"{name}: recall {recall:.4f}, precision {precision:.3f}; {whole} of {len(column)} pages whole"


def show(label: Label, sites: Path) -> None:
    tree = tree_of(sites / label.name)
    article, never = labelled(tree, label)
    for selector in (*label.article, *label.frame, *label.never):
        if tree.select_one(selector) is None:
            print(f"{label.name}: nothing is {selector}")
    ends = f"{' '.join(article[:14])} ... {' '.join(article[-14:])}"
    print(f"{label.name}: {len(article)} words: {ends}; never: {len(never)}")


if __name__ == "__main__":
    main()
