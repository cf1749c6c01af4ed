"""Rewrite one page by a level's passes and verify the contract, page by page.

Each pass edits the text that the pass before it left. A pass whose edits are refused, whose result breaks the
contract or makes the page dearer, is dropped for this page (demoted) with a diagnostic; the others go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import deflate

from adaptc import media
from adaptc.diagnostics import Diagnostic, Location, diagnose
from adaptc.html import contract
from adaptc.html.document import Irreversible, Page, encode_page, parse, read_page
from adaptc.html.edit import EditRefused, Editor
from adaptc.html.references import embedded_references
from adaptc.model import Action
from adaptc.passes.page import PageContext, Report, page_context
from adaptc.passes.view import View
from adaptc.pipeline import Step

if TYPE_CHECKING:
    from turbohtml import Document

# libdeflate's middle level, 100 MB/s: transfer sizes are compared, not reported
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
    reports: dict[str, Report] = field(default_factory=dict)
    refused: dict[str, Diagnostic] = field(default_factory=dict)
    _tree: tuple[str, Document] | None = None

    def tree(self) -> Document:
        """Return the tree of the text, parsed once."""
        if self._tree is None or self._tree[0] is not self.text:
            self._tree = (self.text, parse(self.text))
        return self._tree[1]


class _Rewrite:
    def __init__(self, path: str, page: Page, content: bytes, view: View) -> None:
        self.path, self.page, self.content, self.view = path, page, content, view
        self.editor = Editor(page.text)
        self.context = page_context(path, page, self.editor.tree, view)

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
        urls = (reference.url for reference in embedded_references(made.tree()))
        return tuple(dict.fromkeys(path for url in urls if (path := follow(url).path) is not None))

    def _apply(self, steps: list[Step]) -> _Made:
        """Run the steps in rounds: passes that edit the same text together, then those that take its result."""
        made = _Made(self.page.text)
        editor: Editor | None = self.editor
        for together in _rounds(steps):
            if together[0].of.text is not None:
                self._run_text(together[0], made)
            else:
                self._run_edits(together, editor or Editor(made.text), made)
            editor = None
        return made

    def _run_text(self, step: Step, made: _Made) -> None:
        assert step.of.text is not None
        shorter = step.of.text(made.text, self.context, step.options)
        if shorter is not None and len(shorter) < len(made.text):
            saved = Action(step.of.name, "shortened", "the page", f"{len(made.text)} to {len(shorter)} characters")
            made.reports[step.of.name] = Report([saved])
            made.text = shorter

    def _run_edits(self, steps: list[Step], editor: Editor, made: _Made) -> None:
        """Run a round; where its edits do not go together, run each pass by itself to see which to drop."""
        reports = {step.of.name: self._edit(step, editor) for step in steps}
        try:
            edited = editor.apply()
        except EditRefused as refused:
            if len(steps) > 1:
                for step in steps:
                    self._run_edits([step], Editor(made.text), made)
                return
            name = steps[0].of.name
            made.refused[name] = diagnose("edit-refused", Location(self.path), name=name, reason=refused)
            return
        if edited.method == "serialised":
            names = ", ".join(name for name, report in reports.items() if report.actions)
            reports[steps[0].of.name].diagnostics.append(
                diagnose("edit-serialised", Location(self.path), name=names)
            )
        made.reports.update(reports)
        made.text = edited.text

    def _edit(self, step: Step, editor: Editor) -> Report:
        assert step.of.edit is not None
        return step.of.edit(editor, self.context, self.view, step.options)

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
        return contract.broken(contract.promise(self.editor.tree), contract.promise(made.tree()))


def _inlined(made: _Made) -> set[str]:
    return {path for report in made.reports.values() for path, _ in report.inlined}


def _rounds(steps: list[Step]) -> Iterator[list[Step]]:
    """Group consecutive edit passes that do not need each other's result."""
    together: list[Step] = []
    for step in steps:
        if together and (step.of.text is not None or together[0].of.text is not None or step.of.after_edits):
            yield together
            together = []
        together.append(step)
    if together:
        yield together


def _last(active: list[str], made: _Made) -> str:
    return active[-1] if active else next(reversed(made.reports))


def _transfer(content: bytes) -> int:
    return len(deflate.zlib_compress(content, _LEVEL))


def _grouped(actions: list[Action]) -> Iterator[Action]:
    counts: dict[Action, int] = {}
    for action in actions:
        counts[action] = counts.get(action, 0) + 1
    for action, count in counts.items():
        yield Action(action.pass_name, action.verb, action.subject, action.reason, count)
