"""The reports of a build and of a proof: each a single HTML file that needs no other file and no network.

A report depends on its figures only, not on the machine or the time: equal figures give equal bytes. File names are not
trusted: unprintable characters are escaped by ``printable``, markup by the template engine, and the page's policy
(CSP Level 3) allows its own script by hash and no request at all.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from adaptc.core import quantities
from adaptc.core.diagnostics import Severity, printable
from adaptc.core.quantities import written_bytes, written_plural, written_share
from adaptc.core.sandbox import sandboxed, shipped_template
from adaptc.core.values import dataclass
from adaptc.core.version import VERSION
from adaptc.formats.html.document import Irreversible, parse_bare, read_page
from adaptc.formats.html.visible_text import fold_space
from adaptc.report.charts import bars_by_type, plot_pages, shade_labels
from adaptc.report.comparisons import NO_VIEWS, ProofViews
from adaptc.report.figures import (
    DiagnosticFigures,
    LevelFigures,
    PageFigures,
    SiteFigures,
    TypeFigures,
    capacity_factor,
    proof_sentence,
    restricted_levels,
)
from adaptc.report.ledger import Ledger
from adaptc.report.page_table import PageTable, tabulate_pages

if TYPE_CHECKING:
    from jinja2 import Environment

    from adaptc.compile.engine.proof.paints import PagePaint

TEMPLATE = "report.html.j2"
STYLE = "report.css"
SCRIPT = "report.js"
COMPARE = "compare.js"
FIRST_ROWS = 25  # rows of the table of pages that need no JavaScript
_PIECE = 1 << 16  # characters of JSON handed to the template at a time
CHUNK = 500  # rows of JSON handed to the template at a time
SEVERITIES = tuple(Severity)


@dataclass(frozen=True, slots=True)
class Row:
    """A page of the static table, at one level compared with the first; ``cost`` is None where the level lacks it."""

    path: str
    views: int
    cost: PageFigures | None
    saving: str
    capacity: str


def stream_report(
    figures: SiteFigures, ledger: Ledger, templates: Path | None = None, proven: ProofViews = NO_VIEWS
) -> Iterator[str]:
    """Yield the report piece by piece; the ``ledger`` has the pages, ``proven`` is what a proof saw.

    A file of the directory ``templates`` replaces the shipped one of the same name (``report.html.j2``,
    ``comparisons.html.j2``, ``report.css``, ``report.js``, ``compare.js``). Raises ``jinja2.TemplateError`` for an
    invalid template.
    """
    environment = template_environment(templates)
    script, compare = template_source(environment, SCRIPT), template_source(environment, COMPARE)
    has_pictures = bool(figures.screenshots or proven.differing or proven.kept)
    levels = [level.level for level in figures.levels]
    table, shown = tabulate_pages(ledger), min(1, len(levels) - 1)  # the first level that adapts
    return environment.get_template(TEMPLATE).generate(
        site=figures,
        style=template_source(environment, STYLE),
        script=script,
        script_hash=csp_hash(script),
        proven=proven,
        compare=compare,
        compare_hash=csp_hash(compare) if has_pictures else "",
        shown=shown,
        rows=_first_rows(figures, ledger, shown),
        steps=first_steps(figures, ledger.heaviest_pages(levels[shown], FIRST_ROWS) if levels else [], shown),
        page_count=table.count,
        restricted=restricted_levels(figures),
        proof=proof_sentence(figures.proof) if figures.proof is not None else "",
        data_uri=data_uri,
        bars=bars_by_type(figures.levels),
        plots=plot_pages(ledger.page_points(), levels),
        shades=shade_labels(),
        diagnostics=sorted(figures.diagnostics, key=DiagnosticFigures.gravity),
        row_json=_pieces(table.rows),
        heads_json=_json(_heads(figures, table, shown)),
        table_json=_json([table.words, table.actions]),
        list_json=_joined(map(_dumped, table.lists)),
    )


def template_environment(templates: Path | None) -> Environment:
    """Return what renders the templates of reports; those of the directory ``templates`` come first."""
    from jinja2 import ChoiceLoader, FileSystemLoader, FunctionLoader

    own = [FileSystemLoader(templates)] if templates else []
    environment = sandboxed(
        loader=ChoiceLoader([*own, FunctionLoader(shipped_template)]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters.update(
        bytes=quantities.written_bytes,
        count=quantities.written_count,
        factor=quantities.written_factor,
        milliseconds=quantities.written_milliseconds,
        plural=quantities.written_plural,
    )
    environment.globals.update(
        saving=quantities.written_saving,
        share_of=quantities.written_share,
        type_totals=type_totals,
        severity_counts=severity_counts,
    )
    return environment


def template_source(environment: Environment, name: str) -> Any:
    """Return a file that goes into the page unchanged: style and script are no templates."""
    from markupsafe import Markup

    assert environment.loader is not None
    return Markup(environment.loader.get_source(environment, name)[0])


def _shown(value: object) -> object:
    return printable(value) if type(value) is str else value


def csp_hash(script: str) -> str:
    """Return the source expression that allows an inline script (CSP Level 3, section 2.3.1)."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _json(value: object) -> Any:
    """Return JSON fit for a script element."""
    return _escaped(_dumped(value))


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _escaped(text: str) -> Any:
    """Return JSON with ``<`` escaped, so no end tag or comment can begin in it."""
    from markupsafe import Markup

    return Markup(text.replace("<", "\\u003c"))


