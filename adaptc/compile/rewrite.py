"""Rewrite one page by a level's passes and verify the contract, page by page.

Each pass edits the text that the pass before it left. A pass whose edits are refused, whose result breaks the
contract or makes the page dearer, is dropped for this page (demoted) with a diagnostic; the others go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import deflate

from adaptc.compile.page.context import PageContext, Report, page_context
from adaptc.compile.pipeline import Step
from adaptc.compile.verify import new_dead_references
from adaptc.compile.view import DerivingView
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.model import Action
from adaptc.core.urls import document_base
from adaptc.formats.html import contract
from adaptc.formats.html.document import Irreversible, Page, encode_page, parse, parse_bare, read_page
from adaptc.formats.html.edit import Editor, EditRefused
from adaptc.formats.html.references import base_href, embedded_references
from adaptc.formats.html.templating import template_mark

if TYPE_CHECKING:
    from turbohtml import Document

# libdeflate's middle level, 100 MB/s: transfer sizes are compared, not reported
_LEVEL = 6
# Bytes that a request and its response take beside the body, at the least: header fields as HTTP/2 compresses them. In
# HTTP/1.1 they are 600 and more. Without them no data URI pays: base64 compresses to the size of the image again.
_REQUEST_BYTES = 100


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


def rewrite_page(
    path: str, content: bytes, view: DerivingView, steps: tuple[Step, ...], promise: str = "same"
) -> Rewritten:
    """Return the page at ``path`` after ``steps``, verified against the page as it came.

    ``promise`` (``adaptc.config.rulebook.PROMISES``) says what the verification is about.
    """
    try:
        page = read_page(content)
    except Irreversible as problem:
        return _left(path, "encoding-irreversible", encoding=str(problem))
    mark = template_mark(page.text)
    if mark is not None:
        return _left(path, "template-source", mark=mark)
    return _Rewrite(path, page, content, view, promise).run(steps)


def _left(path: str, kind: str, **fields: str) -> Rewritten:
    return Rewritten(diagnostics=[diagnose(kind, Location(path), **fields)])


@dataclass(slots=True)
class _Made:
    """What a run of steps made of a page, with the report of each."""

    page: Page
    text: str
    reports: dict[str, Report] = field(default_factory=dict)
    refused: dict[str, Diagnostic] = field(default_factory=dict)
    loads_others: bool = False  # whether a browser may load other files than with the source
    embeds: tuple[str, ...] | None = None  # the files it loads with the finished text; asked where it may be others
    _tree: Document | None = None
    _encoded: tuple[str, bytes | None] | None = None

    def tree(self) -> Document:
        """Return the tree of the text, without source locations, parsed once."""
        if self._tree is None:
            self._tree = parse_bare(self.text)
        return self._tree

    def encoded(self) -> bytes | None:
        """Return the text in the page's encoding, encoded once; ``None`` where it cannot be."""
        if self._encoded is None or self._encoded[0] is not self.text:
            self._encoded = (self.text, encode_page(self.page, self.text))
        return self._encoded[1]

    def become(self, text: str, tree: Document | None = None) -> None:
        """Take over a text that a step made, and its tree if that is known."""
        self.text, self._tree = text, tree

    def hand_over_tree(self) -> Document | None:
        """Return the tree of the text, if it is known, to who may change it."""
        tree, self._tree = self._tree, None
        return tree

    def note(self, steps: Iterable[Step], reports: dict[str, Report]) -> None:
        """Take over the reports of steps whose result the text is."""
        self.reports.update(reports)
        if any(step.of.changes_embeds and reports[step.of.name].has_changes for step in steps):
            self.loads_others = True


@dataclass(frozen=True, slots=True)
class _Problem:
    """Why a page cannot stay as it was made: the kind of diagnostic and its reason."""

    kind: str
    reason: object

    def said_of(self, name: str, path: str) -> Diagnostic:
        """Return the diagnostic that drops a pass."""
        return diagnose(self.kind, Location(path), name=name, reason=self.reason)


