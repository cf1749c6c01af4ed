"""From signs to labels: each use of an image on a page, scored and named. Pure: evidence and rules in, labels out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from adaptc.compile.analyse.decorations.ads import ad_reason
from adaptc.compile.analyse.decorations.evidence import ImageEvidence, SiteUse, Tag, UseEvidence
from adaptc.compile.analyse.decorations.rules import DecorationRules, Question
from adaptc.compile.analyse.decorations.signs import Case, signs


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
class ImageUse:
    """A labelled image of a page: each reference once, as written.

    ``score`` is how much speaks for leaving it out, in points over the threshold of "decoration" (from 0 on it goes,
    unless it is a logo or somebody says otherwise); ``reasons`` are
    sentences, the weightiest first. ``standing`` is the score of the label itself.
    """

    page: str
    ref: str
    path: str | None
    kind: str
    label: Label
    score: float
    reasons: tuple[str, ...]
    standing: float = field(default=0.0)


@dataclass(frozen=True, slots=True)
class _Verdict:
    label: Label
    reasons: tuple[str, ...]
    standing: float = 0.0


def label_page(
    page: str,
    uses: Iterable[UseEvidence],
    images: Mapping[str, ImageEvidence],
    site: SiteUse,
    rules: DecorationRules,
    level: str | None = None,
) -> list[ImageUse]:
    """Return the labels of the images of a page, in the order of ``uses``.

    ``images`` is the evidence by path; ``level`` is the level whose adaptation tags hold. A reference that is used more
    than once has the label of the use that matters most: where one must stay, the file is loaded anyway.
    """
    found: dict[str, ImageUse] = {}
    for use in uses:
        one = _labelled(page, Case(use, images.get(use.path or ""), site, rules), level)
        other = found.get(use.ref)
        if other is None or _ORDER.index(one.label) < _ORDER.index(other.label):
            found[use.ref] = one
    return _with_few_logos(list(found.values()), int(rules.limits["logos"]))


def _with_few_logos(uses: list[ImageUse], limit: int) -> list[ImageUse]:
    """Return the labels with the best ``limit`` logo files; a page that shows more marks shows those of others."""
    logos = sorted((one for one in uses if one.label is Label.LOGO), key=lambda one: -one.standing)
    chosen = list(dict.fromkeys(one.path or one.ref for one in logos))[:limit]
    return [
        replace(one, label=Label.CONTENT, reasons=("one mark of many", *one.reasons))
        if one.label is Label.LOGO and (one.path or one.ref) not in chosen
        else one
        for one in uses
    ]


def kept_at_extreme(uses: Iterable[ImageUse]) -> tuple[ImageUse | None, ImageUse | None]:
    """Return the logo and the story of a page: of each the one that stands out most, the first of equals."""
    listed = list(uses)
    return _best(listed, Label.LOGO), _best(listed, Label.STORY)


def _best(uses: list[ImageUse], label: Label) -> ImageUse | None:
    return max((one for one in uses if one.label is label), key=lambda one: one.standing, default=None)


def _labelled(page: str, case: Case, level: str | None) -> ImageUse:
    found = dict(signs(case))
    decoration = case.rules.questions["decoration"]
    score = _sum(found, decoration)
    verdict = _verdict(case, found)
    tag = next((tag for tag in case.use.tags if tag.holds_at(level)), None)
    if tag is not None:
        verdict = _overruled(verdict, tag)
    return ImageUse(
        page, case.use.ref, case.use.path, case.use.kind, verdict.label, round(score - decoration.threshold, 2),
        verdict.reasons, verdict.standing,
    )  # fmt: skip


def _verdict(case: Case, found: Mapping[str, str]) -> _Verdict:
    ad = ad_reason(case)
    if ad is not None:
        return _Verdict(Label.AD, (ad,))
    for label in (Label.LOGO, Label.DECORATION, Label.STORY):
        question = case.rules.questions[label.value]
        points = _sum(found, question)
        if points >= question.threshold:
            return _Verdict(label, tuple(_reasons(found, question, 1)), points)
    return _Verdict(Label.CONTENT, tuple(_reasons(found, case.rules.questions["decoration"], -1)))


def _overruled(verdict: _Verdict, tag: Tag) -> _Verdict:
    """Return what the author or the user wants: kept images keep their label if it is one that stays."""
    is_stripped = verdict.label in STRIPPED
    if (tag.verdict == "drop") == is_stripped:
        return _Verdict(verdict.label, (tag.said_by, *verdict.reasons), verdict.standing)
    label = Label.DECORATION if tag.verdict == "drop" else Label.CONTENT
    return _Verdict(label, (tag.said_by,))


def _sum(found: Mapping[str, str], question: Question) -> float:
    return sum(question.weights.get(name, 0) for name in found)


def _reasons(found: Mapping[str, str], question: Question, side: int) -> Iterator[str]:
    """Yield the sentences of the signs that spoke for the verdict (``side`` 1) or against it (-1)."""
    weighed = [(name, side * question.weights.get(name, 0)) for name in found]
    spoken = sorted((item for item in weighed if item[1] > 0), key=lambda item: -item[1])
    yield from (found[name] for name, _ in spoken)
    if not spoken:
        yield "nothing speaks for leaving it out" if side < 0 else "no sign of anything else"
