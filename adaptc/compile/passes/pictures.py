"""pictures: images in other formats and of the sizes that are shown, of which the browser chooses one.

A server that negotiates sends them under the address of the image. Where none does, the page offers them itself: in a
``<picture>`` without a box around the ``<img>``, which stays as it is.

The layout cannot move. A source with ``sizes`` has its natural size corrected by its density (HTML, 4.8.4.3), so each
says the width of the original, and media conditions choose among them, whatever the style sheets make of the image.
A copy of which the sides have not quite the ratio of the original's, as 852 by 567 pixels for 1280 by 852, would make
it a part of a pixel lower, by which lines of text below it are rounded otherwise: its ``aspect-ratio`` says the shape.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING

from adaptc.browser.evidence import WIDTHS
from adaptc.compile.page.context import KEPT, PageContext, Report, is_compared, is_isolated
from adaptc.compile.page.copies import Copy, FormatCopies, shows_as_stored, single_source_set, with_images
from adaptc.compile.page.guarded_images import GuardedImages, NamedImages, answer_as_written, makes_images, stateless
from adaptc.compile.page.image_sizes import PageSizing, ShownImages
from adaptc.compile.page.sheets import PageSheets, page_sheets
from adaptc.compile.page.transfer_sizes import transfer_size
from adaptc.compile.passes.dimensions import OwnShapes, is_styled, names_by_script, natural_size, own_ratio
from adaptc.compile.view import DerivingView, Options
from adaptc.core.model import Action
from adaptc.core.values import dataclass
from adaptc.formats.css.images import image_declarations
from adaptc.formats.css.rules import GROUPS, Item, sheet_items
from adaptc.formats.css.selectors import AddressSelectors, required_names, selector_names, static_selectors
from adaptc.formats.html.document import parse_bare
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.syntax import class_names, split_tokens
from adaptc.formats.image.halve import scaled_size, slack
from adaptc.formats.script.addresses import has_lazy_address
from adaptc.formats.script.lookups import union_of

if TYPE_CHECKING:
    from turbohtml import Document, Element

NAME = "pictures"
# Attributes that choose an image, ask for it in another way, or send coordinates
_CHOOSING = frozenset({"srcset", "sizes", "crossorigin", "ismap"})
# A copy is used up to this width of a window. A phone turned or a little wider shows an image a little larger, and
# between the widths that were looked at, it may be as wide as the window.
_PHONE, _LAPTOP = WIDTHS
_WIDEST_PHONE = 430
_SPARE = _WIDEST_PHONE / _PHONE
# Widths of copies are multiples of so many pixels, so that pages that show an image at nearly the same size share one.
# A copy with nearly all pixels of the original saves nothing.
_STEP, _LARGEST_SHARE = 80, 0.85
# CSS pixels in which browsers lay out
_UNIT = 1 / 64


def add_pictures(editor: Editor, page: PageContext, view: DerivingView, options: Options) -> Report:
    """Put a ``<picture>`` with sources around the images of the page's markup, and offer those of its own CSS.

    Images stay that a script of the site may change or names, that have a choice already, and all under a
    Content-Security-Policy. Those around which a rule of a style sheet would match otherwise, or a sheet that is not
    known may, show a copy in their own place on pages with scripts (``GuardedImages``). ``density`` is the number of
    pixels of a copy for each CSS pixel of the largest box seen.
    """
    report = Report()
    reason = _reason_to_leave(page)
    if reason is not None:
        report.actions.append(Action(NAME, KEPT, "images", reason))
        return report
    sheets = page_sheets(editor.tree, page.base, view)
    as_stored = shows_as_stored(editor.text, page, sheets, view)
    given = (view, page.base, page.base_path or "", options)
    copies = FormatCopies(*given, as_stored=as_stored, preloaded=page.preloaded)
    reads_backgrounds = any(script.reads_backgrounds for script in page.scripts.values())
    apart = dict.fromkeys(_in_frames(editor, copies), "a document in a frame shows it")
    if reads_backgrounds:
        apart |= dict.fromkeys(_backgrounds(editor, copies), "it is a background")
    loaded, in_place = _wrap_images(editor, page, view, options, copies, report, apart)
    if not reads_backgrounds:
        _offer_in_css(editor, copies, loaded | apart.keys(), in_place, report)
    return report


_ADDRESS = re.compile(r"[^\s\"'()<>&;,=]+\.(?:avif|gif|jpe?g|png|webp)\b", re.IGNORECASE)


def _in_frames(editor: Editor, copies: FormatCopies) -> Iterator[str | None]:
    """Yield the images of documents in attributes of frames, which load them as they are."""
    for frame in editor.tree.select("iframe[srcdoc]"):
        yield from (copies.image(address) for address in _ADDRESS.findall(frame.attr("srcdoc") or ""))


def _backgrounds(editor: Editor, copies: FormatCopies) -> Iterator[str | None]:
    """Yield the images of the page's own CSS."""
    attributes = (element.attr("style") or "" for element in editor.tree.select('[style*="("]'))
    texts = ((text, True) for text in attributes)
    for text, is_attribute in (*texts, *((element.text, False) for element in editor.tree.select("style"))):
        for declaration in image_declarations(text, declarations=is_attribute):
            yield from (copies.image(reference.url) for reference in declaration.urls)


