"""The signs that a person would go by, each with a sentence: ``everywhere`` "used by 512 of 766 pages".

``SIGNS`` is the list of all; the rules give each a weight for each question (decoration? logo? story?). A sign is
either there or not, so that every score can be read as a sum of sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from adaptc.analyse.decorations.evidence import ImageEvidence, SiteCounts, UseEvidence
from adaptc.analyse.decorations.rules import DecorationRules
from adaptc.analyse.decorations.surroundings import words


@dataclass(frozen=True)
class View:
    """Everything that is known of one use."""

    use: UseEvidence
    image: ImageEvidence | None
    counts: SiteCounts
    rules: DecorationRules

    @cached_property
    def size(self) -> tuple[float, float] | None:
        """Width and height as shown in px: those of the markup, completed by the file's ratio, or the file's."""
        width, height = self.use.width, self.use.height
        natural = self.image and self.image.width and self.image.height and (self.image.width, self.image.height)
        if width and height:
            return width, height
        if not natural:
            return (width or height, width or height) if width or height else None  # type: ignore[return-value]
        scale = width / natural[0] if width else height / natural[1] if height else 1.0
        return natural[0] * scale, natural[1] * scale

    @cached_property
    def longest(self) -> float:
        """The longer side in px; 0 where the size is not known."""
        return max(self.size) if self.size else 0.0

    @cached_property
    def shortest(self) -> float:
        """The shorter side in px; 0 where the size is not known."""
        return min(self.size) if self.size else 0.0

    @cached_property
    def file_name(self) -> str:
        """The name of the file in lower case."""
        return (self.use.path or self.use.url.partition("?")[0]).lower().rpartition("/")[2]

    @cached_property
    def file_words(self) -> frozenset[str]:
        """The words of the file's name and of the folder it is in."""
        path = (self.use.path or self.use.url.partition("?")[0]).rsplit("/", 2)
        return frozenset(words(path[-1].partition(".")[0])) | frozenset(words(path[-2] if len(path) > 1 else ""))

    @cached_property
    def all_words(self) -> frozenset[str]:
        """The words of the file's name, and of class and id of the element and of what is around it."""
        return self.file_words | frozenset(self.use.names)

    @cached_property
    def alt_words(self) -> frozenset[str]:
        """The words of the alternative text."""
        return frozenset(words(self.use.alt or ""))

    def named(self, group: str, found: frozenset[str]) -> str | None:
        """Return a word of the group among those found."""
        return min(found & self.rules.words.get(group, frozenset()), default=None)

    def is_background(self) -> bool:
        """Whether a style sheet shows it."""
        return self.use.kind == "background"


# A sign returns its sentence, or None where it is not there.
Sign = Callable[[View], "str | None"]
SIGNS: dict[str, Sign] = {}


def _sign(read: Sign) -> Sign:
    SIGNS[read.__name__.strip("_")] = read
    return read


def signs(view: View) -> Iterator[tuple[str, str]]:
    """Yield name and sentence of each sign of a use."""
    for name, read in SIGNS.items():
        sentence = read(view)
        if sentence is not None:
            yield name, sentence


def _if(condition: object, sentence: str) -> str | None:
    return sentence if condition else None


# ---- size and pixels


@_sign
def hairline(view: View) -> str | None:
    return _if(view.size and view.shortest <= view.rules.limits["hairline"], _size(view))


@_sign
def small(view: View) -> str | None:
    limits = view.rules.limits
    return _if(view.size and view.shortest > limits["hairline"] and view.longest <= limits["small"], _size(view))


@_sign
def icon_sized(view: View) -> str | None:
    limits = view.rules.limits
    return _if(view.size and limits["small"] < view.longest <= limits["icon"], _size(view))


@_sign
def large(view: View) -> str | None:
    return _if(not view.is_background() and view.shortest >= view.rules.limits["large"], _size(view))


@_sign
def stripe(view: View) -> str | None:
    is_stripe = view.size and view.shortest > 0 and view.longest / view.shortest >= view.rules.limits["stripe"]
    return _if(is_stripe, f"{_size(view)}, a stripe")


def _size(view: View) -> str:
    return f"{view.size[0]:.0f}x{view.size[1]:.0f} px" if view.size else ""


@_sign
def flat(view: View) -> str | None:
    image = view.image
    is_flat = image and image.entropy is not None and image.entropy < view.rules.limits["flat"]
    return _if(is_flat, "hardly any picture in it (flat colour)")


@_sign
def photo(view: View) -> str | None:
    image, limits = view.image, view.rules.limits
    if image is None or image.entropy is None or image.colours is None or view.is_background():
        return None
    return _if(
        image.entropy >= limits["photo"] and image.colours >= limits["photo_colours"],
        "looks like a photograph",
    )


@_sign
def vector(view: View) -> str | None:
    return _if(view.image and view.image.is_vector, "drawn from shapes (SVG)")


