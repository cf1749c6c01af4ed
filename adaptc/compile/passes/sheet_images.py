"""The images of style sheets. strip-sheets: without backgrounds that the sheet alone shows to be decorative;
half-sheets: at half resolution; sheet-pictures: in formats of which the browser chooses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from adaptc.compile.analyse.decorations.case import Case
from adaptc.compile.analyse.decorations.evidence import DecidedUsage, ImageEvidence, UseEvidence
from adaptc.compile.analyse.decorations.image_rules import ImageRule, sheet_images
from adaptc.compile.analyse.decorations.labels import ImageLabel, Label, label_page
from adaptc.compile.analyse.decorations.rules import DecorationRules
from adaptc.compile.analyse.decorations.signs import signs
from adaptc.compile.analyse.harm import ShownImage
from adaptc.compile.page.backgrounds import UNREADABLE, RemovableImage, clear_backgrounds
from adaptc.compile.page.context import KEPT
from adaptc.compile.page.copies import Copies, FormatCopies, halve_css, with_images
from adaptc.compile.page.image_labels import has_tag
from adaptc.compile.page.pricing import Pricing
from adaptc.compile.page.sheets import declares_encoding, is_utf8, sheet_in_utf8
from adaptc.compile.view import Asset, DerivingView, Options, Outcome
from adaptc.core.model import Action
from adaptc.core.values import dataclass
from adaptc.formats.css.sheet_text import decode_sheet, is_balanced
from adaptc.formats.html.syntax import name_words

# ---- strip-sheets
# A sheet is shared by pages that this pass does not know. So it removes patterns, bullets and what is called an
# ornament; what may be the picture of a control stays: sprites, buttons, checkboxes.

NAME = "strip-sheets"
# The image is the background of a control or of something with a state, or of its parts
_CONTROL = re.compile(
    r"(?<![-\w.#])(?:a|button|input|select|option|label|summary|area|i|img|svg|object|video|iframe)(?![-\w])"
    r"|\[\s*(?:type|role|aria-|href|data-|title|alt)",
    re.IGNORECASE,
)
_LAST_COMPOUND = re.compile(r"[^\s>+~]+(?:\([^)]*\))?\Z")


def strip_sheet(asset: Asset, view: DerivingView, options: Options) -> Outcome:
    """Return a sheet without its decorative backgrounds."""
    if not asset.content.isascii() and not declares_encoding(asset.content) and not is_utf8(asset.content):
        return Outcome(None, (Action(NAME, KEPT, asset.path, "its encoding is that of the page that links it"),))
    text = decode_sheet(asset.content, "utf-8").text
    labels = _Labels(asset.path, text, view, options)
    if not labels.reasons or not is_balanced(text):
        return Outcome(None)
    cleared = clear_backgrounds(text, labels.verdict)
    actions = [Action(NAME, "stripped", labels.subject(url), labels.reasons[url]) for url in cleared.urls]
    actions += [Action(NAME, KEPT, labels.subject(url), UNREADABLE) for url in cleared.unreadable]
    content = _encoded(cleared.text, asset.content) if cleared.urls else None
    return Outcome(content, tuple(dict.fromkeys(actions)))


def _encoded(text: str, original: bytes) -> bytes:
    """Encode as ``styles`` does; see there."""
    content = text.encode("utf-8", "replace")
    return content if content.isascii() or not declares_encoding(original) else b'@charset "utf-8";' + content


@dataclass(frozen=True, slots=True)
class _Place:
    """A rule of the sheet with the file of its image."""

    rule: ImageRule
    path: str


class _Labels:
    """The images of a sheet to remove, by URL as written, and why."""

    def __init__(self, path: str, text: str, view: DerivingView, options: Options) -> None:
        self.path, self.view, self.options = path, view, options
        self.base = view.url_of(path)
        places = [_Place(rule, file) for rule in sheet_images(text).rules if (file := self._file(rule.url))]
        self.files = {place.rule.url: place.path for place in places}
        self.reasons = dict(self._removals(places))

    def _file(self, url: str) -> str | None:
        path = self.view.follow(self.base, url).path
        return path if path is not None and self.view.media_type(path).startswith("image/") else None

    def subject(self, url: str) -> str:
        return self.files[url]

    def verdict(self, url: str) -> RemovableImage | None:
        return RemovableImage(self.view.evidence(self.files[url])) if url in self.reasons else None

    def _removals(self, places: list[_Place]) -> Iterator[tuple[str, str]]:
        """Yield URL and reason of each image to remove, in every rule that shows it."""
        rules, levels = self.view.labelling.rules, self.view.labelling.levels
        if any(override.selector and override.tag.verdict == "keep" for override in rules.overrides):
            return  # the selector matches elements of some pages, which are unknown here
        evidence = {place.path: self.view.evidence(place.path) for place in places}
        uses = [_use(place, self.view) for place in places]
        places_by_url: dict[str, list[_Place]] = {}
        for place in places:
            places_by_url.setdefault(place.rule.url, []).append(place)
        for use in label_page(self.path, uses, evidence, DecidedUsage(self.view.usage), rules, levels):
            reason = self._reason(use, places_by_url[use.ref])
            if reason is not None:
                yield use.ref, reason

    def _reason(self, use: ImageLabel, places: list[_Place]) -> str | None:
        levels = self.view.labelling.levels
        if any(has_tag("keep", _use(place, self.view), levels) for place in places):
            return None
        reason = f"{use.label.value}: {'; '.join(use.reasons[:2])}"
        if use.label is Label.AD:
            return reason if self.options["ads"] else None
        is_asked = use.label is Label.DECORATION and self.options["decorations"]
        is_asked = is_asked and not self._is_worth_its_bytes(use, places)
        return reason if is_asked and all(map(self._is_certain, places)) else None

    def _is_worth_its_bytes(self, use: ImageLabel, places: list[_Place]) -> bool:
        """Whether a decoration of its own size is worth its bytes to a reader, where the level has a price."""
        pricing, path = Pricing.of(self.options, self.view), places[0].path
        shown = None if pricing is None else ShownImage.of(use.label, None, self.view.evidence(path))
        if pricing is None or shown is None:
            return False
        return pricing.is_worth_its_bytes(path, shown, self.options["request"], exact=True)

    def _is_certain(self, place: _Place) -> bool:
        """Whether a rule alone shows that its image is an ornament, and not the picture of a control."""
        rules, evidence = self.view.labelling.rules, self.view.evidence(place.path)
        case = Case(_use(place, self.view), evidence, DecidedUsage(self.view.usage), rules)
        if has_tag("drop", case.use, self.view.labelling.levels):
            return True
        is_ornament = not _CERTAIN.isdisjoint(name for name, _ in signs(case)) or case.use.body
        return is_ornament and not _may_be_control(place, rules) and not _is_sprite(place.rule, evidence)


# Signs of which one is enough without a look at pages
_CERTAIN = frozenset({"hairline", "small", "flat", "repeats", "ornament_name", "shape_name", "arrow_name"})
_PATTERN = re.compile(r"repeat(?:-[xy])?\Z")
# Groups of words, and parts of words, that mean something to press, to open or to choose, or carry meaning
_SPEAKING = ("icon", "notice", "social", "meaning", "logo", "portrait", "figure")
_CONTROLS = re.compile(
    r"btn|button|icon|sprite|glyph|check|radio|switch|toggle|slide|handle|sort|search|load|spin|control|play|pause"
    r"|menu|pager|tree|ui-|logo|brand|avatar|marker|select|drop|close|open|expand|collaps|error|valid|success|prev|next"
    r"|arrow|thumb|rating|star|flag|carousel|gallery|photo",
    re.IGNORECASE,
)


def _may_be_control(place: _Place, rules: DecorationRules) -> bool:
    named = f"{place.rule.selector} {place.rule.url.rpartition('/')[2]}"
    parts = frozenset(name_words(named))
    speaking = any(parts & rules.words[group] for group in _SPEAKING)
    return speaking or bool(_CONTROLS.search(named)) or bool(_CONTROL.search(place.rule.selector))


def _is_sprite(rule: ImageRule, evidence: ImageEvidence) -> bool:
    """Whether the rule shows a part of its image: the box that it gives is smaller."""
    if rule.size or _PATTERN.match(rule.repeat):
        return False
    return bool((rule.width and evidence.width and rule.width < 0.7 * evidence.width)
                or (rule.height and evidence.height and rule.height < 0.7 * evidence.height))  # fmt: skip


def _subject(selector: str) -> str:
    """Return the last compound of a selector: what it styles."""
    match = _LAST_COMPOUND.search(selector.strip())
    return match[0] if match else selector


def _use(place: _Place, view: DerivingView) -> UseEvidence:
    rule = place.rule
    tags = tuple(each.tag for each in view.labelling.rules.overrides if each.matches_url(rule.url, place.path))
    return UseEvidence(
        rule.url,
        "background",
        place.path,
        width=rule.width,
        height=rule.height,
        names=tuple(name_words(rule.selector)),
        property=rule.property,
        repeat=rule.repeat,
        pseudo=rule.pseudo,
        replaces_text=rule.hides_text,
        body=_subject(rule.selector).partition(".")[0] in ("html", "body"),
        tags=tags,
    )


# ---- half-sheets and sheet-pictures
# ``url(a.png)`` becomes ``image-set(url(half.webp) 0.5x)`` (CSS Images 4, 2.4), shown as large as before, or
# ``image-set(url(a.avif) type("image/avif"), ...)``, for backgrounds, list markers and ``content``. The original
# declaration stays in front of it: browsers from before 2023 use that one, others drop it before anything is fetched
# (checked in Chromium).

HALF, PICTURES = "half-sheets", "sheet-pictures"


def halve_sheet(asset: Asset, view: DerivingView, options: Options) -> Outcome:
    """Point a style sheet to copies of its images; its encoding stays what it was."""
    text = sheet_in_utf8(asset.content)
    if text is None:
        return Outcome(None, (Action(HALF, KEPT, asset.path, "it is not in UTF-8"),))
    pricing = Pricing.of(options, view)
    copies = Copies(view, view.url_of(asset.path), asset.path, options, HALF, pricing=pricing, as_stored=True)
    halved = halve_css(text, copies.of_sheet)
    return Outcome(None if halved == text else halved.encode(), tuple(copies.actions))


def offer_formats(asset: Asset, view: DerivingView, options: Options) -> Outcome:
    """Offer the images of a style sheet in the formats of the option; its encoding stays what it was."""
    text = sheet_in_utf8(asset.content)
    if text is None:
        return Outcome(None, (Action(PICTURES, KEPT, asset.path, "it is not in UTF-8"),))
    copies = FormatCopies(view, view.url_of(asset.path), asset.path, options, as_stored=True)
    offered = with_images(text, copies.image_set)
    actions = tuple(Action(PICTURES, "offered", path, f"{size:,} bytes fewer") for path, size in copies.saved.items())
    return Outcome(None if offered == text else offered.encode(), actions)