def _offer_in_css(
    editor: Editor,
    copies: FormatCopies,
    loaded: frozenset[str | None],
    in_place: frozenset[str | None],
    report: Report,
) -> None:
    """Offer the images of style elements and attributes, but those that the page loads as they are anyway.

    Those that an image shows in its place have that copy.
    """

    def image_set(url: str) -> str | None:
        path = copies.image(url)
        return None if path in loaded else copies.image_set(url, (_FOR_ALL,) if path in in_place else None)

    for element in editor.tree.select('style, [style*="("]'):
        if is_isolated(element, editor.text) or (element.attr("type") or "text/css").lower() != "text/css":
            continue
        if element.tag == "style":
            if is_compared(element, editor.text):
                continue
            editor.set_raw_text(element, with_images(element.text, image_set))
            continue
        style = element.attr("style") or ""
        offered = with_images(style, image_set, declarations=True)
        if offered != style:
            editor.set_attribute(element, "style", offered)
    report.absorbed = sum(copies.saved.values())
    report.actions += [Action(NAME, "offered", path, f"{size:,} bytes fewer") for path, size in copies.saved.items()]


def _wrap_images(
    editor: Editor,
    page: PageContext,
    view: DerivingView,
    options: Options,
    copies: FormatCopies,
    report: Report,
    apart: Mapping[str | None, str],
) -> tuple[frozenset[str | None], frozenset[str | None]]:
    """Put a ``<picture>`` around images, but for the files that stay ``apart`` for a reason.

    Returns the files that the page loads as they are anyway, and those of which an image shows a copy in its place.
    """
    every = list(editor.tree.iter_elements("img"))
    images = [image for image in every if _has_one_source(image, editor)]
    sheets = page_sheets(editor.tree, page.base, view) if images else None
    if sheets is None:
        return _files(every, copies), frozenset()
    pictures = _Pictures(editor, page, view, options, copies, sheets, report)
    offered: dict[Element, str] = {}
    reason = "a style sheet is not a file of this site"
    if sheets.are_known:
        offered = {image: markup for image in images if (markup := pictures.sources(image))}
        reason = "a rule of a style sheet may match otherwise there, or elsewhere"
    chosen = wrappable_images(editor.text, editor.tree, list(offered), sheets.texts)
    loaded = _files((image for image in every if image not in chosen), copies) | apart.keys()
    chosen = [image for image in chosen if copies.image(image.attr("src") or "") not in loaded]
    named = frozenset(filter(pictures.is_named, images))
    left = [image for image in ((*offered, *named) if sheets.are_known else images) if image not in chosen]
    shown = _show_in_place(left, every, pictures, AddressSelectors.of(sheets.texts), apart)
    kept = {copies.image(image.attr("src") or "") or "img": image in named for image in left if image not in shown}
    for path, is_named in kept.items():
        why = apart.get(path) or ("a script may name it" if is_named else reason)
        report.actions.append(Action(NAME, KEPT, path, why))
    for image in chosen:
        start, end = start_tag(image)
        tag = f"<img{pictures.shapes.get(image, '')}{editor.text[start:end][len('<img') :]}"
        editor.replace_element(image, f"{OPENING}{offered[image]}{tag}</picture>")
        report.actions.append(
            Action(NAME, "offered", copies.image(image.attr("src") or "") or "img", "in other formats or sizes")
        )
    if chosen:
        answer_as_written(editor, page, _IS_WRAPPED)
    stay = (image for image in every if image not in chosen and image not in shown)
    return _files(stay, copies), _files(shown, copies)


