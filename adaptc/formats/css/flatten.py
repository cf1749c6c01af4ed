"""Flatten ``@import`` into one sheet with exactly the same cascade (CSS Cascade 5, sections 2 and 6.4).

The text of an imported sheet replaces its ``@import``, in blocks for its media, supports and layer conditions.
Two facts shape the result: an ``@import`` cannot follow a rule, so the imports before one that remains must remain
as well; and a browser ends a cycle by ignoring the import that would close it.

Many sheets may import the same one, and a chain in which each sheet imports the next one twice has a million paths at
the twentieth. So each sheet is flattened once, and what is repeated further down is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import chain as joined
from typing import Protocol

from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.values import dataclass, replace
from adaptc.formats.css.imports import Conditions, Statement, head_statements, import_target, parse_conditions
from adaptc.formats.css.references import CssReference, css_references, rewrite_urls
from adaptc.formats.css.sheet_text import at_keywords, beyond_limits, ends_between_rules, is_balanced

# Beyond any real site: depth of a chain, number of imports, size of a result in code points. The last is also limited
# by the size of the imported sheets, since each condition makes a copy of its own.
_MAX_DEPTH = 32
_MAX_IMPORTS = 1000
_MAX_SIZE = 16_000_000
_MAX_COPIES = 8
_SMALL = 65_536


@dataclass(frozen=True, slots=True)
class ImportedSheet:
    """An imported sheet: its path and its decoded text."""

    path: str
    text: str


class Loader(Protocol):
    """Returns what the sheet at path ``sheet`` imports as ``url``, or the reason why it cannot be loaded."""

    def __call__(self, sheet: str, url: str) -> ImportedSheet | str: ...


@dataclass(frozen=True, slots=True)
class FlattenedSheet:
    """A sheet after flattening, the paths of the sheets inlined into it, and diagnostics."""

    text: str
    imported: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]


def flatten(path: str, text: str, load: Loader, rebase: Callable[[str, str, str], str]) -> FlattenedSheet:
    """Flatten the sheet at ``path``; ``rebase(url, from_sheet, to_sheet)`` rewrites URLs of imported sheets.

    Without anything to inline the result is ``text``. Otherwise ``@charset`` is dropped: the result has to be
    stored as UTF-8. Diagnostics: ``css-import-cycle``, ``css-import-kept``.
    """
    parts = _Flattener(path, load, rebase).parts(path, text, ())
    joined = "\n".join(filter(None, [*parts.head, *parts.body])) if parts.is_changed else text
    return FlattenedSheet(joined, tuple(dict.fromkeys(parts.imported)), parts.diagnostics)


@dataclass(frozen=True, slots=True)
class _Parts:
    """A flattened sheet: the ``@import`` and ``@layer`` statements that must come first, then its rules.

    ``source_sizes`` are those of all sheets that were loaded for it, by path. ``cuts`` are the importing sheets to
    which cycles lead back, and ``_TOO_DEEP`` where the depth ended a chain: the result holds for these importers only.
    """

    head: tuple[str, ...]
    body: tuple[str, ...]
    imported: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    is_changed: bool
    has_import: bool
    source_sizes: Mapping[str, int]
    cuts: frozenset[str]

    def size(self) -> int:
        """Return the length of the flattened sheet in code points."""
        return sum(map(len, self.head)) + sum(map(len, self.body))

    def is_too_large(self) -> bool:
        """Whether it is larger than any real sheet, or than copies of its sources explain."""
        return self.size() > min(_MAX_SIZE, _SMALL + _MAX_COPIES * sum(self.source_sizes.values()))

    def holds_for(self, chain: tuple[str, ...]) -> bool:
        """Whether the result is the same for other importing sheets."""
        return not self.cuts and self.source_sizes.keys().isdisjoint(chain)


_TOO_DEEP = "?"  # in ``cuts``; no path of a sheet


@dataclass(frozen=True, slots=True)
class _Item:
    """A statement of the head and its treatment.

    A ``@layer`` statement has no ``url``. An import has ``parts`` if it can be inlined, a ``reason`` if it has to
    remain, and neither if it closes a cycle.
    """

    text: str
    comments: str
    location: Location
    url: str | None = None
    conditions: Conditions = Conditions()
    parts: _Parts | None = None
    reason: str | None = None
    cuts: frozenset[str] = frozenset()

    @property
    def is_loadable(self) -> bool:
        return self.url is not None and self.reason is None

    @property
    def is_cycle(self) -> bool:
        return self.url is not None and self.parts is None and self.reason is None

    @property
    def is_inlined(self) -> bool:
        return self.parts is not None and self.reason is None


@dataclass(frozen=True, slots=True)
class _ParsedSheet:
    """A sheet before its imports are loaded; ``blocker`` is why no rules may precede its own rules, or ``None``."""

    items: tuple[_Item, ...]
    own: str
    blocker: str | None


class _Flattener:
    """Flattens one sheet with what it imports; all URLs become relative to the sheet at ``root``."""

    def __init__(self, root: str, load: Loader, rebase: Callable[[str, str, str], str]) -> None:
        self.root = root
        self.load = cache(load)
        self.rebase = rebase
        self.count = 0
        self.reason_against = cache(_reason_against)
        self._parsed: dict[str, _ParsedSheet] = {}
        self._known: dict[str, _Parts] = {}

    def parts(self, path: str, text: str, chain: tuple[str, ...]) -> _Parts:
        """Flatten one sheet, or return the known result; ``chain`` holds the paths of the sheets that import it."""
        known = self._known.get(path)
        if known is None or not known.holds_for(chain):
            known = self._known[path] = self._flatten(path, text, (*chain, path))
        return known

    def _flatten(self, path: str, text: str, chain: tuple[str, ...]) -> _Parts:
        sheet = self._parsed.get(path)
        if sheet is None:
            sheet = self._parsed[path] = self._parse(path, text)
        items = [self._load_import(item, path, chain) if item.is_loadable else item for item in sheet.items]
        return _join(path, len(text), _retain_imports(items, sheet.blocker), sheet.own)

    # ---- one sheet

    def _parse(self, path: str, text: str) -> _ParsedSheet:
        items, end = [], 0
        for statement in _head(text):
            items.append(self._item(path, text, end, statement))
            end = statement.end
        own = rewrite_urls(_AFTER_HEAD + text[end:], lambda reference: self._rebased(path, reference))
        return _ParsedSheet(tuple(items), own.removeprefix(_AFTER_HEAD).strip(), _blocker(text[end:]))

    def _item(self, path: str, text: str, gap: int, statement: Statement) -> _Item:
        source = text[statement.start : statement.close].rstrip() + ";"
        location = _location(path, text, statement.start)
        comments = text[gap : statement.start].strip()
        if statement.name != "import":
            return _Item("" if statement.name == "charset" else source, comments, location)
        reference = css_references(source)[0]
        rebased = rewrite_urls(source, lambda reference: self._rebased(path, reference))
        item = _Item(rebased, comments, location, reference.url)
        conditions = None if beyond_limits(source) else parse_conditions(source[reference.end : -1])
        if conditions is None:
            return replace(item, reason="its conditions are not understood")
        return replace(item, conditions=conditions)

    def _rebased(self, path: str, reference: CssReference) -> str | None:
        """Return the URL relative to the root, or ``None`` if it is the same."""
        if path == self.root or reference.url.startswith("#") or reference.url[:5].lower() == "data:":
            return None
        url = self.rebase(reference.url, path, self.root)
        return None if url == reference.url else url

    # ---- its imports

    def _load_import(self, item: _Item, path: str, chain: tuple[str, ...]) -> _Item:
        loaded = self.load(path, item.url or "")
        if isinstance(loaded, str):
            return replace(item, reason=loaded)
        if loaded.path in chain:
            return replace(item, cuts=frozenset((loaded.path,)))
        if len(chain) >= _MAX_DEPTH:
            return replace(item, reason=f"it is more than {_MAX_DEPTH} imports deep", cuts=frozenset((_TOO_DEEP,)))
        self.count += 1
        if self.count > _MAX_IMPORTS:
            return replace(item, reason=f"there are more than {_MAX_IMPORTS} imports")
        reason = self.reason_against(loaded.text, item.conditions.is_empty)
        return replace(item, reason=reason) if reason is not None else self._with_parts(item, loaded, chain)

    def _with_parts(self, item: _Item, loaded: ImportedSheet, chain: tuple[str, ...]) -> _Item:
        parts = self.parts(loaded.path, loaded.text, chain)
        if parts.is_too_large():
            return replace(item, reason="the flattened sheet would be too large", cuts=parts.cuts)
        return replace(item, parts=replace(parts, imported=(loaded.path, *parts.imported)), cuts=parts.cuts)


# A prefix for a body, so that its text is not parsed as the head of a sheet
_AFTER_HEAD = "x{}"


def _location(path: str, text: str, start: int) -> Location:
    return Location(path, text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start))


def _head(text: str) -> Iterator[Statement]:
    """Yield the ``@charset``, ``@layer`` and ``@import`` statements at the start of a sheet, up to anything else."""
    for statement in head_statements(text):
        is_import = statement.name == "import" and import_target(text, statement) is not None
        if statement.has_block or not (is_import or statement.name in ("charset", "layer")):
            return
        yield statement


def _blocker(body: str) -> str | None:
    """Return why no rules may precede ``body``, the part of a sheet after its imports, or ``None``."""
    names = at_keywords(body)
    if "namespace" in names:
        return "a namespace is declared after it, and must precede all rules"
    if "import" in names:
        return "another @import follows a rule, where browsers ignore it unless that rule is invalid"
    return None


def _reason_against(text: str, is_unconditional: bool) -> str | None:
    """Return why the text of a sheet cannot replace its ``@import``, or ``None``."""
    if not (is_balanced(text) and ends_between_rules(text)):
        return "the sheet is malformed: something is open at its end"
    if (limit := beyond_limits(text)) is not None:
        return limit
    if "namespace" in at_keywords(text):
        return "the sheet declares a namespace"
    if not is_unconditional and ("<!--" in text or "-->" in text):
        return "the sheet holds an HTML comment mark"
    return None


def _retain_imports(items: list[_Item], blocker: str | None) -> list[_Item]:
    """Mark all imports that have to remain because of others.

    These are the ones before the last import that remains. An import whose sheet has a remaining import can only be
    inlined unconditionally, and before all rules.
    """
    if blocker is not None:
        return [_retain(item, blocker) for item in items]
    while True:
        last = max((index for index, item in enumerate(items) if item.reason is not None), default=-1)
        items = [_retain(item, _ORDER) if index < last else item for index, item in enumerate(items)]
        nested = _first_nested(items)
        if nested is None:
            return items
        items[nested] = _retain(items[nested], "it imports a sheet that has to stay an import")


_ORDER = "an @import after it is kept, and no rule may precede that"


def _retain(item: _Item, reason: str) -> _Item:
    return replace(item, reason=reason) if item.is_inlined else item


def _first_nested(items: list[_Item]) -> int | None:
    """Return the index of the first import whose sheet has an import that would follow a rule or be conditional."""
    is_after_rules = False
    for index, item in enumerate(items):
        if item.parts is None or item.reason is not None:
            continue
        if item.parts.has_import and (is_after_rules or not item.conditions.is_empty):
            return index
        is_after_rules = is_after_rules or bool(item.parts.body) or not item.conditions.is_empty
    return None


def _join(path: str, size: int, items: list[_Item], own: str) -> _Parts:
    head: list[str] = []
    rules: list[str] = []
    for item in items:
        (rules if rules else head).append(item.comments)
        if item.parts is not None and item.reason is None:
            _inline(item.conditions, item.parts, head, rules)
        elif not item.is_cycle:
            (rules if rules else head).append(item.text)
    inlined = [item.parts for item in items if item.parts is not None and item.reason is None]
    return _Parts(
        _without_repetitions(head),
        _without_repetitions([*rules, own]),
        tuple(dict.fromkeys(path for parts in inlined for path in parts.imported)),
        tuple(dict.fromkeys(diagnostic for item in items for diagnostic in _diagnostics(item))),
        bool(inlined) or any(item.is_cycle for item in items),
        any(item.reason is not None for item in items) or any(parts.has_import for parts in inlined),
        dict(joined.from_iterable(each.items() for each in ({path: size}, *_source_sizes(items)))),
        frozenset().union(*(item.cuts for item in items)) - {path},
    )


def _source_sizes(items: list[_Item]) -> Iterator[Mapping[str, int]]:
    return (item.parts.source_sizes for item in items if item.parts is not None)


def _without_repetitions(pieces: list[str]) -> tuple[str, ...]:
    """Return pieces without those that are repeated below: each declaration in them loses against the same one there.

    The first of several stays where it may have the place of a layer, which is that of its first occurrence.
    """
    last = {piece: index for index, piece in enumerate(pieces)}
    first = {piece: index for index, piece in reversed(list(enumerate(pieces)))}
    return tuple(
        piece
        for index, piece in enumerate(pieces)
        if piece and (index == last[piece] or (index == first[piece] and _MAY_ORDER_LAYERS.search(piece)))
    )


_MAY_ORDER_LAYERS = re.compile(r"@(?:layer|import|\\)|\blayer\b", re.IGNORECASE)


def _inline(conditions: Conditions, parts: _Parts, head: list[str], rules: list[str]) -> None:
    """Append a sheet to its importer's ``head`` and ``rules``."""
    if conditions.is_empty:
        (rules if rules else head).extend(parts.head)
        rules += parts.body
    else:  # a sheet without rules still declares its layer
        rules.append(conditions.wrap("\n".join([*parts.head, *parts.body])))


def _diagnostics(item: _Item) -> tuple[Diagnostic, ...]:
    if item.is_cycle:
        return (diagnose("css-import-cycle", item.location, url=item.url),)
    if item.reason is not None:
        return (diagnose("css-import-kept", item.location, url=item.url, reason=item.reason),)
    return item.parts.diagnostics if item.parts is not None else ()
