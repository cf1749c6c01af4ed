"""Rewrite one page by the steps of a level.

Each pass edits the text that the passes before it left; the result is compared with the source (``verify``). A pass
whose edits are refused, whose result breaks the contract or makes the page larger, is dropped for this page (demoted)
with a diagnostic, and the others run again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeGuard

from adaptc.compile.analyse.loaded_backgrounds import own_backgrounds
from adaptc.compile.page.context import PageContext, Report, page_context
from adaptc.compile.page.image_labels import may_drop_blocks
from adaptc.compile.page.script_written import WrittenPage, page_after_scripts, script_written
from adaptc.compile.pipeline import EditPass, Pass, SidecarPass, Step, TextPass, WholePagePass
from adaptc.compile.verify import Draft, Problem, Verifier, files_of
from adaptc.compile.view import DerivingView, Options
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.model import Action
from adaptc.core.values import dataclass, field, replace
from adaptc.formats.html.document import Irreversible, Page, encode_page, read_page
from adaptc.formats.html.edit import Editor, EditRefused
from adaptc.formats.html.encoding import SniffedEncoding, sniff_encoding
from adaptc.formats.html.template_marks import template_mark

Steps = tuple[Step[Pass], ...]


class Refusal(NamedTuple):
    """Why a page must stay as it is at the level above: the kind of the diagnostic, and the reason in it."""

    kind: str
    reason: str


@dataclass(slots=True)
class PageResult:
    """A page at a level. ``content`` is ``None`` if it stays as it is; ``demoted`` names the dropped passes.

    ``embeds`` are the files that a browser loads with it, ``None`` for those of the source. ``refusal`` is the reason
    why the page must stay as it is at the level above, if there is one.
    """

    content: bytes | None = None
    actions: list[Action] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    demoted: list[str] = field(default_factory=list)
    embeds: tuple[str, ...] | None = None
    refusal: Refusal | None = None


def rewrite_page(
    path: str, content: bytes, view: DerivingView, steps: Steps, promise: str = "same", *, may_grow: bool = False
) -> PageResult:
    """Return the page at ``path`` after ``steps``, verified against its source ``content``.

    ``promise`` (``adaptc.config.rulebook.PROMISES``) says which parts must be the same. With ``may_grow`` the page may
    become larger.
    """
    try:
        page = _read(content, view.sent_charset(path))
    except Irreversible as problem:
        return _unchanged(path, "encoding-irreversible", encoding=str(problem))
    mark = template_mark(page.text)
    if mark is not None:
        return _unchanged(path, "template-source", mark=mark)
    page_steps = [step for step in steps if not isinstance(step.pass_, SidecarPass)]
    return _Rewriter(path, page, content, view, page_steps, promise, may_grow=may_grow).run()


def _read(content: bytes, charset: str | None) -> Page:
    """Decode a page as browsers do that get it with a ``charset``. Raises ``Irreversible``.

    Where the page itself does not say the same, it gets ASCII only: another host may send it without.
    """
    page = read_page(content, charset)
    if charset is None or page.bom:
        return page
    return replace(page, declared=sniff_encoding(content) == SniffedEncoding(page.encoding, True))


def _unchanged(path: str, kind: str, **fields: str) -> PageResult:
    return PageResult(diagnostics=[diagnose(kind, Location(path), **fields)])


_REMOVING = frozenset({"strip", "compose"})  # passes that remove the blocks that authors drop


class _Rewriter:
    """Rewrites one page."""

    def __init__(
        self,
        path: str,
        page: Page,
        content: bytes,
        view: DerivingView,
        steps: list[Step[Pass]],
        promise: str,
        written: WrittenPage | None = None,
        *,
        may_grow: bool = False,
    ) -> None:
        self.path, self.page, self.view, self.steps, self.promise = path, page, view, steps, promise
        self.editor, self.written = Editor(page.text), written
        self.context = page_context(path, page, self.editor.tree, view) if written is None else written.context
        # the scripts that wrote the page are gone, which the level above is compared with
        may_grow |= written is not None or any(
            isinstance(step.pass_, WholePagePass) and step.pass_.may_grow for step in steps
        )
        is_removing = promise != "same" and not _REMOVING.isdisjoint(step.pass_.name for step in steps)
        removes_blocks = is_removing and may_drop_blocks(page.text)
        dropping = view.labelling.levels if removes_blocks else None
        self.verifier = Verifier(
            content, self.editor.tree, self.context, view, promise, may_grow=may_grow, dropping=dropping
        )

    def run(self) -> PageResult:
        """Run the steps; a page that would show nothing then has those that work without content.

        So has one that cannot be composed. Where there is a level above, it is used instead.
        """
        is_refusing = any(step.pass_.needs_content for step in self.steps)
        refusal = script_written(self.verifier.source_tree, self.context) if is_refusing else None
        if is_refusing and (result := self._run_after_scripts(is_shell=refusal is not None)) is not None:
            return result
        draft, result = self._run_verified(list(self.steps), self.editor) if refusal is None else (None, PageResult())
        if is_refusing and draft is not None and self.verifier.is_blank(draft):
            refusal = "nothing would be left to see"
        if refusal is not None:
            others = [step for step in self.steps if not step.pass_.needs_content]
            _, result = self._run_verified(others, Editor(self.page.text))
            result.refusal = Refusal("page-needs-scripts", refusal)
        elif draft is not None and (reasons := [each.refusal for each in draft.reports.values() if each.refusal]):
            result.refusal = Refusal("page-not-composed", reasons[0])
        return result

    def _run_after_scripts(self, *, is_shell: bool) -> PageResult | None:
        """Return the page made of what its scripts wrote; ``None`` if it should be made of its markup."""
        written = page_after_scripts(self.context, self.verifier.source_tree, self.view, is_shell=is_shell)
        content = None if written is None else encode_page(written.page, written.page.text)
        if written is None or content is None:
            return None
        other = _Rewriter(self.path, written.page, content, self.view, self.steps, self.promise, written)
        draft, result = other._run_verified(list(self.steps), other.editor)
        names = [step.name for step in self.steps if step.pass_.needs_content]
        if not any(map(draft.is_adapted_by, names)) or other.verifier.is_blank(draft):
            return None
        result.actions.insert(0, Action(names[0], "read", "the page after its scripts", written.reason))
        return result

    def _run_verified(self, steps: list[Step[Pass]], editor: Editor) -> tuple[Draft, PageResult]:
        """Run the steps; while the result has a problem, drop the pass that causes it and run the others again.

        This ends: each turn drops a step, and without steps the page is its source.
        """
        dropped = dict[str, Diagnostic]()
        draft = self._run_steps(steps, editor)
        while (problem := self.verifier.problem(draft)) is not None:
            del draft  # one tree at a time: that of a page takes eight times its bytes
            culprit, diagnostic = self._find_culprit(steps, problem)
            dropped[culprit.name] = diagnostic
            steps.remove(culprit)
            # a new editor: the one before holds the edits of the dropped pass
            draft = self._run_steps(steps, Editor(self.page.text))
        return draft, self._result(draft, dropped)

    def _find_culprit(self, steps: list[Step[Pass]], problem: Problem) -> tuple[Step[Pass], Diagnostic]:
        """Return the step to drop: the first that breaks the contract, or the one that adds the most bytes."""
        draft, extra, added = Draft(self.page, self.page.text), 0, dict[int, int]()
        for index, step in enumerate(steps):
            text = draft.text
            self._run_round([step], draft, None)
            if draft.text == text:
                continue
            own_problem = self.verifier.problem(draft)
            if own_problem is not None and own_problem.kind == "contract-broken":
                return step, own_problem.diagnostic(step.name, self.path)
            previous, extra = extra, self.verifier.extra_bytes(draft)
            added[index] = extra - previous
        step = steps[max(added, key=added.__getitem__, default=-1)]
        return step, problem.diagnostic(step.name, self.path)

    def _result(self, draft: Draft, dropped: dict[str, Diagnostic]) -> PageResult:
        failures = {**dropped, **draft.refusals}
        result = PageResult(demoted=sorted(failures), diagnostics=list(failures.values()))
        for report in draft.reports.values():
            result.actions.extend(_count_equal(report.actions))
            result.diagnostics.extend(report.diagnostics)
        if draft.text != self.page.text or self.written is not None:
            result.content = draft.encoded()
            result.embeds = self._loads(draft)
        return result

    def _loads(self, draft: Draft) -> tuple[str, ...] | None:
        """Return the files that a browser loads by a page's markup and own styles, ``None`` for those of the source."""
        embeds = self.verifier.embeds(draft)
        if embeds is None:
            return None
        urls = own_backgrounds(draft.text, draft.tree())
        return tuple(dict.fromkeys((*embeds, *files_of(urls, self.verifier.context.base, self.verifier.view))))

    # ---- running steps

    def _run_steps(self, steps: Iterable[Step[Pass]], first_editor: Editor) -> Draft:
        """Run the steps in rounds: the passes of a round edit the same text, the next round edits the result."""
        draft = Draft(self.page, self.page.text)
        editor: Editor | None = first_editor
        for steps_of_round in _rounds(steps):
            self._run_round(steps_of_round, draft, editor)
            editor = editor if editor is not None and editor.is_unused and editor.text == draft.text else None
        return draft

    def _run_round(self, steps: list[Step[Pass]], draft: Draft, editor: Editor | None) -> None:
        match steps[0].pass_:
            case TextPass() as text_pass:
                self._run_text(text_pass, steps[0].options, draft)
            case WholePagePass() as whole_page_pass:
                self._run_whole_page(whole_page_pass, steps[0].options, draft)
            case _ if any(report.is_composed for report in draft.reports.values()):
                return
            case _:
                self._run_edits([step for step in steps if _is_edit(step)], draft, editor)

    def _run_text(self, text_pass: TextPass, options: Options, draft: Draft) -> None:
        name, length = text_pass.name, len(draft.text)
        shorter = text_pass.run(draft.text, draft.release_tree(), self._context(draft), options)
        if shorter is not None and len(shorter.text) < length:
            reason = f"{length} to {len(shorter.text)} characters"
            draft.reports[name] = Report([Action(name, "shortened", "the page", reason)])
            draft.replace(shorter.text, shorter.tree)

    def _run_whole_page(self, whole_page_pass: WholePagePass, options: Options, draft: Draft) -> None:
        name = whole_page_pass.name
        try:
            text, report = whole_page_pass.run(draft.text, self._context(draft), self.view, options)
        except EditRefused as refusal:
            draft.refusals[name] = Problem("edit-refused", refusal).diagnostic(name, self.path)
            return
        draft.reports[name] = report
        draft.may_load_others |= report.has_changes
        if text is not None:
            draft.replace(text)

    def _run_edits(self, steps: list[Step[EditPass]], draft: Draft, editor: Editor | None) -> None:
        """Run a round of edit passes; if its edits are refused, run each pass by itself to see which to drop.

        ``editor`` is an unused editor of the draft's text, if there is one.
        """
        context = self._context(draft)
        editor = Editor(draft.text) if editor is None else editor
        reports = {step.name: step.pass_.run(editor, context, self.view, step.options) for step in steps}
        try:
            edited = editor.apply()
        except EditRefused as refusal:
            self._refuse(steps, draft, Problem("edit-refused", refusal))
            return
        draft.reports.update(reports)
        draft.may_load_others |= any(not step.pass_.keeps_embeds and reports[step.name].has_changes for step in steps)
        if edited.method != "unchanged":
            draft.replace(edited.text, edited.tree)
        if edited.method == "serialised":
            self._report_serialised(reports)

    def _refuse(self, steps: list[Step[EditPass]], draft: Draft, problem: Problem) -> None:
        if len(steps) == 1:
            draft.refusals[steps[0].name] = problem.diagnostic(steps[0].name, self.path)
            return
        for step in steps:
            self._run_edits([step], draft, None)

    def _report_serialised(self, reports: dict[str, Report]) -> None:
        names = [name for name, report in reports.items() if report.has_changes] or list(reports)
        diagnostic = diagnose("page-reserialized", Location(self.path), name=", ".join(names))
        reports[names[0]].diagnostics.append(diagnostic)

    def _context(self, draft: Draft) -> PageContext:
        """Return what passes may know of the page at this point."""
        if any(report.is_scriptless for report in draft.reports.values()):
            return self.context.without_scripts()
        return self.context


def _rounds(steps: Iterable[Step[Pass]]) -> Iterator[list[Step[Pass]]]:
    """Group consecutive edit passes that do not need each other's result."""
    group: list[Step[Pass]] = []
    for step in steps:
        if group and not _can_join(step, group):
            yield group
            group = []
        group.append(step)
    if group:
        yield group


def _can_join(step: Step[Pass], group: list[Step[Pass]]) -> bool:
    """Whether a step may edit the same text as the steps of a round."""
    if not _shares_rounds(step) or not _shares_rounds(group[0]) or step.pass_.after_edits:
        return False
    return not any(_is_edit(each) and step.pass_.writes & each.pass_.writes for each in group)


def _shares_rounds(step: Step[Pass]) -> TypeGuard[Step[EditPass]]:
    return _is_edit(step)


def _is_edit(step: Step[Pass]) -> TypeGuard[Step[EditPass]]:
    return isinstance(step.pass_, EditPass)


def _count_equal(actions: list[Action]) -> Iterator[Action]:
    counts: dict[Action, int] = {}
    for action in actions:
        single = replace(action, count=1)
        counts[single] = counts.get(single, 0) + action.count
    for action, count in counts.items():
        yield replace(action, count=count)