def _files(images: Iterable[Element], copies: FormatCopies) -> frozenset[str | None]:
    """Return the files of images, ``None`` for those of other sites."""
    return frozenset(copies.image(image.attr("src") or "") for image in images)


# The format of a copy in the place of an image: every browser since 2020 knows it, and for others there is a script
_FOR_ALL = "webp"
# Bytes that this script takes, and what the images of a page must save for it
_SCRIPT = 1024


def _show_in_place(
    images: Sequence[Element],
    every: Sequence[Element],
    pictures: _Pictures,
    selectors: AddressSelectors,
    apart: Mapping[str | None, str],
) -> frozenset[Element]:
    """Show copies by source sets of ``images`` around which no ``<picture>`` may be; return those that show one.

    No rule matches otherwise then, whatever it is. A file that another image of the page shows as it is has no copy: it
    would be loaded twice.
    """
    guarded, copies = GuardedImages(pictures.editor, pictures.page), pictures.copies
    if not guarded.is_needed or _FOR_ALL not in copies.formats:
        return frozenset()
    free = {image: path for image in images if (path := pictures.path_in_place(image)) and path not in apart}
    free = {image: path for image, path in free.items() if not selectors.may_choose(image.attrs, has_new_src=False)}
    taken = _files((image for image in every if image not in free), copies)
    found = {
        image: (path, copy)
        for image, path in free.items()
        if path not in taken and (copy := copies.in_format(path, image.attr("src") or "", _FOR_ALL)) is not None
        if copies.is_worth_it(path, [copy])
    }
    sizes = {path: transfer_size(path, pictures.view) - copy.file.size for path, copy in found.values()}
    if sum(sizes.values()) < _SCRIPT:
        return frozenset()
    for image, (path, copy) in found.items():
        source_set = single_source_set(copy)
        guarded.show(image, source_set.srcset, source_set.sizes)
        pictures.report.actions.append(Action(NAME, "offered", path, "as WebP, in its place"))
    guarded.finish(falls_back=True)
    return frozenset(found)


def _reason_to_leave(page: PageContext) -> str | None:
    if page.base_path is None:
        return "the page's base is not on this site"
    if page.has_policy:
        return "a Content-Security-Policy restricts the page"
    return None


def _has_one_source(image: Element, editor: Editor) -> bool:
    parent = getattr(image.parent, "tag", "picture")
    is_plain = (
        parent != "picture"
        and "(" not in (image.attr("style") or "")
        and bool(image.attr("src"))
        and _CHOOSING.isdisjoint(image.attrs)
    )
    return is_plain and image.source_location is not None and not is_isolated(image, editor.text)


@dataclass(frozen=True, slots=True)
class _Range:
    """A copy for windows up to ``widest`` CSS pixels, all where that is ``None``; of ``width`` pixels, or all."""

    widest: int | None
    width: int | None


