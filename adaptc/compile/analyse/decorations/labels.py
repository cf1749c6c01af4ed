"""Labels for the images of a page and of a site: each use of an image is scored by its signs and named.

Labelling is pure: evidence and rules in, labels out. A site takes two rounds, one that counts which pages use which
files and one that labels page by page, so that memory holds counts and not pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from adaptc.compile.analyse.decorations.case import Case
from adaptc.compile.analyse.decorations.evidence import (
    ImageEvidence,
    SiteCounts,
    Tag,
    UsageLookup,
    UseEvidence,
    image_evidence,
    tag_in_force,
)
from adaptc.compile.analyse.decorations.rules import DecorationRules, Question
from adaptc.compile.analyse.decorations.signs import signs
from adaptc.core import media
from adaptc.core.fs import Tree
from adaptc.core.values import dataclass, field, replace
from adaptc.site.site import Site, SiteTarget

if TYPE_CHECKING:
    from adaptc.compile.analyse.decorations.image_rules import SheetImages


class Label(StrEnum):
    """What an image is for, from what must not be lost to what may go."""

    LOGO = "logo"
    STORY = "story"
    CONTENT = "content"
    DECORATION = "decoration"
    AD = "ad"


STRIPPED = frozenset({Label.DECORATION, Label.AD})
_ORDER = list(Label)


@dataclass(frozen=True, slots=True)
class ImageLabel:
    """A labelled image of a page: each reference once, as written.

    ``score`` is the sum of the signs of a decoration minus the threshold: from 0 on the image is left out, unless it is
    a logo or a tag keeps it. ``reasons`` are sentences, the weightiest first. ``label_score`` is that of the label.
    ``signs`` are the names of all signs of the use.
    """

    page: str
    ref: str
    path: str | None
    kind: str
    label: Label
    score: float
    reasons: tuple[str, ...]
    label_score: float = field(default=0.0)
    signs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Verdict:
    label: Label
    reasons: tuple[str, ...]
    score: float = 0.0


def label_page(
    page: str,
    uses: Iterable[UseEvidence],
    images: Mapping[str, ImageEvidence],
    site: UsageLookup,
    rules: DecorationRules,
    levels: Sequence[str] = (),
) -> list[ImageLabel]:
    """Return the labels of the images of a page, in the order of ``uses``.

    ``images`` is the evidence by path; ``levels`` are a level and those that it extends, whose adaptation
    tags hold (``adaptc.compile.analyse.decorations.evidence.tag_in_force``). A reference that is used more
    than once has the label of the use that matters most: where one must stay, the file is loaded anyway.
    """
    labels: dict[str, ImageLabel] = {}
    for use in uses:
        label = _labelled(page, Case(use, images.get(use.path or ""), site, rules), levels)
        previous = labels.get(use.ref)
        if previous is None or _ORDER.index(label.label) < _ORDER.index(previous.label):
            labels[use.ref] = label
    return _with_few_logos(list(labels.values()), int(rules.limits["logos"]))


def _with_few_logos(uses: list[ImageLabel], limit: int) -> list[ImageLabel]:
    """Keep the best ``limit`` logo files; on a page with more marks the others belong to other organisations."""
    logos = sorted((image for image in uses if image.label is Label.LOGO), key=lambda image: -image.label_score)
    chosen = list(dict.fromkeys(image.path or image.ref for image in logos))[:limit]
    return [
        replace(image, label=Label.CONTENT, reasons=("one mark of many", *image.reasons))
        if image.label is Label.LOGO and (image.path or image.ref) not in chosen
        else image
        for image in uses
    ]


def _labelled(page: str, case: Case, levels: Sequence[str]) -> ImageLabel:
    sentences = dict(signs(case))
    decoration = case.rules.questions["decoration"]
    score = _sum(sentences, decoration)
    verdict = _verdict(case, sentences)
    tag = tag_in_force(case.use.tags, levels)
    if tag is not None:
        verdict = _overruled(verdict, tag)
    return ImageLabel(
        page, case.use.ref, case.use.path, case.use.kind, verdict.label, round(score - decoration.threshold, 2),
        verdict.reasons, verdict.score, tuple(sentences),
    )  # fmt: skip


def _verdict(case: Case, sentences: Mapping[str, str]) -> _Verdict:
    ad = ad_reason(case)
    if ad is not None:
        return _Verdict(Label.AD, (ad,))
    for label in (Label.LOGO, Label.DECORATION, Label.STORY):
        question = case.rules.questions[label.value]
        points = _sum(sentences, question)
        if points >= question.threshold:
            return _Verdict(label, tuple(_reasons(sentences, question, 1)), points)
    return _Verdict(Label.CONTENT, tuple(_reasons(sentences, case.rules.questions["decoration"], -1)))


def _overruled(verdict: _Verdict, tag: Tag) -> _Verdict:
    """Return the verdict of a tag; an image that is kept keeps its label unless that would strip it."""
    is_stripped = verdict.label in STRIPPED
    if (tag.verdict == "drop") == is_stripped:
        return _Verdict(verdict.label, (tag.stated_by, *verdict.reasons), verdict.score)
    label = Label.DECORATION if tag.verdict == "drop" else Label.CONTENT
    return _Verdict(label, (tag.stated_by,))


def _sum(sentences: Mapping[str, str], question: Question) -> float:
    return sum(question.weights.get(name, 0) for name in sentences)


def _reasons(sentences: Mapping[str, str], question: Question, side: int) -> Iterator[str]:
    """Yield the sentences of the signs for the verdict (``side`` 1) or against it (-1), the weightiest first."""
    weighed = [(name, side * question.weights.get(name, 0)) for name in sentences]
    spoken = sorted((item for item in weighed if item[1] > 0), key=lambda item: -item[1])
    yield from (sentences[name] for name, _ in spoken)
    if not spoken:
        yield "nothing speaks for leaving it out" if side < 0 else "no sign of anything else"


# Enough to find which files are used everywhere and which once; with 32,000 pages it saves three of four minutes.
SAMPLED_PAGES = 2000
_PAGES = frozenset({media.HTML, media.XHTML})


def classify_site(
    tree: Tree,
    site: Site,
    rules: DecorationRules,
    pages: Iterable[str] | None = None,
    levels: Sequence[str] = (),
) -> Iterator[ImageLabel]:
    """Yield the labelled images of ``pages``, or of all pages, page by page.

    Use counts are those of the whole site; of more than ``SAMPLED_PAGES`` pages every n-th is counted, and those asked
    for. Raises ``OSError`` as ``tree`` does.
    """
    every = site_pages(site)
    wanted = every if pages is None else [page for page in pages if page in site.sources]
    reader = SiteReader(tree, site, rules)
    counts = count_uses(reader.uses, sample(every, [] if pages is None else wanted))
    for page in wanted:
        uses = reader.uses(page)
        yield from label_page(page, uses, reader.images(uses), counts, rules, levels)


def site_pages(site: Site) -> list[str]:
    """Return the pages of a site in order, without symbolic links."""
    return [path for path, source in site.sources.items() if source.media_type in _PAGES and source.alias_of is None]


def sample(every: Sequence[str], wanted: Iterable[str]) -> list[str]:
    """Return every n-th page so that there are at most ``SAMPLED_PAGES``, and the ``wanted`` ones."""
    step = max(1, -(-len(every) // SAMPLED_PAGES))
    return list(dict.fromkeys((*every[::step], *wanted)))


def count_uses(uses_of: Callable[[str], list[UseEvidence]], pages: Sequence[str]) -> SiteCounts:
    """Count which files the pages use."""
    uses: Counter[str] = Counter()
    first: Counter[str] = Counter()
    for page in pages:
        page_images = uses_of(page)
        uses.update({use.path for use in page_images if use.path})
        first.update({use.path for use in page_images if use.path and use.order == 0 and use.kind != "background"})
    return SiteCounts(len(pages), uses, first)


def _text(content: bytes) -> str:
    """Return the text of a page. Nothing is written back here, so damaged characters do no harm."""
    from adaptc.formats.html.document import Irreversible, read_page

    try:
        return read_page(content).text
    except Irreversible:
        return content.decode("utf-8", "replace")


@dataclass(slots=True)
class SiteReader:
    """Reads pages, sheets and images of a tree; sheets and images once."""

    tree: Tree
    site: Site
    rules: DecorationRules
    _sheets: dict[str, SheetImages] = field(default_factory=dict)
    _images: dict[str, ImageEvidence] = field(default_factory=dict)

    def url_of(self, path: str) -> str:
        return self.site.address.url_of(path)

    def follow(self, base: str, reference: str) -> SiteTarget:
        return self.site.follow(base, reference)

    def uses(self, page: str) -> list[UseEvidence]:
        """Return the images of a page."""
        from adaptc.compile.analyse.decorations.page_images import page_uses
        from adaptc.formats.html.document import parse

        return page_uses(parse(_text(self.tree.read(page))), page, self, self.sheet, self.rules)

    def sheet(self, path: str) -> SheetImages:
        from adaptc.compile.analyse.decorations.image_rules import sheet_images
        from adaptc.formats.css.sheet_text import decode_sheet

        if path not in self._sheets:
            self._sheets[path] = sheet_images(decode_sheet(self.tree.read(path), "utf-8").text)
        return self._sheets[path]

    def images(self, uses: Iterable[UseEvidence]) -> dict[str, ImageEvidence]:
        """Return the evidence of the files of ``uses``, by path."""
        return {use.path: self._image(use.path) for use in uses if use.path}

    def _image(self, path: str) -> ImageEvidence:
        if path not in self._images:
            real = self.site.sources[path].alias_of or path
            if path != real:
                self._images[path] = self._image(real)
            else:
                self._images[path] = image_evidence(self.tree.read(path), self.site.sources[path].media_type)
        return self._images[path]


# ---- Which images advertise: what advertisers and trackers serve, banners, and the marks of sponsors

_GROUP = 3  # different marks next to each other


def ad_reason(case: Case) -> str | None:
    """Return why an image is an advertisement or a tracker, or ``None``.

    The size alone is no reason: photographs come in 300x250 too. It counts for images of other hosts, or with a name.
    """
    ads, use = case.rules.ads, case.use
    if use.url and ads.urls.match(use.url):
        return f"comes from {use.url.partition('//')[2].partition('/')[0]}, an advertiser or a tracker"
    if use.url and case.size and case.longest <= 1:
        return "a tracking pixel of another host"
    size = (round(case.size[0]), round(case.size[1])) if case.size else (0, 0)
    name = min(ads.names & (case.file_words | frozenset(use.names)), default=None)
    if size in ads.badges and use.host and use.alone_in_link:
        return f"{size[0]}x{size[1]} px, a badge that leads to another site"
    if size in ads.sizes and (name or (use.url and use.link == "outside")):
        return f"{size[0]}x{size[1]} px, the size of a banner"
    if name and use.link == "outside":
        return f'called "{name}" and leads to another site'
    says_so = says_advertisement(case.alt_words, ads.names)
    return f'its text is "{use.alt}"' if says_so else _sponsor_reason(case)


# What else stands in the alternative text of an advertisement: "300x300 ads", "Your banner here"
_PLACE = frozenset({"banner", "banners", "here", "image", "img", "px", "space", "x", "your"})


def says_advertisement(alt: Iterable[str], names: frozenset[str]) -> bool:
    """Whether an alternative text has the words for an advertisement, and nothing but them and a size."""
    said = {word for word in alt if not word.isdecimal()} - _PLACE
    return bool(said) and said <= names


def _sponsor_reason(case: Case) -> str | None:
    """Return why an image is the mark of a sponsor, or of others to whom the page sends its readers.

    Marks are small and no photographs, alone in links to other hosts: where classes, a heading or the folder name
    sponsors, or in a group.
    """
    ads, use = case.rules.ads, case.use
    is_mark = use.kind != "background" and case.shortest <= case.rules.limits["mark"] and not case.looks_like_photo()
    if not is_mark or use.region in ("header", "nav"):
        return None
    names = frozenset((*use.names, *use.heading, *case.folder_words))
    leads_away = bool(use.host) and use.alone_in_link
    word = min(ads.sponsors & names, default=None)
    if word is not None and (leads_away or (use.alike >= _GROUP and not ads.sponsors.isdisjoint(use.names))):
        return f'the mark of a sponsor ("{word}")'
    is_in_group = use.hosts >= case.rules.limits["marks"] and case.shortest <= case.rules.limits["row"]
    if leads_away and is_in_group and not _is_of_others(case, names):
        return f"one of the marks that lead to {use.hosts} other hosts"
    return None


def _is_of_others(case: Case, names: frozenset[str]) -> bool:
    """Whether it belongs to customers or users, or stands for a page of the site itself on a social network."""
    words = case.rules.words
    return bool((names | case.file_words) & (words["foreign"] | words["social"] | words["arrow"]))