@_sign
def animated(view: View) -> str | None:
    return _if(view.image and view.image.frames > 1, "animated")


# ---- the site


@_sign
def everywhere(view: View) -> str | None:
    is_so = view.counts.pages >= view.rules.limits["pages"] and view.counts.share(view.use.path) >= 0.5
    return _if(is_so, _used_by(view))


@_sign
def shared(view: View) -> str | None:
    uses, counts = view.counts.uses.get(view.use.path or "", 0), view.counts
    return _if(counts.share(view.use.path) < 0.5 and uses >= view.rules.limits["shared"], _used_by(view))


@_sign
def unique(view: View) -> str | None:
    is_so = view.counts.pages >= view.rules.limits["pages"] and view.counts.uses.get(view.use.path or "") == 1
    return _if(is_so and not view.is_background(), "used by this page alone")


@_sign
def first_on_pages(view: View) -> str | None:
    first, uses = view.counts.first.get(view.use.path or "", 0), view.counts.uses.get(view.use.path or "", 0)
    is_many = first >= max(3, view.counts.pages * view.rules.limits["first_share"])
    return _if(is_many and first >= 0.5 * uses, f"the first image of {first:,} pages")


def _used_by(view: View) -> str:
    return f"used by {view.counts.uses.get(view.use.path or '', 0):,} of {view.counts.pages:,} pages"


# ---- the page


@_sign
def repeated(view: View) -> str | None:
    return _if(not view.is_background() and view.use.times >= 3, f"{view.use.times} times on this page")


@_sign
def series(view: View) -> str | None:
    return _if(view.use.alike >= 3, f"one of {view.use.alike} different images in places of the same kind")


@_sign
def first(view: View) -> str | None:
    return _if(not view.is_background() and view.use.order == 0, "the first image of the page")


@_sign
def before_heading(view: View) -> str | None:
    return _if(not view.is_background() and view.use.before_heading, "stands before the first heading")


# ---- what is said of it


@_sign
def alt_empty(view: View) -> str | None:
    return _if(not view.is_background() and view.use.alt is not None and not view.use.alt.strip(), "empty alt")


@_sign
def alt_missing(view: View) -> str | None:
    return _if(view.use.kind == "img" and view.use.alt is None, "no alt")


@_sign
def alt_text(view: View) -> str | None:
    return _if(_says_something(view), f'alt "{_shortened(view.use.alt or "")}"')


@_sign
def alt_idle(view: View) -> str | None:
    is_idle = not view.is_background() and view.use.alt and not _says_something(view)
    return _if(is_idle, f'alt "{_shortened(view.use.alt or "")}" says nothing')


@_sign
def alt_sentence(view: View) -> str | None:
    return _if(not view.is_background() and len((view.use.alt or "").split()) >= 4, "its alt is a sentence")


def _says_something(view: View) -> bool:
    """Whether the alternative text is more than punctuation, the file's name, or words for any picture."""
    text = (view.use.alt or "").lower()
    if view.is_background() or not any(map(str.isalnum, text)):
        return False
    return not (_is_letter(text) or _is_idle(view) or _is_file_name(text, view))


def _is_letter(text: str) -> bool:
    """Whether a letter stands for a shape, as in ``o`` for a bullet; a digit is a number."""
    return len(text) == 1 and text.isascii() and text.isalpha()


def _is_idle(view: View) -> bool:
    found = view.rules.words
    return bool(view.alt_words) and view.alt_words <= found["idle"] | found["ornament"] | found["shape"]


def _is_file_name(text: str, view: View) -> bool:
    looks_like_one = len(text) >= 3 and any(mark in text for mark in "._-0123456789")
    return looks_like_one and text.rpartition("/")[2] in view.file_name


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


@_sign
def hidden(view: View) -> str | None:
    return _if(view.use.hidden, "hidden from assistive technology")


# ---- where it stands


@_sign
def in_header(view: View) -> str | None:
    return _if(view.use.region == "header", "in the header")


@_sign
def in_nav(view: View) -> str | None:
    return _if(view.use.region == "nav", "in the navigation")


@_sign
def in_footer(view: View) -> str | None:
    return _if(view.use.region == "footer", "in the footer")


@_sign
def in_aside(view: View) -> str | None:
    return _if(view.use.region == "aside", "in a side bar")


@_sign
def in_figure(view: View) -> str | None:
    return _if(view.use.figure and not view.is_background(), "in a figure")


@_sign
def alone_in_link(view: View) -> str | None:
    is_so = view.use.alone_in_link and not view.use.link_alike
    return _if(is_so, "only content of a link: not stripped")


@_sign
def leads_away(view: View) -> str | None:
    is_so = view.use.alone_in_link and view.use.link in ("page", "outside", "home")
    return _if(is_so and not view.is_background(), "leads to another page")


@_sign
def link_with_twin(view: View) -> str | None:
    return _if(view.use.link_alike, "its link stands beside as text")