class _Pictures:
    """The sources of the images of one page."""

    def __init__(
        self,
        editor: Editor,
        page: PageContext,
        view: DerivingView,
        options: Options,
        copies: FormatCopies,
        sheets: PageSheets,
        report: Report,
    ) -> None:
        self.editor, self.page, self.view, self.options, self.copies = editor, page, view, options, copies
        self.sizing = PageSizing(sheets.texts, (), names_by_script(editor, page) if page.scripts else None)
        self.report = report
        self.shown = ShownImages(page.evidence)
        self.named = NamedImages(editor.tree, page)
        self.handles = union_of([facts.handles for facts in page.scripts.values()])
        self._in_css = frozenset(_backgrounds(editor, copies))
        self._natural: dict[str, tuple[int, int] | None] = {}
        # attributes of images that need them to keep their shape
        self.shapes: dict[Element, str] = {}
        self._own_shapes = OwnShapes(page, sheets, self.sizing)

    def sources(self, image: Element) -> str:
        """Return the markup of the sources of an image, empty if there are none worth it."""
        url = image.attr("src") or ""
        path = self.free_path(image)
        if path is None:
            return ""
        if path not in self._natural:
            self._natural[path] = natural_size(self.view.read(path), self.view)
        natural = self._natural[path]
        if natural is None:
            return ""
        # what the page's CSS shows is loaded whole
        ranges = [_Range(None, None)] if path in self._in_css else list(self._ranges(image, path, natural))
        if any(_slack(each, natural) for each in ranges):
            self.shapes[image] = f' style="{own_ratio(natural)}"'
        return "".join(self._markup(path, url, ranges))

    def free_path(self, image: Element) -> str | None:
        """Return the file of an image that no script of the site may change."""
        return None if self.is_named(image) else self.copies.image(image.attr("src") or "")

    def path_in_place(self, image: Element) -> str | None:
        """Return the file of an image that no script may change, or that none did or showed as a browser looked.

        The guard gives way to what one does later. A script that makes images may load the ``src``, too.
        """
        path = self.copies.image(image.attr("src") or "")
        is_left = path is not None and self.shown.is_unchanged(path) and not has_lazy_address(image.attrs)
        return path if (is_left and not makes_images(self.page)) or not self.is_named(image) else None

    def is_named(self, image: Element) -> bool:
        """Whether a script of the site may change an image of a file, or find it and what is around it."""
        if not self.page.scripts or self.copies.image(image.attr("src") or "") is None:
            return False
        if any(map(self._is_named, (image, image.parent))) or self.named.includes(image):
            return True
        return has_lazy_address(image.attrs) and self.page.changes_images()

    def _is_named(self, element: object) -> bool:
        attributes, names = getattr(element, "attrs", {}), self.handles
        classes = split_tokens(str(getattr(element, "attr", lambda _: "")("class") or ""))
        return names.may_be_id(attributes.get("id")) or not names.classes.isdisjoint(classes)

    def _ranges(self, image: Element, path: str, natural: tuple[int, int]) -> Iterator[_Range]:
        """Yield the copies, those for narrow windows first; the last is for all windows."""
        phone, laptop = (self._seen_pixels(path, natural, width) for width in (_PHONE, _LAPTOP))
        if phone is not None and laptop is not None:
            wide = max(laptop, phone, min(_LAPTOP, natural[0]))
            yield from self._if_smaller(_Range(_WIDEST_PHONE, _stepped(phone * _SPARE)), natural, image)
            if wide > phone * _SPARE:
                yield from self._if_smaller(_Range(_LAPTOP, _stepped(wide)), natural, image)
        fixed = self._fixed_width(image)
        if fixed is not None and (phone is None or laptop is None):
            copy = _Range(None, _stepped(fixed * self.options["density"]))
            yield from list(self._if_smaller(copy, natural, image)) or (_Range(None, None),)
            return
        yield _Range(None, None)

    def _if_smaller(self, copy: _Range, natural: tuple[int, int], image: Element) -> Iterator[_Range]:
        is_smaller = copy.width is not None and copy.width < _LARGEST_SHARE * natural[0]
        if not is_smaller or self.options["target"] == "exact" or self.page.draws_parts():
            return
        if _slack(copy, natural) <= _UNIT or self._own_shapes.takes(image):
            yield copy

    def _seen_pixels(self, path: str, natural: tuple[int, int], width: int) -> float | None:
        share = self.shown.share(path, natural, width)
        return None if share is None else min(share * self.options["density"], 1.0) * natural[0]

    def _fixed_width(self, image: Element) -> int | None:
        """Return the width in CSS pixels that attributes give an image, if nothing else can."""
        width, parent = image.attr("width") or "", image.parent
        is_plain = width.isascii() and width.isdigit() and "style" not in image.attrs and not self.page.has_scripts
        if not is_plain or is_styled(image) or self.sizing.may_size(image, parent):  # type: ignore[arg-type]
            return None
        return int(width) or None

    def _markup(self, path: str, url: str, ranges: list[_Range]) -> Iterator[str]:
        """Yield sources, none if the copy that all windows get is hardly smaller than the file."""
        if self.copies.is_worth_it(path, self.copies.of(path, url, ranges[-1].width)):
            yield from (_source(copy, each) for each in ranges for copy in self.copies.of(path, url, each.width))


