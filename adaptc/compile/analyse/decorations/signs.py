"""The signs by which a person would judge an image, each with a sentence: ``everywhere`` "used by 512 of 766 pages".

``SIGNS`` is the list of all; the rules give each a weight for each question (decoration? logo? story?). A sign is
either present or not, so that every score is a sum of sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from adaptc.compile.analyse.decorations.evidence import ImageEvidence, SiteUsage, UsageLookup, UseEvidence
from adaptc.compile.analyse.decorations.rules import DecorationRules
from adaptc.compile.analyse.decorations.surroundings import words


@dataclass(frozen=True)
class Case:
    """Everything that is known about one use."""

    use: UseEvidence
    image: ImageEvidence | None
    site: UsageLookup
    rules: DecorationRules

    @cached_property
    def usage(self) -> SiteUsage:
        """How the site uses the file."""
        return self.site.usage(self.use.path, self.rules.limits)

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
        """The words of the file's name, and of class and id of the element and of those around it."""
        return self.file_words | frozenset(self.use.names)

    @cached_property
    def alt_words(self) -> frozenset[str]:
        """The words of the alternative text."""
        return frozenset(words(self.use.alt or ""))

    def named(self, group: str, candidates: frozenset[str]) -> str | None:
        """Return a word of the group among those found."""
        return min(candidates & self.rules.words.get(group, frozenset()), default=None)

    def is_background(self) -> bool:
        """Whether a style sheet shows it."""
        return self.use.kind == "background"


# A sign returns its sentence, or None if it is absent.
Sign = Callable[[Case], "str | None"]
SIGNS: dict[str, Sign] = {}


def _sign(read: Sign) -> Sign:
    """Add a sign that is named like its function."""
    SIGNS[read.__name__] = read
    return read


def _use_sign(
    name: str, sentence: str, condition: Callable[[UseEvidence], object], *, markup_only: bool = False
) -> None:
    """Add a sign that depends on the use alone and always has the same sentence.

    With ``markup_only`` it is not for backgrounds.
    """

    def read(case: Case) -> str | None:
        return sentence if condition(case.use) and not (markup_only and case.is_background()) else None

    SIGNS[name] = read


def signs(case: Case) -> Iterator[tuple[str, str]]:
    """Yield name and sentence of each sign of a use."""
    for name, read in SIGNS.items():
        sentence = read(case)
        if sentence is not None:
            yield name, sentence


def _if(condition: object, sentence: str) -> str | None:
    return sentence if condition else None


# ---- size and pixels


def _size_sign(name: str, condition: Callable[[Case, Mapping[str, float]], object]) -> None:
    """Add a sign of the size in which an image is shown, given the limits of the rules."""
    SIGNS[name] = lambda case: _if(case.size and condition(case, case.rules.limits), _size(case))


_size_sign("hairline", lambda case, limits: case.shortest <= limits["hairline"])
_size_sign("small", lambda case, limits: case.shortest > limits["hairline"] and case.longest <= limits["small"])
_size_sign("icon_sized", lambda case, limits: limits["small"] < case.longest <= limits["icon"])
_size_sign("large", lambda case, limits: not case.is_background() and case.shortest >= limits["large"])


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


def _usage_sign(name: str, usage: SiteUsage, *, markup_only: bool = False) -> None:
    """Add a sign: how many pages of the site use the file."""

    def read(case: Case) -> str | None:
        is_used_so = usage in case.usage and not (markup_only and case.is_background())
        return case.site.sentence(case.use.path, usage) if is_used_so else None

    SIGNS[name] = read


_usage_sign("everywhere", SiteUsage.EVERYWHERE)
_usage_sign("shared", SiteUsage.SHARED)
_usage_sign("unique", SiteUsage.UNIQUE, markup_only=True)
_usage_sign("first_on_pages", SiteUsage.FIRST)


# ---- the page


@_sign
def repeated(case: Case) -> str | None:
    return _if(not case.is_background() and case.use.times >= 3, f"{case.use.times} times on this page")


@_sign
def series(case: Case) -> str | None:
    return _if(case.use.alike >= 3, f"one of {case.use.alike} different images in places of the same kind")


_use_sign("first", "the first image of the page", lambda use: use.order == 0, markup_only=True)
_use_sign("before_heading", "before the first heading", lambda use: use.before_heading, markup_only=True)


# ---- its alternative text


_use_sign("alt_empty", "empty alt", lambda use: use.alt is not None and not use.alt.strip(), markup_only=True)


@_sign
def alt_text(case: Case) -> str | None:
    return _if(_says_something(case), f'alt "{_shortened(case.use.alt or "")}"')


@_sign
def alt_idle(case: Case) -> str | None:
    is_idle = not case.is_background() and case.use.alt and not _says_something(case)
    return _if(is_idle, f'alt "{_shortened(case.use.alt or "")}" says nothing')