@_sign
def home_link(view: View) -> str | None:
    is_so = view.use.link == "home" and view.use.path and (view.use.alone_in_link or view.is_background())
    return _if(is_so, "links to the home page")


@_sign
def outside_link(view: View) -> str | None:
    return _if(view.use.link == "outside" and view.use.alone_in_link, "links to another site")


@_sign
def enlarges(view: View) -> str | None:
    return _if(view.use.link == "image", "links to a picture")


@_sign
def linked_with_text(view: View) -> str | None:
    is_so = view.use.link in ("page", "home", "outside", "button") and not view.use.alone_in_link
    return _if(is_so and not view.is_background(), "beside the text of its link")


@_sign
def alone_in_cell(view: View) -> str | None:
    return _if(not view.is_background() and view.use.in_cell and view.use.alone, "only content of a table cell")


@_sign
def alone_in_block(view: View) -> str | None:
    is_so = not view.is_background() and view.use.alone and not view.use.in_cell and not view.use.alone_in_link
    return _if(is_so, "stands alone in its block")


@_sign
def beside_label(view: View) -> str | None:
    is_so = not view.is_background() and 0 < view.use.beside <= view.rules.limits["label"]
    return _if(is_so, f"beside its own text ({view.use.beside} characters)")


@_sign
def in_text(view: View) -> str | None:
    is_so = view.use.in_text and not view.is_background() and view.use.beside > view.rules.limits["label"]
    return _if(is_so, "in a line of text")


@_sign
def in_heading(view: View) -> str | None:
    return _if(view.use.in_heading and not view.is_background(), "in a heading")


@_sign
def form_button(view: View) -> str | None:
    return _if(view.use.kind == "input", "a button of a form: not stripped")


@_sign
def image_map(view: View) -> str | None:
    return _if(view.use.usemap, "an image map: not stripped")


@_sign
def logo_class(view: View) -> str | None:
    found = view.named("logo", frozenset(view.use.names))
    return _if(found, f'of class "{found}"')


@_sign
def icon_file(view: View) -> str | None:
    found = view.named("icon", view.file_words)
    return _if(found and view.longest > view.rules.limits["icon"], f'called "{found}"')


@_sign
def card(view: View) -> str | None:
    found = view.named("card", frozenset(view.use.names))
    return _if(
        found and view.use.alike >= 2 and not view.is_background(),
        f'in one of several places called "{found}"',
    )


# ---- style sheets


@_sign
def background(view: View) -> str | None:
    return _if(view.is_background(), "CSS background" if view.use.property.startswith("background") else "CSS image")


@_sign
def repeats(view: View) -> str | None:
    return _if(view.use.repeat in ("repeat", "repeat-x", "repeat-y", "round", "space"), "repeated as a pattern")


@_sign
def inline_background(view: View) -> str | None:
    is_so = view.use.is_inline and not view.use.body and view.use.alike < 3
    return _if(is_so, "background of one element")


@_sign
def card_background(view: View) -> str | None:
    is_so = view.use.is_inline and view.use.alike >= 3
    return _if(is_so, f"background of one of {view.use.alike} elements of the same kind, each with its own")


@_sign
def named_background(view: View) -> str | None:
    is_so = view.is_background() and view.use.alt and not view.use.holds_text and not view.use.body
    return _if(is_so, f'a background that is called "{_shortened(view.use.alt or "")}"')


@_sign
def behind_text(view: View) -> str | None:
    return _if(view.is_background() and (view.use.holds_text or view.use.body), "behind text")


@_sign
def empty_background(view: View) -> str | None:
    is_so = view.is_background() and not view.use.holds_text and not view.use.body and not view.use.pseudo
    return _if(is_so, "background of an element without text")


# ---- names


def _words_sign(group: str, where: str, sentence: str, limit: str = "") -> None:
    """Add a sign: one of a group of words is in the name; with ``limit``, of an image no larger than that."""

    def read(view: View) -> str | None:
        found = view.named(group, getattr(view, where))
        is_fit = not limit or 0 < view.longest <= view.rules.limits[limit]
        return sentence.format(found) if found is not None and is_fit else None

    SIGNS[f"{group}_name"] = read


_words_sign("logo", "file_words", 'called "{}"')
_words_sign("foreign", "file_words", 'called "{}": the mark of others')
_words_sign("ornament", "file_words", 'called "{}"')
_words_sign("shape", "file_words", 'called "{}"')
_words_sign("arrow", "file_words", 'called "{}"', limit="icon")
_words_sign("icon", "all_words", 'called "{}"', limit="icon")
_words_sign("notice", "file_words", 'called "{}": the sign of a notice', limit="icon")
_words_sign("social", "all_words", 'called "{}"', limit="icon")
_words_sign("portrait", "all_words", 'called "{}"')
_words_sign("figure", "file_words", 'called "{}"')
_words_sign("meaning", "all_words", 'called "{}": it says something')
_words_sign("stock", "file_words", 'called "{}": a stock picture')