def data_uri(webp: bytes) -> str:
    """Return the data URI of a WebP image."""
    return f"data:image/webp;base64,{base64.b64encode(webp).decode('ascii')}"


def _joined(items: Iterable[str]) -> Iterator[Any]:
    """Yield items of an array, which are JSON, each after a comma but the first, some hundred at a time."""
    remaining = iter(items)
    lead = ""
    while chunk := list(islice(remaining, CHUNK)):
        yield _escaped(lead + ",".join(chunk))
        lead = ","


def _pieces(text: str) -> Iterator[Any]:
    """Yield JSON in pieces."""
    return (_escaped(text[start : start + _PIECE]) for start in range(0, len(text), _PIECE))


def _heads(figures: SiteFigures, table: PageTable, shown: int) -> dict[str, object]:
    demotions = [[table.words[word] for word in words] for words in table.demotions]
    return {
        "levels": [printable(level.level) for level in figures.levels],
        "shown": shown,
        "demotions": demotions,
        "cost": [figures.view_ms, figures.request_ms, figures.kilobyte_ms],
        "viewed": figures.traffic is not None,
    }


def _first_rows(figures: SiteFigures, ledger: Ledger, shown: int) -> list[Row]:
    if shown < 0:
        return []
    first, level = figures.levels[0].level, figures.levels[shown].level
    pages = ledger.foremost_pages(level, FIRST_ROWS)
    return [
        _static_row(figures, path, views, ledger.page_at(path, level), ledger.page_at(path, first))
        for path, views in pages
    ]


def _static_row(
    figures: SiteFigures, path: str, views: int, cost: PageFigures | None, first: PageFigures | None
) -> Row:
    if cost is None:
        return Row(path, views, None, quantities.NONE, quantities.NONE)
    saving = quantities.NONE
    if first is not None and first.level != cost.level:
        saving = quantities.written_saving(cost.transfer_bytes, first.transfer_bytes)
    return Row(path, views, cost, saving, _capacity(figures, cost, first))


def _capacity(figures: SiteFigures, cost: PageFigures, first: PageFigures | None) -> str:
    if first is None:
        return quantities.NONE
    factor = capacity_factor(
        cost.requests,
        cost.transfer_bytes,
        first.requests,
        first.transfer_bytes,
        request_ms=figures.request_ms,
        kilobyte_ms=figures.kilobyte_ms,
        view_ms=figures.view_ms,
    )
    return quantities.written_factor(factor)