_use_sign("alt_sentence", "its alt is a sentence", lambda use: len((use.alt or "").split()) >= 4, markup_only=True)


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
    groups = case.rules.words
    return bool(case.alt_words) and case.alt_words <= groups["idle"] | groups["ornament"] | groups["shape"]


def _is_file_name(text: str, case: Case) -> bool:
    looks_like_one = len(text) >= 3 and any(mark in text for mark in "._-0123456789")
    return looks_like_one and text.rpartition("/")[2] in case.file_name


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


_use_sign("hidden", "hidden from assistive technology", lambda use: use.hidden)


# ---- its place


_use_sign("in_header", "in the header", lambda use: use.region == "header")
_use_sign("in_nav", "in the navigation", lambda use: use.region == "nav")
_use_sign("in_footer", "in the footer", lambda use: use.region == "footer")
_use_sign("in_aside", "in a side bar", lambda use: use.region == "aside")
_use_sign("in_figure", "in a figure", lambda use: use.figure, markup_only=True)
_use_sign(
    "alone_in_link",
    "only content of a link: not stripped",
    lambda use: use.alone_in_link and not use.link_alike,
)
_use_sign(
    "leads_away",
    "leads to another page",
    lambda use: use.alone_in_link and use.link in ("page", "outside", "home"),
    markup_only=True,
)
_use_sign("link_with_twin", "a text link nearby leads to the same place", lambda use: use.link_alike)
_use_sign(
    "home_link",
    "links to the home page",
    lambda use: use.link == "home" and use.path and (use.alone_in_link or use.kind == "background"),
)
_use_sign("outside_link", "links to another site", lambda use: use.link == "outside" and use.alone_in_link)
_use_sign("enlarges", "links to a picture", lambda use: use.link == "image")
_use_sign(
    "linked_with_text",
    "next to the text of its link",
    lambda use: use.link in ("page", "home", "outside", "button") and not use.alone_in_link,
    markup_only=True,
)
_use_sign("alone_in_cell", "only content of a table cell", lambda use: use.in_cell and use.alone, markup_only=True)
_use_sign(
    "alone_in_block",
    "alone in its block",
    lambda use: use.alone and not use.in_cell and not use.alone_in_link,
    markup_only=True,
)


@_sign
def beside_label(case: Case) -> str | None:
    has_label = not case.is_background() and 0 < case.use.text_length <= case.rules.limits["label"]
    return _if(has_label, f"next to its own text ({case.use.text_length} characters)")


@_sign
def in_text(case: Case) -> str | None:
    is_in_text = case.use.in_text and not case.is_background() and case.use.text_length > case.rules.limits["label"]
    return _if(is_in_text, "in a line of text")


_use_sign("in_heading", "in a heading", lambda use: use.in_heading, markup_only=True)
_use_sign("form_button", "a button of a form: not stripped", lambda use: use.kind == "input")
_use_sign("image_map", "an image map: not stripped", lambda use: use.usemap)


@_sign
def logo_class(case: Case) -> str | None:
    word = case.named("logo", frozenset(case.use.names))
    return _if(word, f'of class "{word}"')


@_sign
def icon_file(case: Case) -> str | None:
    word = case.named("icon", case.file_words)
    return _if(word and case.longest > case.rules.limits["icon"], f'called "{word}"')


@_sign
def card(case: Case) -> str | None:
    word = case.named("card", frozenset(case.use.names))
    return _if(
        word and case.use.alike >= 2 and not case.is_background(),
        f'in one of several places called "{word}"',
    )


# ---- style sheets


@_sign
def background(case: Case) -> str | None:
    return _if(case.is_background(), "CSS background" if case.use.property.startswith("background") else "CSS image")


_use_sign(
    "repeats",
    "repeated as a pattern",
    lambda use: use.repeat in ("repeat", "repeat-x", "repeat-y", "round", "space"),
)


@_sign
def card_background(case: Case) -> str | None:
    is_so = case.use.is_inline and case.use.alike >= 3
    return _if(is_so, f"background of one of {case.use.alike} elements of the same kind, each with its own")


@_sign
def named_background(case: Case) -> str | None:
    is_so = case.is_background() and case.use.alt and not case.use.holds_text and not case.use.body
    return _if(is_so, f'a background that is called "{_shortened(case.use.alt or "")}"')


_use_sign(
    "empty_background",
    "background of an element without text",
    lambda use: use.kind == "background" and not use.holds_text and not use.body and not use.pseudo,
)


# ---- names


def _words_sign(group: str, where: str, sentence: str, limit: str = "") -> None:
    """Add a sign: one of a group of words is in the name; with ``limit``, of an image no larger than that."""

    def read(case: Case) -> str | None:
        word = case.named(group, getattr(case, where))
        is_fit = not limit or 0 < case.longest <= case.rules.limits[limit]
        return sentence.format(word) if word is not None and is_fit else None

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
