"""The summary of a build for the terminal or a log.

Columns are aligned by the width of characters (East Asian Width, UAX 11), in a pipe too. Columns that do
not fit the width are left out, the least important first; the report has everything.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

from adaptc.core.diagnostics import Severity, printable
from adaptc.core.quantities import (
    NONE,
    written_bytes,
    written_count,
    written_factor,
    written_plural,
    written_saving,
)
from adaptc.core.values import dataclass
from adaptc.report.figures import (
    DiagnosticFigures,
    DictionaryFigures,
    LevelFigures,
    SiteFigures,
    VisitFigures,
    proof_sentence,
    restricted_levels,
)

GAP = "  "
LISTED = 12  # kinds of errors and warnings with a line of their own
BOLD, DIM, RED, YELLOW, CYAN = "1", "2", "31", "33", "36"
# The level with which others are compared
FULL = "full"
COLOURS = {Severity.ERROR: RED, Severity.WARNING: YELLOW, Severity.NOTE: CYAN}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table: its heading, its cell for a level compared with the first, and when it is left out.

    ``rank`` 0 always stays; of the others the highest goes first.
    """

    head: str
    cell: Callable[[LevelFigures, LevelFigures], str]
    rank: int


def _name(level: LevelFigures, _: LevelFigures) -> str:
    return printable(level.level) + (f" ({level.number})" if level.number is not None else "")


def _saving(level: LevelFigures, full: LevelFigures) -> str:
    return NONE if level is full else written_saving(level.transfer_per_page, full.transfer_per_page)


COLUMNS = (
    Column("level", _name, 0),
    Column("files", lambda level, _: written_count(level.files), 4),
    Column("requests/page", lambda level, _: written_count(level.requests_per_page), 1),
    Column("bytes/page", lambda level, _: written_bytes(level.identity_per_page), 3),
    Column("best coding", lambda level, _: written_bytes(level.transfer_per_page), 0),
    Column("saving", _saving, 0),
    Column("capacity", lambda level, _: written_factor(level.capacity_factor), 2),
)