def type_totals(level: LevelFigures) -> TypeFigures:
    """Return the sum over the groups of media types of a level."""
    kinds: Sequence[TypeFigures] = level.bytes_by_type
    return TypeFigures(
        "all",
        sum(kind.files for kind in kinds),
        sum(kind.bytes_before for kind in kinds),
        sum(kind.bytes_after for kind in kinds),
        sum(kind.transfer_after for kind in kinds),
    )


def severity_counts(diagnostics: Iterable[DiagnosticFigures]) -> list[tuple[str, int]]:
    """Return how many diagnostics there are of each severity, errors first; zero is left out."""
    counts = dict.fromkeys(SEVERITIES, 0)
    for kind in diagnostics:
        counts[kind.severity] += kind.count
    return [(severity.value, count) for severity, count in counts.items() if count]


# ---- the name of the site

# A home page says its name in its head: so many bytes are read
_HEAD = 1 << 16
# What says it, the best first: the Open Graph protocol, HTML (4.2.5.1 Standard metadata names), and the title
_SITE_NAMES = ('meta[property="og:site_name"]', 'meta[name="application-name"]', "head > title")
_LONGEST_NAME = 120


def site_name(docroot: Path, home_pages: Iterable[str]) -> str | None:
    """Return the name that the first of ``home_pages`` (paths in ``docroot``) has for its site, None if none has.

    A page that cannot be read has none: whoever reads all pages says why.
    """
    return next((name for path in home_pages for name in _names(docroot / path)), None)


def _names(file: Path) -> Iterator[str]:
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEAD)
        tree = parse_bare(read_page(head[: head.rfind(b">") + 1]).text)
    except (OSError, Irreversible):
        return
    for selector in _SITE_NAMES:
        element = tree.select_one(selector)
        if element is not None:
            name = fold_space(element.attr("content") or "" if element.tag == "meta" else element.text)
            if name:
                yield name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1].rstrip()}…"


# ---- the report of a proof: what differs, and the original and the levels side by side

PROOF_TEMPLATE = "proof.html.j2"


@dataclass(frozen=True, slots=True)
class ProofFigures:
    """A proof: the name of the site, the pages and levels proven, and what was seen.

    ``paints`` say how soon pages are shown on the line of that name.
    """

    name: str
    pages: Sequence[str]
    levels: Sequence[str]
    views: ProofViews
    line: str | None = None
    paints: Sequence[PagePaint] = ()


def stream_proof(figures: ProofFigures) -> Iterator[str]:
    """Yield the page piece by piece. Equal figures give equal bytes."""
    from adaptc.browser.paint import LINES

    environment = template_environment(None)
    script = template_source(environment, COMPARE)
    return environment.get_template(PROOF_TEMPLATE).generate(
        proof=figures,
        style=template_source(environment, STYLE),
        script=script,
        script_hash=csp_hash(script),
        data_uri=data_uri,
        line=LINES[figures.line] if figures.line else None,
        version=VERSION,
    )


# ---- what to do first: where the bytes are, and what was refused most, with the setting that would allow it

_PAGES, _KINDS = 3, 3
# From this share of the bytes of a mean page on, a file is named
_MUCH = 0.05
# A script of which at most this share runs, and that has so many bytes as sent, is named
_LITTLE, _LARGE = 0.5, 10_000
# What makes a group of files smaller, where it has most of the bytes
_BY_GROUP = {
    "images": "The level `web` encodes them again at a measured similarity, as AVIF and WebP; so does "
    "`[levels.lossless.images]` with `target = 0.96` for files under their own names.",
    "scripts": "Levels from `extreme` on have none; those that hydrate a page wait at `unhydrated` and `deferred`.",
    "styles": "Levels from `moderate` on hold only the rules that a page uses.",
    "fonts": "The level `web` offers them as WOFF2; the pass `fonts` removes those for text.",
}
# What would allow what was refused
_BY_DIAGNOSTIC = {
    "file-too-large": "`site.max_file_bytes` raises the limit.",
    "image-bomb": "`site.max_pixels` raises the limit, where there is memory for it.",
    "unit-too-slow": "`build.unit_seconds` raises the limit.",
    "server-rule": "`site.ignore_directives` builds the files all the same.",
    "server-rule-unknown": "`adaptc doctor` asks the server; `site.ignore_directives` builds the files all the same.",
    "page-needs-scripts": "`adaptc build --browser` makes such pages of what a browser saw after their scripts.",
    "pass-failed": "Please report it; the original is served.",
    "not-built": "The next build tries again.",
    "missing-target": "Correct the links, or leave the files out with `site.exclude`.",
    "export-name-taken": "`--encodings parallel` or `none`.",
}
# The same where a browser looked at some of the pages
_UNSEEN = "`adaptc build --browser=all` makes such pages of what a browser saw after their scripts."