class _Rewrite:
    def __init__(self, path: str, page: Page, content: bytes, view: DerivingView, promise: str) -> None:
        self.path, self.page, self.content, self.view, self.promise = path, page, content, view, promise
        self.editor = Editor(page.text)
        self.context = page_context(path, page, self.editor.tree, view)
        self.transfer = _transfer(content)
        self.may_grow = False

    @cached_property
    def judge(self) -> contract.Broken:
        """What says which promises a page that was made of this one breaks."""
        return contract.BROKEN[self.promise](self.editor.tree)

    def run(self, steps: tuple[Step, ...]) -> Rewritten:
        """Run the steps; while the result fails, drop the pass that is to blame and run the others again.

        This ends: each turn drops a step, and with none left the page is as it was.
        """
        self.may_grow = any(step.of.may_grow for step in steps)
        left = [step for step in steps if step.of.beside is None]
        dropped = dict[str, Diagnostic]()
        made = self._apply(left, self.editor)
        while (problem := self._problem(made)) is not None:
            del made  # one tree at a time: that of a page takes eight times its bytes
            blamed, said = self._blamed(left, problem)
            dropped[blamed.of.name] = said
            left.remove(blamed)
            # a fresh editor: the one before holds the edits of the pass that goes
            made = self._apply(left, Editor(self.page.text))
        return self._result(made, dropped)

    def _result(self, made: _Made, dropped: dict[str, Diagnostic]) -> Rewritten:
        failures = {**dropped, **made.refused}
        result = Rewritten(demoted=sorted(failures), diagnostics=list(failures.values()))
        for report in made.reports.values():
            result.actions.extend(_grouped(report.actions))
            result.diagnostics.extend(report.diagnostics)
        if made.text != self.page.text:
            result.content = made.encoded()
            result.embeds = self._embeds(made)
        return result

    def _embeds(self, made: _Made) -> tuple[str, ...] | None:
        """Return the files that a browser loads with the page, ``None`` for those of the source."""
        if made.embeds is None and (made.loads_others or self.promise != "same"):
            made.embeds = self._embedded(made.tree())
        return made.embeds

    def _embedded(self, tree: Document) -> tuple[str, ...]:
        return _loaded(tree, self.context.base, self.view)

    # ---- running steps

    def _apply(self, steps: Iterable[Step], first: Editor) -> _Made:
        """Run the steps in rounds: passes that edit the same text together, then those that take its result."""
        made = _Made(self.page, self.page.text)
        editor: Editor | None = first
        for together in _rounds(steps):
            self._run(together, made, editor)
            editor = None
        return made

    def _run(self, together: list[Step], made: _Made, editor: Editor | None) -> None:
        if together[0].of.text is not None:
            self._run_text(together[0], made)
        elif together[0].of.whole is not None:
            self._run_whole(together[0], made)
        else:
            self._run_edits(together, editor, made)

    def _run_text(self, step: Step, made: _Made) -> None:
        assert step.of.text is not None
        shorter = step.of.text(made.text, made.hand_over_tree(), self._context(made), step.options)
        if shorter is not None and len(shorter.text) < len(made.text):
            saved = f"{len(made.text)} to {len(shorter.text)} characters"
            made.note([step], {step.of.name: Report([Action(step.of.name, "shortened", "the page", saved)])})
            made.become(shorter.text, shorter.tree)

    def _run_whole(self, step: Step, made: _Made) -> None:
        assert step.of.whole is not None
        try:
            text, report = step.of.whole(made.text, self._context(made), self.view, step.options)
        except EditRefused as refused:
            self._refuse([step], made, _Problem("edit-refused", refused))
            return
        made.note([step], {step.of.name: report})
        if text is not None:
            made.become(text)

    def _run_edits(self, steps: list[Step], first: Editor | None, made: _Made) -> None:
        """Run a round; where its edits do not go together, run each pass by itself to see which to drop.

        ``first`` is an editor of the text so far, where there is one already.
        """
        prepare = steps[0].of.prepare
        editor = Editor(prepare(made.text)) if prepare is not None else first or Editor(made.text)
        context = self._context(made)
        reports = {step.of.name: self._edit(step, editor, context) for step in steps}
        try:
            edited = editor.apply()
        except EditRefused as refused:
            self._refuse(steps, made, _Problem("edit-refused", refused))
            return
        made.note(steps, reports)
        if edited.method != "unchanged" or prepare is not None:
            made.become(edited.text, edited.tree)
        if edited.method == "serialised":
            changing = [name for name, report in reports.items() if report.has_changes] or list(reports)
            said = diagnose("page-reserialized", Location(self.path), name=", ".join(changing))
            reports[changing[0]].diagnostics.append(said)

    def _refuse(self, steps: list[Step], made: _Made, problem: _Problem) -> None:
        if len(steps) == 1:
            name = steps[0].of.name
            made.refused[name] = problem.said_of(name, self.path)
            return
        for step in steps:
            self._run_edits([step], None, made)

    def _edit(self, step: Step, editor: Editor, context: PageContext) -> Report:
        assert step.of.edit is not None
        return step.of.edit(editor, context, self.view, step.options)

    def _context(self, made: _Made) -> PageContext:
        """Return what passes may know of the page as it is by now."""
        is_scriptless = any(report.is_scriptless for report in made.reports.values())
        return self.context.without_scripts() if is_scriptless else self.context

    # ---- judging what they made

    def _problem(self, made: _Made) -> _Problem | None:
        """Return what is wrong with a page as it was made, ``None`` when it keeps its promise."""
        if made.text == self.page.text:
            return None
        encoded = made.encoded()
        if encoded is None:
            return _Problem("contract-broken", "it cannot be written in the page's encoding")
        # fewer characters may be more bytes: without its quotes an inline SVG compresses 1 to 2 % worse
        if not self.may_grow and (extra := self._extra(made, encoded)) > 0:
            return _Problem("pass-larger", f"{extra} bytes more, compressed")
        broken = self._broken(made.tree())
        return _Problem("contract-broken", "; ".join(broken)) if broken else None

    def _broken(self, tree: Document) -> list[str]:
        broken = self.judge(tree)
        if self.promise == "same":
            return broken  # its passes write no reference but those they read, and inline the rest
        return [*broken, *new_dead_references(self.editor.tree, tree, self.context, self.view)]

    def _extra(self, made: _Made, encoded: bytes) -> int:
        """Return how many bytes more, compressed, a browser receives: of the page and of other files than before."""
        extra, now = _transfer(encoded) - self.transfer, self._embeds(made)
        if now is None:
            return extra
        before = self._embedded(self.editor.tree)
        extra += sum(map(self._asset_transfer, set(now).difference(before)))
        # what is saved beyond that decides nothing, and to know it takes reading every image of the page
        return extra - sum(map(self._asset_transfer, set(before).difference(now))) if extra > 0 else extra

    def _asset_transfer(self, path: str) -> int:
        derived = self.view.derived.get(path)
        if derived is not None:
            return _REQUEST_BYTES + derived.size
        content = self.view.artifact(path)
        is_text = media.is_compressible(self.view.media_type(path))
        return _REQUEST_BYTES + (_transfer(content) if is_text else len(content))

    def _blamed(self, steps: list[Step], problem: _Problem) -> tuple[Step, Diagnostic]:
        """Find the pass to drop, by running them one by one: the first that breaks the promise, or the dearest."""
        alone, extra, costs = _Made(self.page, self.page.text), 0, dict[int, int]()
        for index, step in enumerate(steps):
            before, alone.embeds = alone.text, None
            self._run([step], alone, None)
            if alone.text == before:
                continue
            found = self._problem(alone)
            if found is not None and found.kind == "contract-broken":
                return step, found.said_of(step.of.name, self.path)
            costs[index] = -extra
            extra = self._extra(alone, alone.encoded() or b"")
            costs[index] += extra
        step = steps[max(costs, key=costs.__getitem__, default=-1)]
        return step, problem.said_of(step.of.name, self.path)