def _slack(copy: _Range, natural: tuple[int, int]) -> float:
    """Return by how many CSS pixels a copy would change the height of an image in its own size."""
    return 0.0 if copy.width is None else slack(natural, scaled_size(*natural, copy.width / natural[0]))


def _stepped(pixels: float) -> int:
    return ceil(pixels / _STEP) * _STEP


def _source(copy: Copy, place: _Range) -> str:
    condition = "" if place.widest is None else f' media="(max-width:{place.widest}px)"'
    scaled = single_source_set(copy)
    chosen = f'srcset="{copy.url}"' if place.width is None else f'srcset="{scaled.srcset}" sizes="{scaled.sizes}"'
    return f'<source{condition} type="{copy.file.media_type}" {chosen} {_BOXLESS}>'


# ---- Which images can get a ``<picture>`` around them: every rule of the page matches the same elements as before
# The element has no box (``display: contents``), so that an image stays the flex or grid item that it is. What is
# left are selectors (``p > img``, ``img + p``, ``:first-child``) and what an image inherits. Those that could match
# otherwise are matched with the page as it was and as it would be.

# A source would be a flex or grid item of its own, in the place of the first: with a gap, and with the baseline of all
_BOXLESS = 'style="display:none"'
OPENING = '<picture style="display:contents">'
# Whether it is around an image, for scripts that ask which file that shows
_IS_WRAPPED = "this.previousElementSibling&&this.parentNode?.matches?.('picture[style=\"display:contents\"]')"
# The same while selectors are compared, so that a page's own pictures are told apart
_MARK = "data-wrapping"
_MARKED = f'<picture style="display:contents" {_MARK}>'
# What a selector needs to match otherwise: a combinator but the descendant's, a structure, anything, a style
_DEPENDS = re.compile(r"[>+~:*]|\[\s*style\b|\bpicture\b", re.IGNORECASE)
_REACHES_OTHERS = re.compile(r"[+~]|:has\(", re.IGNORECASE)
# What is inherited anyway reaches an image through the picture, unless a rule gives that something else
_INHERITS = re.compile(r"([\w-]+)\s*:\s*inherit\b", re.IGNORECASE)
_INHERITED = re.compile(
    r"(?<![-\w])(?:font|color|line-height|cursor|direction|letter-spacing|list-style|quotes|text-(?:align|indent|transform)"
    r"|visibility|white-space|word-(?:spacing|break|wrap)|overflow-wrap|-webkit-(?:text-|font-)|pointer-events)[\w-]*\Z",
    re.IGNORECASE,
)
_PROPERTY = re.compile(r"(?:\A|[{;\s])([\w-]+)\s*:")
# A part of the size of a picture, of which an image would take its part
_RELATIVE = re.compile(
    r"(?<![-\w])font(?:-size)?\s*:[^;]*?(?:(?<![\d.])(?!100%)[\d.]+(?:em|%|ex|ch)|larger|smaller)", re.I
)
_SHOWS = re.compile(r"(?<![-\w])(?:display|all)\s*:[^;]*(?:!\s*important|inherit)", re.IGNORECASE)