@dataclass(frozen=True, slots=True)
class FirstStep:
    """A finding, and what to do about it; what is typed is between backticks."""

    finding: str
    remedy: str


def first_steps(figures: SiteFigures, heaviest: Sequence[tuple[str, int]], shown: int) -> list[FirstStep]:
    """Return what to look at first; ``heaviest`` are the heaviest pages at level ``shown`` with their bytes as sent."""
    if shown < 0 or not heaviest:
        return []
    level = figures.levels[shown]
    return [*_pages(level, heaviest), *_files(level), *_scripts(figures), *_groups(level), *_refusals(figures)]


def _pages(level: LevelFigures, heaviest: Sequence[tuple[str, int]]) -> Iterator[FirstStep]:
    listed = ", ".join(f"{path} ({written_bytes(size)})" for path, size in heaviest[:_PAGES])
    yield FirstStep(
        f"The heaviest pages at {level.level}: {listed}.",
        f"`adaptc explain {quote(heaviest[0][0])}` says what they load, and what was done and refused.",
    )


def _files(level: LevelFigures) -> Iterator[FirstStep]:
    parts = [(file, file.transfer * file.share / max(level.transfer_per_page, 1)) for file in level.heaviest]
    named = [
        f"{file.path} ({written_bytes(file.transfer)}, embedded by {written_share(file.share)})"
        for file, part in parts
        if part >= _MUCH
    ]
    if named:
        yield FirstStep(
            f"Files with most of the bytes of pages at {level.level}: {', '.join(named)}.",
            f"`adaptc explain {quote(level.heaviest[0].path)}` says what was done to it.",
        )


def _scripts(figures: SiteFigures) -> Iterator[FirstStep]:
    idle = [each for each in figures.scripts if each.share <= _LITTLE and each.transfer >= _LARGE]
    if idle:
        listed = ", ".join(
            f"{each.path} ({written_bytes(each.transfer)}, {written_share(each.share)} of it at most, "
            f"on {written_plural(each.pages, 'page')})"
            for each in idle
        )
        yield FirstStep(
            f"Scripts of which little ran where a browser looked: {listed}.",
            "Load them on the pages that need them, or take smaller builds of them. No level leaves out a part of a "
            "script, since nobody knows what visitors will do.",
        )


def _groups(level: LevelFigures) -> Iterator[FirstStep]:
    total = sum(kind.transfer_after for kind in level.bytes_by_type)
    largest = max(level.bytes_by_type, key=lambda kind: kind.transfer_after, default=None)
    if largest is not None and largest.group in _BY_GROUP and 2 * largest.transfer_after > total:
        share = written_share(largest.transfer_after / total)
        yield FirstStep(f"Of all bytes at {level.level}, {largest.group} are {share}.", _BY_GROUP[largest.group])


def _refusals(figures: SiteFigures) -> Iterator[FirstStep]:
    order = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}
    known = [each for each in figures.diagnostics if each.id in _BY_DIAGNOSTIC and each.count]
    for each in sorted(known, key=lambda each: (order[each.severity], -each.count, each.id))[:_KINDS]:
        remedy = _BY_DIAGNOSTIC[each.id]
        if each.id == "page-needs-scripts" and figures.browser is not None and figures.browser.unseen:
            remedy = _UNSEEN
        yield FirstStep(f"{each.id}, {written_plural(each.count, 'time')}.", remedy)