def embedded_files(path: str, content: bytes, view: DerivingView) -> tuple[str, ...]:
    """Return the files of the site that a browser loads with a page."""
    try:
        tree = parse(read_page(content).text)
    except Irreversible:
        return ()
    return _loaded(tree, document_base(view.url_of(path), base_href(tree)), view)


def _loaded(tree: Document, base: str, view: DerivingView) -> tuple[str, ...]:
    targets = (view.follow(base, reference.url) for reference in embedded_references(tree))
    paths = (found.target.path if found.target.path in view.derived else found.path for found in targets)
    return tuple(dict.fromkeys(path for path in paths if path is not None))


def _rounds(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """Group consecutive edit passes that do not need each other's result."""
    together: list[Step] = []
    for step in steps:
        if together and (step.of.after_edits or not _go_together(step, together)):
            yield together
            together = []
        together.append(step)
    if together:
        yield together


def _go_together(step: Step, others: Iterable[Step]) -> bool:
    """Whether a step and those of a round may work on the same text."""
    is_alone = _is_alone(step)
    return not any(is_alone or _is_alone(other) or step.of.writes & other.of.writes for other in others)


def _is_alone(step: Step) -> bool:
    return step.of.edit is None or step.of.prepare is not None


def _transfer(content: bytes) -> int:
    return len(deflate.zlib_compress(content, _LEVEL))


def _grouped(actions: list[Action]) -> Iterator[Action]:
    counts: dict[Action, int] = {}
    for action in actions:
        counts[action] = counts.get(action, 0) + 1
    for action, count in counts.items():
        yield Action(action.pass_name, action.verb, action.subject, action.reason, count)