def wrappable_images(text: str, tree: Document, images: Sequence[Element], sheets: Iterable[str]) -> list[Element]:
    """Return those of ``images`` that can get a ``<picture>``; ``tree`` is that of ``text``, ``sheets`` are all of it.

    Classes of states (``active``, ``open``) count as set on every element.
    """
    rules = list(_relevant(tree, images, sheets))
    if any(rule.selector is None for rule in rules):
        return []
    chosen = [image for image in images if "inherit" not in (image.attr("style") or "").lower()]
    while chosen:
        disturbed = _Comparison(text, tree, chosen).disturbed(rules)
        if not disturbed:
            break
        chosen = [image for image in chosen if image not in disturbed]
    return chosen


def start_tag(image: Element) -> tuple[int, int]:
    """Return where the start tag of an image begins and ends in its text. Raises ``ValueError`` if it has none."""
    place = image.source_location
    if place is None:
        raise ValueError("the element has no tag in the text")
    return place.start_tag.start_offset, place.start_tag.end_offset


# ---- rules


@dataclass(frozen=True, slots=True)
class _Rule:
    """A selector, ``None`` for one of unknown syntax, and whether its declarations inherit, or give a box.

    ``inherits_text`` and ``sets_text`` are about properties that are inherited anyway, as those of text are.
    """

    selector: str | None
    inherits: bool
    shows: bool
    inherits_text: bool = False
    sets_text: bool = False


@lru_cache(maxsize=64)
def _rules(sheet: str) -> tuple[_Rule, ...]:
    return tuple(_rules_of(sheet, sheet_items(sheet), ()))


def _rules_of(sheet: str, items: Sequence[Item], parents: tuple[str, ...]) -> Iterator[_Rule]:
    for item in items:
        if item.name in GROUPS:
            yield from _rules_of(sheet, item.items, parents)
        elif item.is_rule:
            prelude, body = sheet[item.start : item.prelude], sheet[item.body : item.close]
            selectors = static_selectors(prelude, parents)
            effects = _effects(body)
            if not selectors and _DEPENDS.search(prelude):
                yield _Rule(None, *effects)
            for selector in selectors:
                if any(effects[:3]) or _DEPENDS.search(selector):
                    yield _Rule(stateless(selector), *effects)
            yield from _rules_of(sheet, [each for each in item.items if not each.is_declaration], selectors)


def _effects(body: str) -> tuple[bool, bool, bool, bool]:
    """Return what a ``_Rule`` says of its declarations."""
    inherited = Counter(_INHERITS.findall(body))
    is_text = [_INHERITED.search(name) is not None for name in inherited]
    shows = _SHOWS.search(body) is not None or _RELATIVE.search(body) is not None
    sets_text = any(map(_INHERITED.search, Counter(_PROPERTY.findall(body)) - inherited))
    return not all(is_text), shows, any(is_text), sets_text


def _relevant(tree: Document, images: Sequence[Element], sheets: Iterable[str]) -> Iterator[_Rule]:
    """Yield the rules that may match something of the page, and an image or what follows one."""
    names = set().union(*map(_names, tree.select("*")), {"picture"})
    subjects = {"", "picture"}.union(*map(_names, images))
    for rule in dict.fromkeys(rule for sheet in sheets for rule in _rules(sheet)):
        if rule.selector is None or _may_concern(rule.selector, names, subjects):
            yield rule


