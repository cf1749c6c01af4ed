"""Flatten ``@import`` into one sheet with exactly the same cascade (CSS Cascade 5, sections 2 and 6.4).

The text of an imported sheet replaces its ``@import``, in blocks for its media, supports and layer conditions.
Two facts shape the result: an ``@import`` cannot follow a rule, so the imports before one that remains must remain
as well; and a browser ends a cycle by ignoring the import that would close it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.formats.css.imports import Conditions, Statement, head_statements, import_target, parse_conditions
from adaptc.formats.css.references import CssReference, css_references, rewrite_urls
from adaptc.formats.css.scanner import MAX_DEPTH
from adaptc.formats.css.sheet_text import at_keywords, ends_between_rules, is_balanced, is_too_deep

# Beyond any real site: depth of a chain, size of a result in code points, number of imports. A chain in which
# each sheet imports the next one twice doubles at each step.
_MAX_DEPTH = 32
_MAX_SIZE = 16_000_000
_MAX_IMPORTS = 2000


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
    """A flattened sheet: the ``@import`` and ``@layer`` statements that must come first, then its rules."""

    head: tuple[str, ...]
    body: tuple[str, ...]
    imported: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    is_changed: bool
    has_import: bool

    def size(self) -> int:
        """Return the length of the flattened sheet in code points."""
        return sum(map(len, self.head)) + sum(map(len, self.body))


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
    conditions: Conditions = Conditions()  # noqa: RUF009 (frozen)
    parts: _Parts | None = None
    reason: str | None = None

    @property
    def is_cycle(self) -> bool:
        return self.url is not None and self.parts is None and self.reason is None

    @property
    def is_inlined(self) -> bool:
        return self.parts is not None and self.reason is None


class _Flattener:
    """Flattens one sheet with what it imports; all URLs become relative to the sheet at ``root``."""

    def __init__(self, root: str, load: Loader, rebase: Callable[[str, str, str], str]) -> None:
        self.root = root
        self.load = load
        self.rebase = rebase
        self.count = 0

    def parts(self, path: str, text: str, chain: tuple[str, ...]) -> _Parts:
        """Flatten one sheet; ``chain`` holds the paths of the sheets that import it."""
        items, end = [], 0
        for statement in _head(text):
            items.append(self._item(path, text, end, statement, (*chain, path)))
            end = statement.end
        items = _retain_imports(items, _blocker(text[end:]))
        own = rewrite_urls(_AFTER_HEAD + text[end:], lambda reference: self._rebased(path, reference))
        return _join(items, own.removeprefix(_AFTER_HEAD).strip())

    def _item(self, path: str, text: str, gap: int, statement: Statement, chain: tuple[str, ...]) -> _Item:
        source = text[statement.start : statement.close].rstrip() + ";"
        location = _location(path, text, statement.start)
        comments = text[gap : statement.start].strip()
        if statement.name != "import":
            return _Item("" if statement.name == "charset" else source, comments, location)
        reference = css_references(source)[0]
        rebased = rewrite_urls(source, lambda reference: self._rebased(path, reference))
        item = _Item(rebased, comments, location, reference.url)
        conditions = parse_conditions(source[reference.end : -1])
        if conditions is None:
            return replace(item, reason="its conditions are not understood")
        return self._load_import(replace(item, conditions=conditions), path, chain)

    def _rebased(self, path: str, reference: CssReference) -> str | None:
        """Return the URL relative to the root, or ``None`` if it is the same."""
        if path == self.root or reference.url.startswith("#") or reference.url[:5].lower() == "data:":
            return None
        url = self.rebase(reference.url, path, self.root)
        return None if url == reference.url else url

    def _load_import(self, item: _Item, path: str, chain: tuple[str, ...]) -> _Item:
        loaded = self.load(path, item.url or "")
        if isinstance(loaded, str):
            return replace(item, reason=loaded)
        if loaded.path in chain:
            return item
        self.count += 1
        reason = _reason_against(loaded.text, item.conditions, len(chain))
        if self.count > _MAX_IMPORTS:
            reason = f"there are more than {_MAX_IMPORTS} imports"
        if reason is not None:
            return replace(item, reason=reason)
        parts = self.parts(loaded.path, loaded.text, chain)
        if parts.size() > _MAX_SIZE:
            return replace(item, reason="the flattened sheet would be too large")
        return replace(item, parts=replace(parts, imported=(loaded.path, *parts.imported)))


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


def _reason_against(text: str, conditions: Conditions, depth: int) -> str | None:
    """Return why the text of a sheet cannot replace its ``@import``, or ``None``."""
    if depth >= _MAX_DEPTH:
        return f"it is more than {_MAX_DEPTH} imports deep"
    if not (is_balanced(text) and ends_between_rules(text)):
        return "the sheet is malformed: something is open at its end"
    if is_too_deep(text):
        return f"its blocks are nested more than {MAX_DEPTH} deep"
    if "namespace" in at_keywords(text):
        return "the sheet declares a namespace"
    if not conditions.is_empty and ("<!--" in text or "-->" in text):
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


def _join(items: list[_Item], own: str) -> _Parts:
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
        tuple(filter(None, head)),
        tuple(filter(None, [*rules, own])),
        tuple(path for parts in inlined for path in parts.imported),
        tuple(diagnostic for item in items for diagnostic in _diagnostics(item)),
        bool(inlined) or any(item.is_cycle for item in items),
        any(item.reason is not None for item in items) or any(parts.has_import for parts in inlined),
    )


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