def render_summary(figures: SiteFigures, width: int = 80, colour: bool = False, output: str = "opt") -> str:
    """Return the summary as lines, each ended by a newline.

    ``width`` is that of the terminal in columns; lines of the table are no longer, if they can be. ``colour``
    says whether to use ANSI escape codes (ECMA-48, SGR). ``output`` is the directory as the user wrote it.
    """
    paint = _painted if colour else _plain
    blocks = [
        [paint(_headline(figures), BOLD)],
        _table(figures.levels, width, paint),
        _dictionary_lines(figures),
        _traffic_lines(figures),
        _browser_lines(figures),
        [] if figures.proof is None else [proof_sentence(figures.proof)],
        _diagnostic_lines(figures.diagnostics, paint),
        _pointers(figures, printable(output)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _painted(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m"


def _plain(text: str, _: str) -> str:
    return text


Paint = Callable[[str, str], str]


def _headline(figures: SiteFigures) -> str:
    files = written_plural(figures.docroot_files, "file")
    pages = written_plural(figures.docroot_pages, "page")
    return f"{printable(figures.name)}: {pages}, {files}, {written_bytes(figures.docroot_bytes)}"


def _table(levels: Sequence[LevelFigures], width: int, paint: Paint) -> list[str]:
    if not levels:
        return []
    columns = [[column.head, *(column.cell(level, levels[0]) for level in levels)] for column in COLUMNS]
    shown = _fitting(columns, width)
    head, *body = (_line(cells, shown) for cells in zip(*shown, strict=True))
    return [paint(head, DIM), *body]


def _fitting(columns: Sequence[Sequence[str]], width: int) -> list[Sequence[str]]:
    """Return the columns that fit into ``width``, and in any case those of rank 0."""
    fitting = list(zip(COLUMNS, columns, strict=True))
    while sum(_widest(cells) + len(GAP) for _, cells in fitting) - len(GAP) > width:
        last = max(fitting, key=lambda pair: pair[0].rank)
        if not last[0].rank:
            break
        fitting.remove(last)
    return [cells for _, cells in fitting]


def _line(cells: Sequence[str], columns: Sequence[Sequence[str]]) -> str:
    first, *others = (
        _padded(cell, _widest(column), left=not index)
        for index, (cell, column) in enumerate(zip(cells, columns, strict=True))
    )
    return GAP.join([first, *others]).rstrip()


def _padded(text: str, width: int, *, left: bool) -> str:
    padding = " " * (width - columns_of(text))
    return text + padding if left else padding + text


def _widest(cells: Sequence[str]) -> int:
    return max(map(columns_of, cells))


def columns_of(text: str) -> int:
    """Return how many columns of a terminal a text takes: wide characters two, combining ones none."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _dictionary_lines(figures: SiteFigures) -> list[str]:
    if not figures.dictionaries:
        return []
    width = max(len(printable(row.level)) for row in figures.dictionaries)
    lines = list[str]()
    for row in figures.dictionaries:
        lines.append(f"  {printable(row.level):{width}}  {_dictionary(row)}")
        lines += [f"  {'':{width}}  {_visit(row.visit)}"] if row.visit else []
    return ["Dictionaries (a page alone, without what it loads):", *lines]


def _dictionary(row: DictionaryFigures) -> str:
    if row.path is None:
        return f"none: {row.reason}"
    first, following = written_bytes(row.first), written_bytes(row.next)
    return f"first page {first}, next page {following}; the dictionary {written_bytes(row.sent)}"


def _visit(visit: VisitFigures) -> str:
    first, later, without, mean = map(written_bytes, (visit.first, visit.later, visit.without, visit.mean))
    return f"a visit of {visit.pages:g} pages {first}, a later one {later}, without dictionaries {without}; mean {mean}"


def _traffic_lines(figures: SiteFigures) -> list[str]:
    traffic = figures.traffic
    if traffic is None:
        return []
    lines = [f"Means are over {written_plural(traffic.views, 'page view')} in the access logs."]
    restricted = restricted_levels(figures)
    if restricted:
        names = ", ".join(map(printable, restricted))
        shown = f"{traffic.popular:,} of {written_plural(figures.docroot_pages, 'page')}"
        lines.append(
            f"{names} {'have' if len(restricted) > 1 else 'has'} {shown}: those that make up {100 * traffic.share:g} % "
            "of the views; the others are served as originals."
        )
    return lines


def _browser_lines(figures: SiteFigures) -> list[str]:
    browser = figures.browser
    if browser is None:
        return []
    seen = written_plural(browser.seen, "page")
    others = f"Built by what held on pages like them: {browser.inferred:,}; without: {browser.unseen:,}."
    return [f"A browser looked at {seen}. {others}"]


def _diagnostic_lines(diagnostics: Sequence[DiagnosticFigures], paint: Paint) -> list[str]:
    ordered = sorted(diagnostics, key=DiagnosticFigures.gravity)
    if not ordered:
        return ["No diagnostics."]
    grave = [kind for kind in ordered if kind.severity is not Severity.NOTE]
    listed = grave[:LISTED]
    wide = max((len(f"{kind.count:,}") for kind in listed), default=0)
    lines = [f"Diagnostics: {_severities(ordered)}"]
    lines += [_diagnostic_line(kind, wide, paint) for kind in listed]
    if len(grave) > LISTED:
        lines.append(f"  and {written_plural(len(grave) - LISTED, 'more kind')}")
    return lines


def _diagnostic_line(kind: DiagnosticFigures, wide: int, paint: Paint) -> str:
    severity = paint(kind.severity.value.ljust(len("warning")), COLOURS[kind.severity])
    return f"  {severity}  {kind.count:>{wide},}  {kind.id}"


def _severities(diagnostics: Sequence[DiagnosticFigures]) -> str:
    counts = {severity: sum(k.count for k in diagnostics if k.severity is severity) for severity in Severity}
    return ", ".join(written_plural(count, severity.value) for severity, count in counts.items() if count)


def _pointers(figures: SiteFigures, output: str) -> list[str]:
    lines = [f"Report: {output.rstrip('/')}/report.html"]
    if len(figures.levels) > 1:
        full = printable(figures.levels[0].level)
        lines.append(f"Saving and capacity are against {full}; capacity is predicted (see the report).")
    elif figures.levels and figures.levels[0].level != FULL:
        lines.append("To see what this saves, build the level full as well: --level full")
    return lines
