"""Verify a rewritten page: it keeps the promise of its level, and takes no more bytes to transfer than its source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from adaptc.compile.analyse.loaded_backgrounds import own_backgrounds
from adaptc.compile.page.context import PageContext, Report
from adaptc.compile.page.image_labels import without_dropped_blocks
from adaptc.compile.page.script_written import settled_text
from adaptc.compile.page.sheets import paths_in_sheets, screen_sheets
from adaptc.compile.page.transfer_sizes import client_sizes, compressed_size, compressed_sizes, transfer_size
from adaptc.compile.view import REQUEST_BYTES, DerivingView
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.digest import digest_bytes
from adaptc.core.facts import BoundedCache
from adaptc.core.urls import Reach, Target, document_base
from adaptc.core.values import dataclass, field
from adaptc.formats.html.contract import CONTRACT_CHECKS, ContractCheck
from adaptc.formats.html.document import Irreversible, Page, encode_page, parse, parse_bare, read_page
from adaptc.formats.html.references import base_href, embedded_references, reference_urls
from adaptc.formats.html.shown import VIEWPORTS, ShownPage, hidden_from_reader
from adaptc.site.site import PAGE_SUFFIX

if TYPE_CHECKING:
    from turbohtml import Document

_LISTED = 3  # dead references that a message lists
_LONGEST_SHARED = 1 << 20  # characters of a page of which levels share what was found: it stays in memory meanwhile


# The checks of the pages that were compared last, by their texts. Characters that a worker keeps
_article_checks = BoundedCache[str, ContractCheck](4 * _LONGEST_SHARED)


@lru_cache(maxsize=2)
def _shown_page(text: str, sheets: tuple[str, ...]) -> ShownPage:
    return ShownPage(parse_bare(text), sheets)


@dataclass(slots=True)
class Draft:
    """A page after some steps: its text, and the report or the refusal of each step by pass name.

    ``may_load_others`` says that a browser may load other files with it than with the source.
    """

    page: Page
    text: str
    reports: dict[str, Report] = field(default_factory=dict)
    refusals: dict[str, Diagnostic] = field(default_factory=dict)
    may_load_others: bool = False
    embeds: tuple[str, ...] | None = None  # the files that a browser loads with this text, once they are known
    _tree: Document | None = None
    _encoded: tuple[str, bytes | None] | None = None
    _shown: ShownPage | None = None

    def tree(self) -> Document:
        """Return the tree of the text, without source locations, parsed once."""
        if self._tree is None:
            self._tree = parse_bare(self.text)
        return self._tree

    def encoded(self) -> bytes | None:
        """Return the text in the page's encoding, encoded once; ``None`` if the encoding lacks a character."""
        if self._encoded is None or self._encoded[0] is not self.text:
            self._encoded = (self.text, encode_page(self.page, self.text))
        return self._encoded[1]

    def is_adapted_by(self, name: str) -> bool:
        """Whether the pass ``name`` ran and was not dropped, and has changed the page or found no script in it."""
        report = self.reports.get(name)
        return report is not None and (report.has_changes or report.is_scriptless)

    def replace(self, text: str, tree: Document | None = None) -> None:
        """Replace the text, and its tree if that is known."""
        self.text, self._tree, self._shown, self.embeds = text, tree, None, None

    def release_tree(self) -> Document | None:
        """Return the tree of the text if it is known; the caller may change it."""
        tree, self._tree, self._shown = self._tree, None, None
        return tree

    def shown(self, show: Callable[[Document], ShownPage]) -> ShownPage:
        """Return what a reader sees of the text, found once."""
        if self._shown is None:
            self._shown = show(self.tree())
        return self._shown


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a draft is rejected: the kind of diagnostic and its reason."""

    kind: str
    reason: object

    def diagnostic(self, name: str, path: str) -> Diagnostic:
        """Return the diagnostic for the pass ``name``, which is dropped."""
        return diagnose(self.kind, Location(path), name=name, reason=self.reason)


class Verifier:
    """Compares drafts of one page with its source, whose parsed text is ``tree``.

    ``promise`` (``adaptc.config.rulebook.PROMISES``) says which parts must be the same. ``dropping`` are the levels by
    which authors may drop blocks, None where no step removes them.
    """

    def __init__(
        self,
        content: bytes,
        tree: Document,
        context: PageContext,
        view: DerivingView,
        promise: str,
        *,
        may_grow: bool,
        dropping: Sequence[str] | None = None,
    ) -> None:
        self._dropping = dropping
        self.tree, self.context, self.view, self.promise, self.may_grow = tree, context, view, promise, may_grow
        self._content = content
        self._named: dict[str, bool] = {}  # whether a script of the page names a file
        self._known_sizes: dict[str, tuple[int, ...]] = {}  # of contents, by their digests

    def problem(self, draft: Draft) -> Problem | None:
        """Return the first problem of a draft: its encoding, its size, the contract."""
        if draft.text == self.context.page.text:
            return None
        encoded = draft.encoded()
        if encoded is None:
            return Problem("contract-broken", "it cannot be written in the page's encoding")
        return self._size_problem(draft, encoded) or self._contract_problem(draft)

    def _size_problem(self, draft: Draft, encoded: bytes) -> Problem | None:
        # fewer characters may be more bytes: without its quotes an inline SVG compresses 1 to 2 % worse
        if self.may_grow or (extra := self._extra_bytes(draft, encoded)) <= 0:
            return None
        return Problem("pass-larger", f"{extra} bytes more, in some content coding or without one")

    def _contract_problem(self, draft: Draft) -> Problem | None:
        tree = draft.tree()
        is_static = any(report.is_scriptless for report in draft.reports.values())
        violations = (self._find_violations if is_static else self._find_losses)(tree)
        if not violations and self.promise == "article" and self.context.has_scripts:
            source = self._shown_source if is_static else self._shown(self._wanted_tree)
            violations = hidden_from_reader(source, draft.shown(self._shown))
        if self.promise != "same":  # passes of "same" levels write no references but those they read, and inline others
            violations = [*violations, *new_dead_references(self.tree, tree, self.context, self.view)]
        return Problem("contract-broken", "; ".join(violations)) if violations else None

    @cached_property
    def source_tree(self) -> Document:
        """The tree of the source; for levels without scripts as ``static_text`` has it."""
        return self._wanted_tree if self._source_text == self._wanted_text else parse_bare(self._source_text)

    @cached_property
    def _source_text(self) -> str:
        text = self._wanted_text
        if self.promise != "article":
            return text
        sheets = screen_sheets(self._wanted_tree, self.context.base, self.view)
        return settled_text(text, self.context, self.view, sheets)

    @cached_property
    def _wanted_text(self) -> str:
        """The text of the source; at levels that may do without them without the blocks that its author drops."""
        text = self.context.page.text
        return text if self._dropping is None else without_dropped_blocks(text, self._dropping)

    @cached_property
    def _wanted_tree(self) -> Document:
        return self.tree if self._wanted_text == self.context.page.text else parse_bare(self._wanted_text)

    @cached_property
    def _find_violations(self) -> ContractCheck:
        return self._check(self.source_tree, self._source_text)

    @cached_property
    def _find_losses(self) -> ContractCheck:
        """The check of a page that has its scripts: they write what they write."""
        if self.source_tree is self._wanted_tree:
            return self._find_violations
        return self._check(self._wanted_tree, self._wanted_text)

    def _check(self, tree: Document, text: str) -> ContractCheck:
        """Return the check of the promise by a tree parsed from ``text``; levels without scripts share theirs."""
        if self.promise != "article":
            return CONTRACT_CHECKS[self.promise](tree)
        check = _article_checks.get(text)
        if check is None:
            check = CONTRACT_CHECKS[self.promise](tree)
            _article_checks.put(text, check, len(text))
        return check

    # ---- what a reader sees

    def is_blank(self, draft: Draft) -> bool:
        """Whether a page shows nothing in some window, but may have shown something before."""
        shown = draft.shown(self._shown)
        is_written = self.context.has_scripts
        return any(
            shown.is_blank(width) and (is_written or not self._shown_source.is_blank(width)) for width in VIEWPORTS
        )

    @cached_property
    def _shown_source(self) -> ShownPage:
        tree, text = self.source_tree, self._source_text
        is_shared = self.promise == "article" and len(text) <= _LONGEST_SHARED
        return _shown_page(text, self._screen_sheets(tree)) if is_shared else self._shown(tree)

    def _shown(self, tree: Document) -> ShownPage:
        return ShownPage(tree, self._screen_sheets(tree))

    def _screen_sheets(self, tree: Document) -> tuple[str, ...]:
        # passes hide and show elements of pages with scripts only, and applying a page's sheets takes time
        return screen_sheets(tree, self.context.base, self.view) if self.context.has_scripts else ()

    # ---- sizes

    def extra_bytes(self, draft: Draft) -> int:
        """Return how many more bytes than with the source a browser receives, compressed: page and embedded files.

        They are those of the content coding in which the page grows most.
        """
        return self._extra_bytes(draft, draft.encoded() or b"")

    def _extra_bytes(self, draft: Draft, encoded: bytes) -> int:
        absorbed = sum(report.absorbed for report in draft.reports.values())
        pairs = zip(self._sizes(encoded), self.source_sizes, strict=True)
        extra, embeds = [own - source - absorbed for own, source in pairs], self.embeds(draft)
        if embeds is None:
            return max(extra)
        source_embeds = self._source_embeds()
        extra = self._add_files(extra, set(embeds).difference(source_embeds), 1)
        if max(extra) <= 0:
            return max(extra)  # the exact number decides nothing, and takes reading every image of the page
        return max(self._add_files(extra, set(source_embeds).difference(embeds), -1))

    @cached_property
    def source_sizes(self) -> tuple[int, ...]:
        """The sizes of the source; a page that stays as it is needs none."""
        return self._sizes(self._content)

    def _sizes(self, content: bytes) -> tuple[int, ...]:
        """Return the sizes of a page: in each content coding where it stays the same, else by an estimate.

        The search for a step to drop comes to the same content again.
        """
        digest = digest_bytes(content)
        if digest not in self._known_sizes:
            is_same = self.promise == "same"
            self._known_sizes[digest] = compressed_sizes(content) if is_same else (compressed_size(content),)
        return self._known_sizes[digest]

    def _add_files(self, sizes: list[int], paths: Iterable[str], sign: int) -> list[int]:
        """Return sizes in each coding, with those of files and requests for them added or subtracted."""
        for path in paths:
            sizes = [size + sign * own for size, own in zip(sizes, self._file_bytes(path), strict=True)]
        return sizes

    def _file_bytes(self, path: str) -> Iterator[int]:
        derived = self.view.derived.get(path)
        if derived is not None:
            sizes: tuple[int, ...] = (derived.size,) * len(self.source_sizes)
        elif self.promise == "same":
            sizes = client_sizes(path, self.view)
        else:
            sizes = (transfer_size(path, self.view),)
        return (REQUEST_BYTES + size for size in sizes)

    def embeds(self, draft: Draft) -> tuple[str, ...] | None:
        """Return the files that a browser loads with a draft, ``None`` for those of the source.

        A file that is in the page now, and that a script may still ask for by its name, counts as before.
        """
        if draft.embeds is None and (draft.may_load_others or self.promise != "same"):
            held = frozenset[str]().union(*(report.held for report in draft.reports.values()))
            files = embedded_files(draft.tree(), self.context.base, self.view)
            embeds = [path for path in files if path not in held]
            draft.embeds = (*embeds, *self._fetched_again(draft, held.union(embeds)))
        return draft.embeds

    def _fetched_again(self, draft: Draft, embeds: frozenset[str]) -> Iterator[str]:
        if any(report.is_scriptless or report.is_composed for report in draft.reports.values()):
            return
        late = frozenset[str]().union(*(report.late for report in draft.reports.values()))
        for path in (path for path in self._source_embeds() if path not in embeds and path not in late):
            content = self.view.artifact(path) if self.view.media_type(path) == media.JS else None
            if self._is_named(path, content):
                yield path

    def _source_embeds(self) -> tuple[str, ...]:
        """Return the files that a browser loads with the source."""
        return files_of(self._source_urls, self.context.base, self.view)

    @cached_property
    def _source_urls(self) -> tuple[str, ...]:
        return tuple(reference.url for reference in embedded_references(self.tree))

    def _is_named(self, path: str, content: bytes | None) -> bool:
        if path not in self._named:
            self._named[path] = self.context.names_file(path, content)
        return self._named[path]


# ---- references


def embedded_files_of(path: str, content: bytes, view: DerivingView) -> tuple[str, ...]:
    """Return the files of the site that a browser loads by the markup and the own styles of the page ``content``."""
    try:
        text = read_page(content).text
    except Irreversible:
        return ()
    tree = parse(text)
    base = document_base(view.url_of(path), base_href(tree))
    embeds = (*embedded_files(tree, base, view), *files_of(own_backgrounds(text, tree), base, view))
    return tuple(dict.fromkeys(embeds))


def embedded_files(tree: Document, base: str, view: DerivingView) -> tuple[str, ...]:
    """Return the files of the site that a browser loads with a page whose document base URL is ``base``."""
    return files_of((reference.url for reference in embedded_references(tree)), base, view)


def files_of(urls: Iterable[str], base: str, view: DerivingView) -> tuple[str, ...]:
    """Return the files of the site, and the derived ones, to which ``urls`` lead, each once."""
    links = (view.follow(base, url) for url in urls)
    paths = (link.target.path if link.target.path in view.derived else link.path for link in links)
    return tuple(dict.fromkeys(path for path in paths if path is not None))


def new_dead_references(before: Document, after: Document, page: PageContext, view: DerivingView) -> list[str]:
    """Describe the references of ``after`` that lead to no file of the site, if ``before`` has none to that place.

    Those of the sheets that ``before`` links count: what leads nowhere in a sheet may do so in the page, too.
    """
    known_urls, urls = set(reference_urls(before)), tuple(dict.fromkeys(reference_urls(after)))
    # what a script writes out may be in the page that is made without it
    known_urls.update(url for url in urls if url not in known_urls and page.names_file(url))
    is_same_base = base_href(before) == base_href(after)
    base = page.base if is_same_base else document_base(view.url_of(page.path), base_href(after))
    suspects = [url for url in urls if not (is_same_base and url in known_urls)]
    dead = {url: target for url in suspects if (target := _missing_target(url, base, view)) is not None}
    if not dead:
        return []
    known_paths = {view.follow(page.base, url).target.path for url in known_urls}
    new = [url for url, target in dead.items() if target.path not in known_paths]
    if new:
        known_paths = paths_in_sheets(before, page.base, view)
        new = [url for url in new if dead[url].path not in known_paths]
    listed = ", ".join(new[:_LISTED]) + (", ..." if len(new) > _LISTED else "")
    return [f"references lead nowhere: {listed}"] if new else []


def _missing_target(url: str, base: str, view: DerivingView) -> Target | None:
    """Return the target of a reference to a file that does not exist; derived files are published with the page."""
    link = view.follow(base, url)
    if link.target.reach is not Reach.LOCAL or link.path is not None or link.target.path in view.derived:
        return None
    page = view.follow(base, view.url_of(link.target.path + PAGE_SUFFIX)).path
    return link.target if page is None else None
