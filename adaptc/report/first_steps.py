"""What to do first: where the bytes of a site are, and what was refused most, with the setting that would allow it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from shlex import quote

from adaptc.core.diagnostics import Severity
from adaptc.core.quantities import written_bytes, written_plural, written_share
from adaptc.report.figures import LevelFigures, SiteFigures

__all__ = ["FirstStep", "first_steps"]

_PAGES, _KINDS = 3, 3
# From this share of the bytes of a mean page on, a file is named
_MUCH = 0.05
# A script of which at most this share runs, and that has so many bytes as sent, is named
_LITTLE, _LARGE = 0.5, 10_000
# What makes a group of files smaller, where it has most of the bytes
_BY_GROUP = {
    "images": "The level `web` encodes them again at a measured similarity, as AVIF and WebP; so does "
    "`[levels.lossless.images]` with `target = 0.96` for files under their own names.",
    "scripts": "Levels from `extreme` on have none; `unhydrated` leaves out those that build finished pages again.",
    "styles": "Levels from `moderate` on hold only the rules that a page uses.",
    "fonts": "The level `web` offers them as WOFF2; the pass `fonts` removes those for text.",
}
# What would allow what was refused
_BY_DIAGNOSTIC = {
    "file-too-large": "`site.max_file_bytes` raises the limit.",
    "image-bomb": "`site.max_pixels` raises the limit, where there is memory for it.",
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
        yield FirstStep(f"{each.id}, {each.count:,} times.", remedy)
