"""Sums of the facts of all files, from which decisions about the whole site are made.

Facts are added and taken away, so that a build adds those of the files that it read to the sums of the last build.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from adaptc.compile.analyse.decorations.evidence import SiteCounts
from adaptc.core import media
from adaptc.core.facts import unpack_facts
from adaptc.core.model import Role
from adaptc.core.values import dataclass, field

if TYPE_CHECKING:
    from adaptc.compile.analyse.facts import Facts
    from adaptc.formats.characters import IconRule

_PLACED = frozenset({Role.STYLESHEET.value, Role.SCRIPT.value, Role.IMAGE.value})
_TEXTS = frozenset({media.CSS, media.JS})


@dataclass(slots=True)
class ImageUses:
    """Which pages show which image files: by their markup, and by the sheets that they link.

    A sheet counts as showing all its images on each of its pages: matching its selectors would take longer than all
    other facts. Of 337 labelled images of 14 sites none got another label for it.
    """

    first: Counter[str] = field(default_factory=Counter)
    of_sheets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    pages: Counter[tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=Counter)

    def count_page(self, facts: Facts, times: int) -> None:
        """Add a page, or take it away."""
        sheets = tuple([target for role, target in facts.embeds if role == _SHEET])
        self.pages[sheets, facts.images] += times
        if facts.first_image is not None:
            self.first[facts.first_image] += times

    def counts(self, closure: Callable[[str], set[str]]) -> SiteCounts:
        """Return the counts; ``closure`` returns a sheet with all that it imports."""
        uses: Counter[str] = Counter()
        known: dict[tuple[str, ...], frozenset[str]] = {}
        for (sheets, shown), pages in self.pages.items():
            if not pages:  # the last such page was taken away
                continue
            if sheets not in known:
                every = {inner for sheet in sheets for inner in closure(sheet)}
                known[sheets] = frozenset(image for sheet in every for image in self.of_sheets.get(sheet, ()))
            for image in known[sheets].union(shown):
                uses[image] += pages
        return SiteCounts(self.pages.total(), uses, self.first)


_SHEET = Role.STYLESHEET.value


@dataclass(slots=True)
class SiteSums:
    """Sums of the facts of files.

    ``uses`` are the pages that embed a file which may be placed in them, ``pinned`` those that fix its bytes,
    ``loaded`` those that load it by themselves. ``transfer`` and ``imports`` are those of each sheet and script.
    ``photographs`` are the files that refer to a JPEG in any way. ``characters`` are the files that write a character,
    ``page_characters`` the pages that do, ``classes`` those that have a class, ``icons`` the rules of sheets,
    ``icons_named`` the files that may show an icon of a script.
    ``written`` counts what may be a digest, with the path of the file that writes it, empty for pages; ``lengths`` are
    the lengths that a file writes.
    """

    pages: int = 0
    uses: Counter[str] = field(default_factory=Counter)
    pinned: Counter[str] = field(default_factory=Counter)
    loaded: Counter[str] = field(default_factory=Counter)
    transfer: dict[str, int] = field(default_factory=dict)
    imports: dict[str, tuple[str, ...]] = field(default_factory=dict)
    images: ImageUses = field(default_factory=ImageUses)
    photographs: Counter[str] = field(default_factory=Counter)
    characters: Counter[str] = field(default_factory=Counter)
    page_characters: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)
    icons: dict[str, tuple[IconRule, ...]] = field(default_factory=dict)
    icons_named: Counter[str] = field(default_factory=Counter)
    written: Counter[tuple[str, str]] = field(default_factory=Counter)
    lengths: dict[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)

    def add(self, path: str, facts: Facts, media_type: str) -> None:
        """Add the facts of a file."""
        self._count_file(facts, 1)
        self._count_checks(path, facts, media_type, 1)
        if facts.checks.lengths:
            self.lengths[path] = facts.checks.lengths
        if facts.writing.icons:
            self.icons[path] = facts.writing.icons
        if media_type == media.HTML:
            self._count_page(facts, 1)
        elif media_type in _TEXTS:
            self.transfer[path] = facts.transfer
            self.imports[path] = tuple(target for role, target in facts.embeds if role == Role.IMPORT.value)
            self.images.of_sheets[path] = facts.images

    def remove(self, path: str, facts: Facts, media_type: str) -> None:
        """Take away facts that were added."""
        self._count_file(facts, -1)
        self._count_checks(path, facts, media_type, -1)
        self.lengths.pop(path, None)
        self.icons.pop(path, None)
        if media_type == media.HTML:
            self._count_page(facts, -1)
        elif media_type in _TEXTS:
            for of_texts in (self.transfer, self.imports, self.images.of_sheets):
                of_texts.pop(path, None)

    def _count_page(self, facts: Facts, times: int) -> None:
        self.pages += times
        for counter, files in (
            (self.pinned, set(facts.pinned)),
            (self.uses, {target for role, target in facts.embeds if role in _PLACED}),
            (self.loaded, {target for _, target in facts.embeds}),
            (self.page_characters, set(facts.styling.characters)),
        ):
            for file in files:
                counter[file] += times
        self.images.count_page(facts, times)

    def _count_file(self, facts: Facts, times: int) -> None:
        for counter, items in (
            (self.photographs, facts.photographs),
            (self.characters, facts.writing.characters),
            (self.classes, facts.writing.classes),
            (self.icons_named, facts.writing.icons_named),
        ):
            for item in items:
                counter[item] += times

    def _count_checks(self, path: str, facts: Facts, media_type: str, times: int) -> None:
        place = "" if media_type == media.HTML else path
        for digits in facts.checks.written:
            self.written[digits, place] += times

    # ---- as JSON

    def pack(self) -> dict[str, Any]:
        """Return the sums as JSON values."""
        counters = {"uses": self.uses, "pinned": self.pinned, "loaded": self.loaded, "first": self.images.first}
        counters |= {"photographs": self.photographs, "characters": self.characters, "classes": self.classes}
        counters |= {"page_characters": self.page_characters, "icons_named": self.icons_named}
        shown = sorted([*key, count] for key, count in self.images.pages.items() if count)
        texts = {path: [self.transfer[path], self.imports[path], self.images.of_sheets[path]] for path in self.transfer}
        written = [[*key, count] for key, count in self.written.items() if count]
        checks = {"written": written, "lengths": self.lengths}
        return {"pages": self.pages, "shown": shown, "texts": texts, "icons": self.icons, **checks} | {
            name: _present(counter) for name, counter in counters.items()
        }

    @classmethod
    def unpack(cls, values: dict[str, Any]) -> SiteSums:
        """Return what ``pack`` packed."""
        uses, pinned, loaded, first = (Counter(values[name]) for name in ("uses", "pinned", "loaded", "first"))
        texts = values["texts"]
        of_sheets = {path: tuple(images) for path, (_, _, images) in texts.items()}
        shown = Counter({(tuple(sheets), tuple(images)): count for sheets, images, count in values["shown"]})
        transfer = {path: size for path, (size, _, _) in texts.items()}
        imports = {path: tuple(targets) for path, (_, targets, _) in texts.items()}
        images = ImageUses(first, of_sheets, shown)
        names = ("photographs", "characters", "page_characters", "classes")
        photographs, characters, of_pages, classes = (Counter(values[name]) for name in names)
        icons: dict[str, Any] = {path: unpack_facts(rules, ()) for path, rules in values["icons"].items()}
        counts = (uses, pinned, loaded)
        written = Counter({(digits, place): count for digits, place, count in values["written"]})
        lengths = {path: tuple((name, size) for name, size in pairs) for path, pairs in values["lengths"].items()}
        writing, checks = (photographs, characters, of_pages, classes), (written, lengths)
        named = Counter(values["icons_named"])
        return cls(values["pages"], *counts, transfer, imports, images, *writing, icons, named, *checks)


def sum_up(facts: Iterable[tuple[str, Facts]], media_type_of: Callable[[str], str]) -> SiteSums:
    """Return the sums of the facts of files by path."""
    sums = SiteSums()
    for path, facts_of_file in facts:
        sums.add(path, facts_of_file, media_type_of(path))
    return sums


def _present(counter: Counter[str]) -> dict[str, int]:
    return {key: count for key, count in counter.items() if count}
