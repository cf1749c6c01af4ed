"""The signs that a person would go by, each with a sentence: ``everywhere`` "used by 512 of 766 pages".

``SIGNS`` is the list of all; the rules give each a weight for each question (decoration? logo? story?). A sign is
either there or not, so that every score can be read as a sum of sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from adaptc.compile.analyse.decorations.evidence import ImageEvidence, SiteUse, Standing, UseEvidence
from adaptc.compile.analyse.decorations.rules import DecorationRules
from adaptc.compile.analyse.decorations.surroundings import words


@dataclass(frozen=True)
class Case:
    """Everything that is known of one use."""

    use: UseEvidence
    image: ImageEvidence | None
    site: SiteUse
    rules: DecorationRules

    @cached_property
    def standing(self) -> Standing:
        """How the site uses the file."""
        return self.site.standing(self.use.path, self.rules.limits)

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
Sign = Callable[[Case], "str | None"]
SIGNS: dict[str, Sign] = {}


def _sign(read: Sign) -> Sign:
    SIGNS[read.__name__.strip("_")] = read
    return read


def signs(case: Case) -> Iterator[tuple[str, str]]:
    """Yield name and sentence of each sign of a use."""
    for name, read in SIGNS.items():
        sentence = read(case)
        if sentence is not None:
            yield name, sentence


def _if(condition: object, sentence: str) -> str | None:
    return sentence if condition else None


# ---- size and pixels


@_sign
def hairline(case: Case) -> str | None:
    return _if(case.size and case.shortest <= case.rules.limits["hairline"], _size(case))


@_sign
def small(case: Case) -> str | None:
    limits = case.rules.limits
    return _if(case.size and case.shortest > limits["hairline"] and case.longest <= limits["small"], _size(case))


@_sign
def icon_sized(case: Case) -> str | None:
    limits = case.rules.limits
    return _if(case.size and limits["small"] < case.longest <= limits["icon"], _size(case))


@_sign
def large(case: Case) -> str | None:
    return _if(not case.is_background() and case.shortest >= case.rules.limits["large"], _size(case))


@_sign
def stripe(case: Case) -> str | None:
    is_stripe = case.size and case.shortest > 0 and case.longest / case.shortest >= case.rules.limits["stripe"]
    return _if(is_stripe, f"{_size(case)}, a stripe")


def _size(case: Case) -> str:
    return f"{case.size[0]:.0f}x{case.size[1]:.0f} px" if case.size else ""


@_sign
def flat(case: Case) -> str | None:
    image = case.image
    is_flat = image and image.entropy is not None and image.entropy < case.rules.limits["flat"]
    return _if(is_flat, "hardly any picture in it (flat colour)")


@_sign
def photo(case: Case) -> str | None:
    image, limits = case.image, case.rules.limits
    if image is None or image.entropy is None or image.colours is None or case.is_background():
        return None
    return _if(
        image.entropy >= limits["photo"] and image.colours >= limits["photo_colours"],
        "looks like a photograph",
    )


@_sign
def animated(case: Case) -> str | None:
    return _if(case.image and case.image.frames > 1, "animated")


# ---- the site


@_sign
def everywhere(case: Case) -> str | None:
    return _stands(case, Standing.EVERYWHERE)


@_sign
def shared(case: Case) -> str | None:
    return _stands(case, Standing.SHARED)


@_sign
def unique(case: Case) -> str | None:
    return None if case.is_background() else _stands(case, Standing.UNIQUE)


@_sign
def first_on_pages(case: Case) -> str | None:
    return _stands(case, Standing.FIRST)


def _stands(case: Case, one: Standing) -> str | None:
    return case.site.sentence(case.use.path, one) if one in case.standing else None


# ---- the page


@_sign
def repeated(case: Case) -> str | None:
    return _if(not case.is_background() and case.use.times >= 3, f"{case.use.times} times on this page")


@_sign
def series(case: Case) -> str | None:
    return _if(case.use.alike >= 3, f"one of {case.use.alike} different images in places of the same kind")


@_sign
def first(case: Case) -> str | None:
    return _if(not case.is_background() and case.use.order == 0, "the first image of the page")


@_sign
def before_heading(case: Case) -> str | None:
    return _if(not case.is_background() and case.use.before_heading, "stands before the first heading")


# ---- what is said of it


@_sign
def alt_empty(case: Case) -> str | None:
    return _if(not case.is_background() and case.use.alt is not None and not case.use.alt.strip(), "empty alt")


@_sign
def alt_text(case: Case) -> str | None:
    return _if(_says_something(case), f'alt "{_shortened(case.use.alt or "")}"')


@_sign
def alt_idle(case: Case) -> str | None:
    is_idle = not case.is_background() and case.use.alt and not _says_something(case)
    return _if(is_idle, f'alt "{_shortened(case.use.alt or "")}" says nothing')


@_sign
def alt_sentence(case: Case) -> str | None:
    return _if(not case.is_background() and len((case.use.alt or "").split()) >= 4, "its alt is a sentence")


def _says_something(case: Case) -> bool:
    """Whether the alternative text is more than punctuation, the file's name, or words for any picture."""
    text = (case.use.alt or "").lower()
    if case.is_background() or not any(map(str.isalnum, text)):
        return False
    return not (_is_letter(text) or _is_idle(case) or _is_file_name(text, case))


def _is_letter(text: str) -> bool:
    """Whether a letter stands for a shape, as in ``o`` for a bullet; a digit is a number."""
    return len(text) == 1 and text.isascii() and text.isalpha()