def _may_concern(selector: str, names: set[str], subjects: set[str]) -> bool:
    if not {name.lower() for name in required_names(selector)} <= names:
        return False
    return bool(_REACHES_OTHERS.search(selector)) or selector_names(selector).subject.lower() in subjects


def _names(element: Element) -> set[str]:
    """Return the names of an element as those of selectors, in lower case: in quirks mode case does not count."""
    classes = map(str.lower, class_names(element))
    attributes = (f"[{name}" for name in element.attrs)
    return {element.tag, f"#{(element.attr('id') or '').lower()}", *(f".{name}" for name in classes), *attributes}


# ---- the page before and after


class _Comparison:
    """A page, and the same with ``images`` in pictures."""

    def __init__(self, text: str, tree: Document, images: Sequence[Element]) -> None:
        self.tree, self.images = tree, images
        self.after = parse_bare(_wrapped(text, images))
        self.elements = tree.select("*")
        self.counterparts = [each for each in self.after.select("*") if not _is_wrapper(each)]
        self._numbers = {element: number for number, element in enumerate(self.elements)}
        self._later_numbers = {element: number for number, element in enumerate(self.counterparts)}

    def disturbed(self, rules: Iterable[_Rule]) -> set[Element]:
        """Return the images whose pictures let a rule match otherwise; all of them where that is not known."""
        if [each.tag for each in self.elements] != [each.tag for each in self.counterparts]:
            return set(self.images)
        rules = list(rules)
        found = set["Element"]().union(*map(self._disturbed_by, rules))
        if len(found) == len(self.images):  # a selector may be wrong
            return found
        given = set[int]().union(*(self._matched(rule)[1] for rule in rules if rule.sets_text))
        taken = set[int]().union(*(self._matched(rule)[0] for rule in rules if rule.inherits_text and given))
        return found | {self.elements[number] for number in given & taken}

    def _matched(self, rule: _Rule) -> tuple[set[int], set[int]]:
        """Return the elements that a rule matches with pictures, and those whose picture it matches."""
        matched = self.after.select(rule.selector or "*")
        wrapped = {self._wrapped_by(each) for each in matched if _is_wrapper(each)}
        return {self._later_numbers[each] for each in matched if not _is_wrapper(each)}, wrapped

    def _disturbed_by(self, rule: _Rule) -> set[Element]:
        from turbohtml import SelectorSyntaxError

        assert rule.selector is not None
        try:
            before = {self._numbers[each] for each in self.tree.select(rule.selector) if each in self._numbers}
            after, wrapped = self._matched(rule)
        except SelectorSyntaxError:
            return set(self.images)
        found = {culprit for number in before ^ after for culprit in self._culprits(self.elements[number])}
        found.update(self.elements[number] for number in wrapped if rule.shows or number not in after)
        if rule.inherits:
            found.update(image for image in self.images if self._numbers[image] in after - wrapped)
        return found

    def _culprits(self, element: Element) -> Iterable[Element]:
        """Return the images around which pictures may change what matches an element."""
        if element in self.images:
            return (element,)
        return [image for image in self.images if image.parent == element.parent] or self.images

    def _wrapped_by(self, picture: Element) -> int:
        return self._later_numbers[next(iter(picture.iter_elements("img")))]


def _wrapped(text: str, images: Iterable[Element]) -> str:
    pieces, end = [], 0
    for start, stop in sorted(start_tag(image) for image in images):
        pieces += [text[end:start], _MARKED, text[start:stop], "</picture>"]
        end = stop
    return "".join([*pieces, text[end:]])


def _is_wrapper(element: Element) -> bool:
    return element.tag == "picture" and _MARK in element.attrs
