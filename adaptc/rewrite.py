"""Rewrite one page by a level's passes and verify the contract, page by page.

Each pass edits the text that the pass before it left. A pass whose edits are refused, whose result breaks the
contract or makes the page dearer, is dropped for this page (demoted) with a diagnostic; the others go on.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from adaptc import media
from adaptc.css.decode import decode_sheet
from adaptc.css.references import css_references
from adaptc.diagnostics import Diagnostic, Location, diagnose
from adaptc.html import contract
from adaptc.html.document import Irreversible, Page, encode_page, parse, read_page
from adaptc.html.edit import EditRefused, Editor
from adaptc.html.references import references
from adaptc.model import EMBEDDED, Action
from adaptc.passes.page import PageContext, Report, page_context
from adaptc.passes.view import View
from adaptc.pipeline import Step
from adaptc.urls import Reach

if TYPE_CHECKING:
    from turbohtml import Document

# zlib's middle level: transfer sizes are compared, not reported
_LEVEL = 6
_TEMPLATE_MARKS = ("<?php", "<?=", "<%", "{% extends", "{% block", "{% include")


@dataclass(slots=True)
class Rewritten:
    """A page as a level has it. ``content`` is ``None`` when it stays as it is; ``demoted`` names dropped passes.

    ``embeds`` are the files that a browser loads with it, ``None`` when they are those of the source.
    """

    content: bytes | None = None
    actions: list[Action] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    demoted: list[str] = field(default_factory=list)
    embeds: tuple[str, ...] | None = None


def rewrite_page(path: str, content: bytes, view: View, steps: tuple[Step, ...]) -> Rewritten:
    """Return the page at ``path`` after ``steps``, verified against the page as it came."""
    try:
        page = read_page(content)
    except Irreversible as problem:
        return _left(path, "encoding-unreversible", encoding=str(problem))
    mark = next((mark for mark in _TEMPLATE_MARKS if mark in page.text), None)
    if mark is not None:
        return _left(path, "template-source", mark=mark)
    return _Rewrite(path, page, content, view).run(steps)


def _left(path: str, kind: str, **fields: str) -> Rewritten:
    return Rewritten(diagnostics=[diagnose(kind, Location(path), **fields)])


@dataclass(slots=True)
class _Made:
    """What a run of steps made of a page, with the report of each."""

    text: str
    reports: dict[str, Report]
    refused: dict[str, Diagnostic]


class _Rewrite:
    def __init__(self, path: str, page: Page, content: bytes, view: View) -> None:
        self.path, self.page, self.content, self.view = path, page, content, view
        self.tree = parse(page.text)
        self.context = page_context(path, page, self.tree, view)

    def run(self, steps: tuple[Step, ...]) -> Rewritten:
        """Run the steps; while the result fails, drop the pass that is to blame and run the others again."""
        dropped: dict[str, Diagnostic] = {}
        while True:
            made = self._apply([step for step in steps if step.of.name not in dropped])
            encoded = encode_page(self.page, made.text)
            blame = self._failure(made, encoded)
            if blame is None:
                break
            dropped[blame[0]] = blame[1]
        return self._result(made, encoded, dropped)

    def _result(self, made: _Made, encoded: bytes | None, dropped: dict[str, Diagnostic]) -> Rewritten:
        failures = {**dropped, **made.refused}
        result = Rewritten(demoted=sorted(failures), diagnostics=list(failures.values()))
        for report in made.reports.values():
            result.actions.extend(_grouped(report.actions))
            result.diagnostics.extend(report.diagnostics)
        if encoded is not None and encoded != self.content and made.text != self.page.text:
            result.content = encoded
            result.embeds = self._embeds(made)
        return result

    def _embeds(self, made: _Made) -> tuple[str, ...] | None:
        if not _inlined(made):
            return None
        follow = partial(self.view.follow, self.context.base)
        embedded = (reference.url for reference in references(parse(made.text)) if reference.role in EMBEDDED)
        return tuple(dict.fromkeys(path for url in embedded if (path := follow(url).path) is not None))

    def _apply(self, steps: Iterable[Step]) -> _Made:
        made = _Made(self.page.text, {}, {})
        editor: Editor | None = None
        for step in steps:
            if step.of.text is not None:
                self._run_text(step, made)
                editor = None
                continue
            editor = editor or Editor(made.text)
            if self._run_edit(step, editor, made):
                editor = None
        return made

    def _run_text(self, step: Step, made: _Made) -> None:
        assert step.of.text is not None
        shorter = step.of.text(made.text, self.context, step.options)
        if shorter is not None and len(shorter) < len(made.text):
            saved = Action(step.of.name, "shortened", "the page", f"{len(made.text)} to {len(shorter)} characters")
            made.reports[step.of.name] = Report([saved])
            made.text = shorter

    def _run_edit(self, step: Step, editor: Editor, made: _Made) -> bool:
        """Run a pass on the editor's page; return whether the editor is used up."""
        assert step.of.edit is not None
        name = step.of.name
        report = step.of.edit(editor, self.context, self.view, step.options)
        try:
            edited = editor.apply()
        except EditRefused as refused:
            made.refused[name] = diagnose("edit-refused", Location(self.path), name=name, reason=refused)
            return True
        if edited.method == "serialised":
            report.diagnostics.append(diagnose("edit-serialised", Location(self.path), name=name))
        made.reports[name] = report
        made.text = edited.text
        return edited.method != "unchanged"

    def _failure(self, made: _Made, encoded: bytes | None) -> tuple[str, Diagnostic] | None:
        """Return the pass to drop and why, or ``None`` when the page keeps its promise."""
        if made.text == self.page.text or not made.reports:
            return None
        active = [name for name, report in made.reports.items() if report.actions]
        if encoded is None:
            return self._blame("contract-broken", _last(active, made), "it cannot be written in the page's encoding")
        dearer = self._dearer(made, encoded)
        if dearer:
            inliners = [name for name in active if made.reports[name].inlined]
            return self._blame("pass-dearer", (inliners or active)[-1], dearer)
        broken = self._broken(made)
        return self._blame("contract-broken", active[-1], "; ".join(broken)) if broken else None

    def _blame(self, kind: str, name: str, reason: str) -> tuple[str, Diagnostic]:
        return name, diagnose(kind, Location(self.path), name=name, reason=reason)

    def _dearer(self, made: _Made, encoded: bytes) -> str | None:
        """A page may grow by what it takes in, as transferred, and by nothing else."""
        inlined = _inlined(made)
        if not inlined and len(encoded) <= len(self.content):
            return None
        before = _transfer(self.content) + sum(self._asset_transfer(path) for path in inlined)
        after = _transfer(encoded)
        return f"{after} bytes compressed, {before} before" if after > before else None

    def _asset_transfer(self, path: str) -> int:
        content = self.view.artifact(path)
        return _transfer(content) if media.is_compressible(self.view.media_type(path)) else len(content)

    def _broken(self, made: _Made) -> list[str]:
        after = parse(made.text)
        broken = contract.broken(contract.promise(self.tree), contract.promise(after))
        if _inlined(made):
            broken.extend(self._unresolved(after, made))
        return broken

    def _unresolved(self, after: Document, made: _Made) -> Iterator[str]:
        """Every URL that the page did not have before must lead to a file, or have led nowhere in its sheet."""
        known = {reference.url for reference in references(self.tree)}
        excused: frozenset[str] | None = None
        for reference in references(after):
            if reference.url in known:
                continue
            found = self.view.follow(self.context.base, reference.url)
            if found.target.reach is not Reach.LOCAL or found.path is not None:
                continue
            excused = self._sheet_targets(made) if excused is None else excused
            if found.target.path not in excused:
                yield f"{reference.where} points to {reference.url}, which does not exist"

    def _sheet_targets(self, made: _Made) -> frozenset[str]:
        """Return where the URLs of the inlined style sheets led."""
        targets: set[str] = set()
        for path in _inlined(made):
            if self.view.media_type(path) == media.CSS:
                sheet = decode_sheet(self.view.artifact(path), "utf-8").text
                base = self.view.url_of(path)
                targets.update(self.view.follow(base, one.url).target.path for one in css_references(sheet))
        return frozenset(targets)


def _inlined(made: _Made) -> set[str]:
    return {path for report in made.reports.values() for path, _ in report.inlined}


def _last(active: list[str], made: _Made) -> str:
    return active[-1] if active else next(reversed(made.reports))


def _transfer(content: bytes) -> int:
    return len(zlib.compress(content, _LEVEL))


def _grouped(actions: list[Action]) -> Iterator[Action]:
    counts: dict[Action, int] = {}
    for action in actions:
        counts[action] = counts.get(action, 0) + 1
    for action, count in counts.items():
        yield Action(action.pass_name, action.verb, action.subject, action.reason, count)