def _is_idle(case: Case) -> bool:
    found = case.rules.words
    return bool(case.alt_words) and case.alt_words <= found["idle"] | found["ornament"] | found["shape"]


def _is_file_name(text: str, case: Case) -> bool:
    looks_like_one = len(text) >= 3 and any(mark in text for mark in "._-0123456789")
    return looks_like_one and text.rpartition("/")[2] in case.file_name


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


@_sign
def hidden(case: Case) -> str | None:
    return _if(case.use.hidden, "hidden from assistive technology")


# ---- where it stands


@_sign
def in_header(case: Case) -> str | None:
    return _if(case.use.region == "header", "in the header")


@_sign
def in_nav(case: Case) -> str | None:
    return _if(case.use.region == "nav", "in the navigation")


@_sign
def in_footer(case: Case) -> str | None:
    return _if(case.use.region == "footer", "in the footer")


@_sign
def in_aside(case: Case) -> str | None:
    return _if(case.use.region == "aside", "in a side bar")


@_sign
def in_figure(case: Case) -> str | None:
    return _if(case.use.figure and not case.is_background(), "in a figure")


@_sign
def alone_in_link(case: Case) -> str | None:
    is_so = case.use.alone_in_link and not case.use.link_alike
    return _if(is_so, "only content of a link: not stripped")


@_sign
def leads_away(case: Case) -> str | None:
    is_so = case.use.alone_in_link and case.use.link in ("page", "outside", "home")
    return _if(is_so and not case.is_background(), "leads to another page")


@_sign
def link_with_twin(case: Case) -> str | None:
    return _if(case.use.link_alike, "its link stands beside as text")


@_sign
def home_link(case: Case) -> str | None:
    is_so = case.use.link == "home" and case.use.path and (case.use.alone_in_link or case.is_background())
    return _if(is_so, "links to the home page")


@_sign
def outside_link(case: Case) -> str | None:
    return _if(case.use.link == "outside" and case.use.alone_in_link, "links to another site")


@_sign
def enlarges(case: Case) -> str | None:
    return _if(case.use.link == "image", "links to a picture")


@_sign
def linked_with_text(case: Case) -> str | None:
    is_so = case.use.link in ("page", "home", "outside", "button") and not case.use.alone_in_link
    return _if(is_so and not case.is_background(), "beside the text of its link")


@_sign
def alone_in_cell(case: Case) -> str | None:
    return _if(not case.is_background() and case.use.in_cell and case.use.alone, "only content of a table cell")


@_sign
def alone_in_block(case: Case) -> str | None:
    is_so = not case.is_background() and case.use.alone and not case.use.in_cell and not case.use.alone_in_link
    return _if(is_so, "stands alone in its block")


@_sign
def beside_label(case: Case) -> str | None:
    is_so = not case.is_background() and 0 < case.use.beside <= case.rules.limits["label"]
    return _if(is_so, f"beside its own text ({case.use.beside} characters)")


@_sign
def in_text(case: Case) -> str | None:
    is_so = case.use.in_text and not case.is_background() and case.use.beside > case.rules.limits["label"]
    return _if(is_so, "in a line of text")


@_sign
def in_heading(case: Case) -> str | None:
    return _if(case.use.in_heading and not case.is_background(), "in a heading")


@_sign
def form_button(case: Case) -> str | None:
    return _if(case.use.kind == "input", "a button of a form: not stripped")


@_sign
def image_map(case: Case) -> str | None:
    return _if(case.use.usemap, "an image map: not stripped")


@_sign
def logo_class(case: Case) -> str | None:
    found = case.named("logo", frozenset(case.use.names))
    return _if(found, f'of class "{found}"')


@_sign
def icon_file(case: Case) -> str | None:
    found = case.named("icon", case.file_words)
    return _if(found and case.longest > case.rules.limits["icon"], f'called "{found}"')


@_sign
def card(case: Case) -> str | None:
    found = case.named("card", frozenset(case.use.names))
    return _if(
        found and case.use.alike >= 2 and not case.is_background(),
        f'in one of several places called "{found}"',
    )


# ---- style sheets


@_sign
def background(case: Case) -> str | None:
    return _if(case.is_background(), "CSS background" if case.use.property.startswith("background") else "CSS image")


@_sign
def repeats(case: Case) -> str | None:
    return _if(case.use.repeat in ("repeat", "repeat-x", "repeat-y", "round", "space"), "repeated as a pattern")


@_sign
def card_background(case: Case) -> str | None:
    is_so = case.use.is_inline and case.use.alike >= 3
    return _if(is_so, f"background of one of {case.use.alike} elements of the same kind, each with its own")


@_sign
def named_background(case: Case) -> str | None:
    is_so = case.is_background() and case.use.alt and not case.use.holds_text and not case.use.body
    return _if(is_so, f'a background that is called "{_shortened(case.use.alt or "")}"')


@_sign
def empty_background(case: Case) -> str | None:
    is_so = case.is_background() and not case.use.holds_text and not case.use.body and not case.use.pseudo
    return _if(is_so, "background of an element without text")


# ---- names


def _words_sign(group: str, where: str, sentence: str, limit: str = "") -> None:
    """Add a sign: one of a group of words is in the name; with ``limit``, of an image no larger than that."""

    def read(case: Case) -> str | None:
        found = case.named(group, getattr(case, where))
        is_fit = not limit or 0 < case.longest <= case.rules.limits[limit]
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
